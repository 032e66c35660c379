// Decoding, one position at a time: what else the model might have written, and which hypotheses the search kept.

const STEPS = {
  title: { en: "Decoding", ko: "디코딩" },
  position: { en: "Position {0} of {1}", ko: "위치 {0} / {1}" },
  slider: { en: "Position in the output", ko: "출력에서의 위치" },
  previous: { en: "Previous position", ko: "이전 위치" },
  next: { en: "Next position", ko: "다음 위치" },
  play: { en: "Play", ko: "재생" },
  pause: { en: "Pause", ko: "멈춤" },
  looked: { en: "To write “{0}” the last layer looked at", ko: "“{0}” 토큰을 쓸 때 마지막 층이 본 곳" },
  beyond: {
    en: "The translation is already complete. The search went on to make sure that no open hypothesis could still win.",
    ko: "번역은 이미 끝났습니다. 남은 가설이 이길 수 없음을 확인하려고 탐색만 더 이어졌습니다.",
  },
  alternatives: { en: "The most probable tokens", ko: "확률이 가장 높은 토큰" },
  alternativesNote: {
    en: "Given all that was written before, the model gives every token of its vocabulary a logit; softmax turns logits into probabilities.",
    ko: "앞에 쓴 모든 것을 바탕으로 모델은 어휘의 모든 토큰에 로짓을 매기고, 소프트맥스가 이를 확률로 바꿉니다.",
  },
  logit: { en: "logit {0}", ko: "로짓 {0}" },
  written: { en: "written", ko: "선택됨" },
  output: { en: "The output, token by token", ko: "출력의 토큰" },
  beams: { en: "Surviving hypotheses", ko: "살아남은 가설" },
  only: { en: "The hypothesis", ko: "가설" },
  beamsNote: {
    en: "{0} went on, best first. The number on the left tells which hypothesis of the step before each one continues.",
    ko: "가설 {0}개가 이어집니다. 좋은 것부터이며, 왼쪽 숫자는 이전 단계의 몇 번째 가설을 잇는지 나타냅니다.",
  },
  greedyNote: {
    en: "One hypothesis only: at each position one token is chosen for good.",
    ko: "가설은 하나뿐입니다. 위치마다 토큰 하나를 고르면 되돌리지 않습니다.",
  },
  samplesNote: {
    en: "{0} outputs go on, each drawn by itself. Of all, the one with the best score became the translation.",
    ko: "출력 {0}개를 저마다 따로 뽑아 이어 갑니다. 그 가운데 점수가 가장 좋은 것이 번역이 되었습니다.",
  },
  beside: {
    en: "Another engine wrote this translation, and only regard’s own search can be watched. The search shown here was made beside it; what it found differs: “{0}”",
    ko: "이 번역은 다른 엔진이 썼으며, 과정을 볼 수 있는 것은 regard 자체의 탐색뿐입니다. 여기 보이는 탐색은 그 옆에서 따로 한 것으로, 찾아낸 결과가 다릅니다: “{0}”",
  },
  finished: { en: "Finished here", ko: "여기서 끝난 가설" },
  fell: { en: "Fell out", ko: "탈락한 가설" },
  fellNote: {
    en: "None of their continuations was among the best.",
    ko: "이어 쓴 어느 것도 상위에 들지 못했습니다.",
  },
  final: { en: "final path", ko: "최종 경로" },
  from: { en: "continues hypothesis {0} of the step before", ko: "이전 단계의 {0}번째 가설을 잇습니다" },
  columns: { en: ["from", "hypothesis", "log p", "sum", "score"], ko: ["부모", "가설", "log p", "합", "점수"] },
  river: { en: "All hypotheses of all steps", ko: "모든 단계의 모든 가설" },
  riverNote: {
    en: "Each column is one step, best on top. The coloured path became the translation; a ring marks a finished hypothesis. Choose a token, or use the arrow keys, to go to its step.",
    ko: "열 하나가 한 단계이고 위쪽일수록 좋은 가설입니다. 색이 있는 길이 최종 번역이며, 고리는 끝난 가설입니다. 토큰을 누르거나 화살표 키를 쓰면 그 단계로 갑니다.",
  },
  // How the output was found, and what its score is: by scene.search.
  how: {
    beam: { en: "How beam search works", ko: "빔 탐색의 원리" },
    greedy: { en: "How greedy search works", ko: "탐욕 탐색의 원리" },
    sample: { en: "How sampling works", ko: "샘플링의 원리" },
  },
  search: {
    beam: {
      en: "A model that always takes the most probable token (greedy search) cannot take a choice back when it turns out badly. Beam search keeps several hypotheses side by side: each is continued with every token, and only those with the greatest log P(Y), the sum of their tokens’ log-probabilities, survive.",
      ko: "언제나 확률이 가장 높은 토큰만 고르는 탐욕 탐색은, 나중에 나쁜 선택으로 드러나도 되돌릴 수 없습니다. 빔 탐색은 여러 가설을 나란히 유지합니다. 각 가설을 모든 토큰으로 이어 본 뒤, 토큰들의 로그 확률을 더한 값 log P(Y)가 가장 큰 것들만 남깁니다.",
    },
    greedy: {
      en: "Greedy search takes the most probable token at every position. It is quick, but cannot take a choice back when it turns out badly; beam search, with a beam of 2 or more, would keep several hypotheses side by side. log P(Y) is the sum of the tokens’ log-probabilities.",
      ko: "탐욕 탐색은 위치마다 확률이 가장 높은 토큰을 고릅니다. 빠르지만, 나중에 나쁜 선택으로 드러나도 되돌릴 수 없습니다. 빔을 2 이상으로 하는 빔 탐색은 여러 가설을 나란히 유지합니다. log P(Y)는 토큰들의 로그 확률을 더한 값입니다.",
    },
    sample: {
      en: "Sampling looks for nothing: it draws each token at random, by its probability, so that another seed gives another output. log P(Y) is the sum of the tokens’ log-probabilities.",
      ko: "샘플링은 가장 좋은 것을 찾지 않고 확률에 따라 토큰을 무작위로 뽑습니다. 그래서 시드를 바꾸면 출력도 달라집니다. log P(Y)는 토큰들의 로그 확률을 더한 값입니다.",
    },
  },
  temperature: {
    en: "Before each draw the logits are divided by the temperature {0}: below 1 it favours the probable tokens, above 1 the others.",
    ko: "뽑기 전에 로짓을 온도 {0}{1} 나눕니다. 온도가 1보다 낮으면 확률이 높은 토큰이, 1보다 높으면 나머지 토큰이 유리해집니다.",
  },
  topK: { en: "Only the {0} most probable tokens take part.", ko: "확률이 가장 높은 토큰 {0}개만 후보가 됩니다." },
  topP: {
    en: "Only the most probable tokens that together reach a probability of {0} take part.",
    ko: "확률이 높은 것부터 더하여 {0}에 이를 때까지의 토큰만 후보가 됩니다.",
  },
  repeat: {
    en: "No run of {0} tokens may be written twice.",
    ko: "연속한 토큰 {0}개를 똑같이 두 번 쓰는 일은 허용하지 않습니다.",
  },
  shorter: {
    en: "Every further token makes this sum smaller, so that by it alone short outputs would win.",
    ko: "토큰이 늘어날수록 이 합은 작아지므로, 합만으로 비교하면 짧은 출력이 이깁니다.",
  },
  penalty: {
    paper: {
      en: "The score divides it by the length penalty of Wu et al. (2016), in which |Y| counts the tokens, the end among them, and a greater α favours longer outputs. Here α = {0}; “Attention Is All You Need” takes 0.6.",
      ko: "점수는 이 합을 Wu 외(2016)의 길이 페널티로 나눈 값입니다. |Y|는 끝까지 포함한 토큰의 수이고, α가 클수록 긴 출력에 유리합니다. 여기서는 α = {0}이며, 논문 “Attention Is All You Need”의 값은 0.6입니다.",
    },
    mean: {
      en: "The score divides it by |Y|, the number of tokens, the end among them: it is the mean log-probability of a token.",
      ko: "점수는 이 합을 토큰의 수 |Y|(끝까지 포함)로 나눈 값, 곧 토큰의 평균 로그 확률입니다.",
    },
    none: {
      en: "This search has no length penalty: the score is the sum itself.",
      ko: "이 탐색에는 길이 페널티가 없으므로, 합이 그대로 점수입니다.",
    },
  },
  divided: {
    en: "At this step |Y| = {0}, and sums are divided by {1}.",
    ko: "이 단계에서 |Y| = {0}이며, 합을 나누는 값은 {1}입니다.",
  },
};
const SCORES = {
  paper: "score(Y) = log P(Y) / ((5 + |Y|) / 6)^{α}",
  mean: "score(Y) = log P(Y) / |Y|",
  none: "score(Y) = log P(Y)",
};
const STEPS_PACE = 1200; // milliseconds per position when playing
const STEPS_TAIL = 120; // letters of a hypothesis that are shown

const UNFINISHED = "\ufffd"; // stands for a character whose bytes are not yet complete

/** @type {{ position: number, timer: number | undefined }} */
const stepsState = { position: 0, timer: undefined }; // kept when the page is drawn again

/** @type {(share: number) => string} */
const shareText = (share) =>
  share > 0 && share < 0.001
    ? `< ${percent("0.1")}`
    : percent(Math.min(share < 1 ? 99.9 : 100, 100 * share).toFixed(1));
/** @type {(number: number, digits?: number) => string} */
const signed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

// "beam", "greedy" or "sample"; of a scene that does not say, one hypothesis alone is taken for greedy.
/** @type {(scene: Scene) => "beam" | "greedy" | "sample"} */
function searchKind({ search, steps }) {
  if (search) return search.sample ? "sample" : search.beam > 1 ? "beam" : "greedy";
  return steps.every((each) => each.kept.length + each.finished.length <= 1) ? "greedy" : "beam";
}

// Several outputs, each drawn by itself.
/** @type {(scene: Scene) => boolean} */
const manySamples = ({ search }) => Boolean(search?.sample && search.nbest > 1);

/** @type {(scene: Scene, count: number) => string} */
function survivorsNote(scene, count) {
  if (searchKind(scene) === "beam") return say(STEPS.beamsNote, count);
  return manySamples(scene) ? say(STEPS.samplesNote, count) : say(STEPS.greedyNote);
}

// The places [kept or finished, index] of each step that lead to the final translation.
/** @type {(scene: Scene) => SearchPath[]} */
function finalPath(scene) {
  const { tokens } = scene.target;
  const last = tokens.length - 1;
  /** @type {SearchPath[]} */
  const path = [];
  if (last < 0 || scene.steps.length <= last) return path;
  /** @type {(end: SearchPath) => boolean} */
  const leads = (end) => {
    /** @type {SearchPath | undefined} */
    let place = end;
    for (let t = last; t >= 0; t--) {
      if (place?.token !== tokens[t]) return false;
      path[t] = place;
      place = t > 0 ? scene.steps[t - 1].kept[place.parent] : undefined;
    }
    return true;
  };
  const { finished, kept } = scene.steps[last];
  return [...finished, ...kept].some(leads) ? path : [];
}

// The source words that the heads of the last layer, taken together, looked at most when token t was written.
/** @type {(scene: Scene, t: number) => { text: string, share: number }[]} */
function lookedAt(scene, t) {
  if (!scene.attention.cross) return [];
  const weights = tensorOf(scene.attention.cross.weights);
  const last = weights.shape[0] - 1;
  const row = mapOf(weights.at(last), "mean", headsOffIn(scene, "cross", last)).at(t).values;
  /** @type {(word: Word) => number} */
  const shareOf = ({ first, end }) => row.subarray(first, end).reduce((sum, weight) => sum + weight, 0);
  return scene.source.words
    .map((word) => ({ text: readable(word.text), share: shareOf(word) }))
    .sort((one, other) => other.share - one.share)
    .slice(0, 5)
    .filter((word, rank) => word.share >= (rank ? 0.03 : Number.MIN_VALUE));
}

// The output as one stop of the tab key; arrow keys go from token to token.
/** @type {(tokens: string[], go: (place: number) => void) => { line: HTMLElement, mark: (t: number) => void }} */
function makeWritten(tokens, go) {
  /** @type {(event: KeyboardEvent) => void} */
  const reach = (event) => {
    const along = stepOf(event, directionOf(tokens.join("")))?.[1];
    const last = tokens.length - 1;
    if (!along) return;
    event.preventDefault();
    const place = Math.max(0, Math.min(last, placeOf(event, shown) + along));
    go(place);
    shown[place].focus();
  };
  const shown = tokens.map((token, place) =>
    make(
      "span",
      { ...tokenLook(token), role: "button", onclick: () => go(place) },
      isSpecial(token) || isByte(token) ? readable(token) : token.replace("▁", "").replaceAll("▁", " "),
    ),
  );
  /** @type {(token: string, place: number) => boolean} */
  const isApart = (token, place) => place > 0 && (token.startsWith("▁") || isSpecial(token));
  const line = make(
    "p",
    { class: "written", dir: "auto", role: "group", "aria-label": say(STEPS.output), onkeydown: reach },
    ...shown.flatMap((each, place) => (isApart(tokens[place], place) ? [" ", each] : [each])),
  );
  /** @type {(t: number) => void} */
  const mark = (t) => {
    shown.forEach((each, place) => {
      each.classList.toggle("now", place === t);
      each.classList.toggle("later", place > t);
      each.setAttribute("aria-pressed", String(place === t));
      each.tabIndex = place === Math.min(t, shown.length - 1) ? 0 : -1;
    });
    line.scrollTop = (shown[t]?.offsetTop ?? line.scrollHeight) - line.clientHeight / 2;
  };
  return { line, mark };
}

/** @type {(scene: Scene, t: number) => HTMLElement[]} */
function alternativeRows(scene, t) {
  const given = scene.alternatives[t];
  if (!given) return [];
  /** @type {(rank: number, token: string, probability: number, logit: number | null, chosen: boolean) => HTMLElement} */
  const row = (rank, token, probability, logit, chosen) =>
    make(
      "li",
      { class: chosen ? "alternative chosen" : "alternative" },
      make("span", { class: "rank" }, String(rank)),
      make(
        "span",
        { class: "token", dir: "auto" },
        make("bdi", tokenLook(token), readable(token)),
        " ",
        chosen && make("small", {}, say(STEPS.written)),
      ),
      make("span", { class: "track" }, make("span", { style: { width: `${100 * probability}%` } })),
      make(
        "span",
        { class: "number", title: logit === null ? null : say(STEPS.logit, signed(logit)) },
        shareText(probability),
      ),
    );
  const place = given.rank <= given.tokens.length ? given.tokens.indexOf(scene.target.tokens[t]) : -1;
  const rows = given.tokens.map((token, index) =>
    row(index + 1, token, given.probabilities[index], given.logits[index], index === place),
  );
  if (place < 0) rows.push(row(given.rank, scene.target.tokens[t], given.probability, null, true));
  return rows;
}

// Hypotheses differ at their ends; of a long one the end is enough.
/** @type {(text: string) => string} */
const endOf = (text) =>
  text.length > STEPS_TAIL ? `… ${text.slice(text.indexOf(" ", text.length - STEPS_TAIL) + 1)}` : text;

// A hypothesis as its parent's text and, set apart, what this step added.
/** @type {(path: SearchPath, parent?: SearchPath) => HTMLElement} */
function hypothesisText(path, parent) {
  const before = parent?.text ?? "";
  let same = 0;
  while (same < before.length && before[same] === path.text[same]) same++;
  while (path.text[same] === " ") same++;
  const added = path.text.slice(same);
  return make(
    "span",
    { class: "text", dir: "auto" },
    endOf(path.text.slice(0, same)),
    added && !added.includes(UNFINISHED)
      ? make("b", {}, added)
      : make("b", { ...tokenLook(path.token), class: "special" }, ` ${readable(path.token)}`),
  );
}

/** @type {(path: SearchPath, parent: SearchPath | undefined, isFinal: boolean, hasParents: boolean) => HTMLElement} */
function beamRow(path, parent, isFinal, hasParents) {
  return make(
    "li",
    { class: isFinal ? "beam final" : "beam" },
    make(
      "span",
      { class: "from", title: hasParents ? say(STEPS.from, path.parent + 1) : null },
      hasParents ? String(path.parent + 1) : "",
    ),
    make(
      "span",
      { class: "hypothesis" },
      hypothesisText(path, parent),
      " ",
      isFinal && make("small", {}, say(STEPS.final)),
    ),
    make("span", { class: "number" }, signed(path.log_probability)),
    make("span", { class: "number" }, signed(path.total)),
    make("span", { class: "number" }, signed(path.score)),
  );
}

/** @type {(scene: Scene, t: number, final: SearchPath[]) => HTMLElement[]} */
function beamLists(scene, t, final) {
  const step = scene.steps[t];
  if (!step) return [];
  const parents = t > 0 ? scene.steps[t - 1].kept : [];
  /** @type {(paths: SearchPath[]) => HTMLElement[]} */
  const rows = (paths) => paths.map((path) => beamRow(path, parents[path.parent], final[t] === path, t > 0));
  const heads = make(
    "li",
    { class: "heads", "aria-hidden": "true" },
    ...STEPS.columns[reader.language].map((head) => make("span", {}, head)),
  );
  const survived = new Set([...step.kept, ...step.finished].map((path) => path.parent));
  const fallen = parents.filter((_, index) => !survived.has(index));
  return [
    make("p", { class: "muted" }, survivorsNote(scene, step.kept.length)),
    make("ol", { class: "beams" }, heads, ...rows(step.kept)),
    step.finished.length > 0 && make("h3", {}, say(STEPS.finished)),
    step.finished.length > 0 && make("ol", { class: "beams finished" }, ...rows(step.finished)),
    fallen.length > 0 && make("h3", {}, say(STEPS.fell), " ", make("small", {}, say(STEPS.fellNote))),
    fallen.length > 0 &&
      make(
        "ul",
        { class: "fallen" },
        ...fallen.map((path) =>
          make("li", { dir: "auto" }, endOf(path.text), " ", make("span", { class: "number" }, signed(path.total))),
        ),
      ),
  ].filter(isThere);
}

const RIVER = { row: 26, gap: 30, top: 24 }; // pixels

// Where the hypotheses of each step stand in the river, and what each is called there.
/**
 * @typedef {{ path: SearchPath, label: string, wide: number, y: number, ends: boolean }} RiverNode
 * @typedef {{ x: number, wide: number, nodes: RiverNode[] }} RiverColumn
 */
/** @type {(scene: Scene, onPath: Set<SearchPath>) => RiverColumn[]} */
function riverColumns(scene, onPath) {
  const pen = penOf(make("canvas"));
  const family = getComputedStyle(document.body).fontFamily;
  let x = 8;
  return scene.steps.map(({ kept, finished }) => {
    const nodes = [...kept, ...finished].map((path, row) => {
      const letters = [...readable(path.token)];
      const label = letters.length > 14 ? `${letters.slice(0, 13).join("")}…` : letters.join("");
      pen.font = `${onPath.has(path) ? 600 : 400} 13px ${family}`;
      const y = RIVER.top + RIVER.row * (row + 0.5);
      return { path, label, wide: pen.measureText(label).width, y, ends: row >= kept.length };
    });
    const column = { x, wide: Math.max(20, ...nodes.map((node) => node.wide)), nodes };
    x += column.wide + RIVER.gap;
    return column;
  });
}

// From a hypothesis to the one that goes on with it.
/** @type {(before: RiverColumn, from: RiverNode, column: RiverColumn, node: RiverNode) => string} */
function riverCurve(before, from, column, node) {
  const start = before.x + from.wide + 4;
  const bend = column.x - RIVER.gap;
  const end = column.x - 4;
  const middle = (bend + end) / 2 + 2;
  return `M${start} ${from.y}H${bend + 2}C${middle} ${from.y} ${middle} ${node.y} ${end} ${node.y}`;
}

/** @type {(columns: RiverColumn[], onPath: Set<SearchPath>, go: (t: number) => void) => SVGElement[]} */
function drawRiver(columns, onPath, go) {
  const edges = makeShape("g", { class: "edges" });
  const names = makeShape("g", { class: "labels" });
  columns.forEach((column, t) => {
    const { x } = column;
    const onclick = () => go(t);
    names.append(makeShape("text", { class: "count", x, y: 15, onclick }, String(t + 1)));
    for (const node of column.nodes) {
      const state = onPath.has(node.path) ? "final" : "";
      const from = t > 0 && columns[t - 1].nodes[node.path.parent];
      if (from) {
        const curve = makeShape("path", { class: state, d: riverCurve(columns[t - 1], from, column, node) });
        if (state) edges.append(curve);
        else edges.prepend(curve); // the final path lies on top
      }
      const title = makeShape("title", {}, node.path.text);
      names.append(makeShape("text", { class: `token ${state}`, x, y: node.y + 4.5, onclick }, node.label, title));
      if (node.ends) names.append(makeShape("circle", { class: state, cx: x + node.wide + 9, cy: node.y, r: 3.5 }));
    }
  });
  return [edges, names];
}

// All hypotheses as a river: columns of tokens, joined by curves. Returns what is needed to mark a step.
/** @type {(scene: Scene, final: SearchPath[], go: (t: number) => void) => { scroller: HTMLElement, mark: (t: number, text: string) => void }} */
function makeRiver(scene, final, go) {
  const onPath = new Set(final);
  const columns = riverColumns(scene, onPath);
  const width = columns.reduce((x, column) => x + column.wide + RIVER.gap, 8);
  const height = RIVER.top + RIVER.row * Math.max(...columns.map((column) => column.nodes.length)) + 4;
  const band = makeShape("rect", { class: "band", y: 0, height, rx: 4 });
  const drawing = makeShape(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say(STEPS.river) },
    band,
    ...drawRiver(columns, onPath, go),
  );
  const scroller = fading(
    make(
      "div",
      {
        class: "river",
        tabindex: 0,
        role: "slider",
        "aria-label": say(STEPS.river),
        "aria-valuemin": 1,
        "aria-valuemax": columns.length,
        dir: "ltr",
        onkeydown: (event) => {
          const along = stepOf(event, "ltr")?.[1];
          if (!along) return;
          event.preventDefault();
          go(Math.max(0, Math.min(columns.length - 1, stepsState.position + along)));
        },
      },
      drawing,
    ),
  );
  /** @type {(t: number, text: string) => void} */
  const mark = (t, text) => {
    scroller.setAttribute("aria-valuenow", String(Math.min(t, columns.length - 1) + 1));
    scroller.setAttribute("aria-valuetext", text);
    const column = columns[Math.min(t, columns.length - 1)];
    band.setAttribute("x", String(column.x - 8));
    band.setAttribute("width", String(column.wide + 16));
    scroller.scrollLeft = column.x + column.wide / 2 - scroller.clientWidth / 2;
  };
  return { scroller, mark };
}

// What the search was asked to do beyond its usual way.
/** @type {(search: Search) => string[]} */
function searchSettings({ sample, temperature, top_k, top_p, no_repeat_ngram }) {
  return [
    sample && temperature !== 1 && say(STEPS.temperature, temperature, particle(temperature, "으로", "로")),
    sample && top_k > 0 && say(STEPS.topK, top_k),
    sample && top_p < 1 && say(STEPS.topP, top_p),
    no_repeat_ngram > 0 && say(STEPS.repeat, no_repeat_ngram),
  ].filter(isThere);
}

/** @type {(scene: Scene, divided: HTMLElement) => HTMLElement} */
function stepsExplained(scene, divided) {
  const { search } = scene;
  const kind = searchKind(scene);
  const how = [say(STEPS.search[kind]), ...(search ? searchSettings(search) : [])];
  const score = search
    ? [kind === "beam" && say(STEPS.shorter), say(STEPS.penalty[search.length_penalty], search.alpha)].filter(isThere)
    : [];
  return make(
    "section",
    { class: "explained" },
    make("h2", {}, say(STEPS.how[kind])),
    make("p", {}, how.join(" ")),
    search && make("p", {}, score.join(" ")),
    search && make("p", { class: "equations" }, setMath(SCORES[search.length_penalty])),
    divided,
  );
}

/** @type {(count: number, go: (t: number) => void) => { bar: HTMLElement, set: (t: number, text: string) => string }} */
function stepsControls(count, go) {
  /** @type {(id: string, title: string, glyph: string, onclick: () => void) => HTMLElement} */
  const button = (id, title, glyph, onclick) =>
    make("button", { type: "button", id, class: "quiet", "aria-label": title, title, onclick }, glyph);
  const slider = make("input", {
    type: "range",
    id: "step-slider",
    min: 0,
    max: count - 1,
    "aria-label": say(STEPS.slider),
    oninput: ({ currentTarget }) => go(Number(currentTarget.value)),
  });
  const play = make("button", { type: "button", id: "step-play", class: "quiet" });
  const label = make("output", { class: "position", for: "step-slider" });
  const bar = make(
    "div",
    { class: "instrument" },
    button("step-previous", say(STEPS.previous), "‹", () => go(stepsState.position - 1)),
    slider,
    button("step-next", say(STEPS.next), "›", () => go(stepsState.position + 1)),
    play,
    label,
  );
  const showPlay = () => {
    play.textContent = say(stepsState.timer ? STEPS.pause : STEPS.play);
  };
  const stop = () => {
    clearInterval(stepsState.timer);
    stepsState.timer = undefined;
    showPlay();
  };
  play.addEventListener("click", () => {
    if (stepsState.timer) {
      stop();
      return;
    }
    if (stepsState.position >= count - 1) go(0);
    stepsState.timer = setInterval(() => {
      if (!bar.isConnected || stepsState.position >= count - 1) stop();
      else go(stepsState.position + 1);
    }, STEPS_PACE);
    showPlay();
  });
  stop();
  /** @type {(t: number, text: string) => string} */
  const set = (t, text) => {
    slider.value = String(t);
    label.textContent = say(STEPS.position, t + 1, count);
    const said = `${label.textContent}: ${text}`;
    slider.setAttribute("aria-valuetext", said);
    return said;
  };
  return { bar, set };
}

/** @type {(root: HTMLElement, scene: Scene) => void} */
function drawSteps(root, scene) {
  const count = Math.max(scene.target.tokens.length, scene.steps.length);
  const final = finalPath(scene);
  const searched = scene.steps.length > 0;
  const controls = stepsControls(count, (t) => update(t));
  const written = makeWritten(scene.target.tokens, (t) => update(t));
  const looked = make("p", { class: "looked" });
  const alternatives = make("ol", { class: "alternatives" });
  const beams = make("div");
  const divided = make("p", { class: "muted" });
  const besides = make(
    "section",
    {},
    make("h2", {}, say(STEPS.alternatives)),
    make("p", { class: "muted" }, say(STEPS.alternativesNote)),
    alternatives,
  );
  const kept = make(
    "section",
    {},
    make("h2", {}, say(searchKind(scene) === "beam" || manySamples(scene) ? STEPS.beams : STEPS.only)),
    beams,
  );
  const river = searched ? makeRiver(scene, final, (t) => update(t)) : null;
  root.append(
    ...[
      controls.bar,
      written.line,
      looked,
      typeof scene.beside === "string" && make("p", { class: "muted beside" }, say(STEPS.beside, scene.beside)),
      make("div", { class: "columns" }, besides, searched && kept),
      river &&
        make(
          "section",
          {},
          make("h2", {}, say(STEPS.river)),
          make("p", { class: "muted" }, say(STEPS.riverNote)),
          river.scroller,
        ),
      searched && stepsExplained(scene, divided),
    ].filter(isThere),
  );

  /** @type {(wanted: number) => void} */
  function update(wanted) {
    const t = Math.max(0, Math.min(count - 1, wanted));
    stepsState.position = t;
    const token = scene.target.tokens[t];
    const said = controls.set(t, token === undefined ? "" : readable(token));
    written.mark(t);
    const words = token === undefined ? [] : lookedAt(scene, t);
    looked.replaceChildren(
      ...(token === undefined
        ? [say(STEPS.beyond)]
        : [
            make("span", {}, say(STEPS.looked, readable(token))),
            ...words.map((word) =>
              make("span", { class: "word" }, make("bdi", {}, word.text), make("small", {}, shareText(word.share))),
            ),
            ...(words.length ? [] : orNothing("")),
          ]),
    );
    looked.hidden = token !== undefined && !scene.attention.cross;
    alternatives.replaceChildren(...alternativeRows(scene, t));
    besides.hidden = !scene.alternatives[t];
    if (!river) return;
    beams.replaceChildren(...beamLists(scene, t, final));
    kept.hidden = !scene.steps[t];
    river.mark(t, said);
    const path = [...(scene.steps[t]?.finished ?? []), ...(scene.steps[t]?.kept ?? [])].find(
      (each) => each.score !== 0,
    );
    const isDivided = scene.search && scene.search.length_penalty !== "none";
    divided.textContent = path && isDivided ? say(STEPS.divided, t + 1, (path.total / path.score).toFixed(2)) : "";
  }
  update(stepsState.position);
}

view({
  id: "steps",
  address: "decoding",
  title: STEPS.title,
  available: (scene) =>
    scene !== null && !scene.surprise && Math.max(scene.alternatives.length, scene.steps.length) > 0,
  draw: drawSteps,
});
