"""Makes moods.tsv, 320 invented one-line reviews in English and Korean: `python -m regard.bundled.make_moods`.

Each is composed of phrases that are in this file. Same script, same output, whatever the machine.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SEED = 6
SPLITS = (
    ("train", 36),
    ("valid", 8),
    ("test", 9),
)  # texts of each label and language, one more of the first two labels' train

SUBJECTS = {
    "en": ["the film", "this café", "our hotel room", "the concert", "the soup", "her new book", "the phone", "the guide",
           "this little museum", "the train ride", "the app", "the second season"],
    "ko": ["이 영화는", "그 카페는", "호텔 방은", "어제 공연은", "국물은", "이 소설은", "새 휴대폰은", "안내원은", "작은 박물관은",
           "기차 여행은", "이 앱은", "두 번째 시즌은"],
}  # fmt: skip
VERDICTS = {
    ("positive", "en"): ["was wonderful", "made me smile", "was better than I had hoped", "is a delight", "was worth every minute",
                         "is charming and warm", "was not bad at all", "exceeded everything I expected"],
    ("negative", "en"): ["was a disappointment", "bored me to tears", "was worse than I had feared", "is a mess",
                         "was a waste of an evening", "is cold and clumsy", "was not good at all", "failed at everything it tried"],
    ("neutral", "en"): ["is on the second floor", "opens again in May", "lasts about two hours", "comes in three colours",
                        "was moved to Tuesday", "has a blue cover", "is listed under travel", "starts at half past seven"],
    ("positive", "ko"): ["정말 훌륭했다", "보는 내내 웃음이 났다", "기대보다 훨씬 좋았다", "사랑스럽고 따뜻하다", "시간이 아깝지 않았다",
                         "두고두고 생각날 것 같다", "전혀 나쁘지 않았다", "모두에게 추천하고 싶다"],
    ("negative", "ko"): ["너무 실망스러웠다", "지루해서 졸음이 왔다", "걱정보다 훨씬 나빴다", "엉성하고 차갑다", "시간이 아까웠다",
                         "다시는 찾고 싶지 않다", "전혀 좋지 않았다", "아무에게도 권하고 싶지 않다"],
    ("neutral", "ko"): ["이 층에 있다", "오월에 다시 문을 연다", "두 시간쯤 걸린다", "세 가지 색이 있다", "화요일로 옮겨졌다",
                        "표지가 파란색이다", "여행 항목에 실려 있다", "일곱 시 반에 시작한다"],
}  # fmt: skip
OPENINGS = {
    "en": ["", "", "honestly, ", "as my sister says, ", "so far, ", "I must say, "],
    "ko": ["", "", "솔직히 ", "동생 말로는 ", "지금까지 ", "아무튼 "],
}
CLOSINGS = {
    "en": [
        ".",
        ".",
        "!",
        ", and we talked about it on the way home.",
        ", as my neighbour noticed.",
        "; that is all I know.",
    ],
    "ko": [
        ".",
        ".",
        "!",
        ". 집에 오는 길에 이야기를 나누었다.",
        ". 이웃도 그렇게 말했다.",
        ". 내가 아는 것은 여기까지다.",
    ],
}


def compose(label: str, language: str, count: int, chance: random.Random) -> list[str]:
    """So many different texts."""
    texts: dict[str, None] = {}  # a dictionary keeps the order, a set does not
    parts = (OPENINGS[language], SUBJECTS[language], VERDICTS[label, language], CLOSINGS[language])
    while len(texts) < count:
        opening, subject, verdict, closing = (chance.choice(each) for each in parts)
        text = f"{opening}{subject} {verdict}{closing}"
        texts[text[0].upper() + text[1:]] = None
    return list(texts)


def rows() -> list[str]:
    """Header and rows, the splits one after another, each shuffled."""
    chance = random.Random(SEED)
    found: dict[str, list[str]] = {name: [] for name, _ in SPLITS}
    for number, (label, language) in enumerate(VERDICTS):
        sizes = {name: size + (name == "train" and number < 2) for name, size in SPLITS}
        texts = iter(compose(label, language, sum(sizes.values()), chance))
        for name, size in sizes.items():
            found[name] += [f"{name}\t{next(texts)}\t{label}" for _ in range(size)]
    for each in found.values():
        chance.shuffle(each)
    return ["split\ttext\tlabel", *(row for each in found.values() for row in each)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("moods.tsv"))
    arguments = parser.parse_args()
    made = rows()
    arguments.output.write_text("".join(f"{row}\n" for row in made), encoding="utf-8", newline="\n")
    print(f"{arguments.output}: {len(made) - 1:,} texts, {arguments.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
