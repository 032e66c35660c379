// The Surprise view of a text that a language model reads: how surprising each token was, what else might have come, and
// which earlier tokens were looked at.

const WRITING = {
  title: { en: "Surprise", ko: "뜻밖의 정도" },
  text: { en: "How surprising was each token?", ko: "토큰마다 얼마나 뜻밖이었을까요?" },
  hint: {
    en: "The stronger the colour, the less expected the token. Choose a token by pointing, tapping or with the arrow keys; lines below earlier tokens show how much it was looked at.",
    ko: "색이 진할수록 예상하지 못한 토큰입니다. 가리키거나 누르거나 화살표 키로 토큰을 고르세요. 앞선 토큰 밑의 줄은 얼마나 주목받았는지를 보여 줍니다.",
  },
  plain: {
    en: "The stronger the colour, the less expected the token. Choose a token by pointing, tapping or with the arrow keys.",
    ko: "색이 진할수록 예상하지 못한 토큰입니다. 가리키거나 누르거나 화살표 키로 토큰을 고르세요.",
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
  vocabulary: { en: "the vocabulary decides", ko: "어휘 분포가 결정" },
  nth: { en: "{0} {1}", ko: "{0} {1}" },
  none: {
    en: "A recurrent model has no attention: all that it knows of the text so far is its state. So there are no weights to look at, no positions, no heads to switch, and no walk through queries and keys.",
    ko: "순환 모델에는 어텐션이 없습니다. 지금까지의 글에 대해 아는 것은 상태 하나뿐입니다. 그래서 살펴볼 가중치도, 위치 인코딩도, 끌 수 있는 헤드도, 따라갈 쿼리와 키도 없습니다.",
  },
  begin: { en: "start", ko: "시작" },
  line: { en: "end of line", ko: "줄 끝" },
};
const MOST_BITS = 12;
const SHOWN = 8;
const MOST_JOINED = 8; // tokens that stand in one line; more are a script without spaces
/** @type {(scene: Scene, place: number) => number} */
const bitsOf = (scene, place) => -Math.log2(Math.max(scene.alternatives[place].probability, 1e-12));
/** @type {(token: string) => string} */
const textName = (token) =>
  token === "</s>" ? say(WRITING.line) : token === "<s>" ? say(WRITING.begin) : readable(token);
/** @type {(scene: Scene, place: number) => string} */
const readName = (scene, place) => (place === 0 ? say(WRITING.begin) : textName(scene.read.tokens[place]));

// What the reader chose: a token, a layer and a head; null stands for all of them. Behind the last layer is the pointer.
/** @type {{ scene: Scene | null, place: number, layer: number | null, head: number | null }} */
const chosen = { scene: null, place: 0, layer: null, head: null };

// Another text begins at its greatest surprise.
/** @type {(scene: Scene) => void} */
function settleWriting(scene) {
  if (chosen.scene === scene) return;
  const places = scene.target.tokens.map((_, place) => place);
  const pinned = page.choice.query !== null && page.choice.query < places.length ? page.choice.query : null;
  chosen.place =
    pinned ?? places.reduce((worst, place) => (bitsOf(scene, place) > bitsOf(scene, worst) ? place : worst), 0);
  chosen.scene = scene;
  page.choice.query = chosen.place; // the other views open on it, too
  const layers = scene.attention.decoder?.weights.shape[0] ?? 0;
  if (chosen.layer !== null && chosen.layer >= layers + Number(Boolean(scene.surprise?.pointed))) chosen.layer = null;
  if (chosen.head !== null && chosen.head >= (scene.attention.decoder?.weights.shape[1] ?? 0)) chosen.head = null;
}

// The pointer's shares of every place, if it is what the reader chose.
/** @type {(scene: Scene) => Packed | null} */
const pointing = ({ attention, surprise }) =>
  attention.decoder && chosen.layer === attention.decoder.weights.shape[0] ? (surprise?.pointed ?? null) : null;

// How much each token read was looked at in order to predict the chosen one [read], mean over the heads that were chosen
// and are not switched off.
/** @type {(scene: Scene) => Float32Array} */
function looks(scene) {
  const pointed = pointing(scene);
  const read = scene.read.tokens;
  if (pointed) return tensorOf(pointed).at(chosen.place).values.slice(0, -1);
  if (!scene.attention.decoder) return new Float32Array(read.length);
  const weights = tensorOf(scene.attention.decoder.weights);
  const [layers, heads] = weights.shape;
  const sums = new Float32Array(read.length);
  /** @type {(count: number, one: number | null) => number[]} */
  const some = (count, one) => (one === null ? [...Array(count).keys()] : [one]);
  const pairs = some(layers, chosen.layer).flatMap((layer) =>
    some(heads, chosen.head)
      .filter((head) => chosen.head !== null || !headsOffIn(scene, "decoder", layer).includes(head))
      .map((head) => [layer, head]),
  );
  for (const [layer, head] of pairs)
    weights.at(layer, head, chosen.place).values.forEach((value, key) => {
      sums[key] += value / pairs.length;
    });
  return sums;
}

/** @type {(scene: Scene) => HTMLElement} */
function textSection(scene) {
  const { tokens } = scene.target;
  const scale = [0, 3, 6, 9, 12].map((bits) =>
    make(
      "span",
      { class: "token", style: { "--surprise": bits / MOST_BITS } },
      bits === MOST_BITS ? `${bits}+` : String(bits),
    ),
  );
  /** @type {(Node | string)[]} */
  const parts = [make("span", { class: "token begin", data: { key: 0 } }, say(WRITING.begin))];
  /** @type {(token: string, place: number) => HTMLElement} */
  const button = (token, place) =>
    make(
      "button",
      {
        ...tokenLook(token, "token"),
        type: "button",
        data: { place, key: place + 1 },
        "aria-label": `${textName(token)}, ${say(WRITING.bits, bitsOf(scene, place).toFixed(1))}`,
        style: { "--surprise": Math.min(1, bitsOf(scene, place) / MOST_BITS) },
        onmouseenter: () => select(scene, place),
        onfocus: () => keep(scene, place),
        onclick: () => keep(scene, place),
      },
      token === "</s>" ? "⏎" : readable(token),
    );
  // A line may be broken between words, not within one.
  for (const { first, end } of scene.target.words) {
    if (tokens[first].startsWith("▁") && first > 0) parts.push(" ");
    parts.push(
      make(
        "span",
        { class: end - first <= MOST_JOINED && "word" },
        ...tokens.slice(first, end).map((token, place) => button(token, first + place)),
      ),
    );
    if (tokens[end - 1] === "</s>") parts.push(make("br"));
  }
  const flow = make(
    "div",
    {
      class: "flow",
      id: "flow",
      dir: "auto",
      role: "toolbar",
      "aria-label": say(WRITING.text),
      onkeydown: (event) => step(scene, event),
    },
    ...parts,
  );
  return make(
    "section",
    {},
    make("h2", {}, say(WRITING.text)),
    make("p", { class: "muted" }, say(scene.attention.decoder ? WRITING.hint : WRITING.plain)),
    flow,
    make("p", { class: "scale muted", "aria-hidden": true }, ...scale, say(WRITING.bits, "").trim()),
  );
}

/** @type {(scene: Scene, event: KeyboardEvent) => void} */
function step(scene, event) {
  /** @type {Record<string, number>} */
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  const along = steps[event.key];
  if (!along) return;
  event.preventDefault();
  const place = Math.min(scene.target.tokens.length - 1, Math.max(0, chosen.place + along));
  /** @type {HTMLElement | null} */
  const token = document.querySelector(`[data-place="${place}"]`);
  token?.focus();
}

/** @type {(name: string, share: number, classes?: string) => HTMLElement[]} */
const bar = (name, share, classes = "") => [
  make("dt", { class: classes, dir: "auto" }, name),
  make("dd", { class: classes }, make("i", { style: { "--share": share } }), make("span", {}, percentage(share))),
];

/** @type {(scene: Scene) => HTMLElement} */
function expectedPart(scene) {
  const here = scene.alternatives[chosen.place];
  const token = scene.target.tokens[chosen.place];
  const bars = here.tokens
    .slice(0, SHOWN)
    .map((each, rank) => bar(textName(each), here.probabilities[rank], each === token ? "came" : ""));
  if (!here.tokens.slice(0, SHOWN).includes(token)) bars.push(bar(textName(token), here.probability, "came"));
  return make(
    "div",
    { id: "expected" },
    make("h2", {}, say(WRITING.expected)),
    make(
      "p",
      { class: "muted", "aria-live": "polite" },
      say(
        WRITING.came,
        textName(token),
        percentage(here.probability),
        bitsOf(scene, chosen.place).toFixed(1),
        here.rank.toLocaleString("en"),
      ),
    ),
    make("dl", { class: "shares" }, ...bars.flat()),
  );
}

/** @type {(scene: Scene) => HTMLElement} */
function lookedPart(scene) {
  const { decoder } = scene.attention;
  if (!decoder)
    return make(
      "div",
      { id: "looked" },
      make("h2", {}, say(WRITING.looked)),
      make("p", { class: "muted" }, say(WRITING.none)),
    );
  const [layers, heads] = decoder.weights.shape;
  const shares = looks(scene);
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
        "aria-label": say(WRITING[name]),
        onchange: ({ currentTarget }) => {
          chosen[name] = currentTarget.value === "" ? null : Number(currentTarget.value);
          drawPanel(scene);
          element(name).focus();
        },
      },
      make("option", { value: "", selected: chosen[name] === null }, say(all)),
      ...[...Array(count).keys()].map((each) =>
        make(
          "option",
          { value: each, selected: chosen[name] === each },
          say(WRITING.nth, say(WRITING[name]), each + 1),
        ),
      ),
      ...more,
    );
  const pointed = pointing(scene);
  const option = () => make("option", { value: layers, selected: pointed !== null }, say(WRITING.pointer));
  const pointer = scene.surprise?.pointed ? [option()] : [];
  const instead = pointed
    ? bar(say(WRITING.vocabulary), tensorOf(pointed).number(chosen.place, scene.read.tokens.length), "muted")
    : [];
  return make(
    "div",
    { id: "looked" },
    make("h2", {}, say(WRITING.looked)),
    make(
      "p",
      { class: "choosers" },
      chooser("layer", layers, WRITING.every, ...pointer),
      ...(pointed ? [] : [chooser("head", heads, WRITING.mean)]),
    ),
    make("dl", { class: "shares" }, ...instead, ...best.flatMap((key) => bar(readName(scene, key), shares[key]))),
  );
}

/** @type {(scene: Scene) => void} */
function drawPanel(scene) {
  element("panel").replaceChildren(expectedPart(scene), lookedPart(scene));
  const shares = scene.attention.decoder ? looks(scene) : [];
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

/** @type {(scene: Scene, place: number) => void} */
function select(scene, place) {
  if (place === chosen.place) return;
  chosen.place = place;
  page.choice.query = place;
  drawPanel(scene);
}

// What was chosen on purpose stands in the address, too.
/** @type {(scene: Scene, place: number) => void} */
function keep(scene, place) {
  select(scene, place);
  writeAddress();
}

view({
  id: "writing",
  address: "surprise",
  title: WRITING.title,
  parts: {
    write: (scene) => placeParts(scene.target, chosen.scene === scene ? chosen.place : page.choice.query),
    read(scene, [token]) {
      page.choice.query = placeNamed(scene.target, token);
      chosen.scene = null;
    },
  },
  available: (scene) => Boolean(scene?.surprise),
  draw(root, scene) {
    settleWriting(scene);
    root.append(
      textSection(scene),
      make("section", { class: "panel", id: "panel" }),
      takeButtons(root, "regard-surprise"),
    );
    drawPanel(scene);
  },
});
