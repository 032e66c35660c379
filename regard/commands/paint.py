"""`regard paint`: a caption in, a picture out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

import regard
from regard.commands.app import Device, Json, app, bundled_models, errors, note_files, say
from regard.notes import is_quiet


@app.command(
    epilog="Examples: `regard paint painter 'a red boot left of a blue bag' -o boot.png`, `regard paint painter"
    " '파란 가방 왼쪽에 빨간 부츠' --count 8 -o sheet.png`"
)
def paint(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A run folder, a model file, or `painter`.", autocompletion=bundled_models
        ),
    ],
    caption: Annotated[str, typer.Argument(help="What is to be seen.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the PNG.")] = Path(
        "painted.png"
    ),
    count: Annotated[int, typer.Option(min=1, help="Pictures; several are put on one sheet.")] = 1,
    guidance: Annotated[
        float, typer.Option(min=0, help="How much the caption's say is exaggerated; 1: not at all, 0: it has none.")
    ] = 2.0,
    temperature: Annotated[float, typer.Option(help="Below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="Only the k most probable codes; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Only the most probable codes up to this sum.")] = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed gives the same picture; several follow each other.")
    ] = 0,
    scale: Annotated[int, typer.Option(min=1, max=64, help="Pixels of the file for each pixel of the picture.")] = 8,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Paint a caption as one PNG, or several pictures of it on one sheet."""
    note_files([caption])
    painter = regard.load(model, device, task="text-to-image")
    with Progress(console=errors, transient=True, disable=is_quiet() or not errors.is_terminal) as bar:
        task = bar.add_task("Painting", total=None)
        painted = painter.paint(
            caption, count=count, guidance=guidance, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
            on_code=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    paintings = painted if isinstance(painted, list) else [painted]
    regard.save_paintings(paintings, output, scale=scale)
    if not caption.strip():
        say("regard: the caption is empty, so that nothing says what is to be seen")
    if paintings[0].cut:
        say("regard: the caption is longer than this model reads; its end was left out")
    if as_json:
        for each in paintings:
            print(json.dumps({**each.to_dict(), "file": str(output)}, ensure_ascii=False))
    else:
        print(output)
