// The page of a text that a language model reads: how surprising each token was, what else might have come, and which
// earlier tokens were looked at.

/** @type {WritingPage} */
const seen = JSON.parse(element("data").textContent);
const { tokens, read, expected } = seen;
const SAYS = {
  caution: {
    en: "Attention shows where information may flow. It is not by itself an explanation of why the model expected what it expected.",
    ko: "어텐션은 정보가 흐를 수 있는 곳을 보여 줄 뿐, 모델이 왜 그렇게 예측했는지를 그 자체로 설명하지는 않습니다.",
  },
  text: { en: "How surprising was each token?", ko: "토큰마다 얼마나 뜻밖이었을까요?" },
  hint: {
    en: "The darker, the less expected. Choose a token by pointing, tapping or with the arrow keys; lines below earlier tokens show how much it was looked at.",
    ko: "진할수록 덜 예상된 토큰입니다. 가리키거나 누르거나 화살표 키로 토큰을 고르세요. 앞선 토큰 밑의 줄은 얼마나 주목받았는지를 보여 줍니다.",
  },
  plain: {
    en: "The darker, the less expected. Choose a token by pointing, tapping or with the arrow keys.",
    ko: "진할수록 덜 예상된 토큰입니다. 가리키거나 누르거나 화살표 키로 토큰을 고르세요.",
  },
  bits: { en: "{0} bits", ko: "{0}비트" },
  came: {
    en: "“{0}” came: {1}, {2} bits of surprise, rank {3} of all tokens",
    ko: "실제로 나온 “{0}”: {1}, 뜻밖의 정도 {2}비트, 전체 토큰 가운데 {3}위",
  },
  expected: { en: "What was expected here", ko: "여기서 예상한 토큰" },
  looked: { en: "What was looked at to predict it", ko: "예측하려고 바라본 토큰" },
  layer: { en: "layer", ko: "층" },
  head: { en: "head", ko: "헤드" },
  every: { en: "all layers", ko: "모든 층" },
  mean: { en: "mean of all heads", ko: "모든 헤드의 평균" },
  pointer: { en: "pointer: what may come again", ko: "포인터: 다시 나올 토큰" },
  vocabulary: { en: "the vocabulary decides", ko: "어휘가 정함" },
  nth: { en: "{0} {1}", ko: "{0} {1}" },
  none: {
    en: "A recurrent model has no attention: all that it knows of the text so far is its state.",
    ko: "순환 모델에는 어텐션이 없습니다. 지금까지의 글에 대해 아는 것은 상태 하나뿐입니다.",
  },
  begin: { en: "beginning", ko: "처음" },
  line: { en: "end of line", ko: "줄 끝" },
  perplexity: { en: "perplexity per word", ko: "단어당 퍼플렉서티" },
  words: { en: "words and line ends", ko: "단어와 줄 끝" },
  tokens: { en: "tokens", ko: "토큰" },
};
/** @type {Record<string, string>} */
const FACTS = { parameters: "매개변수", vocabulary: "어휘", "context in tokens": "문맥(토큰 수)", updates: "업데이트" };
const MOST_BITS = 12;
const SHOWN = 8;
/** @type {(place: number) => number} */
const bitsOf = (place) => -Math.log2(Math.max(expected[place].probability, 1e-12));
/** @type {(share: number) => string} */
const percent = (share) =>
  `${share >= 0.1 ? (100 * share).toFixed(0) : share >= 0.001 ? (100 * share).toFixed(1) : (100 * share).toPrecision(1)} %`;
/** @type {(token: string) => string} */
const named = (token) => (token === "</s>" ? say(SAYS.line) : token === "<s>" ? say(SAYS.begin) : readable(token));
/** @type {(place: number) => string} */
const readName = (place) => (place === 0 ? say(SAYS.begin) : named(read[place]));

// What the reader chose: a token, a layer and a head; null stands for all of them. Behind the last layer is the pointer.
/** @type {{ place: number, layer: number | null, head: number | null }} */
const chosen = {
  place: tokens.map((_, place) => place).reduce((worst, place) => (bitsOf(place) > bitsOf(worst) ? place : worst), 0),
  layer: null,
  head: null,
};

// The pointer's shares of every place, if it is what the reader chose.
const pointing = () => (seen.weights && chosen.layer === seen.weights.shape[0] ? seen.pointed : null);

// How much each token read was looked at in order to predict the chosen one [read], mean over what was not chosen.
/** @type {() => Float32Array} */
function looks() {
  const pointed = pointing();
  if (pointed) return tensorOf(pointed).at(chosen.place).values.slice(0, -1);
  if (!seen.weights) return new Float32Array(read.length);
  const weights = tensorOf(seen.weights);
  const [layers, heads] = weights.shape;
  const sums = new Float32Array(read.length);
  /** @type {(count: number, one: number | null) => number[]} */
  const some = (count, one) => (one === null ? [...Array(count).keys()] : [one]);
  const pairs = some(layers, chosen.layer).flatMap((layer) => some(heads, chosen.head).map((head) => [layer, head]));
  for (const [layer, head] of pairs)
    weights.at(layer, head, chosen.place).values.forEach((value, key) => {
      sums[key] += value / pairs.length;
    });
  return sums;
}

function header() {
  const facts = [
    [say(SAYS.perplexity), seen.perplexity < 1e6 ? seen.perplexity.toFixed(2) : seen.perplexity.toExponential(2)],
    [say(SAYS.words), seen.words.toLocaleString("en")],
    [say(SAYS.tokens), tokens.length.toLocaleString("en")],
    ...Object.entries(seen.facts).map(([name, value]) => [
      reader.language === "ko" ? (FACTS[name] ?? name) : name,
      value,
    ]),
  ];
  element("header").replaceChildren(
    make("div", { class: "title" }, make("h1", {}, seen.title), languageButtons(drawAll)),
    make(
      "dl",
      { class: "facts" },
      ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    ),
  );
}

function textSection() {
  const scale = [0, 3, 6, 9, 12].map((bits) =>
    make(
      "span",
      { class: "token", style: { "--surprise": bits / MOST_BITS } },
      bits === MOST_BITS ? `${bits}+` : String(bits),
    ),
  );
  /** @type {(Node | string)[]} */
  const parts = [make("span", { class: "token begin", data: { key: 0 } }, say(SAYS.begin))];
  tokens.forEach((token, place) => {
    const ends = token === "</s>";
    if (token.startsWith("▁") && place > 0) parts.push(" ");
    parts.push(
      make(
        "button",
        {
          ...tokenLook(token, "token"),
          type: "button",
          data: { place, key: place + 1 },
          "aria-label": `${named(token)}, ${say(SAYS.bits, bitsOf(place).toFixed(1))}`,
          style: { "--surprise": Math.min(1, bitsOf(place) / MOST_BITS) },
          onmouseenter: () => select(place),
          onfocus: () => select(place),
          onclick: () => select(place),
        },
        ends ? "⏎" : readable(token),
      ),
    );
    if (ends) parts.push(make("br"));
  });
  const flow = make(
    "div",
    { class: "flow", id: "flow", dir: "auto", role: "toolbar", "aria-label": say(SAYS.text), onkeydown: step },
    ...parts,
  );
  return make(
    "section",
    {},
    make("h2", {}, say(SAYS.text)),
    make("p", { class: "muted" }, say(seen.weights ? SAYS.hint : SAYS.plain)),
    flow,
    make("p", { class: "scale muted", "aria-hidden": true }, ...scale, say(SAYS.bits, "").trim()),
  );
}

/** @type {(event: KeyboardEvent) => void} */
function step(event) {
  /** @type {Record<string, number>} */
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  const along = steps[event.key];
  if (!along) return;
  event.preventDefault();
  const place = Math.min(tokens.length - 1, Math.max(0, chosen.place + along));
  /** @type {HTMLElement | null} */
  const token = document.querySelector(`[data-place="${place}"]`);
  token?.focus();
}

/** @type {(name: string, share: number, classes?: string) => HTMLElement[]} */
const bar = (name, share, classes = "") => [
  make("dt", { class: classes, dir: "auto" }, name),
  make("dd", { class: classes }, make("i", { style: { "--share": share } }), make("span", {}, percent(share))),
];

function expectedPart() {
  const here = expected[chosen.place];
  const token = tokens[chosen.place];
  const bars = here.tokens
    .slice(0, SHOWN)
    .map((each, rank) => bar(named(each), here.probabilities[rank], each === token ? "came" : ""));
  if (!here.tokens.slice(0, SHOWN).includes(token)) bars.push(bar(named(token), here.probability, "came"));
  return make(
    "div",
    { id: "expected" },
    make("h2", {}, say(SAYS.expected)),
    make(
      "p",
      { class: "muted", "aria-live": "polite" },
      say(
        SAYS.came,
        named(token),
        percent(here.probability),
        bitsOf(chosen.place).toFixed(1),
        here.rank.toLocaleString("en"),
      ),
    ),
    make("dl", { class: "shares" }, ...bars.flat()),
  );
}

function lookedPart() {
  if (!seen.weights)
    return make(
      "div",
      { id: "looked" },
      make("h2", {}, say(SAYS.looked)),
      make("p", { class: "muted" }, say(SAYS.none)),
    );
  const [layers, heads] = seen.weights.shape;
  const shares = looks();
  const best = [...shares.keys()]
    .sort((a, b) => shares[b] - shares[a])
    .slice(0, SHOWN)
    .filter((key) => shares[key] >= 0.005);
  /** @type {(name: "layer" | "head", count: number, all: Both, ...more: HTMLElement[]) => HTMLElement} */
  const chooser = (name, count, all, ...more) =>
    make(
      "select",
      {
        class: "parts",
        id: name,
        "aria-label": say(SAYS[name]),
        onchange: ({ currentTarget }) => {
          chosen[name] = currentTarget.value === "" ? null : Number(currentTarget.value);
          drawPanel();
          element(name).focus();
        },
      },
      make("option", { value: "", selected: chosen[name] === null }, say(all)),
      ...[...Array(count).keys()].map((each) =>
        make("option", { value: each, selected: chosen[name] === each }, say(SAYS.nth, say(SAYS[name]), each + 1)),
      ),
      ...more,
    );
  const pointed = pointing();
  const option = () => make("option", { value: layers, selected: pointed !== null }, say(SAYS.pointer));
  const pointer = seen.pointed ? [option()] : [];
  const instead = pointed
    ? bar(say(SAYS.vocabulary), tensorOf(pointed).number(chosen.place, read.length), "muted")
    : [];
  return make(
    "div",
    { id: "looked" },
    make("h2", {}, say(SAYS.looked)),
    make(
      "p",
      { class: "choosers" },
      chooser("layer", layers, SAYS.every, ...pointer),
      ...(pointed ? [] : [chooser("head", heads, SAYS.mean)]),
    ),
    make("dl", { class: "shares" }, ...instead, ...best.flatMap((key) => bar(readName(key), shares[key]))),
  );
}

function drawPanel() {
  element("panel").replaceChildren(expectedPart(), lookedPart());
  const shares = seen.weights ? looks() : [];
  /** @type {NodeListOf<HTMLElement>} */
  const shown = element("flow").querySelectorAll(".token");
  for (const token of shown) {
    const { place, key } = token.dataset;
    const share = Number(key) <= chosen.place ? (shares[Number(key)] ?? 0) : 0;
    token.style.setProperty("--look", share > 0 ? shade(share).toFixed(3) : "0");
    if (place === undefined) continue;
    token.setAttribute("aria-pressed", String(Number(place) === chosen.place));
    token.tabIndex = Number(place) === chosen.place ? 0 : -1;
  }
}

/** @type {(place: number) => void} */
function select(place) {
  if (place === chosen.place) return;
  chosen.place = place;
  drawPanel();
}

function drawAll() {
  document.documentElement.lang = reader.language;
  element("caution").textContent = seen.weights ? say(SAYS.caution) : "";
  header();
  element("sections").replaceChildren(textSection(), make("section", { class: "panel", id: "panel" }));
  drawPanel();
}

drawAll();
