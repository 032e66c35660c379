// The Decision view of a classifier: how probable each label is, and which words spoke for it and against it.

const DECISION = {
  title: { en: "Decision", ko: "판단" },
  labels: { en: "How probable each label is", ko: "라벨별 확률" },
  more: { en: "and {0} less probable labels", ko: "그 밖의 라벨 {0}개" },
  words: {
    attention: { en: "Attention: looked at", ko: "어텐션: 주목받은 단어" },
    gradient: { en: "Gradient × input: for and against", ko: "기울기 × 입력: 라벨에 유리한 단어와 불리한 단어" },
    ngrams: { en: "N-grams: for and against", ko: "n-gram: 라벨에 유리한 단어와 불리한 단어" },
  },
  weighed: { en: "Which words spoke for “{0}”, and which against it", ko: "“{0}”에 유리한 단어와 불리한 단어" },
  hint: {
    en: "The strongest words, in the order of the text. Choose one by pointing, tapping or with the arrow keys; Look and Walk then show it.",
    ko: "영향이 가장 큰 단어를 글의 순서대로 보여 줍니다. 누르거나 화살표 키로 고르면 살펴보기와 따라가기에서도 그 단어가 나옵니다.",
  },
  pro: { en: "for", ko: "유리" },
  contra: { en: "against", ko: "불리" },
  least: { en: "little", ko: "적음" },
  most: { en: "most", ko: "많음" },
  strongest: { en: "The strongest n-grams, in log-odds", ko: "기여가 가장 큰 n-gram(로그 오즈)" },
  left: { en: "left out", ko: "생략" },
  window: { en: "Window {0} of {1}", ko: "창 {1}개 가운데 {0}번째" },
  unmapped: {
    en: "This page has no room for the weights of so many words.",
    ko: "단어가 너무 많아 어텐션 가중치를 담지 못했습니다.",
  },
  without: {
    en: "This architecture has no attention; which words decided is told by gradient × input alone.",
    ko: "이 구조에는 어텐션이 없습니다. 어떤 단어가 판단을 이끌었는지는 기울기 × 입력으로만 알 수 있습니다.",
  },
  pooled: {
    en: "In this architecture no word looks at others: one learned query looks at all of them, and its weights are what is shown as attention.",
    ko: "이 구조에서는 단어끼리 서로를 보지 않습니다. 학습된 쿼리 하나가 모든 단어를 보며, 그 가중치가 위의 어텐션입니다.",
  },
  note: {
    en: "Attention says from where information can have come into the decision: the looks of all layers, followed from the pooled vector down to the words. Gradient × input says how the label's log-odds would move if a word's vector grew or shrank: + speaks for the label, − against it, and +0.7 doubles its odds. Both are hints, no proof: neither is what would happen without the word.",
    ko: "어텐션은 판단에 들어온 정보가 어느 단어에서 왔을 수 있는지를 나타냅니다. 풀링된 벡터에서 단어까지 모든 층의 어텐션을 거슬러 올라간 값입니다. 기울기 × 입력은 단어의 벡터가 커지거나 작아질 때 라벨의 로그 오즈가 얼마나 움직이는지를 나타냅니다. +는 라벨에 유리하고 −는 불리하며, +0.7이면 오즈가 두 배가 됩니다. 둘 다 단서일 뿐 증거가 아니며, 그 단어가 없었다면 어떻게 되었을지를 말해 주지는 않습니다.",
  },
};
const MOST_LABELS = 12; // a classifier may know hundreds
const MOST_WORDS = 12; // with a bar of their own

// What words are weighed by: what speaks for and against, if there is such a number.
/** @type {(decision: Decision) => keyof Decision["words"] | undefined} */
const weighedBy = ({ words }) => /** @type {const} */ (["gradient", "ngrams", "attention"]).find((name) => words[name]);

// The strongest words, in the order of the text.
/** @type {(scene: Scene, values: number[]) => number[]} */
const strongestWords = (scene, values) =>
  [...scene.source.words.keys()]
    .filter((word) => !isSpecial(scene.source.tokens[scene.source.words[word].first]))
    .sort((one, other) => Math.abs(values[other]) - Math.abs(values[one]))
    .slice(0, MOST_WORDS)
    .sort((one, other) => one - other);

// The word that is chosen: at first the strongest.
/** @type {(scene: Scene, decision: Decision) => number} */
function chosenWord(scene, decision) {
  const { query } = page.choice;
  const { words } = scene.source;
  const found = words.findIndex(({ first, end }) => query !== null && first <= query && query < end);
  const name = weighedBy(decision);
  const values = (name && decision.words[name]) ?? [];
  if (found >= 0 || !values.length) return found;
  return strongestWords(scene, values).reduce(
    (best, word) => (best < 0 || Math.abs(values[word]) > Math.abs(values[best]) ? word : best),
    -1,
  );
}

// Mark a word wherever it stands.
/** @type {(root: HTMLElement, scene: Scene, word: number) => void} */
function chooseWord(root, scene, word) {
  const chosenOne = scene.source.words[word];
  if (!chosenOne) return;
  page.choice.query = chosenOne.first;
  /** @type {NodeListOf<HTMLElement>} */
  const marks = root.querySelectorAll("[data-word]");
  for (const each of marks)
    if (each.dataset.word === String(word)) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
}

// A bar for each of the strongest words: to the right what speaks for the label, to the left what speaks against it.
/** @type {(scene: Scene, decision: Decision) => HTMLElement | null} */
function drawWeighed(scene, decision) {
  const name = weighedBy(decision);
  const values = (name && decision.words[name]) ?? [];
  if (!name || !values.length) return null;
  const shown = strongestWords(scene, values);
  const most = Math.max(...shown.map((word) => Math.abs(values[word]))) || 1;
  const rows = shown.map((word) =>
    make(
      "tr",
      { data: { word } },
      make("th", { scope: "row" }, make("bdi", {}, scene.source.words[word].text)),
      make(
        "td",
        {},
        make("i", {
          class: values[word] < 0 ? "against" : "for",
          style: { "--part": (Math.abs(values[word]) / most).toFixed(4) },
        }),
      ),
      make("td", {}, name === "attention" ? percentage(values[word]) : withSign(values[word])),
    ),
  );
  const sides = name === "attention" ? [] : [say(DECISION.contra), say(DECISION.pro)];
  return make(
    "section",
    { class: "weighed" },
    make("h2", {}, say(DECISION.weighed, decision.label)),
    make("p", { class: "muted" }, say(DECISION.hint)),
    make(
      "table",
      { class: name === "attention" ? "bars" : "bars diverging" },
      sides.length > 0 &&
        make(
          "tr",
          { class: "sides", "aria-hidden": "true" },
          make("td"),
          make("td", {}, ...sides.map((side) => make("span", {}, side))),
          make("td"),
        ),
      ...rows,
    ),
  );
}

// What the shades mean, beside what they shade.
/** @type {(name: keyof Decision["words"]) => HTMLElement} */
function drawKey(name) {
  const depths = name === "attention" ? [0, 0.25, 0.5, 0.75, 1] : [-1, -0.5, 0, 0.5, 1];
  const [low, high] = name === "attention" ? [DECISION.least, DECISION.most] : [DECISION.contra, DECISION.pro];
  return make(
    "p",
    { class: "key muted", "aria-hidden": "true" },
    say(low),
    ...depths.map((depth) =>
      make("i", { class: depth < 0 ? "against" : "for", style: { "--depth": Math.abs(depth) } }),
    ),
    say(high),
  );
}

// A number with its sign; what rounds to nothing has none.
/** @type {(value: number) => string} */
function withSign(value) {
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
}

// The label and how sure it is.
/** @type {(decision: Decision) => string} */
const decisionText = ({ label, probabilities }) =>
  `${label}: ${percentage(probabilities.find(([each]) => each === label)?.[1] ?? 0, 1)}`;

/** @type {(rows: { name: string, part: number, text: string, against?: boolean }[]) => HTMLElement} */
const drawBars = (rows) =>
  make(
    "table",
    { class: "bars" },
    ...rows.map(({ name, part, text, against }) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, make("bdi", {}, name)),
        make("td", {}, make("i", { class: against && "against", style: { "--part": part.toFixed(4) } })),
        make("td", {}, text),
      ),
    ),
  );

// The text, each word shaded by its number.
/** @type {(scene: Scene, decision: Decision, name: keyof Decision["words"]) => HTMLElement} */
function drawShaded(scene, decision, name) {
  const values = decision.words[name] ?? [];
  const { tokens, words } = scene.source;
  const most = values.reduce((larger, value) => Math.max(larger, Math.abs(value)), 0) || 1;
  const gap = () => make("i", { class: "nothing" }, ` [${say(DECISION.left)} …]`);
  /** @type {(Node | string)[]} */
  const parts = [];
  words.forEach(({ first, text }, index) => {
    const depth = Math.abs(values[index]) / most;
    if (first === decision.gap) parts.push(gap());
    if (parts.length && (tokens[first].startsWith("▁") || isSpecial(tokens[first - 1] ?? ""))) parts.push(" ");
    parts.push(
      make(
        "span",
        {
          class: values[index] < 0 ? "against" : "for",
          title: name === "attention" ? percentage(values[index]) : withSign(values[index]),
          data: { word: index },
          style: { "--depth": depth.toFixed(3) },
        },
        isSpecial(tokens[first]) ? readable(tokens[first]) : text,
      ),
    );
  });
  if (decision.gap === tokens.length) parts.push(gap());
  return make(
    "div",
    { data: { name } },
    make("h2", {}, say(DECISION.words[name])),
    make(
      "p",
      { class: "shaded", dir: "auto", tabindex: 0, role: "group", "aria-label": say(DECISION.words[name]) },
      ...parts,
    ),
    drawKey(name),
  );
}

// Pointer and arrow keys → a word.
/** @type {(root: HTMLElement, scene: Scene, decision: Decision) => void} */
function followWords(root, scene, decision) {
  /** @type {(word: number) => void} */
  const choose = (word) => {
    chooseWord(root, scene, Math.min(scene.source.words.length - 1, Math.max(0, word)));
    writeAddress();
  };
  root.addEventListener("click", (event) => {
    const word = /** @type {HTMLElement | null | undefined} */ (targetOf(event)?.closest("[data-word]"))?.dataset.word;
    if (word !== undefined) choose(Number(word));
  });
  root.addEventListener("keydown", (event) => {
    const along = stepOf(event, "ltr")?.[1];
    if (!along || !targetOf(event)?.matches(".shaded")) return;
    event.preventDefault();
    choose(chosenWord(scene, decision) + along);
  });
  chooseWord(root, scene, chosenWord(scene, decision));
}

view({
  id: "decision",
  title: DECISION.title,
  parts: {
    write: (scene) => placeParts(scene.source, page.choice.query),
    read(scene, [word]) {
      page.choice.query = placeNamed(scene.source, word);
    },
  },
  available: (scene) => Boolean(scene?.decision),
  draw(root, scene) {
    const { decision } = scene;
    if (!decision) return;
    const more = decision.probabilities.length - MOST_LABELS;
    const most = Math.abs(decision.ngrams[0]?.[1] ?? 0) || 1;
    root.append(
      make(
        "section",
        { class: "labels" },
        make("h2", {}, say(DECISION.labels)),
        drawBars(
          decision.probabilities
            .slice(0, MOST_LABELS)
            .map(([name, share]) => ({ name, part: share, text: percentage(share, 1) })),
        ),
        more > 0 && make("p", { class: "muted" }, say(DECISION.more, more.toLocaleString("en"))),
      ),
      drawWeighed(scene, decision) ?? "",
      make(
        "section",
        { class: "words" },
        scene.parts > 1 && make("p", { class: "muted" }, say(DECISION.window, decision.window, scene.parts)),
        make("div", { class: "columns" }, ...namesOf(decision.words).map((name) => drawShaded(scene, decision, name))),
      ),
    );
    if (decision.ngrams.length)
      root.append(
        make(
          "section",
          { class: "ngrams" },
          make("h2", {}, say(DECISION.strongest)),
          drawBars(
            decision.ngrams.map(([name, value]) => ({
              name,
              part: Math.abs(value) / most,
              text: withSign(value),
              against: value < 0,
            })),
          ),
        ),
      );
    root.append(make("p", { class: "muted note" }, say(DECISION.note)), takeButtons(root, "regard-decision"));
    followWords(root, scene, decision);
    if (namesOf(scene.attention).length === 0) {
      const { mapped, words } = decision;
      const reason = !mapped ? DECISION.unmapped : words.attention ? DECISION.pooled : DECISION.without;
      root.append(make("p", { class: "muted" }, say(reason)));
    }
  },
});
