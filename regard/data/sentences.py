"""Text → sentences, by rules that know abbreviations, ordinals and initials; in any language that ends sentences with a mark.

Our own, since no kept library takes hostile text: `sentencex` panics on some Unicode and takes seconds for a page of
opening quotes, `pysbd` rests since 2021, and the others bring models of their own. All that is done here is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from regard.data.placeholders import ENDINGS

CLOSERS = "‟\"'”’“»›)\\]}」』》）】"
CLOSERS_WIDE = CLOSERS.replace("“", "")  # which closes in German, and opens where marks are wide
# A run of marks with the quotes and brackets that close behind it. Nothing here can match in two ways, so it is linear.
END = re.compile(
    # A semicolon behind a Greek letter is a question mark.
    f"(?P<latin>[.!?…‥]+|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e][.!…]*)[{CLOSERS}]*"
    f"|(?P<wide>[。！？｡．؟۔।॥။។։።፧][。！？｡．؟۔।॥။។։።፧.!?…‥]*)[{CLOSERS_WIDE}]*|(?P<lines>\\n\\s*)"
)
SPACE = re.compile(r"\s*")
CLOSING_GUILLEMET = re.compile(r"\s?[»›]+")  # « Bonjour ! » in French
WORD = re.compile(r"[^\s\"'„“”‚‘’«»()\[\]{}¿¡…]+$")
OPENERS = re.compile(r"[\"'„“”‚‘’«»(\[{¿¡—–\-*•\s]*")
NEXT_WORD = re.compile(r"[^\W\d_]+")
GLUED = re.compile(
    r"[^\W\d_]{2,40}(?=[\s,;:!?…'’]|\.(?!\w)|$)"
)  # a word that no name of a file or a function goes on from
WHOLE = re.compile(r"[^\W\d_]+(?:[-!?][^\W\d_]+)*")  # no part of an address
INITIALS = re.compile(r"(?:^|\s)\w\.\s?$")  # the z. of z. B.
SPACED = re.compile(r"(?:(?<!\S)[^\W\d_]{1,3}\.\s?)+$")  # the same, and the EE. of EE. UU.
ADDRESS = re.compile(rf"[@/]|^[Ww]{{3}}\.|[\w-]{{2}}\.(?:{ENDINGS})$")  # has full stops, and is no abbreviation
OF_DATE = re.compile(r"\d{1,2}\.")  # the 24. of 24. 12. 2020
MONTH_AND_YEAR = re.compile(r"(?:0?[1-9]|1[0-2])\.\s?\d{4}(?!\d)")
ROMAN = re.compile(r"[IVXLC]{1,7}$")
IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # Chinese and Japanese, which put no space between sentences
ARABIC = re.compile(r"[\u0620-\u064a]")  # its single letters abbreviate, as in د. أحمد
OF_YEAR = re.compile(r"(?:^|\D)\d{4}\.\s?$")  # before the 5. of 2026. 5. 3.
MONTH_OR_DAY = re.compile(r"\d{1,2}\.")
MEASURED = re.compile(r"\d\s?$")  # before the m of 1,80 m
QUOTED_ON = re.compile(r"と|って|이?라(?:고|며|는)|하(?:고|며|면서) ")  # 「…。」と言った and “…” 하고 go on
WRAPPED = 50  # characters of a line that ends because the page does, not the sentence
LOOK_BACK = 40


@dataclass(frozen=True)
class Rules:
    """What a full stop may stand for in a language, all in lower case."""

    never: frozenset[str]
    """Abbreviations that something follows: a title, a unit's number."""
    maybe: frozenset[str]
    """Abbreviations that may end a sentence; one does if a `starter` follows."""
    closing: frozenset[str]
    """Abbreviations that close a list, and a sentence if a capital letter follows."""
    numbered: frozenset[str]
    """Abbreviations before a number, and words elsewhere: English `No. 5`, and `No.`"""
    starters: frozenset[str]
    """Words that begin many sentences and are no names."""


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _rules(never: str, maybe: str = "", closing: str = "", numbered: str = "", starters: str = "") -> Rules:
    return Rules(*map(_words, (never, maybe, closing, numbered, starters)))


RULES = {
    "en": _rules(
        "mr mrs ms mx dr prof mt messrs rev hon gen maj col sgt cpl pvt capt lt cmdr adm gov sen rep pres supt vs e.g i.e cf viz approx ca",
        "inc ltd co corp bros jr sr esq ft st est dept a.m p.m u.s u.k d.c u.n e.u ph.d b.a m.a ave blvd rd jan feb mar apr jun jul aug sep sept oct nov dec al",
        "etc",
        "no nos fig figs tab p pp para vol ch chap sec sect art eq ext max min",
        "i it he she we you they the a an this that these those there here my your his her our their in on at if when what who"
        " where why how is are was do did does but and so then yes no not please let as after before now",
    ),
    "de": _rules(
        "dr prof hr hrn fr frl nr tel dipl ing med phil jur rer nat univ st str abb bd hrsg aufl vgl ca bzw evtl ggf inkl exkl freundl"
        " zzgl sog geb gest verh z.b d.h u.a z.t i.d.r h.c o.ä u.ä d.j d.ä z.zt z.hd v.a i.a i.allg einschl insb bspw allg mio mrd bzgl betr gem lt fa fam ehem entspr gegr zw dt engl frz lat ital span russ österr schweiz kath ev nördl südl östl westl",
        "jh jan feb apr jun jul aug sept sep okt nov dez min max std sek e.v co sen",
        "usw etc usf u.s.w u.s.f",
        "s art abs kap anm § zif ziff tab bsp",
        "ich du er sie es wir ihr der die das ein eine mein meine dein deine sein seine ihre unser unsere dies diese dieser dieses"
        " dann da dort hier und aber oder wo was wer wie wann warum wenn als nun so ja nein nicht bitte kein keine man jetzt alle"
        " im in am auf es's danach deshalb trotzdem heute morgen gestern",
    ),
    "fr": _rules(
        "mm mme mmes mlle mlles mgr dr prof st ste cf p.ex env tél av bd boul fg ex chap max min",
        "j.-c apr",
        "etc",
        "p pp art vol fig n no",
        "je tu il elle on nous vous ils elles le la les l un une ce c cette ces mon ma mes ton son sa ses et mais ou où qui que quand"
        " comment pourquoi si en dans à ne oui non puis alors",
    ),
    "es": _rules(
        "sr sra srta sres dr dra prof ud uds vd vds dña lic ing av avda pág págs núm tel cap p.ej ee",
        "ee.uu uu a.m p.m",
        "etc",
        "art vol fig n",
        "yo tú él ella nosotros ellos ellas el la los las un una este esta ese esa mi tu su y pero o qué quién cuándo dónde cómo si en"
        " no sí ya hay es luego entonces son ahora vamos",
    ),
    "it": _rules(
        "sig sigg dott dr prof ing avv arch on s pag pagg tel cap es p.es sig.ra dott.ssa", "", "ecc", "art vol fig n",
        "io tu lui lei noi voi loro il lo la i gli le un una questo questa mio mia e ma o che chi quando dove come se non sì no poi",
    ),
    "nl": _rules(
        "dhr mevr mw dr prof ir ing mr drs bijv bv nr blz ca tel st o.a m.a.w d.w.z t.o.v", "", "enz etc", "art",
        "ik jij je hij zij ze het we wij jullie de een dit dat deze die mijn en maar of wat wie waar wanneer waarom hoe als niet ja nee",
    ),
    "pt": _rules(
        "sr sra dr dra prof eng av pág págs núm tel cap p.ex exmo", "", "etc", "art vol fig n",
        "eu tu ele ela nós vós eles elas o a os as um uma este esta isto meu minha e mas ou que quem quando onde como se não sim já",
    ),
    "ru": _rules(
        "г гг ул д кв проф т.е т.к т.н напр см ок им св акад", "руб тыс млн млрд стр", "т.д т.п др", "с п рис гл",
        "я ты он она мы вы они это и но а что кто где куда когда как почему если потом там тут так да нет не мой моя в на",
    ),
    "pl": _rules(
        "np dr prof mgr inż ul al św tzw tj nr godz m.in br", "", "itd itp", "s str art rys",
        "ja ty on ona my wy oni to i ale a co kto gdzie kiedy jak",
    ),
    "cs": _rules(
        "st mr mrs ing mgr bc mudr judr rndr phdr doc prof dr sv č čp tj tzn tzv např mj popř resp cca ul nám tel", "", "atd apod", "str s obr tab odst",
        "já ty on ona my vy oni to ten ta a ale že co kdo kde kam kdy jak proč když pak tam tady ano ne byl byla bylo je můj moje v na",
    ),
    "sv": _rules(
        "dr prof st mr mrs t.ex bl.a d.v.s dvs s.k ca tel", "", "osv etc m.m m.fl", "kl nr sid kap st", "jag du han hon den det vi ni de en ett och men vad vem var när hur om nu då ja nej"
    ),
    "el": _rules("κ κα κος δρ καθ π.χ δηλ βλ αρ τηλ οδ αγ", "π.μ μ.μ", "κ.λπ κλπ κ.ά κ.ο.κ", "σελ κεφ άρθ", "εγώ εσύ αυτός αυτή αυτό εμείς εσείς ο η το οι τα και αλλά τι ποιος πού πότε πώς γιατί αν ναι όχι μετά"),
    "hi": _rules("डॉ श्री प्रो पं रु ए बी डी एफ एच जे एल एम एन पी आर टी वी"),
}  # fmt: skip
# Of any other language only what many share: a sentence that is not cut off may be lost, a wrong cut is only clumsy.
ANY = _rules("dr prof mr mrs ms st vs", "", "etc", "no nr fig vol art p pp", "i it he she we they the this that")

# Languages in which 3. is "third", and what says that it is, where the next word has a capital letter either way.
ORDINALS = {
    "de",
    "da",
    "nb",
    "nn",
    "no",
    "fi",
    "et",
    "lv",
    "lt",
    "cs",
    "sk",
    "sl",
    "hr",
    "sr",
    "bs",
    "hu",
    "tr",
    "is",
    "pl",
}
BEFORE_ORDINAL = _words(
    "am der die das dem den des im in vom zum zur bis ab seit beim ein eine einen einem einer sein seine seinen seinem seiner"
    " ihr ihre ihren ihrem ihrer mein meine meinen meinem meiner unser unsere unseren und jeder jede jedes jeden jedem"
)
AFTER_ORDINAL = _words(
    "januar jänner februar feber märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts"
    " stock stockwerk etage klasse platz kapitel mal tag woche geburtstag weltkrieg auflage band semester runde liga reihe"
)
NAMES = {
    "english": "en", "eng": "en", "german": "de", "deutsch": "de", "deu": "de", "ger": "de", "french": "fr", "fra": "fr",
    "fre": "fr", "spanish": "es", "spa": "es", "italian": "it", "ita": "it", "dutch": "nl", "nld": "nl", "portuguese": "pt",
    "por": "pt", "russian": "ru", "rus": "ru", "polish": "pl", "pol": "pl", "korean": "ko", "kor": "ko",
    "japanese": "ja", "jpn": "ja", "chinese": "zh", "zho": "zh", "cmn": "zh",
}  # fmt: skip


NO_SPACES = {"zh", "zho", "chi", "cmn", "yue", "chinese", "mandarin", "cantonese", "ja", "jpn", "japanese"}


def space_between(language: str) -> str:
    """What stands between two sentences of a language, which is given as a code or by its name."""
    return "" if re.split(r"[-_ ]", language.lower())[0] in NO_SPACES else " "


def split_sentences(text: str, language: str = "") -> list[str]:
    """Sentences that together are the text: white space stays at the end of the sentence that it follows.

    `language` is a code such as `de`, `de-AT` or a name in English; any other is split by what languages share.
    """
    code = _code_of(language)
    cased = text.upper() != text.lower()
    lower = cased and text == text.lower()  # somebody who writes no capitals at all
    cuts = [0]
    for mark in END.finditer(text):
        end = SPACE.match(text, mark.end()).end()  # type: ignore[union-attr]  # it always matches
        if mark.start() >= cuts[-1] and end < len(text) and (found := _boundary(text, mark, end, code, lower)):
            cuts.append(found)
    return [text[begin:end] for begin, end in pairwise([*cuts, len(text)]) if begin < end]


def rules_of(language: str) -> dict[str, Any]:
    """All that `split_sentences` knows of a language, as plain JSON values: for a page that splits as it does."""
    code = _code_of(language)
    rules = {name: sorted(words) for name, words in vars(RULES.get(code, ANY)).items()}
    ordinals = {"before_ordinal": sorted(BEFORE_ORDINAL), "after_ordinal": sorted(AFTER_ORDINAL)}
    return {"code": code, **rules, "ordinals": code in ORDINALS, **ordinals}


def _code_of(language: str) -> str:
    code = language.lower().replace("_", "-").partition("-")[0]
    return NAMES.get(code, code)


def _boundary(text: str, mark: re.Match[str], end: int, code: str, lower: bool) -> int:
    """Where the next sentence begins, behind the white space at `end`; 0 if it does not."""
    if mark["lines"] is not None:
        return end if _new_line(text, mark, end) else 0
    bare = mark.end() == mark.end("latin") if mark["latin"] else False
    if mark["wide"] is not None:
        if mark["wide"] == "．" and text[mark.start() - 1 : mark.start()].isdecimal():
            return 0  # ３．５
        return 0 if QUOTED_ON.match(text, end) and mark.end() > mark.end("wide") else end
    if mark.end() > mark.end("latin") and QUOTED_ON.match(text, end):
        return 0
    if end == mark.end():  # no space behind it
        return end if bare and _ends_without_space(text, mark, code) else 0
    if code != "de" and (closing := CLOSING_GUILLEMET.match(text, mark.end())):
        bare, end = False, SPACE.match(text, closing.end()).end()  # type: ignore[union-attr]
        if end == len(text):
            return 0
    begin = OPENERS.match(text, end, end + LOOK_BACK).end()  # type: ignore[union-attr]
    follows = text[begin : begin + 1]
    stop = mark["latin"]
    if follows.islower() and not lower:
        return end if bare and stop[-1] in "!?;\u037e" else 0
    return end if stop != "." or _ends(text, mark.start(), end, code) else 0


def _ends(text: str, stop: int, end: int, code: str) -> bool:
    """Whether a single full stop ends the sentence, though a capital letter, a number or a script without case follows."""
    rules = RULES.get(code, ANY)
    before = text[max(0, stop - LOOK_BACK) : stop]
    found = WORD.search(before)
    if found is None:
        return True
    word, ahead = found[0], text[end : end + LOOK_BACK]
    following = NEXT_WORD.match(ahead, OPENERS.match(ahead).end())  # type: ignore[union-attr]
    next_word = following[0].lower() if following else ""
    starts = next_word in rules.starters
    name = _spelled_out(word, before[: found.start()], rules)
    if len(name) == 1 and word.upper() != word.lower():
        if code == "en" and word == "I":
            return True
        ahead_of = before[: found.start()]
        return starts and (MEASURED.search(ahead_of) is not None if word.islower() else not INITIALS.search(ahead_of))
    if ARABIC.fullmatch(word):
        return False
    if ahead[:1].isdigit() and (name in rules.numbered or (code == "de" and name.endswith("str"))):  # Hauptstr. 5
        return False
    if name in rules.never:
        return False
    if name in rules.closing:
        return starts or (following is not None and following[0][0].isupper())
    dotted = "." in word and not any(map(str.isdecimal, word)) and not ADDRESS.search(word)
    if name in rules.maybe or dotted or (len(word) > 1 and ROMAN.match(word)):
        return starts
    if word.isdecimal() and len(word) <= 4:
        return _number_ends(word, before[: found.start()], ahead, next_word, starts, code)
    return True


def _spelled_out(word: str, before: str, rules: Rules) -> str:
    """An abbreviation as the lists have it: `z.b` for the B of z. B."""
    spaced = SPACED.search(before)
    whole = re.sub(r"\s", "", spaced[0] + word if spaced else word).lower()
    return whole if whole in rules.never | rules.maybe | rules.closing else word.lower()


def _ends_without_space(text: str, mark: re.Match[str], code: str) -> bool:
    """Hangul is often written so, 했어요.그래서; and the space may be forgotten: Hunger.Wo bist du? Behind a full stop only a word that
    begins many sentences tells, since Node.Js, threading.Thread and Amazon.De are names; behind other marks any capitalised word."""
    last, ahead = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + LOOK_BACK]
    if _is_hangul(last) and _is_hangul(ahead[:1]):
        return True
    if IDEOGRAPHS.match(last) and IDEOGRAPHS.match(ahead):
        return mark["latin"] == "." or mark["latin"][-1] in "!?"
    word, following = WORD.search(text[max(0, mark.start() - LOOK_BACK) : mark.start()]), GLUED.match(ahead)
    if not last.islower() or word is None or not WHOLE.fullmatch(word[0]) or following is None:
        return False
    if not (following[0][0].isupper() and following[0][1:].islower()):
        return False
    if "." not in mark["latin"]:
        return True
    starts = following[0].lower() in RULES.get(code, ANY).starters
    return mark["latin"] == "." and starts and _ends(text, mark.start(), mark.end(), code)


def _number_ends(word: str, before: str, ahead: str, next_word: str, starts: bool, code: str) -> bool:
    """Whether `25.` ends a sentence rather than numbering a list's item, or being an ordinal or a part of a date."""
    if MONTH_OR_DAY.match(ahead) and (len(word) == 4 or OF_YEAR.search(before)):
        return False  # 2026. 5. 3.
    if code in ORDINALS and MONTH_AND_YEAR.match(ahead):
        return False  # 3. 5. 2026
    if len(word) > 3:
        return True
    if code == "ko" and len(word) < 3:
        return False  # the 3. of 2026. 5. 3. 에: no Korean sentence ends with a number alone
    if not before.strip(" \t") or before.rstrip(" \t").endswith("\n"):
        return False
    if code not in ORDINALS:
        return True
    last = before.split()[-1].lower()
    if OF_DATE.fullmatch(last) and not next_word:
        return False
    return not (next_word in AFTER_ORDINAL or (last in BEFORE_ORDINAL and not starts))


def _new_line(text: str, mark: re.Match[str], end: int) -> bool:
    """Whether a line break ends a sentence without a mark: always at a blank line, never where the line is only wrapped."""
    if mark["lines"].count("\n") > 1:
        return True
    begin = max(0, mark.start() - WRAPPED)
    short = begin == 0 or text.find("\n", begin, mark.start()) >= 0
    return short and not text[end].islower()


def _is_hangul(character: str) -> bool:
    return "가" <= character <= "힣"
