"""Does regard cost more than CTranslate2 alone? A script of ten lines beside `regard.load`, in turns, tokenising included.

    python benchmarks/bare_ctranslate2.py --model demo --file in.txt [--sentences 500] [--rounds 5] [--beam 5] [--int8]

Both write the same batches with as many threads. What counts on a busy machine is the CPU time (user and system) of the two
in the same round; the ratios' median is printed, and on how many sentences the texts are the same, native beside them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def bare(folder: Path, int8: bool, threads: int, beam: int, batch: int) -> Callable[[list[str]], list[str]]:
    """CTranslate2 and SentencePiece, as their documentation has it."""
    import ctranslate2
    import sentencepiece

    kind = "int8" if int8 else "float32"
    translator = ctranslate2.Translator(str(folder), compute_type=kind, inter_threads=threads, intra_threads=1)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))

    def translate(lines: list[str]) -> list[str]:
        tokens: Any = pieces.encode(lines, out_type=str)
        found = translator.translate_batch(tokens, beam_size=beam, max_batch_size=batch, max_decoding_length=200)
        texts: list[str] = pieces.decode([each.hypotheses[0] for each in found])
        return texts

    return translate


def cpu(work: Callable[[], list[str]]) -> tuple[float, float, list[str]]:
    """Seconds of the CPU, and by the clock, and what came out."""
    began, used = time.perf_counter(), time.process_time()
    found = work()
    return time.process_time() - used, time.perf_counter() - began, found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--file", type=Path, required=True, help="source sentences, one on a line")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import regard
    from regard.config.stored import find_model
    from regard.export.conversions import find_kept
    from regard.export.folder import fingerprint
    from regard.tasks.translation.engine import threads

    lines = given.file.read_text(encoding="utf-8").splitlines()[: given.sentences]
    regard.load(given.model, task="translation", engine="ctranslate2")  # converts it, if need be
    folder = find_kept(fingerprint(find_model(given.model)))
    if folder is None:
        sys.exit("there is no cache folder to keep a conversion in: see REGARD_CACHE")
    ours = regard.load(given.model, task="translation", engine="ctranslate2", int8=given.int8)
    theirs = bare(folder, given.int8, threads(), given.beam, given.batch)
    works = {
        "bare": lambda: theirs(lines),
        "text": lambda: [str(each) for each in ours.translate(lines, beam=given.beam, scores=False)],
        "warnings": lambda: [str(each) for each in ours.translate(lines, beam=given.beam, scores=False, warnings=True)],
        "scores": lambda: [str(each) for each in ours.translate(lines, beam=given.beam)],
    }
    for work in works.values():
        work()
    rounds = [{name: cpu(work) for name, work in works.items()} for _ in range(given.rounds)]
    print("| | CPU seconds | seconds | speed against bare, by CPU |\n|---|---:|---:|---:|")
    told: dict[str, Any] = {}
    for name in works:
        ratio = statistics.median(each["bare"][0] / each[name][0] for each in rounds)
        spent, took = (statistics.median(each[name][kind] for each in rounds) for kind in (0, 1))
        told[name] = {"cpu": spent, "seconds": took, "ratio": ratio}
        print(f"| {name} | {spent:.2f} | {took:.2f} | {ratio:.3f} |")
    native = regard.load(given.model, task="translation", engine="native")
    wanted = [str(each) for each in native.translate(lines, beam=given.beam)]
    same = {name: sum(map(str.__eq__, rounds[0][name][2], wanted)) for name in works}
    alone = sum(
        str(ours.translate(line, beam=given.beam)) == text
        for line, text in zip(lines[:100], rounds[0]["text"][2], strict=False)
    )
    told |= {"sentences": len(lines), "same as native": same, "alone as in company, of 100": alone}
    print(json.dumps({name: told[name] for name in ("sentences", "same as native", "alone as in company, of 100")}))
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
