"""Makes names-de-en.tsv, people and places by name, dates and abbreviations, in German and English: `python -m regard.bundled.make_names`.

In Tatoeba nearly everybody is called Tom or Mary, so that a model learns two names by heart and none by copying; days of a month and
abbreviations as "z. B." are rare there, too. All of it is composed here, by us. Columns: split (train), German, English. Same script,
same output, whatever the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

WOMEN = """
Anna Sabine Julia Katrin Petra Monika Ursula Claudia Susanne Andrea Stefanie Nicole Heike Birgit Karin Renate Brigitte Ingrid Gisela Helga
Lena Laura Lea Sophie Emma Mia Hannah Lisa Sarah Johanna Franziska Charlotte Clara Greta Frieda Elif Ayşe Olga Natascha Yuki Minji Jiwoo
"""
MEN = """
Peter Klaus Jürgen Wolfgang Hans Uwe Dieter Günther Jonas Lukas Felix Leon Maximilian Moritz Stefan Andreas Matthias Thorsten Jan
Sebastian Florian Tobias Markus Christoph Philipp Björn Sören Heinrich Friedrich Konrad Emil Oskar Mehmet Ali Igor Pavel Minho Jihoon
Hiroshi Carlos
"""
SURNAMES = """
Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz
Zimmermann Braun Krüger Hofmann Hartmann Lange Werner Krause Lehmann Köhler Maier Kaiser Fuchs Vogel Keller Frank Berger Winkler Roth Beck
Lorenz Baumann Franke Albrecht Schuster Simon Ludwig Böhm Winter Kraus Martin Schumacher Vogt Jäger Stein Groß Sommer Haas Brandt Graf
Dietrich Ziegler Kuhn Pohl Engel Horn Busch Bergmann Voigt Sauer Arnold Pfeiffer Yilmaz Kaya Nowak Kowalski Nguyen Petrov Rossi Kim Lee
Park
"""
PLACES = """
Berlin Hamburg Köln Frankfurt Stuttgart Düsseldorf Leipzig Dortmund Essen Bremen Dresden Hannover Nürnberg Duisburg Bochum Bielefeld Bonn
Münster Mannheim Karlsruhe Augsburg Wiesbaden Aachen Kiel Lübeck Freiburg Erfurt Mainz Rostock Kassel Potsdam Heidelberg Regensburg Ulm
Würzburg Göttingen Trier Jena Weimar Salzburg Innsbruck Graz Basel Bern Luzern Seoul Busan Tokio|Tokyo London Paris Madrid Lissabon|Lisbon
Rom|Rome Mailand|Milan Venedig|Venice Neapel|Naples Wien|Vienna München|Munich Zürich|Zurich Genf|Geneva Prag|Prague Warschau|Warsaw
Moskau|Moscow Athen|Athens Brüssel|Brussels Kopenhagen|Copenhagen Stockholm Oslo Helsinki Istanbul Kairo|Cairo Peking|Beijing
"""
COUNTRIES = """
Deutschland|Germany Österreich|Austria Frankreich|France Italien|Italy Spanien|Spain Portugal|Portugal Polen|Poland Russland|Russia
Griechenland|Greece Schweden|Sweden Norwegen|Norway Dänemark|Denmark Finnland|Finland Japan|Japan China|China Korea|Korea Indien|India
Ägypten|Egypt Kanada|Canada Mexiko|Mexico Brasilien|Brazil Irland|Ireland Ungarn|Hungary Kroatien|Croatia Australien|Australia
"""

# {person}: a given name of either kind · {woman}, {man} · {other}: another person · {surname} · {place}, {country}, {month}: each in its language
SENTENCES = """
Ich heiße {person}.|My name is {person}.
Ich heiße {person}.|I'm called {person}.
Ich heiße {person} {surname}.|My name is {person} {surname}.
Mein Name ist {person}.|My name is {person}.
Mein Name ist {surname}.|My name is {surname}.
Mein Name ist {person} {surname}.|My name is {person} {surname}.
Ich bin {person}.|I'm {person}.
Hallo, ich bin {person}.|Hello, I'm {person}.
Hallo, {person}!|Hello, {person}!
Guten Tag, Herr {surname}.|Good day, Mr. {surname}.
Guten Morgen, Frau {surname}!|Good morning, Mrs. {surname}!
Guten Abend, Herr {surname}.|Good evening, Mr. {surname}.
Das ist {person}.|This is {person}.
Das ist Herr {surname}.|This is Mr. {surname}.
Das ist Frau {surname}.|This is Mrs. {surname}.
Mein Bruder heißt {man}.|My brother's name is {man}.
Meine Schwester heißt {woman}.|My sister's name is {woman}.
Mein Sohn heißt {man}.|My son's name is {man}.
Meine Tochter heißt {woman}.|My daughter's name is {woman}.
Mein Freund heißt {man}.|My friend's name is {man}.
Meine Lehrerin heißt {surname}.|My teacher's name is {surname}.
Kennst du {person}?|Do you know {person}?
Kennst du Herrn {surname}?|Do you know Mr. {surname}?
Kennen Sie Frau {surname}?|Do you know Mrs. {surname}?
Wo ist {person}?|Where is {person}?
Wo wohnt Herr {surname}?|Where does Mr. {surname} live?
{person} wohnt in {place}.|{person} lives in {place}.
{person} lebt seit zehn Jahren in {place}.|{person} has been living in {place} for ten years.
{person} kommt aus {country}.|{person} comes from {country}.
{person} und {other} sind verheiratet.|{person} and {other} are married.
{person} und {other} sind Freunde.|{person} and {other} are friends.
{person} und {other} gehen ins Kino.|{person} and {other} are going to the movies.
Frau {surname} ist meine Lehrerin.|Mrs. {surname} is my teacher.
Herr {surname} ist mein Nachbar.|Mr. {surname} is my neighbor.
Herr {surname} ist heute nicht da.|Mr. {surname} isn't here today.
Frau {surname} ist krank.|Mrs. {surname} is ill.
Ich möchte mit Herrn {surname} sprechen.|I'd like to speak with Mr. {surname}.
Ich habe gestern mit {person} gesprochen.|I spoke with {person} yesterday.
Ich warte auf {person}.|I'm waiting for {person}.
Ich habe {person} ein Buch geschenkt.|I gave {person} a book.
{man} hat seinen Schlüssel verloren.|{man} has lost his key.
{woman} hat ihre Tasche vergessen.|{woman} forgot her bag.
{man} sagt, dass er müde ist.|{man} says that he's tired.
{woman} hat heute Geburtstag.|It's {woman}'s birthday today.
Das ist das Auto von {person}.|That's {person}'s car.
{person} {surname} ist Arzt.|{person} {surname} is a doctor.
Dr. {surname} hat angerufen.|Dr. {surname} called.
Grüß {person} von mir!|Say hello to {person} for me!
Wann kommt {person} nach Hause?|When is {person} coming home?
Warum ist {person} so traurig?|Why is {person} so sad?
{person} ist größer als {other}.|{person} is taller than {other}.
Wir fahren morgen nach {place}.|We're going to {place} tomorrow.
Wir fliegen nach {place}.|We're flying to {place}.
Ich wohne in {place}.|I live in {place}.
Ich komme aus {place}.|I'm from {place}.
Ich komme aus {country}.|I come from {country}.
Warst du schon einmal in {place}?|Have you ever been to {place}?
Der Zug nach {place} hat Verspätung.|The train to {place} is late.
Wie komme ich nach {place}?|How do I get to {place}?
{place} ist eine schöne Stadt.|{place} is a beautiful city.
Sie ist in {place} geboren.|She was born in {place}.
Er arbeitet bei {surname}.|He works at {surname}.
Ich suche das Hotel {surname}.|I'm looking for the Hotel {surname}.
{person} grüßt {other}.|{person} greets {other}.
{person} und {other} grüßen dich.|{person} and {other} send you their greetings.
Dr. {surname} ist nicht da.|Dr. {surname} isn't here.
Dr. {surname} kommt morgen.|Dr. {surname} is coming tomorrow.
Dr. {surname} kommt am {day}. {month} nach {place}.|Dr. {surname} is coming to {place} on {month} {day}.
Prof. {surname} wohnt in {place}.|Prof. {surname} lives in {place}.
Ich habe einen Termin bei Dr. {surname}.|I have an appointment with Dr. {surname}.
Heute ist der {day}. {month}.|Today is {month} {day}.
Morgen ist der {day}. {month}.|Tomorrow is {month} {day}.
{person} hat am {day}. {month} Geburtstag.|{person}'s birthday is on {month} {day}.
{person} wurde am {day}. {month} {year} in {place} geboren.|{person} was born in {place} on {month} {day}, {year}.
Wir treffen uns am {day}. {month} um {hour}:{minute} Uhr.|We'll meet on {month} {day} at {hour}:{minute}.
Der Zug nach {place} fährt um {hour}:{minute} Uhr.|The train to {place} leaves at {hour}:{minute}.
Der Zug aus {place} kommt um {hour}:{minute} Uhr an.|The train from {place} arrives at {hour}:{minute}.
Wir fahren am {day}. {month} mit dem Zug nach {place}.|We're going to {place} by train on {month} {day}.
Du kannst z. B. mit dem Zug nach {place} fahren.|You can go to {place} by train, for example.
Große Städte, z. B. {place}, sind teuer.|Big cities, for example {place}, are expensive.
Ich war schon in vielen Ländern, z. B. in {country}.|I've been to many countries, for example to {country}.
{person} spricht viele Sprachen, z. B. Deutsch und Englisch.|{person} speaks many languages, for example German and English.
{person} bleibt ca. {day} Tage in {place}.|{person} is staying in {place} for about {day} days.
{person} kauft Brot, Milch, Käse usw.|{person} buys bread, milk, cheese, etc.
{person} ist im Urlaub, d. h. {person} arbeitet heute nicht.|{person} is on vacation, that is, {person} isn't working today.
"""
DAYS = range(2, 29)
MONTHS = """
Januar|January Februar|February März|March April Mai|May Juni|June Juli|July August September Oktober|October November Dezember|December
"""
EACH = 40
"""Pairs of every sentence."""
TESTED = {"Mein Name ist Müller."}
"""What `demo` is tried with (tests/bundled/first_minute.py) is not taught."""


def filled(german: str, english: str) -> Iterator[tuple[str, str]]:
    """A sentence with names drawn for it, without end."""
    random = Random(german)
    lists = (WOMEN, MEN, SURNAMES, PLACES, COUNTRIES, MONTHS)
    women, men, surnames, places, countries, months = (each.split() for each in lists)
    people = women + men
    while True:
        person, other = random.sample(people, 2)
        place, country = random.choice(places).split("|"), random.choice(countries).split("|")
        month = random.choice(months).split("|")
        numbers = {
            "day": random.choice(DAYS), "year": random.randrange(1930, 2025), "hour": random.randrange(6, 24), "minute": f"{random.randrange(0, 60, 5):02}",
        }  # fmt: skip
        names = {
            "person": person, "other": other, "woman": random.choice(women), "man": random.choice(men), "surname": random.choice(surnames)
        }  # fmt: skip
        yield (
            german.format(place=place[0], country=country[0], month=month[0], **names, **numbers),
            english.format(place=place[-1], country=country[-1], month=month[-1], **names, **numbers),
        )


def pairs() -> list[tuple[str, str]]:
    """German and English, each pair once."""
    found = (pair for each in SENTENCES.strip().split("\n") for pair in islice(filled(*each.split("|")), EACH))
    return [pair for pair in dict.fromkeys(found) if pair[0] not in TESTED]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--to", type=Path, default=Path(__file__).parent / "names-de-en.tsv", help="file to write")
    to: Path = arguments.parse_args().to
    found = pairs()
    to.write_text("".join(f"train\t{de}\t{en}\n" for de, en in found), encoding="utf-8")
    print(f"{to.name}: {len(found)} pairs, {to.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
