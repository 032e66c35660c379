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
  );
}

view({
  id: "decision",
  title: DECISION.title,
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
    root.append(make("p", { class: "muted note" }, say(DECISION.note)));
    if (namesOf(scene.attention).length === 0) {
      const { mapped, words } = decision;
      const reason = !mapped ? DECISION.unmapped : words.attention ? DECISION.pooled : DECISION.without;
      root.append(make("p", { class: "muted" }, say(reason)));
    }
  },
});
