"""Are translations that lack a clause told from whole ones? Precision and recall of the warning `unseen`.

References with two clauses, whole and with the second cut out, are shown to a model as its own translations.

    python benchmarks/translation_warnings.py --model demo --data DIR   # DIR/tatoeba/deu-eng.tsv.xz; the last 100 such test rows
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import time
from pathlib import Path

import regard
from regard.data.tokenizer import END
from regard.tasks.translation.native import coverages
from regard.tasks.translation.warnings import unseen_words

CLAUSE = re.compile(
    r"(,? (?:and|but|because|when|if|before|after|that|so|while|although|since|who|which|until|as) |, )"
)


def made_pairs(file: Path) -> list[tuple[str, str, str]]:
    """Source, reference, and the reference without its second clause."""
    pairs = []
    for line in lzma.decompress(file.read_bytes()).decode().splitlines():
        split, target, source = line.split("\t")[:3]
        clauses = CLAUSE.split(target)
        if split in ("test", "valid") and len(clauses) == 3 and min(len(each.split()) for each in clauses[::2]) >= 3:
            pairs.append((source, target, clauses[0].rstrip(" ,") + (target[-1] if target[-1] in ".?!" else "")))
    return pairs


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", default="demo")
    asked.add_argument("--data", type=Path, default=os.environ.get("REGARD_DATA", "."))
    asked.add_argument("--first", type=int, default=150, help="pairs to leave out: the bounds were chosen on them")
    options = asked.parse_args()
    model = regard.load(options.model, task="translation")
    pairs = made_pairs(Path(options.data) / "tatoeba/deu-eng.tsv.xz")[options.first :]
    sources = model.tokenizer.encode_all([source for source, _, _ in pairs], "source")
    tokens = [model.tokenizer.tokens([*source, END], "source") for source in sources]
    flagged = []
    for column in (1, 2):
        targets = model.tokenizer.encode_all([pair[column] for pair in pairs], "target")
        found = coverages(model.model, sources, targets)
        flagged.append(sum(bool(unseen_words(*each)) for each in zip(found, tokens, strict=True)))
    whole, cut = flagged
    print(
        f"{len(pairs)} pairs: recall {cut / len(pairs):.3f} of cut ones, {whole / len(pairs):.3f} of whole ones flagged"
    )
    print(f"precision {cut / max(1, cut + whole):.3f} where half of all lack a clause")
    texts = [source for source, _, _ in pairs]
    took = []
    for warnings in (False, True, False, True):
        began = time.perf_counter()
        model.translate(texts, warnings=warnings)
        took.append(time.perf_counter() - began)
    print(f"looking costs {(took[1] + took[3]) / (took[0] + took[2]) - 1:.1%} of the time")


if __name__ == "__main__":
    main()
