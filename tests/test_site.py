"""The site holds every page, and the reference every public name."""

from __future__ import annotations

import re
from pathlib import Path

import regard

ROOT = Path(__file__).parent.parent
INDEX = (ROOT / "site" / "index.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "site" / "api.md").read_text(encoding="utf-8")


def test_every_page_of_the_docs_is_in_the_contents() -> None:
    listed = {line.removeprefix("../") for line in INDEX.splitlines() if re.fullmatch(r"[\w./-]+\.md", line)}
    pages = {str(path.relative_to(ROOT)) for path in (*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"))}
    assert pages <= listed
    assert all((ROOT / "site" / line).exists() or (ROOT / line).exists() for line in listed)


def test_every_public_name_is_in_the_reference() -> None:
    named = re.findall(r"^\.\. auto(?:function|class):: regard\.(\w+)$", REFERENCE, re.MULTILINE)
    assert sorted(named) == sorted(name for name in regard.__all__ if name != "attend")
    assert ".. autofunction:: regard.attention.attend" in REFERENCE


def test_korean_readme_has_the_same_commands() -> None:
    """Kept in step with the English one by what can be run."""

    def commands(name: str) -> list[str]:
        blocks = re.findall(
            r"^```(?:sh|console|python|toml)\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S
        )
        return [line.partition("  #")[0].rstrip() for block in blocks for line in block.splitlines() if line.strip()]

    assert commands("README.ko.md") == commands("README.md")
