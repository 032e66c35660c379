"""All is said in pyproject.toml but for one thing: a wheel carries the repository's recipes inside of the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class WithRecipes(build_py):
    """recipes/TASK/NAME.toml → regard/bundled/recipes/TASK/NAME.toml; an editable install reads them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for recipe in sorted((ROOT / "recipes").glob("*/*.toml")):
            to = Path(self.build_lib) / "regard" / "bundled" / recipe.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(recipe), str(to))


setup(cmdclass={"build_py": WithRecipes})
