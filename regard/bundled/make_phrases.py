"""Makes phrases-ko-en.tsv, what people type in their first minute, in Korean and English: `python -m regard.bundled.make_phrases`.

Tatoeba has hardly any greetings and thanks in Korean, so that a model would not know them. All of it is written or composed
here, by us. Columns: split (train), Korean, English. Same script, same output, whatever the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

PHRASES = """
안녕하세요.|Hello.
안녕하세요!|Hello!
안녕!|Hi!
안녕하십니까?|How do you do?
좋은 아침이에요.|Good morning.
좋은 아침입니다.|Good morning.
좋은 저녁입니다.|Good evening.
안녕히 주무세요.|Good night.
잘 자요.|Good night.
안녕히 가세요.|Goodbye.
안녕히 계세요.|Goodbye.
또 봐요.|See you again.
내일 봐요.|See you tomorrow.
나중에 봐요.|See you later.
만나서 반갑습니다.|Nice to meet you.
만나서 반가워요.|Nice to meet you.
오랜만이에요.|Long time no see.
어서 오세요.|Welcome.
환영합니다!|Welcome!
잘 지내세요?|How are you?
어떻게 지내세요?|How are you?
잘 지내요.|I'm fine.
저는 잘 지내요. 고맙습니다.|I'm fine. Thank you.
감사합니다.|Thank you.
고맙습니다.|Thank you.
감사합니다!|Thank you!
고맙습니다!|Thank you!
감사합니다|Thank you
고맙습니다|Thank you
정말 감사합니다.|Thank you very much.
정말 고맙습니다.|Thank you so much.
대단히 감사합니다.|Thank you very much.
도와주셔서 감사합니다.|Thank you for your help.
도와주셔서 고맙습니다.|Thank you for helping me.
와 주셔서 감사합니다.|Thank you for coming.
초대해 주셔서 감사합니다.|Thank you for inviting me.
모두 감사합니다.|Thank you, everyone.
천만에요.|You're welcome.
별말씀을요.|Don't mention it.
죄송합니다.|I'm sorry.
미안합니다.|I'm sorry.
미안해요.|Sorry.
늦어서 죄송합니다.|I'm sorry I'm late.
실례합니다.|Excuse me.
괜찮아요.|It's okay.
괜찮습니다.|That's all right.
괜찮으세요?|Are you okay?
문제없어요.|No problem.
네.|Yes.
예.|Yes.
아니요.|No.
네, 맞아요.|Yes, that's right.
아니요, 괜찮습니다.|No, thank you.
알겠습니다.|I understand.
모르겠어요.|I don't know.
이해가 안 돼요.|I don't understand.
이해합니다.|I understand.
물론이죠.|Of course.
좋아요.|Good.
아주 좋아요.|Very good.
싫어요.|I don't like it.
정말요?|Really?
축하합니다!|Congratulations!
생일 축하합니다!|Happy birthday!
새해 복 많이 받으세요!|Happy New Year!
메리 크리스마스!|Merry Christmas!
건배!|Cheers!
행운을 빌어요!|Good luck!
맛있게 드세요.|Enjoy your meal.
잘 먹겠습니다.|Thank you for the meal.
조심하세요.|Be careful.
조심해!|Watch out!
도와주세요!|Help me!
도와주세요.|Please help me.
도와 드릴까요?|May I help you?
무엇을 도와 드릴까요?|How can I help you?
잠깐만요.|Just a moment.
잠시만 기다려 주세요.|Please wait a moment.
천천히 말해 주세요.|Please speak slowly.
다시 한번 말해 주세요.|Please say that again.
다시 말씀해 주시겠어요?|Could you say that again?
이름이 뭐예요?|What's your name?
성함이 어떻게 되세요?|May I have your name?
몇 살이에요?|How old are you?
어디에서 왔어요?|Where are you from?
어디에 살아요?|Where do you live?
어디 가세요?|Where are you going?
무슨 일을 하세요?|What do you do?
지금 뭐 해요?|What are you doing now?
이게 뭐예요?|What is this?
왜요?|Why?
누구세요?|Who is it?
언제요?|When?
얼마예요?|How much is it?
이거 얼마예요?|How much is this?
너무 비싸요.|It's too expensive.
싸네요.|It's cheap.
지금 몇 시예요?|What time is it now?
몇 시예요?|What time is it?
오늘이 무슨 요일이에요?|What day is it today?
오늘이 며칠이에요?|What's the date today?
영어를 할 줄 아세요?|Do you speak English?
한국어를 할 줄 아세요?|Do you speak Korean?
저는 한국어를 못해요.|I don't speak Korean.
저는 영어를 조금 해요.|I speak a little English.
한국어로 뭐라고 해요?|How do you say it in Korean?
영어로 뭐라고 해요?|How do you say it in English?
배고파요.|I'm hungry.
배가 고파요.|I'm hungry.
목말라요.|I'm thirsty.
피곤해요.|I'm tired.
졸려요.|I'm sleepy.
아파요.|I'm sick.
추워요.|I'm cold.
더워요.|I'm hot.
행복해요.|I'm happy.
슬퍼요.|I'm sad.
바빠요.|I'm busy.
길을 잃었어요.|I'm lost.
사랑해요.|I love you.
사랑합니다.|I love you.
보고 싶어요.|I miss you.
결혼했어요?|Are you married?
저는 학생입니다.|I am a student.
저는 선생님입니다.|I am a teacher.
저는 의사입니다.|I am a doctor.
저는 회사원입니다.|I am an office worker.
저는 한국 사람입니다.|I am Korean.
저는 미국 사람입니다.|I am American.
저는 독일 사람입니다.|I am German.
오늘 날씨가 좋아요.|The weather is nice today.
오늘은 날씨가 어때요?|How is the weather today?
비가 와요.|It's raining.
비가 오고 있어요.|It is raining.
눈이 와요.|It's snowing.
오늘은 추워요.|It's cold today.
오늘은 더워요.|It's hot today.
내일은 비가 올 거예요.|It will rain tomorrow.
화장실이 어디예요?|Where is the toilet?
역이 어디에 있어요?|Where is the station?
여기가 어디예요?|Where am I?
계산서 주세요.|The bill, please.
메뉴 좀 주세요.|The menu, please.
물 좀 주세요.|Water, please.
커피 한 잔 주세요.|A cup of coffee, please.
이것 주세요.|I'll take this.
맛있어요.|It's delicious.
맛있어요!|It's delicious!
매워요.|It's spicy.
경찰을 불러 주세요.|Please call the police.
의사를 불러 주세요.|Please call a doctor.
택시를 불러 주세요.|Please call a taxi.
전화번호가 뭐예요?|What's your phone number?
사진 좀 찍어 주시겠어요?|Could you take a picture of us?
들어오세요.|Please come in.
앉으세요.|Please sit down.
문을 닫아 주세요.|Please close the door.
창문을 열어 주세요.|Please open the window.
제 아내입니다.|This is my wife.
제 남편입니다.|This is my husband.
제 친구입니다.|This is my friend.
저는 형제가 두 명 있어요.|I have two brothers.
저는 딸이 하나 있어요.|I have a daughter.
저는 개를 좋아해요.|I like dogs.
저는 고양이를 좋아해요.|I like cats.
저는 책을 읽고 있어요.|I'm reading a book.
저는 음악을 듣고 있어요.|I'm listening to music.
나는 학교에 가요.|I go to school.
저는 회사에 가요.|I go to work.
저는 집에 있어요.|I am at home.
집에 가고 싶어요.|I want to go home.
자고 싶어요.|I want to sleep.
갑시다.|Let's go.
빨리요!|Quickly!
당신에게 필요한 것은 어텐션뿐입니다.|Attention is all you need.
"""

NAMES = [
    ("톰", "Tom"), ("메리", "Mary"), ("존", "John"), ("수진", "Sujin"), ("민수", "Minsu"), ("지훈", "Jihoon"), ("안나", "Anna"),
    ("피터", "Peter"), ("김민지", "Kim Minji"), ("박지성", "Park Jisung"), ("이영희", "Lee Younghee"), ("뮐러", "Müller"),
    ("마리아", "Maria"), ("데이비드", "David"), ("사라", "Sarah"), ("유나", "Yuna"),
]  # fmt: skip
COUNTRIES = [
    ("한국", "Korea"), ("미국", "the United States"), ("독일", "Germany"), ("프랑스", "France"), ("일본", "Japan"),
    ("중국", "China"), ("영국", "England"), ("캐나다", "Canada"), ("스페인", "Spain"), ("호주", "Australia"),
]  # fmt: skip
CITIES = [
    ("서울", "Seoul"), ("부산", "Busan"), ("베를린", "Berlin"), ("런던", "London"), ("파리", "Paris"), ("도쿄", "Tokyo"),
    ("뉴욕", "New York"), ("대구", "Daegu"), ("제주", "Jeju"), ("보스턴", "Boston"),
]  # fmt: skip
PLACES = [
    ("역", "station"), ("병원", "hospital"), ("은행", "bank"), ("학교", "school"), ("호텔", "hotel"), ("공항", "airport"),
    ("우체국", "post office"), ("화장실", "restroom"), ("식당", "restaurant"), ("약국", "pharmacy"), ("시장", "market"),
    ("도서관", "library"), ("공원", "park"), ("버스 정류장", "bus stop"), ("박물관", "museum"), ("출구", "exit"),
]  # fmt: skip
THINGS = [
    ("커피", "coffee"), ("물", "water"), ("차", "tea"), ("맥주", "beer"), ("빵", "bread"), ("우유", "milk"), ("김치", "kimchi"),
    ("불고기", "bulgogi"), ("비빔밥", "bibimbap"), ("생선", "fish"), ("고기", "meat"), ("과일", "fruit"), ("밥", "rice"),
    ("치즈", "cheese"), ("주스", "juice"),
]  # fmt: skip
GOODS = [
    ("책", "book"), ("표", "ticket"), ("가방", "bag"), ("모자", "hat"), ("시계", "watch"), ("사과", "apple"), ("우산", "umbrella"),
    ("신발", "shoes"), ("휴대폰", "phone"), ("자동차", "car"), ("방", "room"),
]  # fmt: skip
PEOPLE = [
    ("어머니", "mother"), ("아버지", "father"), ("형", "brother"), ("동생", "brother"), ("누나", "sister"), ("친구", "friend"),
    ("아내", "wife"), ("남편", "husband"), ("아들", "son"), ("딸", "daughter"),
]  # fmt: skip
DAYS = [
    ("월요일", "Monday"), ("화요일", "Tuesday"), ("수요일", "Wednesday"), ("목요일", "Thursday"), ("금요일", "Friday"),
    ("토요일", "Saturday"), ("일요일", "Sunday"),
]  # fmt: skip
HOURS = ["한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두"]
ENGLISH_HOURS = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"
]  # fmt: skip
PRICES = [500, 1_000, 2_500, 3_000, 5_000, 8_900, 10_000, 12_000, 15_000, 50_000, 100_000]


def with_particle(word: str, after_consonant: str, after_vowel: str) -> str:
    """A Korean particle depends on whether the syllable before it ends in a consonant: 책을, 커피를."""
    return word + (after_consonant if (ord(word[-1]) - 0xAC00) % 28 else after_vowel)


def an(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def composed() -> Iterator[tuple[str, str]]:
    """Names, places, things, times and prices in sentences that everybody needs."""
    for ko, en in NAMES:
        yield f"제 이름은 {ko}입니다.", f"My name is {en}."
        yield f"제 이름은 {with_particle(ko, '이에요', '예요')}.", f"My name is {en}."
        yield f"저는 {ko}입니다.", f"I am {en}."
        yield f"안녕하세요, {ko} 씨.", f"Hello, {en}."
        yield f"안녕하세요. 저는 {ko}입니다.", f"Hello. I am {en}."
        yield f"{ko} 씨, 감사합니다.", f"Thank you, {en}."
        yield f"{with_particle(ko, '은', '는')} 어디에 있어요?", f"Where is {en}?"
        yield f"{with_particle(ko, '을', '를')} 알아요?", f"Do you know {en}?"
        yield f"{with_particle(ko, '은', '는')} 제 친구입니다.", f"{en} is my friend."
    for ko, en in COUNTRIES:
        yield f"저는 {ko}에서 왔습니다.", f"I am from {en}."
        yield f"저는 {ko}에서 왔어요.", f"I'm from {en}."
        yield f"{ko}에 가고 싶어요.", f"I want to go to {en}."
        yield f"{ko}에 가 본 적이 있어요?", f"Have you ever been to {en}?"
    for ko, en in CITIES:
        yield f"저는 {ko}에 살아요.", f"I live in {en}."
        yield f"저는 {ko}에 삽니다.", f"I live in {en}."
        yield f"제 친구는 {ko}에 살아요.", f"My friend lives in {en}."
        yield f"내일 {ko}에 갑니다.", f"I'm going to {en} tomorrow."
        yield f"{ko}까지 얼마나 걸려요?", f"How long does it take to get to {en}?"
    for ko, en in PLACES:
        yield f"{with_particle(ko, '이', '가')} 어디예요?", f"Where is the {en}?"
        yield f"{with_particle(ko, '은', '는')} 어디에 있습니까?", f"Where is the {en}?"
        yield f"{with_particle(ko, '을', '를')} 찾고 있어요.", f"I'm looking for the {en}."
        yield f"{with_particle(ko, '은', '는')} 저기에 있어요.", f"The {en} is over there."
    for ko, en in THINGS:
        yield f"{ko} 주세요.", f"{en.capitalize()}, please."
        yield f"저는 {with_particle(ko, '을', '를')} 좋아해요.", f"I like {en}."
        yield f"저는 {with_particle(ko, '을', '를')} 안 좋아해요.", f"I don't like {en}."
        yield f"{with_particle(ko, '을', '를')} 좋아하세요?", f"Do you like {en}?"
        yield f"{ko} 있어요?", f"Do you have {en}?"
    for ko, en in GOODS:
        plural = en.endswith("s")
        yield f"이 {with_particle(ko, '은', '는')} 얼마예요?", f"How much {'are these' if plural else 'is this'} {en}?"
        yield f"이것은 제 {ko}입니다.", f"{'These are' if plural else 'This is'} my {en}."
        yield f"{with_particle(ko, '을', '를')} 사고 싶어요.", f"I want to buy {en if plural else an(en)}."
    for ko, en in PEOPLE:
        yield f"이분은 제 {ko}입니다.", f"This is my {en}."
        yield f"제 {with_particle(ko, '은', '는')} 서울에 살아요.", f"My {en} lives in Seoul."
        yield f"{with_particle(ko, '이', '가')} 보고 싶어요.", f"I miss my {en}."
    for ko, en in DAYS:
        yield f"오늘은 {ko}이에요.", f"Today is {en}."
        yield f"{ko}에 만나요.", f"See you on {en}."
    for ko, en in zip(HOURS, ENGLISH_HOURS, strict=True):
        yield f"{ko} 시예요.", f"It's {en} o'clock."
        yield f"지금 {ko} 시입니다.", f"It is {en} o'clock now."
        yield f"{ko} 시 반이에요.", f"It's half past {en}."
        yield f"{ko} 시에 만나요.", f"Let's meet at {en}."
    for price in PRICES:
        yield f"{price}원입니다.", f"It's {price} won."
        yield f"{price:,}원이에요.", f"It costs {price:,} won."


def pairs() -> list[tuple[str, str]]:
    """Korean and English, each pair once."""
    written = [line.split("|") for line in PHRASES.split("\n") if line]
    return list(dict.fromkeys([*((ko, en) for ko, en in written), *composed()]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--to", type=Path, default=Path(__file__).parent / "phrases-ko-en.tsv", help="file to write")
    to: Path = arguments.parse_args().to
    found = pairs()
    to.write_text("".join(f"train\t{ko}\t{en}\n" for ko, en in found), encoding="utf-8")
    print(f"{to.name}: {len(found)} pairs, {to.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
