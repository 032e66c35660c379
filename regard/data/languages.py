"""A cheap guess which of two languages a sentence is of: by its letters, else by words that are in every other sentence.

Not a language identifier: it is only asked whether two columns changed places, and may say that it cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.data.sentences import NAMES

HANGUL, KANA, HAN = "가-힣ㄱ-ㅎㅏ-ㅣ", "぀-ヿ", "一-鿿㐀-䶿"
LETTERS = {
    "ko": HANGUL, "ja": KANA + HAN, "zh": HAN, "ru": "Ѐ-ӿ", "uk": "Ѐ-ӿ", "bg": "Ѐ-ӿ", "sr": "Ѐ-ӿ", "mk": "Ѐ-ӿ", "be": "Ѐ-ӿ",
    "kk": "Ѐ-ӿ", "el": "Ͱ-Ͽἀ-῿", "ar": "؀-ۿ", "fa": "؀-ۿ", "ur": "؀-ۿ", "he": "֐-׿", "hi": "ऀ-ॿ", "mr": "ऀ-ॿ", "ne": "ऀ-ॿ",
    "bn": "ঀ-৿", "ta": "஀-௿", "te": "ఀ-౿", "th": "฀-๿", "ka": "Ⴀ-ჿ", "hy": "԰-֏", "my": "က-႟", "km": "ក-៿", "am": "ሀ-፿",
}  # fmt: skip
"""Of languages that have letters of their own; all others are taken to have Latin ones."""
LATIN = "A-Za-zÀ-ɏḀ-ỿ"
FREQUENT = {
    "en": "the of and to in is that it was for you are with he she have not be this on at we they his her my what do i'm don't were been a an from",
    "de": "der die das und ist nicht ich sie ein eine zu den mit es wir auf dass er du dem auch von hat sich wie für war im einen haben sind mein bei",
    "fr": "le la les et est de des un une je ne pas que vous il elle dans pour qui ce cette nous au sur avec mon ma du en c'est plus sont était",
    "es": "el la los las y es de un una no que en por se con para lo mi su está del al como qué yo muy más son fue ha",
    "it": "il lo la i gli le e è di un una non che per con mi si sono del della nel come ho ha questo era più alla dei",
    "pt": "o a os as e é de um uma não que em para com eu se do da no na por mais ele ela você está foi como dos são",
    "nl": "de het een en is niet ik van dat je te zijn hij ze op voor met we aan er wat heb naar heeft ook maar mijn was bij",
    "sv": "och att det är jag en ett inte på som han hon för med du har den av var till vi om så men kan min de",
    "da": "og at det er jeg en et ikke på som han hun for med du har den af var til vi om så men kan min de der",
    "no": "og å det er jeg en et ikke på som han hun for med du har den av var til vi om så men kan min de",
    "fi": "ja on ei se että hän minä en oli mutta ovat olen kun niin mitä tämä ole sen voi minun joka sinä he",
    "pl": "i w nie na się jest to z że do jak co ten jestem są ma był o tego ale po czy mnie był dla",
    "cs": "a se je na v že to s jsem z do ale jak o tak by co si není jsi byl už pro má",
    "hu": "a az és nem hogy van egy is ez azt meg de én volt csak ha mint még ő nagyon",
    "ro": "și de la în nu este un o că a mai cu pe să am din pentru ce el ea sunt care",
    "tr": "bir ve bu da de için ne çok o ben değil var mi daha gibi ile sen ama kadar bana",
    "id": "yang dan di itu tidak ini saya dengan untuk dia adalah ke dari akan ada kamu dalam pada kami bisa",
    "vi": "là và của tôi không có một anh cô được cho trong những đã này người với bạn ở khi",
}
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def code_of(language: str) -> str:
    """`de`, `de-AT`, `German` and `deutsch` are all `de`."""
    name = re.split(r"[-_ ]", language.lower())[0]
    return NAMES.get(name, name)


def letters_of(language: str) -> str:
    """The letters that a language is written in, as a range of characters; empty if nobody knows."""
    code = code_of(language)
    return LETTERS.get(code, LATIN if code in FREQUENT else "")


def weight_of(letters: str) -> int:
    """A name in Latin letters is longer than what stands around it in most others."""
    return 1 if letters == LATIN else 3


def by_letters(text: str, languages: Sequence[str]) -> int:
    """Of languages the first in whose letters most of a text is written; the first of all if it has none of theirs."""
    letters = list(map(letters_of, languages))
    counts = [len(re.findall(f"[{each}]", text)) * weight_of(each) if each else 0 for each in letters]
    return counts.index(max(counts))


class TwoLanguages:
    """Tells two languages apart, if they differ in their letters or their most frequent words are known."""

    def __init__(self, one: str, other: str) -> None:
        codes = code_of(one), code_of(other)
        scripts = list(map(letters_of, codes))
        self.by_letters = all(scripts) and scripts[0] != scripts[1]
        words = [set(FREQUENT.get(code, "").split()) for code in codes]
        self.known = codes[0] != codes[1] and (self.by_letters or all(words))
        """Whether there is anything to tell by."""
        if set(codes) == {"ja", "zh"}:
            scripts[0 if codes[0] == "ja" else 1] = KANA  # Japanese has Chinese characters, too
        self._letters = [(re.compile(f"[{each}]"), weight_of(each)) for each in scripts] if self.by_letters else []
        self._words = [words[0] - words[1], words[1] - words[0]]

    def tell(self, text: str) -> int:
        """0 if it is rather of the first, 1 if of the second, -1 if nobody knows."""
        if self.by_letters:
            counts = [len(letters.findall(text)) * weight for letters, weight in self._letters]
        else:
            words = WORD.findall(text.lower())
            counts = [sum(word in known for word in words) for known in self._words]
        return -1 if counts[0] == counts[1] else int(counts[1] > counts[0])
