"""What it costs a translator that a text is all in capitals, or all in small letters: BLEU in small letters, with and without `truecase`.

python benchmarks/one_case.py --data DIR [--model demo] [--sentences 600]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import sacrebleu

import regard
from regard.tasks.translation.evaluation import recipe_test_sets


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--data", required=True, help="folder that holds the files of the model's recipe")
    arguments.add_argument("--model", default="demo")
    arguments.add_argument("--sentences", type=int, default=600, help="the first so many of the first test set")
    given = arguments.parse_args()
    model = regard.load(given.model, task="translation")
    test = recipe_test_sets(replace(model.recipe, data=replace(model.recipe.data, folder=given.data)))[0]
    references = [test.references[: given.sentences]]
    for called, change in (("as written", str), ("capitals", str.upper), ("small letters", str.lower)):
        sources = [change(text) for text in test.sources[: given.sentences]]
        for truecase in (False, True):
            found = [each.text for each in model.translate(sources, truecase=truecase)]
            bleu = sacrebleu.corpus_bleu(found, references, lowercase=True).score
            print(f"{called:13}  {'truecase' if truecase else 'letters as they are':19}  BLEU (lower-cased) {bleu:.1f}")


if __name__ == "__main__":
    main()
