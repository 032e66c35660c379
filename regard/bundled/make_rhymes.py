"""Makes rhymes.txt and rhymes-valid.txt, little verses in English and Korean: `python -m regard.bundled.make_rhymes`.

Everything in them is invented here. An animal always has the same place, which rhymes, and the same voice: that much can
be learned, and who comes next cannot. Same program, same text, whatever the machine.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SEED = 2017
TRAINING_VERSES, VALIDATION_VERSES = 250, 24

# English and Korean name; the place that rhymes; where it lives and how it sounds in Korean
ANIMALS = (
    ("cat", "고양이", "mat", "지붕", "야옹"), ("mouse", "생쥐", "house", "다락", "찍찍"), ("bee", "꿀벌", "tree", "꽃밭", "붕붕"),
    ("frog", "개구리", "log", "연못", "개굴개굴"), ("goat", "염소", "boat", "언덕", "음매"), ("duck", "오리", "truck", "강", "꽥꽥"),
    ("fox", "여우", "box", "숲", "컹컹"), ("hen", "암탉", "den", "마당", "꼬꼬"), ("bear", "곰", "chair", "산", "으르렁"),
    ("whale", "고래", "pail", "바다", "뿌우"),
)  # fmt: skip
COLOURS = ("red", "blue", "green", "white", "black", "golden")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NAMES = ("Mina", "Tom", "Anna", "Jun", "Ida", "Paul")
NUMBERS = ("One", "two", "three", "four")


def verse(chance: random.Random) -> list[str]:
    """The lines of one verse, of one of four kinds."""
    name, korean, place, home, voice = chance.choice(ANIMALS)
    colour, child = chance.choice(COLOURS), chance.choice(NAMES)
    day = chance.randrange(len(DAYS))
    topic = f"{korean}{'은' if (ord(korean[-1]) - 0xAC00) % 28 else '는'}"  # after a final consonant, or a vowel
    return chance.choice((
        [f"{child} saw a {colour} {name},", f"and where was the {name}?", f"The {colour} {name} was by the {place}."],
        [f"{NUMBERS[0]} {name}, {NUMBERS[1]} and {NUMBERS[2]} and {NUMBERS[3]},", f"sleep by the {place} and want no more."],
        [f"On {DAYS[day]} {child} looked for the {name},", f"on {DAYS[(day + 1) % 7]} {child} found it by the {place}."],
        [f"{topic} 어디에 살까요?", f"{topic} {home}에 살아요.", f"{home}에서 {voice} 하고 울어요."],
    ))  # fmt: skip


def write(path: Path, chance: random.Random, verses: int) -> None:
    lines = [line for _ in range(verses) for line in (*verse(chance), "")]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    print(f"{path}: {len(lines):,} lines, {path.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, metavar="DIR")
    folder = parser.parse_args().output
    chance = random.Random(SEED)
    write(folder / "rhymes.txt", chance, TRAINING_VERSES)
    write(folder / "rhymes-valid.txt", chance, VALIDATION_VERSES)


if __name__ == "__main__":
    main()
