"""Lines that a tokenizer finds hard: every script, combining marks, emoji, control characters, odd spaces, and all of them mixed."""

from __future__ import annotations

import random

ALPHABETS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäöüßéñçåøœæABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜẞ",
    "digits": "0123456789٠١٢٣४५६０１２①②③½¾²³₂Ⅷ㎏㎜",
    "punctuation": ".,;:!?…–—-'\"„“”‚‘’«»‹›()[]{}<>/\\|@#$%^&*_+=~`§°©®™¶•·€£¥₩",
    "spaces": " \t\u00a0\u2000\u2003\u2009\u200a\u202f\u205f\u3000\u1680\u0085",
    "zero width": "\u200b\u200c\u200d\u2060\ufeff\u00ad\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
    "control": "".join(map(chr, [*range(1, 32), 127, *range(128, 160)])),
    "combining": "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0328\u0338\u0345\u20d0\u20dd\u0483\u0e31\u093c",
    "hangul": "가각간갇갈감갑값강갖같거건걸것게결고곡과관구국그글기길김나난날남내너넣네녕노높누는다단달대더데도독되두드들딱때또라람랑래려로를리마말맞매먼며모무문물미바받발방배버번베변별보부분불비사산살상새생서선성세소속수순스시식신실아안알았야어언없에여역연영예오와왜요우운울원위유으은을음의이인일있자작장재저적전정제조주중지진집차참책처천첫초추축출카커코크큰타태터토통트파편평포표하한할함해행현형호화환활회후히",
    "jamo": "".join(map(chr, [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3), *range(0x3131, 0x318F)])),
    "cjk": "日本語漢字仮名中文简体繁體字符你好世界。、「」『』・ｱｲｳｴｵﾞﾟがぎぐげごパピプペポヴー々〆㍿㌔",
    "others": "абвгдеёжзийклмнопрстухцчшщъыьэюяΑΒΓΔαβγδεςσאבגדהابتثجحخ॥नमस्तेกขคงไทยქართულიԱԲԳአማርኛ",
    "compatibility": "ﬁﬂﬀﬃﬄĳŀŉǆǇ℀℃℉ℓ№℠℡ΩK㈜㈠㋀㌀㎡ﷺﷲﬆ𝐀𝑨𝒜𝔄𝟘𝟙ᵃᵇⁿ⁵ₐ",
    "emoji": "😀😂❤️👍🏽👩‍👩‍👧‍👦🇰🇷🇩🇪🏳️‍🌈☃⌚️1️⃣#️⃣🧑🏿‍🚀",
    "beyond": "".join(map(chr, [0x10330, 0x10FFFD, 0x1F9FF, 0x20000, 0x2A6DF, 0xE0001, 0xE007F, 0xFFFD, 0xFFFE, 0xFFFF, 0xE000, 0xF8FF])),
    "signs": "▁▁<s></s><unk><pad><0x41>⁇",
}  # fmt: skip
WORDS = (  # noqa: SIM905
    "ich du der die das und nicht Haus Straße Mädchen fußgängerübergang Donaudampfschifffahrt schön größer 3,14 1.000.000 z.B. "
    "the quick brown fox don't we're naïve café résumé coöperate Zürich http://beispiel.de/?a=b&c=d name@firma.example "
    "안녕하세요 고맙습니다 트랜스포머 어텐션 привет мир 東京 مرحبا שלום"
).split(" ")


def hostile_lines(count: int, seed: int = 20) -> list[str]:
    """The same lines each time; none holds a line feed or half a surrogate pair."""
    draw = random.Random(seed)
    names = list(ALPHABETS)

    def run() -> str:
        letters = ALPHABETS[draw.choice(names)]
        return "".join(draw.choice(letters) for _ in range(draw.randint(1, 8)))

    def anything() -> str:
        code = draw.choice(
            (draw.randrange(0x20, 0x3000), draw.randrange(0x3000, 0xD800), draw.randrange(0xE000, 0x30000))
        )
        return chr(code)

    def piece() -> str:
        kind = draw.random()
        if kind < 0.35:
            return draw.choice(WORDS)
        if kind < 0.75:
            return run()
        if kind < 0.9:
            return "".join(anything() for _ in range(draw.randint(1, 6)))
        return draw.choice(ALPHABETS["combining"]) * draw.randint(1, 5)

    def line() -> str:
        glue = draw.choice((" ", " ", " ", "", "  ", "\u3000", "\u00a0 ", "\t"))
        return (glue.join(piece() for _ in range(draw.randint(0, 14)))).replace("\n", " ").replace("\r", " ")

    fixed = [
        "",
        " ",
        "   ",
        "\u3000",
        "▁",
        "a" * 300,
        "ä" * 200,
        "\u0301",
        "e\u0301",
        "\u200b",
        " a ",
        "\ufeffBOM",
        "가" * 50,
        "\u1112\u1161\u11ab",
    ]
    return [*fixed, *(line() for _ in range(count - len(fixed)))]
