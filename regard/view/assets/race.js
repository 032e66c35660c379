// The page of a race: what each entrant scored, by length, over time, how fast, how large, what it answered and looked at.

/** @type {RacePage} */
const race = JSON.parse(element("data").textContent);
const { entrants, buckets, samples, pairs } = race;
const BY_CHANCE = 0.05;
const RACE = {
  best: { en: "Who is best", ko: "누가 가장 좋은가" },
  bestFor: {
    en: "Look at whether the whiskers overlap: they hold 95 % of what other test texts of the same kind might have shown.",
    ko: "수염(구간)이 겹치는지 보세요. 같은 종류의 다른 테스트 글로 쟀을 때 나올 값의 95%가 그 안에 있습니다.",
  },
  chance: { en: "Could it be chance?", ko: "우연일 수 있는가" },
  chanceFor: {
    en: "Look for bold print: a difference that chance alone would make in fewer than one of twenty cases. Every pair is tested by itself, so of many bold ones a few may still be luck.",
    ko: "굵은 글씨를 찾아보세요. 우연만으로는 스무 번에 한 번도 생기지 않을 차이입니다. 쌍마다 따로 검정하므로 굵은 것이 많으면 그중 몇은 운일 수 있습니다.",
  },
  lengths: { en: "Short and long texts", ko: "짧은 글과 긴 글" },
  lengthsFor: {
    en: "Look at the right end: does an entrant that squeezes the text into one state fall behind as texts grow, while those that can look back keep up?",
    ko: "오른쪽 끝을 보세요. 글을 상태 하나에 눌러 담는 모델은 글이 길어질수록 뒤처지고, 되돌아볼 수 있는 모델은 버티나요?",
  },
  learned: { en: "How they learned", ko: "학습 과정" },
  learnedFor: {
    en: "The charts over updates show who learns most from the same text; the charts over time show who learns fastest on this machine. The time of validations is not counted.",
    ko: "가로축이 업데이트인 차트는 같은 글에서 누가 가장 많이 배우는지, 시간인 차트는 이 컴퓨터에서 누가 가장 빨리 배우는지 보여 줍니다. 검증에 든 시간은 들어가지 않습니다.",
  },
  costs: { en: "What they cost", ko: "드는 비용" },
  costsFor: {
    en: "Look at tokens per second beside the score: a recurrent layer waits for the token before, the others read a text at once.",
    ko: "점수와 함께 초당 토큰 수를 보세요. 순환 층은 앞 토큰을 기다려야 하지만 다른 층은 글을 한꺼번에 읽습니다.",
  },
  samples: { en: "The same texts", ko: "같은 글에 대한 답" },
  samplesFor: {
    en: "Look at the long ones, further down: what is lost there, and by whom?",
    ko: "아래쪽의 긴 글을 보세요. 무엇을 누가 놓치나요?",
  },
  looks: { en: "Where they looked", ko: "어디를 보았는가" },
  minutesEach: { en: "{0} minutes of training each", ko: "각각 {0}분 학습" },
  parametersEach: { en: "at most {0} parameters each", ko: "각각 매개변수 {0}개 이하" },
  texts: { en: "{0}, {1} texts", ko: "{0}, 글 {1}개" },
  entrant: { en: "entrant", ko: "모델" },
  interval: { en: "95 % interval", ko: "95% 구간" },
  parameters: { en: "parameters", ko: "매개변수" },
  width: { en: "width {0}", ko: "너비 {0}" },
  updates: { en: "updates", ko: "업데이트" },
  training: { en: "training time", ko: "학습 시간" },
  minutesOf: { en: "minutes, updates only", ko: "분, 업데이트만" },
  rate: { en: "learning rate", ko: "학습률" },
  peak: { en: "at its peak", ko: "최댓값" },
  rowMinus: { en: "{0}: row minus column", ko: "{0}: 행 − 열" },
  tokensAndTexts: { en: "tokens of a text, and how many texts", ko: "글의 토큰 수와 글의 수" },
  bucket: { en: "{0} tokens: {1} {2} {3}, {4} texts", ko: "토큰 {0}개: {1} {2} {3}, 글 {4}개" },
  minutes: { en: "minutes", ko: "분" },
  seconds: { en: "seconds", ko: "초" },
  validation: { en: "validation {0}", ko: "검증 {0}" },
  loss: { en: "loss", ko: "손실" },
  over: { en: "{0} over {1}", ko: "{0} · {1}" },
  point: { en: "update {0}, {1} {2}: {3} {4}", ko: "업데이트 {0}, {1}{2}: {3} {4}" },
  trainingSpeed: { en: "training, {0} per second", ko: "학습, 초당 {0}" },
  textSpeed: { en: "{0}, texts per second", ko: "{0}, 초당 글" },
  tokenSpeed: { en: "{0}, tokens per second", ko: "{0}, 초당 토큰" },
  memory: { en: "memory of training, megabytes", ko: "학습에 쓰는 메모리(MB)" },
  tokens: { en: "{0} tokens", ko: "토큰 {0}개" },
  reference: { en: "reference", ko: "정답" },
  cell: { en: "Point at a cell to read its weight.", ko: "칸을 가리키면 가중치를 읽을 수 있습니다." },
  without: {
    en: "It has no attention: what it read reaches the answer through its states alone.",
    ko: "어텐션이 없습니다. 읽은 것은 상태를 거쳐서만 답에 이릅니다.",
  },
  text: { en: "Text", ko: "글" },
  intervals: {
    en: "Intervals hold 95 % of the bootstrap's resamples of the test set; scores by length have the same signature on the texts of each bucket. ",
    ko: "구간에는 테스트 세트를 다시 뽑은 부트스트랩 값의 95%가 들어갑니다. 길이별 점수는 각 구간의 글에 같은 방식으로 잰 값입니다. ",
  },
  timed: {
    en: "Speed ({0}) was timed with one thread on the same {1} texts, entrants in turns. Memory is the peak of a fresh process over its first 10 updates, Python and torch included. ",
    ko: "속도({0})는 스레드 하나로 같은 글 {1}개에 대해 번갈아 쟀습니다. 메모리는 새 프로세스가 처음 업데이트 10번을 하는 동안의 최댓값이며 파이썬과 torch를 포함합니다. ",
  },
  caution: {
    en: "Attention shows where information may flow; it is not by itself an explanation.",
    ko: "어텐션은 정보가 흘렀을 수 있는 길을 보여 줄 뿐, 그 자체가 설명은 아닙니다.",
  },
};
/** @type {Record<string, Both>} */
const FACTS = {
  task: { en: "task", ko: "과제" },
  languages: { en: "languages", ko: "언어" },
  beam: { en: "beam", ko: "빔" },
  examples: { en: "training examples", ko: "학습 예제" },
  vocabulary: { en: "tokens of the vocabulary", ko: "어휘의 토큰" },
  budget: { en: "budget", ko: "예산" },
  test: { en: "test set", ko: "테스트 세트" },
};
/** @type {Record<string, Both>} */
const METRICS = {
  accuracy: { en: "accuracy", ko: "정확도" },
  perplexity: { en: "perplexity", ko: "퍼플렉서티" },
  bleu: { en: "BLEU", ko: "BLEU" },
};
/** @type {Record<string, Both>} */
const TASKS = {
  translation: { en: "translation", ko: "번역" },
  "text-classification": { en: "text classification", ko: "텍스트 분류" },
  "text-generation": { en: "text generation", ko: "텍스트 생성" },
};
/** @type {Record<string, Both>} */
const UNITS = { tokens: { en: "tokens", ko: "토큰" }, texts: { en: "texts", ko: "글" } };
/** @type {(names: Record<string, Both>, name: string) => string} */
const namedBy = (names, name) => (Object.hasOwn(names, name) ? say(names[name]) : name);

/** @type {(title: string, lookFor: string, ...content: HTMLElement[]) => HTMLElement} */
const section = (title, lookFor, ...content) =>
  make("section", {}, make("h2", {}, title), ...content, lookFor && make("p", { class: "muted look-for" }, lookFor));
/** @type {(content: Element) => HTMLElement} */
const scroller = (content) => fading(make("div", { class: "scroller", tabindex: 0 }, content));
const legendOf = () =>
  make("p", { class: "series-names" }, ...entrants.map(({ name }, number) => seriesName(name, number)));
/** @type {(value: number | null) => string} */
const whole = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));
/** @type {(value: number) => string} */
const signed = (value) => (Math.abs(value) < 0.005 ? "0.00" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);
/** @type {(score: { low: number, high: number }, digits?: number) => string} */
const interval = ({ low, high }, digits = 1) => `[${low.toFixed(digits)}, ${high.toFixed(digits)}]`;
/** @type {(p: number) => string} */
const chanceOf = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);

function header() {
  const { budget, test_set: test } = race;
  const limit =
    budget.minutes !== null
      ? say(RACE.minutesEach, brief(budget.minutes))
      : say(RACE.parametersEach, whole(budget.parameters));
  const facts = {
    task: namedBy(TASKS, race.task),
    ...race.facts,
    examples: whole(race.training_examples),
    vocabulary: whole(race.vocabulary),
    budget: limit,
    test: say(RACE.texts, test.name, whole(test.texts)),
  };
  element("header").append(
    make("div", { class: "title" }, make("h1", {}, race.name), languageButtons(drawRace)),
    make("p", { class: "sentence" }, say(race.headline)),
    make(
      "dl",
      { class: "facts" },
      ...Object.entries(facts).map(([name, value]) =>
        make("div", {}, make("dt", {}, namedBy(FACTS, name)), make("dd", {}, String(value))),
      ),
    ),
    legendOf(),
  );
}

function scoreTable() {
  /**
   * @typedef {[text: string, small?: string]} Twice
   * @typedef {[title: Twice, of: (entrant: Entrant) => Twice]} Column
   */
  /** @type {(name: string, place: number) => Column} */
  const scored = (name, place) => [
    [namedBy(METRICS, name), say(RACE.interval)],
    ({ scores }) => [scores[place].value.toFixed(2), interval(scores[place])],
  ];
  /** @type {Column[]} */
  const columns = [
    ...entrants[0].scores.map(({ name }, place) => scored(name, place)),
    [[say(RACE.parameters)], ({ parameters, model }) => [whole(parameters), say(RACE.width, model.width)]],
    [[say(RACE.updates)], ({ updates }) => [whole(updates)]],
    [[say(RACE.training), say(RACE.minutesOf)], ({ seconds }) => [(seconds / 60).toFixed(1)]],
    [[say(RACE.rate), say(RACE.peak)], ({ training }) => [brief(training.learning_rate)]],
  ];
  /** @type {(texts: Twice) => Child[]} */
  const twice = ([text, small]) => [text, small && make("small", {}, small)];
  return scroller(
    make(
      "table",
      { class: "figures", id: "scores" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, say(RACE.entrant)),
          ...columns.map(([title]) => make("th", { scope: "col" }, ...twice(title))),
        ),
      ),
      make(
        "tbody",
        {},
        ...entrants.map((entrant, number) =>
          make(
            "tr",
            {},
            make("td", {}, seriesName(entrant.name, number)),
            ...columns.map(([, of]) => make("td", {}, ...twice(of(entrant)))),
          ),
        ),
      ),
    ),
  );
}

const scoreCharts = () =>
  make(
    "div",
    { class: "charts" },
    ...entrants[0].scores.map((score, place) =>
      chart({
        yTitle: namedBy(METRICS, score.name),
        xTitle: "",
        fromZero: false,
        labels: entrants.map(({ name }) => [name]),
        lines: entrants.map(({ name, scores }, number) => ({
          name,
          number,
          points: [
            {
              x: number,
              y: scores[place].value,
              low: scores[place].low,
              high: scores[place].high,
              says: `${namedBy(METRICS, score.name)} ${scores[place].value.toFixed(2)} ${interval(scores[place], 2)}`,
            },
          ],
        })),
      }),
    ),
  );

// Row minus column; one half of the table is the other with the sign turned.
/** @type {(place: number) => HTMLElement} */
function pairTable(place) {
  const { name } = entrants[0].scores[place];
  /** @type {(row: string, column: string) => HTMLElement} */
  const cell = (row, column) => {
    const pair = pairs.find(({ a, b }) => (a === row && b === column) || (a === column && b === row));
    if (!pair) return make("td", {}, "");
    const { value, p_value: p } = pair.metrics[place];
    const difference = pair.b === row ? value : -value;
    return make(
      "td",
      {},
      make(p < BY_CHANCE ? "strong" : "span", {}, signed(difference)),
      make("small", {}, chanceOf(p)),
    );
  };
  return make(
    "div",
    {},
    make("h3", {}, say(RACE.rowMinus, namedBy(METRICS, name))),
    scroller(
      make(
        "table",
        { class: "figures pairs" },
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            make("td"),
            ...entrants.map((entrant, number) => make("th", { scope: "col" }, seriesName(entrant.name, number))),
          ),
        ),
        make(
          "tbody",
          {},
          ...entrants.map(({ name: row }, number) =>
            make(
              "tr",
              {},
              make("td", {}, seriesName(row, number)),
              ...entrants.map(({ name: column }) => cell(row, column)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @type {(bucket: Bucket) => string} */
const bucketName = ({ low, high }) => (low === high ? `${low}` : `${low}–${high}`);

function lengthChart() {
  const metric = namedBy(METRICS, entrants[0].scores[0].name);
  return chart({
    yTitle: metric,
    xTitle: say(RACE.tokensAndTexts),
    labels: buckets.map((bucket) => [bucketName(bucket), `n ${bucket.texts}`]),
    lines: entrants.map(({ name, lengths }, number) => ({
      name,
      number,
      points: lengths.map((score, x) => ({
        x,
        y: score.value,
        low: score.low,
        high: score.high,
        says: say(
          RACE.bucket,
          bucketName(buckets[x]),
          metric,
          score.value.toFixed(1),
          interval(score),
          buckets[x].texts,
        ),
      })),
    })),
  });
}

function curveCharts() {
  const long = Math.max(...entrants.map(({ seconds }) => seconds)) > 300;
  const unit = say(long ? RACE.minutes : RACE.seconds);
  /** @type {(seconds: number) => number} */
  const time = (seconds) => (long ? seconds / 60 : seconds);
  /** @typedef {[measure: "score" | "loss", name: string, fromZero: boolean]} Measure */
  /** @type {Measure[]} */
  const measures = [
    ["score", namedBy(METRICS, race.curve), !race.lower],
    ["loss", say(RACE.loss), false],
  ];
  /** @type {(measure: Measure, axis: string, at: (point: Entrant["curve"][number]) => number) => HTMLElement} */
  const over = ([measure, name, fromZero], axis, at) =>
    chart({
      title: say(RACE.over, say(RACE.validation, name), axis),
      yTitle: name,
      xTitle: axis,
      fromZero,
      lines: entrants.map(({ name: entrant, curve }, number) => ({
        name: entrant,
        number,
        points: curve.map((point) => ({
          x: at(point),
          y: point[measure],
          says: say(
            RACE.point,
            whole(point.update),
            brief(time(point.seconds)),
            unit,
            say(RACE.validation, name),
            point[measure].toFixed(2),
          ),
        })),
      })),
    });
  return make(
    "div",
    { class: "charts" },
    ...measures.flatMap((measure) => [
      over(measure, say(RACE.updates), ({ update }) => update),
      over(measure, unit, ({ seconds }) => time(seconds)),
    ]),
  );
}

function costBars() {
  const work = say(race.work);
  return make(
    "div",
    { class: "charts" },
    bars({
      title: say(RACE.trainingSpeed, namedBy(UNITS, entrants[0].unit)),
      entrants,
      value: (entrant) => entrant.trained_per_second,
      shown: whole,
    }),
    bars({ title: say(RACE.textSpeed, work), entrants, value: ({ speed }) => speed.texts_per_second }),
    bars({
      title: say(RACE.tokenSpeed, work),
      entrants,
      value: ({ speed }) => speed.tokens_per_second,
      shown: whole,
    }),
    bars({ title: say(RACE.parameters), entrants, value: ({ parameters }) => parameters, shown: whole }),
    bars({ title: say(RACE.memory), entrants, value: ({ memory }) => memory / 1e6, shown: whole }),
  );
}

const sampleTexts = () =>
  make(
    "div",
    {},
    ...samples.map(({ source, reference, tokens, answers }) =>
      make(
        "article",
        { class: "sample" },
        make("p", { class: "count" }, say(RACE.tokens, tokens)),
        make("p", { class: "source", dir: "auto" }, source),
        make(
          "dl",
          {},
          // A text that is only read is its own.
          ...(reference === source
            ? []
            : [make("dt", { class: "reference" }, say(RACE.reference)), make("dd", { dir: "auto" }, reference)]),
          ...entrants.flatMap(({ name }, number) => [
            make("dt", {}, seriesName(name, number)),
            make("dd", { dir: "auto" }, ...orNothing(answers[name])),
          ]),
        ),
      ),
    ),
  );

const [NARROW, WIDE, ROOM] = [8, 12, 104]; // pixels of a letter, of a Korean or Chinese one, of a label
/** @type {(word: string) => number} */
const widthOf = (word) =>
  [...word].reduce(
    (sum, letter) => sum + (/[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]/.test(letter) ? WIDE : NARROW),
    0,
  );
/** @type {(word: string) => string} */
function clipped(word) {
  if (widthOf(word) <= ROOM) return word;
  const letters = [...word];
  while (widthOf(`${letters.join("")}…`) > ROOM) letters.pop();
  return `${letters.join("")}…`;
}

// A map of looks: rows are words that were written, columns words that were read.
/** @type {(looks: Looks, number: number) => HTMLElement[]} */
function lookMap({ source, target, weights }, number) {
  const map = tensorOf(weights);
  const cell = 18;
  const keys = source.map(labelOf);
  const queries = target.map(labelOf);
  /** @type {(words: string[]) => number} */
  const longest = (words) => 12 + Math.max(...words.map((word) => widthOf(clipped(word))));
  const start = longest(queries);
  const top = longest(keys);
  const isLeft = directionOf(keys.join("")) === "rtl";
  const width = start + cell * keys.length;
  const height = top + cell * queries.length;
  /** @type {(key: number) => number} */
  const atX = (key) => start + cell * (isLeft ? keys.length - 1 - key : key);
  const readout = make("p", { class: "readout" }, say(RACE.cell));
  const svg = makeShape(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      style: seriesStyle(number),
      "aria-label": queries
        .map(
          (query, q) =>
            `${query} → ${keys[map.at(q).values.reduce((best, weight, k, all) => (weight > all[best] ? k : best), 0)]}`,
        )
        .join(", "),
    },
    makeShape("rect", { class: "field", x: start, y: top, width: cell * keys.length, height: cell * queries.length }),
    ...keys.map((key, k) =>
      makeShape("text", { transform: `translate(${atX(k) + cell / 2 + 4} ${top - 6}) rotate(-90)` }, clipped(key)),
    ),
    ...queries.map((query, q) =>
      makeShape("text", { x: start - 6, y: top + cell * q + cell / 2 + 4, "text-anchor": "end" }, clipped(query)),
    ),
    ...queries.flatMap((_query, q) =>
      keys.map((_key, k) =>
        makeShape("rect", {
          class: "cell",
          x: atX(k),
          y: top + cell * q,
          width: cell - 1,
          height: cell - 1,
          "fill-opacity": shade(map.number(q, k)).toFixed(3),
          data: { query: q, key: k },
        }),
      ),
    ),
  );
  svg.addEventListener("pointermove", ({ target: cellAt }) => {
    if (!(cellAt instanceof SVGElement) || cellAt.dataset.query === undefined) return;
    const [query, key] = [Number(cellAt.dataset.query), Number(cellAt.dataset.key)];
    readout.replaceChildren(
      make("bdi", {}, queries[query]),
      " → ",
      make("bdi", {}, keys[key]),
      " ",
      make("b", { style: seriesStyle(number) }, map.number(query, key).toFixed(3)),
    );
  });
  return [scroller(svg), readout];
}

function sampleLooks() {
  const place = make("div", { class: "looks" });
  /** @type {(sample: Sample) => void} */
  const show = (sample) =>
    place.replaceChildren(
      ...entrants.map(({ name }, number) =>
        make(
          "figure",
          {},
          make("figcaption", {}, seriesName(name, number)),
          ...(sample.looks[name]
            ? lookMap(sample.looks[name], number)
            : [make("p", { class: "nothing" }, say(RACE.without))]),
        ),
      ),
    );
  const choice = make(
    "select",
    {
      class: "choice",
      id: "sentence",
      "aria-label": say(RACE.text),
      onchange: ({ currentTarget }) => show(samples[currentTarget.selectedIndex]),
    },
    ...samples.map(({ source, tokens }) => make("option", {}, `${say(RACE.tokens, tokens)}: ${source}`)),
  );
  const middle = Math.floor(samples.length / 2);
  choice.selectedIndex = middle;
  if (samples.length) show(samples[middle]);
  return make("div", {}, choice, place);
}

function footer() {
  const { speed, scores } = entrants[0];
  element("footer").append(
    make(
      "p",
      { class: "muted" },
      ...scores.flatMap(({ name, signature }) => [
        `${namedBy(METRICS, name)}: `,
        make("code", {}, signature),
        make("br"),
      ]),
      say(RACE.intervals),
      say(RACE.timed, say(race.work), speed.texts),
      say(RACE.caution),
    ),
    make("p", { class: "muted look-for" }, make("code", {}, ...commandWords(race.command))),
  );
}

function drawRace() {
  document.documentElement.lang = reader.language;
  for (const id of ["header", "sections", "footer"]) element(id).replaceChildren();
  header();
  element("sections").append(
    ...[
      section(say(RACE.best), say(RACE.bestFor), scoreTable(), scoreCharts()),
      entrants.length > 1 &&
        section(
          say(RACE.chance),
          say(RACE.chanceFor),
          make("div", { class: "side-by-side" }, ...entrants[0].scores.map((_score, place) => pairTable(place))),
        ),
      section(say(RACE.lengths), say(RACE.lengthsFor), legendOf(), lengthChart()),
      section(say(RACE.learned), say(RACE.learnedFor), legendOf(), curveCharts()),
      section(say(RACE.costs), say(RACE.costsFor), costBars()),
      section(say(RACE.samples), say(RACE.samplesFor), sampleTexts()),
      section(say(RACE.looks), say(race.meaning), sampleLooks()),
    ].filter(isThere),
  );
  footer();
}

drawRace();
