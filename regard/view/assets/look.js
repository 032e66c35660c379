// The Look view: the sentences with a line for every look (band.js), the map of the numbers (heat.js), and all layers and
// heads at a glance.

const LOOK = {
  title: { en: "Look", ko: "살펴보기" },
  kinds: {
    cross: { en: "Cross", ko: "크로스" },
    encoder: { en: "Encoder", ko: "인코더" },
    decoder: { en: "Decoder", ko: "디코더" },
  },
  meaning: {
    cross: {
      en: "Cross-attention: where in the source the decoder looked in order to write each part of the output.",
      ko: "크로스 어텐션: 디코더가 출력의 각 부분을 쓰기 위해 원문의 어디를 보았는지 나타냅니다.",
    },
    encoder: {
      en: "Encoder self-attention: which parts of the source each part of the source looked at.",
      ko: "인코더 셀프 어텐션: 원문의 각 부분이 원문의 어느 부분을 보았는지 나타냅니다.",
    },
    decoder: {
      en: "Decoder self-attention: where the decoder looked in what it had already written; what comes later is masked.",
      ko: "디코더 셀프 어텐션: 디코더가 이미 쓴 것 가운데 어디를 보았는지 나타냅니다. 뒤에 올 것은 마스크로 가려집니다.",
    },
  },
  // Of a model that only reads.
  reading: {
    encoder: {
      en: "Self-attention: which parts of the text each part of the text looked at.",
      ko: "셀프 어텐션: 글의 각 부분이 글의 어느 부분을 보았는지 나타냅니다.",
    },
    decoder: {
      en: "Self-attention with a causal mask: where the model looked back in order to predict each token; what comes later is masked.",
      ko: "인과 마스크를 쓴 셀프 어텐션: 모델이 각 토큰을 예측하기 위해 앞의 어디를 보았는지 나타냅니다. 뒤에 올 것은 마스크로 가려집니다.",
    },
    source: { en: "Text", ko: "글" },
    target: { en: "To predict", ko: "예측할 토큰" },
    read: { en: "Read before", ko: "앞서 읽은 것" },
  },
  sides: {
    source: { en: "Source", ko: "원문" },
    target: { en: "Output", ko: "출력" },
    read: { en: "Written before", ko: "앞서 쓴 것" },
  },
  key: { en: "{0} · looked at", ko: "{0} · 주목받는 쪽" },
  query: { en: "{0} · looking", ko: "{0} · 주목하는 쪽" },
  kind: { en: "Kind of attention", ko: "어텐션 종류" },
  layer: { en: "Layer", ko: "층" },
  nthLayer: { en: "Layer {0}", ko: "{0}층" },
  head: { en: "Head", ko: "헤드" },
  mean: { en: "mean", ko: "평균" },
  max: { en: "max", ko: "최댓값" },
  every: { en: "all", ko: "모두" },
  all: { en: "all heads, each in its own colour", ko: "모든 헤드(헤드마다 다른 색)" },
  words: { en: "Whole words", ko: "단어로 합치기" },
  hint: {
    en: "Point at a word to see where it looks and who looks at it. Arrow keys walk, Enter pins, Escape releases.",
    ko: "단어를 가리키면 그 단어가 보는 곳과 그 단어를 보는 곳이 나타납니다. 화살표 키로 옮기고 Enter로 고정하며 Esc로 해제합니다.",
  },
  looks: { en: "looks at", ko: "보는 곳:" },
  seen: { en: "is looked at by", ko: "이 단어를 보는 곳:" },
  nobody: { en: "nobody", ko: "없음" },
  map: { en: "Weights", ko: "가중치" },
  overview: { en: "Every layer and head", ko: "모든 층과 헤드" },
  enlarge: { en: "Choose one to enlarge it.", ko: "하나를 고르면 크게 보입니다." },
  switches: { en: "A switch silences a head.", ko: "스위치로 헤드를 끌 수 있습니다." },
  headsOff: { en: "{0} heads off", ko: "헤드 {0}개 꺼짐" },
  headOff: { en: "1 head off", ko: "헤드 1개 꺼짐" },
  on: { en: "on", ko: "켬" },
  off: { en: "off", ko: "끔" },
  warnings: {
    unseen: {
      en: "Hardly looked at in layer {1}: {0}. It may be missing from the output.",
      ko: "{1}층에서 거의 보지 않은 원문 단어: {0}. 출력에서 빠졌을 수 있습니다.",
    },
    spelled: {
      en: "The model has no token for a character in {0}, and reads it byte by byte; it can hardly know what it means.",
      ko: "모델의 어휘에 없는 문자가 든 단어: {0}. 바이트 단위로 읽으므로 뜻을 알기 어렵습니다.",
    },
    repeated: { en: "The output repeats itself: {0}.", ko: "출력에서 되풀이되는 부분: {0}." },
  },
};

/** @type {(scene: Scene) => boolean} */
const onlyReads = ({ decision, surprise }) => Boolean(decision || surprise);
const MERGED = /** @type {const} */ (["mean", "max"]); // ways to put all heads together …
const OVERLAID = /** @type {const} */ ("every"); // … and all of them at once
const FAINT = 0.03; // lighter looks get no line, lest they cover the others
/** @type {(head: Head) => string} */
const headName = (head) =>
  typeof head === "number" ? `${say(LOOK.head)} ${head + 1}` : say(LOOK[head === OVERLAID ? "all" : head]);

/** @type {(scene: Scene) => HTMLElement} */
function controls(scene) {
  const { choice } = page;
  const [layers, heads] = attentionOf(scene, choice.kind).weights.shape;
  /** @type {(title: Both, options: { value: string | number, text: string, change?: Partial<Choice> }[], name: "kind" | "layer" | "head") => Child} */
  const group = (title, options, name) =>
    options.length > 1 &&
    make(
      "div",
      {
        class: "group",
        role: "group",
        "aria-label": say(title),
      },
      make("span", { class: "name" }, say(title)),
      ...options.map(({ value, text, change }) =>
        make(
          "button",
          {
            type: "button",
            id: `${name}-${value}`,
            data: { [name]: value },
            "aria-pressed": String(choice[name] === value),
            onclick: () => choose(change ?? { [name]: value }),
          },
          text,
        ),
      ),
    );
  // A pinned query means nothing to the other sentence.
  const asks = sidesOf(scene, choice.kind).queries;
  const kinds = namesOf(scene.attention).map((kind) => ({
    value: kind,
    text: say(LOOK.kinds[kind]),
    change: { kind, query: sidesOf(scene, kind).queries === asks ? choice.query : null },
  }));
  /** @type {(count: number) => { value: string | number, text: string }[]} */
  const numbers = (count) => Array.from({ length: count }, (_, index) => ({ value: index, text: String(index + 1) }));
  const merged = heads > 1 ? [...MERGED, OVERLAID].map((head) => ({ value: head, text: say(LOOK[head]) })) : [];
  return make(
    "div",
    { class: "controls" },
    group(LOOK.kind, kinds, "kind"),
    group(LOOK.layer, numbers(layers), "layer"),
    group(LOOK.head, [...numbers(heads), ...merged], "head"),
    make(
      "button",
      {
        type: "button",
        id: "words",
        class: "switch",
        role: "switch",
        "aria-checked": String(choice.words),
        onclick: () => choose({ words: !choice.words }),
      },
      say(LOOK.words),
    ),
  );
}

/** @type {(scene: Scene) => HTMLElement[]} */
function warningsOf(scene) {
  const told = Math.max(1, (scene.attention.cross?.weights.shape[0] ?? 1) - 1); // by the last layer but one, as warnings.py says
  return namesOf(LOOK.warnings).flatMap((kind) => {
    const found = scene.warnings.filter((warning) => warning.kind === kind);
    const texts = found.map(({ side, words }) => words.map((word) => scene[side].words[word].text).join(" "));
    const named = texts.map((text) => `“\u2068${text}\u2069”`).join(", "); // isolated: its direction is its own
    return found.length ? [make("p", { class: `warning ${kind}` }, say(LOOK.warnings[kind], named, told))] : [];
  });
}

// The kind of warning that a side's units deserve, as a class.
/** @type {(scene: Scene, side: Side) => (unit: { first: number }) => string | undefined} */
function marksOf(scene, side) {
  /** @type {Map<number, string>} */
  const kinds = new Map();
  for (const warning of scene.warnings) {
    if (scene[warning.side] !== side) continue;
    for (const word of warning.words) {
      for (let token = side.words[word].first; token < side.words[word].end; token++) kinds.set(token, warning.kind);
    }
  }
  return (unit) => kinds.get(unit.first);
}

// The small pictures are kept: drawing them is most of the work for a long sentence.
/** @type {WeakMap<Tensor, Map<string, HTMLCanvasElement>>} */
const pictures = new WeakMap();
/** @type {(layers: Tensor, layer: number, head: Head, headsOff: number[]) => HTMLCanvasElement} */
function pictureOf(layers, layer, head, headsOff) {
  const kept = pictures.get(layers) ?? new Map();
  pictures.set(layers, kept);
  const name = `${layer} ${head} ${color("--accent")}`;
  if (!kept.has(name)) kept.set(name, thumbnail(mapOf(layers.at(layer), head, headsOff)));
  return kept.get(name);
}

/** @type {(scene: Scene) => HTMLElement | null} */
function overview(scene) {
  const { choice } = page;
  const { names, weights } = attentionOf(scene, choice.kind);
  const layers = tensorOf(weights);
  const [count, heads] = layers.shape;
  if (count * heads === 1 && !page.live) return null; // it would show what is already there
  const columns = [...Array(heads).keys(), ...(heads > 1 ? MERGED : [])];
  /** @type {(layer: number, head: Head) => string} */
  const title = (layer, head) => `${say(LOOK.nthLayer, layer + 1)}, ${headName(head)}`;
  /** @type {(layer: number, head: Head) => HTMLElement} */
  const cell = (layer, head) => {
    const headsOff = headsOffIn(scene, choice.kind, layer);
    const { live } = page;
    const hasSwitch = live && typeof head === "number" && names[layer] !== undefined;
    const off = hasSwitch ? live.isOff(names[layer], head) : typeof head === "number" && headsOff.includes(head);
    return make(
      "div",
      { class: off ? "head off" : "head" },
      make(
        "button",
        {
          type: "button",
          id: `small-${layer}-${head}`,
          data: { layer, head },
          "aria-label": title(layer, head),
          "aria-pressed": String(choice.layer === layer && choice.head === head),
          onclick: () => enlarge({ layer, head }),
        },
        pictureOf(layers, layer, head, headsOff),
      ),
      hasSwitch &&
        make(
          "button",
          {
            type: "button",
            id: `switch-${layer}-${head}`,
            class: "switch",
            role: "switch",
            "aria-checked": String(!off),
            "aria-label": title(layer, head),
            onclick: () => live.toggle(names[layer], head),
          },
          say(off ? LOOK.off : LOOK.on),
        ),
    );
  };
  const mirrored = directionOf(sidesOf(scene, choice.kind).keys.tokens.join("")) === "rtl";
  return make(
    "section",
    { class: "overview" },
    make("h2", {}, say(LOOK.overview)),
    make("p", { class: "muted" }, say(LOOK.enlarge), " ", page.live ? say(LOOK.switches) : ""),
    fading(
      make(
        "div",
        { class: mirrored ? "small mirrored" : "small", style: { "--heads": columns.length } },
        make("span"),
        ...columns.map((head) => make("span", {}, headName(head))),
        ...Array.from({ length: count }, (_, layer) => [
          make("span", { class: "layer" }, say(LOOK.nthLayer, layer + 1)),
          ...columns.map((head) => cell(layer, head)),
        ]).flat(),
      ),
    ),
  );
}

// What of the map's layer is switched off, as far as it concerns the map.
/** @type {(headsOff: number[], head: Head) => string} */
function offText(headsOff, head) {
  if (typeof head === "number") return headsOff.includes(head) ? ` · ${say(LOOK.off)}` : "";
  return headsOff.length ? ` · ${say(headsOff.length === 1 ? LOOK.headOff : LOOK.headsOff, headsOff.length)}` : "";
}

// Bring what was chosen into view: the overview may stand far below it.
/** @type {(change: Partial<Choice>) => void} */
function enlarge(change) {
  choose(change);
  const large = document.querySelector(".look .weights");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (large && large.getBoundingClientRect().top < 0) large.scrollIntoView({ behavior: still ? "instant" : "smooth" });
}

// Another part of the text or another model may have fewer of everything than what was chosen before.
/** @type {(scene: Scene) => void} */
function settle(scene) {
  const { choice } = page;
  const [layers, heads] = attentionOf(scene, choice.kind).weights.shape;
  choice.layer = Math.min(choice.layer, layers - 1);
  if (choice.head === OVERLAID ? heads < 2 : typeof choice.head === "number" && choice.head >= heads)
    choice.head = "mean";
  const written = sidesOf(scene, choice.kind).queries.tokens.length;
  if (choice.query !== null && choice.query >= written) choice.query = null;
}

// What the lines are made of: one map, or that of each head that is on.
/** @type {(scene: Scene, kind: Kind, merge: (map: Tensor) => Tensor) => Overlay[]} */
function overlaysOf(scene, kind, merge) {
  const { layer, head } = page.choice;
  const headsOff = headsOffIn(scene, kind, layer);
  const weights = tensorOf(attentionOf(scene, kind).weights).at(layer);
  const [heads] = weights.shape;
  if (head !== OVERLAID)
    return [{ name: headName(head), map: merge(mapOf(weights, head, headsOff)), color: "var(--accent)" }];
  return [...Array(heads).keys()]
    .filter((each) => !headsOff.includes(each))
    .map((each) => ({ name: headName(each), map: merge(weights.at(each)), color: headColor(each, heads) }));
}

/** @type {(root: HTMLElement, scene: Scene) => void} */
function drawLook(root, scene) {
  settle(scene);
  const { kind, layer, head, words } = page.choice;
  const { queries, keys } = sidesOf(scene, kind);
  const headsOff = headsOffIn(scene, kind, layer);
  const whole = mapOf(tensorOf(attentionOf(scene, kind).weights).at(layer), head, headsOff);
  /** @type {(map: Tensor) => Tensor} */
  const merge = (each) => (words ? mergeWords(each, queries.words, keys.words) : each);
  const map = merge(whole);
  const overlays = overlaysOf(scene, kind, merge);
  const units = { query: unitsOf(queries, words), key: unitsOf(keys, words) };
  /** @type {(side: Side) => string} */
  const nameOf = (side) =>
    say(
      (onlyReads(scene) ? LOOK.reading : LOOK.sides)[
        namesOf(LOOK.sides).find((name) => scene[name] === side) ?? "source"
      ],
    );
  const titles = { query: say(LOOK.query, nameOf(queries)), key: say(LOOK.key, nameOf(keys)) };
  const marked = { query: marksOf(scene, queries), key: marksOf(scene, keys) };
  const shares = head !== "max";
  const band = new Band({ kind, map, overlays, units, titles, marked, shares });
  const title = `${say(LOOK.nthLayer, layer + 1)}, ${headName(head)}${offText(headsOff, head)}`;
  const heat = heatMap({
    queries: units.query.map((unit) => unit.label),
    keys: units.key.map((unit) => unit.label),
    map,
    hidden: (query, key) => kind === "decoder" && units.key[key].first >= units.query[query].end,
    edges: shares,
    label: `${say(LOOK.kinds[kind])}, ${title}`,
    queryTitle: nameOf(queries),
    keyTitle: nameOf(keys),
  });
  root.addEventListener("point", (event) => {
    const detail = event instanceof CustomEvent && event.detail;
    band.show(detail ? { side: "query", index: detail.query } : null);
  });
  root.addEventListener("keydown", (event) => event.key === "Escape" && band.release());
  root.append(
    controls(scene),
    make("p", { class: "muted" }, say(kind !== "cross" && onlyReads(scene) ? LOOK.reading[kind] : LOOK.meaning[kind])),
    ...warningsOf(scene),
    band.root,
    takeButtons(band.picture, `regard-${kind}-${layer + 1}-${typeof head === "number" ? head + 1 : head}`),
    make(
      "div",
      { class: "beside" },
      make(
        "section",
        { class: "weights" },
        make("h2", {}, say(LOOK.map)),
        make("p", { class: "muted" }, title),
        heat,
        takeButtons(heat, `regard-weights-${kind}-${layer + 1}-${typeof head === "number" ? head + 1 : head}`),
      ),
      overview(scene) ?? "",
    ),
  );
}

view({
  id: "look",
  title: LOOK.title,
  parts: choiceParts,
  available: (scene) => scene !== null && namesOf(scene.attention).length > 0,
  draw: drawLook,
});
