"""Where sentences end: abbreviations, ordinals, initials, quotes, scripts, and text that means harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.pairs import sentences_per_line
from regard.data.sentences import RULES, split_sentences

# A bar is where the text must be cut.
EXAMPLES = {
    "de": [
        "Wir trafen uns am 24. 12. 2020. |Es schneite.",
        "Siehe https://www.example.org/a?b=c. |Danke!",
        "Schreib an max@web.de. |Danke!",
        "Ich habe Hunger. |Wo ist der Bahnhof? |Mein Bruder wohnt in Berlin.",
        "Dr. Müller kommt am 3. Mai, z. B. mit dem Zug.",
        "Das kostet 3.50 Euro. |Gut!",
        "Er sagte: „Komm her.“ |Dann ging er.",
        "Am 24. Dezember feiern wir. |Die Nr. 5 lebt.",
        "Prof. Dr. h.c. Schmidt sprach. |Alle klatschten.",
        "J. S. Bach war Komponist. |Er lebte in Leipzig.",
        "Ich bin 25. |Mein Bruder ist 30. |Am 3. Mai kommt er.",
        "Der 2. Weltkrieg endete 1945. |Dann kam Frieden.",
        "Ich wohne in der Hauptstr. 5. |Kommst du?",
        "Sie kam um 10 Uhr, d. h. Sie müssen warten.",
        "Ludwig XIV. war König. |Er lebte lange.",
        "„Wirklich?“, fragte er. |„Ja.“ |Sie ging.",
        "„Halt!“ rief er.",
        "Das kostet 3 Mio. Euro. |Teuer!",
        "ich habe hunger. |wo ist der bahnhof?",
        "Was?! |Wirklich... |Ja.",
        "1. Einleitung",
        "Wir kauften Brot, Milch usw. |Dann gingen wir.",
        "Ich habe Hunger.|Wo bist du?|Hier!|Komm doch.|Ja, jetzt!",
        "Ich mag Node.Js und z.B.Ein Buch von Dr.Müller, Amazon.De, Index.Html?Wo=Da, www.Das.De, 3.Mai, Yahoo!.",
        "Er ist 1,80 m groß. |Sie ist 1,70 m. |Ich bin kleiner.",
        "Siehe Abb. 3 und Tab. 4. |Das gilt gem. § 5 Abs. 2 S. 1 BGB. |Andere nicht.",
        "Das dt. Wort ist alt. |Frau Dr. med. Weber, geb. Klein, sagt u. a. nein.",
        "Mo. bis Fr. geöffnet. |Sie lebte ca. 300 v. Chr. in Rom.",
        "Die Müller & Co. KG ist pleite. |Max. 5 Personen.",
        "z. Hd. Herrn Meier, am 24. 12. 2020. |Wir brauchen Milch usw. |Kaufst du sie?",
        "Wir kamen 12. 3. 1980 an, i. d. R. Er und ich. |Ich las main.py und web.de. |Bücher sind gut.",
        "Es gab Brot usw. und Käse. |Mit freundl. Grüßen",
    ],
    "en": [
        "Mr. Smith went to Washington D.C. yesterday. |He came back.",
        "I live in the U.S. |It is nice.",
        "The U.S. President spoke.",
        'He said "Stop." |Then he left.',
        "No. |I don't.",
        "I am hungry.|Where are you?|It's late.|The class threading.Thread, not collections.The_Counter or this.That()",
        "See No. 5. |It is good.",
        "So do I. |He left.",
        "At 5 p.m. we left. |It rained.",
        "It costs $3.50. |OK?",
        '"But why?" asked the man.',
        "Acme Corp. vs. Smith Bros. Ltd. was decided. |They appealed.",
        "Sect. 5, pp. 10–12, by K. Lee et al. in 1999. |It is old.",
        "She's 5 ft. 2 in. tall. |He is 6 ft. |They met Maj. Brown.",
        "The file is main.py. |Open it. |He lives at 5 Main St. |He is nice. |St. Mary is in Paris, Max. 6.",
        "We had tea, milk, etc. |Tom was late, e. g. Monday.",
        "She has a B.Sc. from M.I.T. in physics. |(This is one.) |This is two.",
    ],
    "fr": [
        "« Bonjour ! » dit-il. |Elle sourit.",
        "Mmes. Martin et Curie, 5, av. Foch, vers 50 av. J.-C. |Elles parlèrent.",
        "M. Dupont est là. |Il dit « Bonjour ! » |Puis il part.",
    ],
    "ko": [
        "저는 배가 고파요. |역이 어디예요? |제 동생은 베를린에 살아요.",
        "값은 3.5달러입니다. |좋아요!",
        "갔어요.|그래서 왔어요. |네. |알겠습니다.",
        "“가자.”라고 말했다. |끝.",
        "“가자.” 하고 말했다. |“정말?” 이라고 물었다. |“응.” |이라크는 멀다.",
        "2026. 5. 3. 에 만났습니다. |11. 18.에 또 봅니다. |좋아요.",
        "준비물: 1. 연필 2. 지우개. |감사합니다.",
    ],
    "ja": [
        "お腹が空いた。|駅はどこですか？|弟はベルリンに住んでいる。",
        "「行こう。」と言った。|彼は去った。",
        "えっ？!|３．５円です．|高い。",
    ],
    "zh": [
        "我饿了。|车站在哪里？|我弟弟住在柏林。",
        "太贵了！|“真的吗？”|他问。",
        "你好!|我是小明.|你呢?|价格是3.5元。",
        "他说：“我来了。”|走了。",
    ],
    "ar": ["قال د. أحمد نعم. |ثم ذهب.", "أنا جائع. |أين المحطة؟ |أخي يعيش في برلين.", "ماذا؟! |نعم!"],
    "es": [
        "Los EE. UU. son grandes. |Son las 5 p. m. |Vamos.",
        "El Sr. García, etc. |¿Qué tal? |Los EE.UU. |Ellos no.",
    ],
    "ru": [
        "Это стоит 5 руб. |Это дёшево. |Ок. 5 человек, и т. д. |Он ушёл.",
        "А. С. Пушкин, г. Москва, т. е. Россия. |Да.",
    ],
    "cs": [
        "Ing. Novák a Mgr. Nová přišli. |Narodil se 12. 3. 1980. |Viz str. 5, sv. Jana, 3. května.",
        "Karel IV. byl král. |Jablka atd. |Pak odešel.",
    ],
    "sv": ["Kl. 8 börjar det, t.ex. Imorgon. |Kom."],
    "el": [
        "Πεινάω. |Πού είναι ο σταθμός; |Τι; |Ο κ. Νίκος μένει στο Βερολίνο, π. χ. Σήμερα.",
        "Μήλα κ.λπ. |Μετά έφυγε. |Έχω μήλα· έχεις αχλάδια. |«Πού;» ρώτησε.",
    ],
    "my": ["ကျွန်တော် ဗိုက်ဆာတယ်။ |ဘူတာ ဘယ်မှာလဲ။"],
    "hu": ["Ma 2026. 5. 3. van. |Jó."],
    "hi": ["मुझे भूख लगी है। |स्टेशन कहाँ है?", "डॉ. शर्मा ने रु. 500 दिए. |श्री ए. पी. सिंह आए।"],
    "source": ["One two. |Three four.", "Dr. Who is here. |Yes."],
}


@pytest.mark.parametrize(("language", "text"), [(name, each) for name, all_of in EXAMPLES.items() for each in all_of])
def test_sentences_end_where_a_reader_ends_them(language: str, text: str) -> None:
    assert split_sentences(text.replace("|", ""), language) == text.split("|")


@pytest.mark.parametrize("name", ["de", "DE", "de-AT", "de_DE", "German", "deu"])
def test_a_language_has_many_names(name: str) -> None:
    assert split_sentences("Am 3. Mai kam er. Gut.", name) == ["Am 3. Mai kam er. ", "Gut."]


def test_lines() -> None:
    """A blank line and a short line end a sentence; a line that is only wrapped does not."""
    assert split_sentences("Title\n\nText without an end\n- one\n- two", "en") == [
        "Title\n\n", "Text without an end\n", "- one\n", "- two"
    ]  # fmt: skip
    wrapped = "This line is so long that whoever wrote it had to break it\nHere, and went on.\nNext line."
    assert split_sentences(wrapped, "en") == [wrapped[: wrapped.index("Next")], "Next line."]
    assert split_sentences("short but\nwrapped", "en") == ["short but\nwrapped"]


@given(
    st.text(st.sampled_from('aB .!?。\n"„“«»()1é한\u200b\u3000…\r\t\ud800z')), st.sampled_from([*RULES, "ko", "", "xx"])
)
def test_together_they_are_the_text(text: str, language: str) -> None:
    sentences = split_sentences(text, language)
    assert "".join(sentences) == text
    assert all(sentences)


@pytest.mark.parametrize("unit", [".", ". ", "„", "« a. ", '"a. ', "z. B. ", "\n", " ", " \n", "1. ", "a\n", '."'])
def test_hostile_text_takes_time_in_proportion(unit: str) -> None:
    """Anything quadratic takes many minutes here, and the test's time limit ends it."""
    text = unit * (50_000 // len(unit))
    assert "".join(split_sentences(text, "de")) == text


def test_how_many_sentences_a_line_has() -> None:
    one, two, three = "Ja.", "Ja. Nein.", "Ja. Nein. Doch."
    assert sentences_per_line([], "de") == 1
    assert sentences_per_line([one] * 95 + [two] * 5, "de") == 1
    assert sentences_per_line([one] * 80 + [three] * 20, "de") == 3
    assert sentences_per_line([one] * 80 + [two] * 10 + [three] * 10, "de") == 3
    assert sentences_per_line(["", one], "de") == 1
