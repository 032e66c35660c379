// The same text through several live models, side by side.

const COMPARE = {
  title: { en: "Compare", ko: "비교" },
  about: {
    en: "The same text through each model as it was trained. Underlined words differ from the first column; the line under a token is as long as its probability.",
    ko: "같은 글을 각 모델이 학습된 그대로 번역한 결과입니다. 밑줄 친 단어는 첫 번째 열과 다른 곳이고, 토큰 아래 선의 길이는 그 토큰의 확률입니다.",
  },
  models: { en: "Models", ko: "모델" },
  waiting: { en: "Translating …", ko: "번역 중 …" },
  map: { en: "Cross-attention, last layer, mean of its heads", ko: "크로스 어텐션, 마지막 층, 헤드 평균" },
  none: { en: "This model has no cross-attention.", ko: "이 모델에는 크로스 어텐션이 없습니다." },
  tokens: { en: "Probability of each token", ko: "토큰마다의 확률" },
};

/**
 * @typedef {{ text: string, scenes: Scene[], facts: Record<string, string>, tokens: { token: string, probability?: number }[] }} Compared
 * @type {{ chosen: Set<string> | null, asked: string, answers: Map<string, Promise<Compared>> }}
 */
const compareState = { chosen: null, asked: "", answers: new Map() }; // of the text asked, model's name → promise

// A model without any attention has no scenes; its text and probabilities come from /translate.
// Those that write an output of their own.
/** @type {(models: LiveModel[]) => LiveModel[]} */
const comparable = (models) => models.filter((model) => model.beam !== null);

/** @type {(model: LiveModel, wanted: string | null, beam: number | null, text: string) => Promise<Compared>} */
async function askToCompare(model, wanted, beam, text) {
  const to = wanted !== null && model.targets.includes(wanted) ? wanted : null; // others have one language, or their first
  if (Object.values(model.attentions).flat().length > 0) {
    /** @type {AttentionAnswer} */
    const { scenes } = await askServer("attention", { model: model.name, text, beam, to });
    return {
      text: wholeText(scenes),
      scenes,
      facts: scenes[0].facts,
      tokens: scenes.flatMap(({ target, alternatives }) =>
        target.tokens.map((token, t) => ({ token, probability: alternatives[t]?.probability })),
      ),
    };
  }
  /** @type {TranslateAnswer} */
  const {
    translations: [given],
  } = await askServer("translate", { model: model.name, text, beam, to });
  return {
    text: given.text,
    scenes: [],
    facts: {},
    tokens: given.tokens.map((token, t) => ({ token, probability: Math.exp(given.token_log_probabilities[t]) })),
  };
}

/** @type {(model: LiveModel, request: LiveRequest) => Promise<Compared>} */
function answerOf(model, { to, beam, text }) {
  const asked = JSON.stringify([to, beam, text]);
  if (asked !== compareState.asked) Object.assign(compareState, { asked, answers: new Map() });
  const { answers } = compareState;
  const known = answers.get(model.name);
  if (known) return known;
  const answer = askToCompare(model, to, beam, text);
  answers.set(model.name, answer);
  answer.catch(() => answers.delete(model.name)); // so that it is tried again
  return answer;
}

/** @type {(scene: Scene) => HTMLElement} */
function comparedMap(scene) {
  if (!scene.attention.cross) return make("p", { class: "muted" }, say(COMPARE.none));
  const weights = tensorOf(scene.attention.cross.weights);
  const last = weights.shape[0] - 1;
  const map = mapOf(weights.at(last), "mean", headsOffIn(scene, "cross", last));
  const { words: queries } = scene.target;
  const { words: keys } = scene.source;
  return make(
    "div",
    { class: "scroller" },
    heatMap({
      queries: queries.map((word) => labelOf(word.text)),
      keys: keys.map((word) => labelOf(word.text)),
      map: mergeWords(map, queries, keys),
      label: say(COMPARE.map),
      edges: false,
    }),
  );
}

/** @type {(tokens: Compared["tokens"]) => HTMLElement} */
function comparedTokens(tokens) {
  return make(
    "p",
    { class: "tokens", dir: "auto" },
    ...tokens.flatMap(({ token, probability }) => [
      token.startsWith("▁") || isSpecial(token) ? " " : "",
      make(
        "span",
        {
          class: tokenLook(token).class,
          title:
            [tokenLook(token).title, probability !== undefined && shareText(probability)].filter(Boolean).join(" · ") ||
            null,
          style: { "--share": `${100 * (probability ?? 0)}%` },
        },
        readable(token),
      ),
    ]),
  );
}

/** @type {(column: HTMLElement, answer: Compared, first: string) => void} */
function fillColumn(column, answer, first) {
  column.setAttribute("aria-busy", "false");
  column.lastElementChild?.replaceWith(
    make(
      "div",
      {},
      make(
        "p",
        { class: "translated", dir: "auto" },
        ...orNothing(answer.text, ...(first === answer.text ? [] : markDifferences(answer.text, first))),
      ),
      make("h3", {}, say(COMPARE.tokens)),
      comparedTokens(answer.tokens),
      make("h3", {}, say(COMPARE.map)),
      ...(answer.scenes.length ? answer.scenes.map(comparedMap) : [make("p", { class: "muted" }, say(COMPARE.none))]),
      make(
        "dl",
        { class: "facts" },
        ...Object.entries(answer.facts).map(([name, value]) =>
          make("div", {}, make("dt", {}, factName(name)), make("dd", {}, value)),
        ),
      ),
    ),
  );
}

/** @type {(root: HTMLElement) => void} */
function drawCompare(root) {
  if (!page.live?.asked) return;
  const { asked } = page.live;
  const models = comparable(page.live.models);
  compareState.chosen ??= new Set(models.slice(0, 2).map((model) => model.name));
  const names = compareState.chosen;
  const chosen = models.filter((model) => names.has(model.name));
  const choice = make(
    "fieldset",
    { class: "models" },
    make("legend", {}, say(COMPARE.models)),
    ...models.map((model, number) =>
      make(
        "label",
        {},
        make("input", {
          type: "checkbox",
          id: `compare-${number}`,
          checked: names.has(model.name),
          onchange: ({ currentTarget }) => {
            names[currentTarget.checked ? "add" : "delete"](model.name);
            draw();
          },
        }),
        make("span", {}, model.name, titleOf(model) && make("small", {}, ` ${titleOf(model)}`)),
      ),
    ),
  );
  const columns = chosen.map((model) =>
    make(
      "section",
      { class: "column", "aria-busy": "true", data: { model: model.name } },
      make("h2", {}, model.name),
      make("p", { class: "muted" }, [titleOf(model), model.languages].filter(Boolean).join(" · ")),
      make("p", { class: "muted" }, say(COMPARE.waiting)),
    ),
  );
  root.append(
    make("p", { class: "muted" }, say(COMPARE.about)),
    choice,
    make("div", { class: "side-by-side" }, ...columns),
  );
  const first = chosen.length ? answerOf(chosen[0], asked).catch(() => null) : null;
  chosen.forEach(async (model, number) => {
    try {
      const answer = await answerOf(model, asked);
      fillColumn(columns[number], answer, (await first)?.text ?? answer.text);
    } catch (error) {
      columns[number].setAttribute("aria-busy", "false");
      columns[number].lastElementChild?.replaceWith(make("p", { class: "error", role: "alert" }, messageOf(error)));
    }
  });
}

view({
  id: "compare",
  title: COMPARE.title,
  available: (scene) =>
    scene !== null &&
    page.live !== null &&
    page.live.model.beam !== null &&
    comparable(page.live.models).length > 1 &&
    page.live.asked !== null,
  draw: drawCompare,
});
