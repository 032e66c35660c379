"""A trained run → `painter.safetensors`, the model that `regard paint painter` uses: half precision, with its score inside; and a
sheet of what it paints.

regard train recipes/paint/wardrobe-codes.toml --data DIR
regard train recipes/paint/wardrobe.toml --data DIR
python -m regard.bundled.make_painter runs/wardrobe --data DIR --sheet docs/painter.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import regard
from regard.checkpoint import store_scores
from regard.tasks.text_to_image.painter import contact_sheet, save_image
from regard.tasks.trained import load_trained, save_trained

PAINTER = Path(__file__).parent / "painter.safetensors"
MOST_BYTES = 6_000_000
CAPTIONS = (
    "a red boot left of a blue bag", "파란 가방 왼쪽에 빨간 부츠",
    "a green dress above a yellow sneaker", "노란 운동화 위에 초록색 원피스",
    "a purple pullover", "보라색 풀오버",
    "an orange coat right of a pink boot", "분홍색 부츠 오른쪽에 주황색 코트",
)  # fmt: skip
"""Each in English and in Korean; the last two of pairs that were never trained."""
EACH = 8


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("run", type=Path, help="run folder of the recipe paint/wardrobe, or a model file")
    arguments.add_argument("--data", type=Path, required=True, help="folder that holds fashion-mnist/")
    arguments.add_argument("--output", type=Path, default=PAINTER)
    arguments.add_argument("--sheet", type=Path, help="a PNG of eight captions, eight pictures of each")
    given = arguments.parse_args()
    trained = load_trained(given.run)
    weights = dict(trained.model.named_parameters())
    save_trained(given.output, weights, trained.recipe, trained.assets, trained.provenance, half=True)
    if (size := given.output.stat().st_size) > MOST_BYTES:
        raise SystemExit(f"{given.output} has {size:,} bytes, more than {MOST_BYTES:,}")
    for found in regard.evaluate(given.output, data=given.data).results:
        store_scores(given.output, {found.name: found.stored()})
        print("\n".join(found.lines()))
    if given.sheet is not None:
        painter = regard.load(given.output, task="text-to-image")
        rows = painter.paint(list(CAPTIONS), count=EACH, seed=1)
        save_image(contact_sheet([each for row in rows for each in row], columns=EACH, scale=3), given.sheet)
    print(f"{given.output.name}: {size:,} bytes")


if __name__ == "__main__":
    main()
