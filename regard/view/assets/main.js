// The frame around the views: sentence, facts, tabs, languages. Runs last.

const FRAME = {
  caution: {
    en: "Attention shows where information may flow. It is not by itself an explanation of what the model answered.",
    ko: "어텐션은 정보가 흐를 수 있는 곳을 보여 줄 뿐, 모델이 왜 그렇게 답했는지를 그 자체로 설명하지는 않습니다.",
  },
  part: { en: "Part {0} of {1}", ko: "{1}개 중 {0}번째 부분" },
  alone: {
    en: "This is one part of a text of {0} parts; the others are not on this page.",
    ko: "{0}개 부분으로 나뉜 글의 한 부분이며, 다른 부분은 이 페이지에 없습니다.",
  },
  parts: { en: "Part of the text", ko: "글의 부분" },
  views: { en: "Views", ko: "보기" },
  perplexity: { en: "perplexity per word", ko: "단어당 퍼플렉서티" },
  words: { en: "words and line ends", ko: "단어와 줄 끝" },
  tokens: { en: "tokens", ko: "토큰" },
};
// Facts come with English names; those that models of regard have are known in Korean, too.
/** @type {Record<string, string>} */
const FACTS = {
  languages: "언어",
  parameters: "매개변수",
  "training pairs": "학습 문장 쌍",
  "training texts": "학습 텍스트",
  labels: "라벨 수",
  vocabulary: "어휘",
  "context in tokens": "문맥(토큰 수)",
  updates: "업데이트",
  weights: "가중치",
};
/** @type {(name: string) => string} */
const factName = (name) =>
  reader.language === "ko"
    ? (FACTS[name] ?? name.replace(/^(\S+) on test$/, "테스트 $1").replace(/^(\S+) on (.+)$/, "$2의 $1"))
    : name;

/** @type {(value: string) => string} */
const factValue = (value) => (reader.language === "ko" ? value.replace(/^(\d+) bits$/, "$1비트") : value);

// What the model made of a text: its translation, its label, or how probable it found it; nothing if it says nothing.
/** @type {(scenes: Scene[]) => string | null} */
function answerText(scenes) {
  const [first] = scenes;
  if (first?.decision) return decisionText(first.decision);
  return first?.surprise ? null : wholeText(scenes);
}

/** @type {(perplexity: number) => string} */
function perplexityText(perplexity) {
  if (perplexity < 1e6) return perplexity.toFixed(2);
  const [digits, power] = perplexity.toExponential(2).split("e+");
  return `${digits} × 10${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
}

// What a language model found of the whole text, before the facts of the model.
/** @type {(scene: Scene) => [string, string][]} */
const findingsOf = ({ surprise, target }) =>
  surprise
    ? [
        [say(FRAME.perplexity), perplexityText(surprise.perplexity)],
        [say(FRAME.words), surprise.words.toLocaleString("en")],
        [say(FRAME.tokens), target.tokens.length.toLocaleString("en")],
      ]
    : [];

// What was read and what was written. A text of several parts comes whole, then the part that the views show.
// The text of one part; a classifier's windows share one text, and each has its own words.
/** @type {(scene: Scene) => string} */
const partText = ({ source, decision }) =>
  decision
    ? source.words.reduce((text, { first, text: word }) => {
        if (isSpecial(source.tokens[first])) return text;
        return text + (text && source.tokens[first].startsWith("▁") ? " " : "") + word;
      }, "")
    : source.text;

// The language of a side, if the model's facts name one pair of codes: speech and hyphens follow it.
/** @type {(scene: Scene | null, side: "source" | "target") => string | null} */
function languageOf(scene, side) {
  const pair = /^([a-z]{2,3}) → ([a-z]{2,3})$/.exec(scene?.facts.languages ?? "");
  return pair?.[side === "source" ? 1 : 2] ?? null;
}

/** @type {() => HTMLElement[]} */
function drawTexts() {
  const { scene, scenes } = page;
  const several = scenes.length > 1;
  const answer = answerText(scenes);
  /** @type {(text: string, id: string) => HTMLElement} */
  const source = (text, id) =>
    make("p", { class: "sentence", id, dir: "auto", lang: languageOf(scene, "source") }, text);
  /** @type {(text: string, id: string) => HTMLElement} */
  const translation = (text, id) =>
    make(
      "p",
      { class: "sentence translation", id, dir: "auto", lang: languageOf(scene, "target") },
      ...orNothing(text),
    );
  if (!scene) return [];
  return [
    make(
      "div",
      { class: several ? "texts whole" : "texts" },
      !page.live && source(scene.decision ? scene.source.text : wholeText(scenes, "source"), "source"),
      answer !== null && translation(answer, "translation"),
      scene.parts > scenes.length && make("p", { class: "muted" }, say(FRAME.alone, scene.parts)),
    ),
    several &&
      make(
        "div",
        { class: "texts part" },
        make(
          "select",
          {
            class: "parts",
            id: "parts",
            "aria-label": say(FRAME.parts),
            onchange: (event) => {
              page.scene = scenes[event.currentTarget.selectedIndex];
              choose({ query: null });
            },
          },
          ...scenes.map((each, index) =>
            make(
              "option",
              { selected: each === scene },
              `${say(FRAME.part, index + 1, scenes.length)}: ${partText(each)}`,
            ),
          ),
        ),
        source(partText(scene), "part-source"),
        !scene.decision && translation(scene.target.text, "part-translation"),
      ),
  ].filter(isThere);
}

function drawHeader() {
  const { scene } = page;
  const title = make(
    "div",
    { class: "title" },
    make("h1", {}, scene?.title ?? "regard"),
    make("div", { class: "tools" }, scene && location.protocol !== "about:" && linkButton(), languageButtons(draw)),
  );
  const facts =
    scene &&
    make(
      "dl",
      { class: "facts" },
      ...[
        ...findingsOf(scene),
        ...Object.entries(scene.facts).map(([name, value]) => [factName(name), factValue(value)]),
      ].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    );
  const header = element("header");
  const form = page.live?.form();
  const below = [...drawTexts(), facts].filter(isThere);
  if (form?.parentNode === header) {
    // it stays where it is: moving it would break off what is being typed
    for (const child of [...header.children]) if (child !== form) child.remove();
    form.before(title);
    form.after(...below);
  } else {
    header.replaceChildren(...[title, form, ...below].filter(isThere));
  }
}

/** @type {(shown: View[]) => void} */
function drawTabs(shown) {
  /** @type {HTMLButtonElement[]} */
  const tabs = shown.map((each, place) =>
    make(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${each.id}`,
        "aria-selected": String(each.id === page.view),
        "aria-controls": "view",
        tabindex: each.id === page.view ? 0 : -1,
        onclick: () => {
          location.hash = addressFor(each);
        },
        onkeydown: (event) => {
          const along = stepOf(event, "ltr")?.[1];
          const last = shown.length - 1;
          if (!along) return;
          event.preventDefault();
          const next = Number.isFinite(along) ? (place + along + shown.length) % shown.length : along < 0 ? 0 : last;
          tabs[next].focus();
          tabs[next].click();
        },
      },
      say(each.title),
    ),
  );
  element("tabs").setAttribute("aria-label", say(FRAME.views));
  element("tabs").replaceChildren(...tabs);
  element("view").setAttribute("aria-labelledby", `tab-${page.view}`);
}

function draw() {
  document.documentElement.lang = reader.language;
  document.title = page.scene ? `${page.scene.source.text} · regard` : "regard";
  element("caution").textContent = say(FRAME.caution);
  const shown = views.filter((each) => each.available(page.scene));
  page.view = shown.some((each) => each.id === page.wanted) ? page.wanted : shown[0]?.id;
  const focused = document.activeElement?.id;
  drawHeader();
  drawTabs(shown);
  const root = make("div", { class: `view ${page.view}` });
  element("view").replaceChildren(root);
  const scene = /** @type {Scene} */ (page.scene); // a view that needs one is not available without it
  shown.find((each) => each.id === page.view)?.draw(root, scene);
  if (focused) document.getElementById(focused)?.focus(); // drawing again must not lose the keyboard's place
  writeAddress();
}

// Show other scenes, such as those a live model has just given.
/** @type {(scenes: Scene[]) => void} */
function show(scenes) {
  const { choice } = page;
  page.scenes = scenes;
  page.scene = scenes[0] ?? null;
  if (page.scene) {
    if (!(choice.kind in page.scene.attention)) choice.kind = namesOf(page.scene.attention)[0] ?? "encoder";
    const layers = page.scene.attention[choice.kind]?.weights.shape[0] ?? 1; // a recurrent model has none to look at
    choice.layer = page.kept ? Math.min(choice.layer, layers - 1) : layers - 1;
    choice.query = null;
    page.kept = true; // from now on what the reader chose stays
    if (!page.followed) followAddress();
  }
  draw();
}

addEventListener("hashchange", () => {
  followAddress();
  draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw); // canvases hold their colours

/** @type {AttentionPage} */
const data = JSON.parse(element("data").textContent);
followAddress();
page.movie = data.movie;
const begun = data.live !== null && startLive(data.live);
show(data.scenes);
if (begun) page.live?.translate();
