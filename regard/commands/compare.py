"""`regard compare`: is one translator better than another?"""

from __future__ import annotations

from typing import Annotated

import typer

import regard
from regard.commands.app import DataFolder, Device, Json, SourceFile, TargetFile, TestName, app, print_json


@app.command(epilog="Example: `regard compare runs/base runs/deep`, or two files of translations with --target")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A model, or a file of translations.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    test: TestName = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    worst: Annotated[int, typer.Option(min=0, help="Sentences to show that differ most.")] = 10,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Is B better than A, on the test sets of A? Paired bootstrap, and the sentences that differ most."""
    found = regard.compare(
        a, b, source=source, target=target, data=data, test=test, resamples=resamples, seed=seed, worst=worst,
        device=device, on_result=None if as_json else tell,
    )  # fmt: skip
    if as_json:
        print_json(found.to_dict())


def tell(name: str, found: regard.Comparison) -> None:
    print("\n".join([f"test set: {name}", *found.lines()]), flush=True)
