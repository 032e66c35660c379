"""What somebody types into `demo-ko` in the first minute, in both languages, and what would do as an answer.

    python -m tests.bundled.first_minute_ko [MODEL]

As `first_minute` of `demo`; thirty sentences in each direction, which the letters of each tell. Greetings are mostly phrases of its training
text, word for word (`known` counts them); the rest is not.
"""

from __future__ import annotations

import argparse
from importlib.resources import files

import regard
from tests.bundled.first_minute import Sentences, measure, told

SENTENCES: Sentences = {
    "Korean greetings": {
        "감사합니다.": ("Thank you.", "Thanks."),
        "고맙습니다.": ("Thank you.", "Thanks."),
        "안녕하세요?": ("Hello.", "Hi.", "How are you?"),
        "좋은 아침입니다.": ("Good morning.",),
        "안녕히 가세요.": ("Goodbye.", "Good bye.", "Bye."),
        "미안합니다.": ("I am sorry.", "Sorry."),
        "만나서 반갑습니다.": ("Nice to meet you.", "Glad to meet you.", "I am glad to meet you.", "It is nice to meet you."),
        "천만에요.": ("You are welcome.", "Not at all."),
        "도와주셔서 감사합니다.": ("Thank you for your help.", "Thank you for helping me.", "Thanks for your help."),
        "잘 자요.": ("Good night.", "Sleep well."),
    },
    "Korean on the way": {
        "이거 얼마예요?": ("How much is this?", "How much is it?", "How much does this cost?", "How much does it cost?"),
        "화장실이 어디예요?": (
            "Where is the bathroom?", "Where is the toilet?", "Where is the restroom?", "Where are the toilets?",
        ),
        "물 좀 주세요.": ("Please give me some water.", "Give me some water, please.", "Water, please.", "Some water, please.", "Please give me water."),
        "지금 몇 시예요?": ("What time is it?", "What time is it now?"),
        "저는 한국에서 왔어요.": ("I am from Korea.", "I came from Korea.", "I come from Korea."),
        "저는 학생이에요.": ("I am a student.",),
        "제 이름은 민수예요.": ("My name is Minsu.", "My name is Min-su.", "I am Minsu."),
        "내일 봐요.": ("See you tomorrow.", "I will see you tomorrow."),
        "3시에 만나요.": ("Let us meet at 3.", "Let us meet at 3 o'clock.", "See you at 3.", "I will meet you at 3.", "Let us meet at three."),
        "기차역이 어디에 있어요?": ("Where is the train station?", "Where is the railway station?", "Where is the station?"),
    },
    "Korean in short": {
        "사랑해.": ("I love you.",),
        "몰라요.": ("I do not know.",),
        "배고파요.": ("I am hungry.",),
        "톰은 의사야.": ("Tom is a doctor.",),
        "나는 커피를 좋아해.": ("I like coffee.", "I love coffee."),
        "비가 온다.": ("It is raining.", "It rains."),
        "오늘은 날씨가 좋네요.": ("The weather is nice today.", "The weather is good today.", "It is nice weather today.", "It is a nice day today."),
        "안녕하세요. 저는 학생이에요.": ("Hello. I am a student.", "Hi. I am a student."),
        "감사합니다": ("Thank you", "Thanks"),
        "이건 내 책이야.": ("This is my book.", "It is my book."),
    },
    "English greetings": {
        "Thank you.": ("감사합니다.", "고맙습니다.", "고마워요.", "고마워.", "감사해요."),
        "Hello.": ("안녕하세요.", "안녕.", "안녕하십니까."),
        "Good morning.": ("좋은 아침입니다.", "좋은 아침이에요.", "좋은 아침.", "안녕하세요.", "좋은 아침이야."),
        "Good night.": ("안녕히 주무세요.", "잘 자요.", "잘 자."),
        "Goodbye.": ("안녕히 가세요.", "안녕히 계세요.", "잘 가요.", "잘 가.", "안녕."),
        "I'm sorry.": ("미안합니다.", "죄송합니다.", "미안해요.", "미안해.", "죄송해요."),
        "Nice to meet you.": ("만나서 반갑습니다.", "만나서 반가워요.", "만나서 반가워.", "반갑습니다."),
        "You're welcome.": ("천만에요.", "별말씀을요.", "천만에."),
        "THANK YOU": ("감사합니다", "고맙습니다", "고마워요", "고마워"),
        "thank you very much": ("정말 감사합니다", "대단히 감사합니다", "정말 고맙습니다", "정말 고마워요", "매우 감사합니다", "대단히 고맙습니다", "감사합니다"),
    },
    "English on the way": {
        "How much is this?": ("이거 얼마예요?", "이것은 얼마예요?", "이건 얼마예요?", "이것은 얼마입니까?", "이건 얼마입니까?", "얼마예요?"),
        "Where is the bathroom?": ("화장실이 어디예요?", "화장실은 어디에 있습니까?", "화장실이 어디에 있어요?", "화장실은 어디예요?", "화장실이 어디죠?", "화장실은 어디에 있어요?", "화장실이 어디야?"),
        "Water, please.": ("물 주세요.", "물 좀 주세요.", "물을 주세요."),
        "What time is it?": ("몇 시예요?", "지금 몇 시예요?", "지금 몇 시입니까?", "몇 시입니까?", "몇 시야?", "지금 몇 시야?", "지금 몇시예요?", "몇 시지?"),
        "I'm from Korea.": ("저는 한국에서 왔어요.", "저는 한국에서 왔습니다.", "나는 한국에서 왔어.", "나는 한국에서 왔다.", "난 한국에서 왔어."),
        "I am a student.": ("저는 학생입니다.", "저는 학생이에요.", "나는 학생이다.", "나는 학생이야.", "난 학생이야.", "나는 학생입니다."),
        "My name is Anna.": ("제 이름은 안나입니다.", "제 이름은 안나예요.", "내 이름은 안나야.", "저는 안나예요.", "저는 안나입니다."),
        "See you tomorrow.": ("내일 봐요.", "내일 봐.", "내일 만나요.", "내일 뵙겠습니다.", "내일 보자."),
        "Let's meet at 3.": ("3시에 만나요.", "3시에 만나자.", "3시에 만납시다."),
        "I want to go to Seoul.": ("서울에 가고 싶어요.", "서울에 가고 싶어.", "서울에 가고 싶습니다.", "저는 서울에 가고 싶어요.", "나는 서울에 가고 싶어.", "나는 서울에 가고 싶다.", "난 서울에 가고 싶어."),
    },
    "English in short": {
        "I love you.": ("사랑해.", "사랑해요.", "사랑합니다.", "나는 너를 사랑해.", "나는 당신을 사랑해요.", "난 널 사랑해.", "난 너를 사랑해.", "널 사랑해.", "나는 당신을 사랑합니다."),
        "I don't know.": ("몰라요.", "몰라.", "모르겠어요.", "모르겠어.", "나는 몰라.", "난 몰라.", "모르겠습니다.", "나는 모르겠어.", "저는 모르겠어요.", "저는 몰라요."),
        "I'm hungry.": ("배고파요.", "배고파.", "나 배고파.", "배가 고파요.", "난 배고파.", "나는 배고프다.", "배가 고파.", "나는 배고파.", "배고픕니다."),
        "Tom is a doctor.": ("톰은 의사야.", "톰은 의사다.", "톰은 의사입니다.", "톰은 의사예요.", "톰은 의사이다."),
        "I like coffee.": ("나는 커피를 좋아해.", "저는 커피를 좋아해요.", "나는 커피를 좋아한다.", "난 커피를 좋아해.", "커피를 좋아해요.", "저는 커피를 좋아합니다."),
        "It's raining.": ("비가 와요.", "비가 온다.", "비가 와.", "비가 오고 있어.", "비가 오고 있어요.", "비가 옵니다.", "비가 내린다.", "비가 오네."),
        "The weather is nice today.": ("오늘은 날씨가 좋아요.", "오늘 날씨가 좋아요.", "오늘 날씨가 좋네요.", "오늘은 날씨가 좋다.", "오늘 날씨가 좋다.", "오늘은 날씨가 좋습니다.", "오늘 날씨 좋다.", "오늘은 날씨가 좋네요.", "오늘은 날씨가 좋네.", "오늘 날씨가 좋네."),
        "Hello. I am a student.": ("안녕하세요. 저는 학생입니다.", "안녕하세요. 저는 학생이에요.", "안녕. 나는 학생이야.", "안녕. 난 학생이야.", "안녕하세요. 나는 학생이야.", "안녕하세요. 난 학생이야."),
        "Where is Tom?": ("톰은 어디에 있어?", "톰은 어디 있어?", "톰은 어디에 있어요?", "톰은 어디에 있습니까?", "톰이 어디 있어?", "톰은 어딨어?", "톰은 어디에 있니?", "톰 어디 있어?", "톰은 어디 있니?", "톰은 어디에 있나요?"),
        "This is my book.": ("이것은 제 책입니다.", "이것은 제 책이에요.", "이것은 내 책이다.", "이건 내 책이야.", "이건 제 책이에요.", "이것은 내 책이야.", "이건 제 책입니다."),
    },
}  # fmt: skip


def known() -> int:
    """How many of them the training phrases have word for word."""
    lines = (files(regard) / "bundled" / "phrases-ko-en.tsv").read_text(encoding="utf-8").splitlines()
    phrases = {side for line in lines for side in line.split("\t")[1:]}
    return sum(sentence in phrases for sentences in SENTENCES.values() for sentence in sentences)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("model", nargs="?", default="demo-ko")
    told(measure(regard.load(arguments.parse_args().model, task="translation"), SENTENCES))
    print(f"{known()} of them are training phrases, word for word")


if __name__ == "__main__":
    main()
