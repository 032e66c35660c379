"""What somebody types into `demo` in the first minute, and what would do as an answer.

    python -m tests.bundled.first_minute [MODEL]

An answer counts if it is one of those given, whatever its case, contractions and punctuation. Sixty sentences, ten of each kind.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import regard

Sentences = Mapping[str, Mapping[str, tuple[str, ...]]]

SENTENCES: Sentences = {
    "greetings": {
        "Guten Tag.": ("Good day.", "Hello.", "Good afternoon.", "Good morning."),
        "Guten Morgen!": ("Good morning!",),
        "Guten Abend.": ("Good evening.",),
        "Gute Nacht!": ("Good night!",),
        "Hallo!": ("Hello!", "Hi!", "Hey!"),
        "Auf Wiedersehen.": ("Goodbye.", "Good bye.", "Bye.", "See you again.", "See you."),
        "Wie geht es dir?": ("How are you?", "How are you doing?"),
        "Danke schön.": ("Thank you.", "Thank you very much.", "Thanks.", "Thanks a lot.", "Thanks very much.", "Thank you so much."),
        "Vielen Dank für deine Hilfe.": (
            "Thank you for your help.", "Thank you very much for your help.", "Thanks for your help.", "Thanks a lot for your help.",
            "Thank you so much for your help.", "Many thanks for your help.",
        ),
        "Es tut mir leid.": ("I am sorry.", "Sorry."),
    },
    "names": {
        "Ich heiße Anna.": ("My name is Anna.", "I am Anna.", "I am called Anna."),
        "Mein Name ist Müller.": ("My name is Müller.", "My name's Müller.", "My name is Mueller."),
        "Peter wohnt in Berlin.": ("Peter lives in Berlin.",),
        "Kennst du Herrn Schmidt?": ("Do you know Mr. Schmidt?", "Do you know Mr Schmidt?"),
        "Mein Bruder heißt Jonas.": ("My brother's name is Jonas.", "My brother is called Jonas.", "My brother is Jonas."),
        "Maria kommt aus Spanien.": ("Maria comes from Spain.", "Maria is from Spain."),
        "Frau Weber ist meine Lehrerin.": (
            "Mrs. Weber is my teacher.", "Ms. Weber is my teacher.", "Miss Weber is my teacher.", "Mrs Weber is my teacher.",
        ),
        "Wo ist Thomas?": ("Where is Thomas?",),
        "Sabine und Klaus sind verheiratet.": ("Sabine and Klaus are married.", "Sabine and Klaus are married to each other."),
        "Wir fliegen nach New York.": (
            "We are flying to New York.", "We fly to New York.", "We will fly to New York.", "We are going to New York.",
        ),
    },
    "times and prices": {
        "Es ist 8:45 Uhr.": ("It is 8:45.", "It is 8:45 a.m.", "It is 8:45 o'clock.", "It is a quarter to nine."),
        "Der Zug fährt um 17:30 Uhr.": (
            "The train leaves at 17:30.", "The train leaves at 5:30 p.m.", "The train leaves at 5:30.", "The train departs at 17:30.",
            "The train goes at 17:30.", "The train is leaving at 17:30.", "The train runs at 17:30.", "The train will leave at 17:30.",
        ),
        "Wie spät ist es?": ("What time is it?", "What is the time?", "How late is it?"),
        "Das kostet 12 Euro.": ("That costs 12 euros.", "It costs 12 euros.", "This costs 12 euros.", "That is 12 euros.", "That costs 12 euro.", "That will cost 12 euros."),
        "Ich habe 250 Euro bezahlt.": ("I paid 250 euros.", "I have paid 250 euros.", "I paid 250 euro."),
        "Er wurde 1985 geboren.": ("He was born in 1985.",),
        "Ich bin 30 Jahre alt.": ("I am 30 years old.", "I am 30.", "I am thirty years old."),
        "Wir treffen uns um drei Uhr.": (
            "We will meet at three o'clock.", "We meet at three o'clock.", "We are meeting at three o'clock.", "We will meet at three.",
            "We meet at three.", "We are meeting at three.", "Let us meet at three o'clock.", "Let us meet at three.",
        ),
        "Die Karte kostet 9,50 Euro.": ("The ticket costs 9.50 euros.", "The card costs 9.50 euros.", "The map costs 9.50 euros.", "The ticket costs 9,50 euros.", "The card costs 9,50 euros.", "The map costs 9,50 euros."),
        "Heute ist der 3. Mai.": ("Today is May 3rd.", "Today is May 3.", "Today is the 3rd of May.", "Today is the third of May.", "Today is 3 May.", "It is May 3rd today.", "Today is May third."),
    },
    "all capitals": {
        "ICH HABE HUNGER": ("I am hungry",),
        "WO IST DER BAHNHOF?": ("Where is the station?", "Where is the train station?", "Where is the railway station?"),
        "HILFE!": ("Help!",),
        "DAS IST MEIN HAUS.": ("This is my house.", "That is my house.", "It is my house."),
        "ICH LIEBE DICH": ("I love you",),
        "GUTEN MORGEN": ("Good morning",),
        "BITTE NICHT RAUCHEN": ("Please do not smoke", "Do not smoke, please", "No smoking, please", "No smoking please", "Please do not smoke here"),
        "WIE HEISST DU?": ("What is your name?", "What are you called?"),
        "DER HUND SCHLÄFT.": ("The dog is sleeping.", "The dog sleeps.", "The dog is asleep."),
        "VORSICHT!": ("Be careful!", "Watch out!", "Careful!", "Look out!", "Caution!", "Attention!", "Beware!"),
    },
    "no punctuation": {
        "Guten Tag": ("Good day", "Hello", "Good afternoon", "Good morning"),
        "ich habe hunger": ("I am hungry",),
        "wo ist der bahnhof": ("Where is the station", "Where is the train station", "Where is the railway station"),
        "Ich verstehe nicht": ("I do not understand", "I do not get it", "I do not understand it"),
        "wie heißt du": ("What is your name", "What are you called"),
        "Das Wetter ist schön": ("The weather is nice", "The weather is beautiful", "The weather is fine", "The weather is good", "The weather is lovely"),
        "danke": ("Thank you", "Thanks"),
        "ich spreche kein deutsch": ("I do not speak German", "I cannot speak German", "I speak no German"),
        "Kann ich dir helfen": ("Can I help you", "May I help you"),
        "bis morgen": ("See you tomorrow", "Until tomorrow", "Till tomorrow"),
    },
    "two sentences": {
        "Ich habe Hunger. Wo ist die Küche?": ("I am hungry. Where is the kitchen?",),
        "Guten Morgen! Wie geht es Ihnen?": ("Good morning! How are you?", "Good morning! How are you doing?"),
        "Es regnet. Nimm einen Schirm mit.": (
            "It is raining. Take an umbrella.", "It is raining. Take an umbrella with you.", "It is raining. Bring an umbrella.",
            "It is raining. Take along an umbrella.", "It is raining. Take an umbrella along.", "It rains. Take an umbrella with you.",
            "It rains. Take an umbrella.", "It is raining. Bring an umbrella with you.",
        ),
        "Mein Bruder ist krank. Er bleibt zu Hause.": (
            "My brother is sick. He stays at home.", "My brother is sick. He is staying at home.", "My brother is ill. He is staying at home.",
            "My brother is ill. He stays at home.", "My brother is sick. He is staying home.", "My brother is sick. He stays home.",
            "My brother is sick. He will stay at home.", "My brother is ill. He stays home.", "My brother is ill. He is staying home.",
            "My brother is sick. He remains at home.",
        ),
        "Danke. Das ist sehr nett.": (
            "Thank you. That is very nice.", "Thanks. That is very nice.", "Thank you. That is very kind.", "Thanks. That is very kind.",
            "Thank you. That is very kind of you.", "Thanks. This is very nice.", "Thank you. This is very nice.", "Thanks. It is very nice.",
            "Thank you. It is very nice.", "Thanks. That is very nice of you.", "Thank you. That is very nice of you.",
        ),
        "Ich bin müde. Ich gehe ins Bett.": (
            "I am tired. I am going to bed.", "I am tired. I go to bed.", "I am tired. I will go to bed.",
        ),
        "Wer ist da? Ich bin es.": (
            "Who is there? It is me.", "Who is it? It is me.", "Who is there? It is I.",
        ),
        "Das ist Tom. Er ist mein Freund.": (
            "This is Tom. He is my friend.", "That is Tom. He is my friend.", "It is Tom. He is my friend.",
            "This is Tom. He is my boyfriend.", "That is Tom. He is my boyfriend.",
        ),
        "Komm her! Ich brauche dich.": ("Come here! I need you.",),
        "Ich lese ein Buch. Es ist interessant.": (
            "I am reading a book. It is interesting.", "I read a book. It is interesting.",
        ),
    },
}  # fmt: skip

SPELLED_OUT = (
    (r"\bwon't\b", "will not"), (r"\bcan't\b", "cannot"), (r"\bcan not\b", "cannot"), (r"n't\b", " not"), (r"\blet's\b", "let us"),
    (r"'m\b", " am"), (r"'re\b", " are"), (r"'ve\b", " have"), (r"'ll\b", " will"),
    (r"\b(it|that|this|what|where|who|he|she|there|name|how)'s\b", r"\1 is"),
)  # fmt: skip


class Found(NamedTuple):
    """What became of one sentence."""

    kind: str
    sentence: str
    answer: str
    right: bool


def plain(text: str) -> str:
    """As answers are compared: small letters, contractions spelled out, sentences told apart, other marks gone."""
    text = text.lower().replace("’", "'")
    for short, long in SPELLED_OUT:
        text = re.sub(short, long, text)
    return " ".join(re.sub(r"(?<!\d)[.,:;!?\"]+|[.,:;!?\"]+(?!\d)", " ", text).split())


def measure(model: regard.Translator, sentences: Sentences = SENTENCES) -> list[Found]:
    """Each sentence as the model translates it with the settings of its recipe."""
    asked = [(kind, sentence) for kind, of_kind in sentences.items() for sentence in of_kind]
    answers = model.translate([sentence for _, sentence in asked])
    return [
        Found(kind, sentence, each.text, plain(each.text) in map(plain, sentences[kind][sentence]))
        for (kind, sentence), each in zip(asked, answers, strict=True)
    ]


def right_by_kind(found: Iterable[Found]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for each in found:
        counts[each.kind] = counts.get(each.kind, 0) + each.right
    return counts


def told(found: list[Found]) -> None:
    """Each answer, and how many are right."""
    for each in found:
        print("+" if each.right else "-", each.kind, each.sentence, each.answer, sep="\t")
    counts = right_by_kind(found)
    print(
        f"{sum(counts.values())} of {len(found)} right:", ", ".join(f"{kind} {count}" for kind, count in counts.items())
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("model", nargs="?", default="demo")
    told(measure(regard.load(arguments.parse_args().model, task="translation")))


if __name__ == "__main__":
    main()
