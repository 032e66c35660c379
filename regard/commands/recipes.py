"""`regard recipes`: what comes with regard to train from."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.app import Json, Verbs, app, print_json, recipe_names, report
from regard.config.shipped import ShippedRecipe, shipped_recipe, shipped_recipes

recipes = Verbs(
    help="List, show and copy the recipes that come with regard.",
    rich_markup_mode="markdown",
    epilog="Examples: `regard recipes`, `regard recipes copy multi30k-de-en`, then `regard train multi30k-de-en.toml`",
)
app.add_typer(recipes, name="recipes")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `regard recipes` lists it.", autocompletion=recipe_names)]


@recipes.callback(invoke_without_command=True)
def list_recipes(context: typer.Context, as_json: Json = False) -> None:
    """List, show and copy the recipes that come with regard; `regard train NAME` trains one as it is."""
    if context.invoked_subcommand is not None:
        return
    known = shipped_recipes()
    if as_json:
        print_json([{"name": each.name, "about": each.about, "file": str(each.path)} for each in known.values()])
        return
    width = max(map(len, known))
    for kind, members in groupby(known.values(), key=kind_of):
        print(kind)
        for each in members:
            print(f"  {each.name:<{width}}  {each.about}")


def kind_of(recipe: ShippedRecipe) -> str:
    folder = recipe.path.parent.name
    return "with text or pictures of its own" if folder == "bundled" else folder


@recipes.command(epilog="Example: `regard recipes show multi30k-de-en`")
def show(name: Name) -> None:
    """Print a recipe: what it is of, where its data comes from and under which licence, what score to expect."""
    print(shipped_recipe(name).text, end="")


@recipes.command(epilog="Example: `regard recipes copy multi30k-de-en my-recipes`")
def copy(
    name: Name,
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to. [here]", show_default=False)] = Path(),
) -> None:
    """Copy a recipe, to change it; its data is then looked for beside it, or in --data DIR."""
    to = shipped_recipe(name).copy(folder)
    report(f"wrote {to}. Next: regard train {to} --dry-run")
