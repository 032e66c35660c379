"""Makes tatoeba-de-en.tsv.xz from the German-English Tatoeba pairs: `python -m regard.bundled.make_corpus --data DIR`.

DIR holds `tatoeba/deu-eng.tsv.xz` (columns split, English, German). Same input, same output, whatever the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import random
from pathlib import Path

TRAINING_PAIRS = 60_000
SEED = 2017
Row = tuple[str, str, str]  # split, German, English


def read(path: Path) -> list[Row]:
    """All rows but those tagged `overlap`, without exact repetitions, German before English."""
    rows: dict[Row, None] = {}  # a dictionary keeps the order, a set does not
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            split, english, german = line.rstrip("\n").split("\t")
            if split in ("train", "valid", "test"):
                rows[split, german, english] = None
    return list(rows)


def select(rows: list[Row], training_pairs: int = TRAINING_PAIRS) -> list[Row]:
    """A shuffled choice of training pairs that share no sentence with the held-out ones, then valid, then test."""
    splits = {name: [row for row in rows if row[0] == name] for name in ("train", "valid", "test")}
    held_out = {sentence for name in ("valid", "test") for _, *pair in splits[name] for sentence in pair}
    candidates = [row for row in splits["train"] if row[1] not in held_out and row[2] not in held_out]
    generator = random.Random(SEED)
    chosen = generator.sample(candidates, training_pairs)
    for name in ("valid", "test"):
        generator.shuffle(splits[name])  # the source is sorted by length
    assert not held_out & {sentence for _, *pair in chosen for sentence in pair}, "a held-out sentence is in training"
    return chosen + splits["valid"] + splits["test"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds tatoeba/deu-eng.tsv.xz")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("tatoeba-de-en.tsv.xz"))
    arguments = parser.parse_args()
    rows = select(read(arguments.data / "tatoeba" / "deu-eng.tsv.xz"))
    text = "".join("\t".join(row) + "\n" for row in rows).encode("utf-8")
    packed = lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)
    arguments.output.write_bytes(packed)
    print(f"{arguments.output}: {len(rows):,} rows, {len(packed):,} bytes, sha256 {hashlib.sha256(packed).hexdigest()}")


if __name__ == "__main__":
    main()
