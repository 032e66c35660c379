"""Makes clothes-*.xz, a selection of Fashion-MNIST, from the folder that holds its four IDX files:
`python -m regard.bundled.make_clothes --data DIR`.

The first pictures of each label, in the order of the file: 240 of the training set and 50 of the test set.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import struct
from collections import Counter
from pathlib import Path

SELECTED = {"train": ("train", 240), "test": ("t10k", 50)}
HEADER = 16  # bytes of an IDX file of pictures
SIDE = 28


def select(folder: Path, name: str, of_each: int) -> tuple[bytes, bytes]:
    """Pictures and labels as IDX files hold them."""
    pictures = gzip.decompress((folder / f"{name}-images-idx3-ubyte.gz").read_bytes())[HEADER:]
    labels = gzip.decompress((folder / f"{name}-labels-idx1-ubyte.gz").read_bytes())[8:]
    taken: Counter[int] = Counter()
    chosen = []
    for place, label in enumerate(labels):
        if taken[label] < of_each:
            taken[label] += 1
            chosen.append(place)
    cut = b"".join(pictures[place * SIDE**2 : (place + 1) * SIDE**2] for place in chosen)
    return (
        struct.pack(">HBB3I", 0, 8, 3, len(chosen), SIDE, SIDE) + cut,
        struct.pack(">HBBI", 0, 8, 1, len(chosen)) + bytes(labels[place] for place in chosen),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    for split, (name, of_each) in SELECTED.items():
        for kind, content in zip(("images", "labels"), select(arguments.data, name, of_each), strict=True):
            path = arguments.output / f"clothes-{split}-{kind}.xz"
            path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
            print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
