"""The site: docs, course and reference, as Sphinx builds them from the repository's own pages (`make docs`)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from regard import __version__  # noqa: E402

project = "regard"
author = "the regard authors"
copyright = author
release = version = __version__
language = "en"
html_title = f"regard {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
include_patterns = [
    "site/*.md",
    "README*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "results/README.md",
    "regard/learn/lessons/**/*.md",
    "regard/bundled/README.md",
]
root_doc = "site/index"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

# What the pages say reads on GitHub as it does here: headings are anchors, and a relative link leads to a page or a file.
myst_enable_extensions = ["dollarmath", "colon_fence", "html_image"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin where another heading would stand

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
