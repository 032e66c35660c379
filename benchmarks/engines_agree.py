"""Do the engines write the same? CTranslate2 in fp32 and in int8 beside regard's own search, text by text and by BLEU.

    python benchmarks/engines_agree.py --model demo --source test_2016_flickr.de.gz --target test_2016_flickr.en.gz [--lines 1000] [--show 10]

Texts are compared as they are read, after detokenising. What is not the same is scored by regard's own model: a score that is
equal but for rounding is a tie, a lower one is what the other engine's search gave up.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

TIE = 1e-3  # of log-probabilities after the length penalty


def read(file: Path, count: int) -> list[str]:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode().splitlines()[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--source", type=Path, required=True, help="sentences, one on a line; .gz or plain")
    parser.add_argument("--target", type=Path, required=True, help="their translations")
    parser.add_argument("--lines", type=int, default=1_000)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--show", type=int, default=0, help="this many that are not the same")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import regard
    from regard.evaluation.compare import compare

    sources, references = (read(file, given.lines) for file in (given.source, given.target))
    native = regard.load(given.model, task="translation", engine="native")
    wanted = native.translate(sources, beam=given.beam)
    texts = [str(each) for each in wanted]
    language, told = native.recipe.data.target_language, {"sentences": len(sources)}
    for name, int8 in (("fp32", False), ("int8", True)):
        fast = regard.load(given.model, task="translation", engine="ctranslate2", int8=int8)
        found = [str(each) for each in fast.translate(sources, beam=given.beam, scores=False)]
        different = [number for number, text in enumerate(found) if text != texts[number]]
        own = fast.translate([sources[number] for number in different], beam=given.beam)
        gains = [each.score - wanted[number].score for number, each in zip(different, own, strict=True)]
        bleu = compare(texts, found, references, names=("native", name), target_language=language).metrics[0]
        figures: dict[str, Any] = {
            "same": len(sources) - len(different),
            "ties": sum(abs(gain) <= TIE for gain in gains),
            "scored higher": sum(gain > TIE for gain in gains),
            "scored lower": sum(gain < -TIE for gain in gains),
            "BLEU": [round(score, 2) for score in bleu.scores],
            "difference": [round(each, 2) for each in (bleu.difference, *bleu.difference_interval)],
            "p": round(bleu.p_value, 3),
        }
        told[name] = figures
        print(f"{name}: {json.dumps(figures)}")
        for number, gain in list(zip(different, gains, strict=True))[: given.show]:
            print(f"  {gain:+.4f}  {sources[number]}\n    native      {texts[number]}\n    CTranslate2 {found[number]}")
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
