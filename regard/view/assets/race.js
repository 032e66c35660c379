// The page of a race: what each entrant scored, by length, over time, how fast, how large, and what it wrote and looked at.

/** @type {RacePage} */
const race = JSON.parse(element("data").textContent);
const { entrants, buckets, samples, pairs } = race;
const BY_CHANCE = 0.05;
reader.language = "en"; // the only one that this page speaks

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
      ? `${brief(budget.minutes)} minutes of training each`
      : `at most ${whole(budget.parameters)} parameters each`;
  const facts = {
    languages: race.languages,
    "training pairs": whole(race.training_pairs),
    "tokens of the vocabulary": whole(race.vocabulary),
    budget: limit,
    "test set": `${test.name}, ${whole(test.sentences)} sentences`,
    beam: race.beam,
  };
  element("header").append(
    make("h1", {}, race.name),
    make("p", { class: "sentence" }, race.headline),
    make(
      "dl",
      { class: "facts" },
      ...Object.entries(facts).map(([name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, String(value))),
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
    [name, "95 % interval"],
    ({ scores }) => [scores[place].value.toFixed(2), interval(scores[place])],
  ];
  /** @type {Column[]} */
  const columns = [
    ...entrants[0].scores.map(({ name }, place) => scored(name, place)),
    [["parameters"], ({ parameters, model }) => [whole(parameters), `width ${model.width}`]],
    [["updates"], ({ updates }) => [whole(updates)]],
    [["training", "minutes of updates"], ({ seconds }) => [(seconds / 60).toFixed(1)]],
    [["learning rate", "at its peak"], ({ training }) => [brief(training.learning_rate)]],
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
          make("th", { scope: "col" }, "entrant"),
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
        yTitle: score.name,
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
              says: `${score.name} ${scores[place].value.toFixed(2)} ${interval(scores[place], 2)}`,
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
    make("h3", {}, `${name}: row minus column`),
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
            make("th", {}),
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
  return chart({
    yTitle: "BLEU",
    xTitle: "source tokens, and how many sentences",
    labels: buckets.map((bucket) => [bucketName(bucket), `n ${bucket.sentences}`]),
    lines: entrants.map(({ name, lengths }, number) => ({
      name,
      number,
      points: lengths.map((score, x) => ({
        x,
        y: score.value,
        low: score.low,
        high: score.high,
        says: `${bucketName(buckets[x])} tokens: BLEU ${score.value.toFixed(1)} ${interval(score)}, ${buckets[x].sentences} sentences`,
      })),
    })),
  });
}

function curveCharts() {
  const long = Math.max(...entrants.map(({ seconds }) => seconds)) > 300;
  const unit = long ? "minutes" : "seconds";
  /** @type {(seconds: number) => number} */
  const time = (seconds) => (long ? seconds / 60 : seconds);
  /** @typedef {[measure: "bleu" | "loss", name: string, fromZero: boolean]} Measure */
  /** @type {Measure[]} */
  const measures = [
    ["bleu", "validation BLEU", true],
    ["loss", "validation loss", false],
  ];
  /** @type {(measure: Measure, axis: string, at: (point: Entrant["curve"][number]) => number) => HTMLElement} */
  const over = ([measure, name, fromZero], axis, at) =>
    chart({
      title: `${name} over ${axis}`,
      yTitle: name.split(" ").at(-1) ?? name,
      xTitle: axis,
      fromZero,
      lines: entrants.map(({ name: entrant, curve }, number) => ({
        name: entrant,
        number,
        points: curve.map((point) => ({
          x: at(point),
          y: point[measure],
          says: `update ${whole(point.update)}, ${brief(time(point.seconds))} ${unit}: ${name} ${point[measure].toFixed(2)}`,
        })),
      })),
    });
  return make(
    "div",
    { class: "charts" },
    ...measures.flatMap((measure) => [
      over(measure, "updates", ({ update }) => update),
      over(measure, unit, ({ seconds }) => time(seconds)),
    ]),
  );
}

function costBars() {
  return make(
    "div",
    { class: "charts" },
    bars({
      title: "training, target tokens per second",
      entrants,
      value: (entrant) => entrant.tokens_per_second,
      shown: whole,
    }),
    bars({ title: "decoding, sentences per second", entrants, value: ({ speed }) => speed.sentences_per_second }),
    bars({
      title: "decoding, tokens written per second",
      entrants,
      value: ({ speed }) => speed.tokens_per_second,
      shown: whole,
    }),
    bars({ title: "parameters", entrants, value: ({ parameters }) => parameters, shown: whole }),
    bars({ title: "memory of training, megabytes", entrants, value: ({ memory }) => memory / 1e6, shown: whole }),
  );
}

const sampleTexts = () =>
  make(
    "div",
    {},
    ...samples.map(({ source, reference, tokens, translations }) =>
      make(
        "article",
        { class: "sample" },
        make("p", { class: "count" }, `${tokens} tokens`),
        make("p", { class: "source", dir: "auto" }, source),
        make(
          "dl",
          {},
          make("dt", { class: "reference" }, "reference"),
          make("dd", { dir: "auto" }, reference),
          ...entrants.flatMap(({ name }, number) => [
            make("dt", {}, seriesName(name, number)),
            make("dd", { dir: "auto" }, ...orNothing(translations[name])),
          ]),
        ),
      ),
    ),
  );

// A map of looks: rows are words that were written, columns words that were read.
/** @type {(looks: Looks, number: number) => HTMLElement[]} */
function lookMap({ source, target, weights }, number) {
  const map = tensorOf(weights);
  const cell = 18;
  const keys = source.map(readable);
  const queries = target.map(readable);
  /** @type {(words: string[]) => number} */
  const longest = (words) => Math.min(104, 12 + 7 * Math.max(...words.map((word) => word.length)));
  const start = longest(queries);
  const top = longest(keys);
  const isLeft = directionOf(keys.join("")) === "rtl";
  const width = start + cell * keys.length;
  const height = top + cell * queries.length;
  /** @type {(word: string) => string} */
  const clip = (word) => (word.length > 13 ? `${word.slice(0, 12)}…` : word);
  /** @type {(key: number) => number} */
  const atX = (key) => start + cell * (isLeft ? keys.length - 1 - key : key);
  const readout = make("p", { class: "readout" }, "Point at a cell to read its weight.");
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
      makeShape("text", { transform: `translate(${atX(k) + cell / 2 + 4} ${top - 6}) rotate(-90)` }, clip(key)),
    ),
    ...queries.map((query, q) =>
      makeShape("text", { x: start - 6, y: top + cell * q + cell / 2 + 4, "text-anchor": "end" }, clip(query)),
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
            : [
                make(
                  "p",
                  { class: "nothing" },
                  "It has no attention: the whole sentence reaches the decoder as one state.",
                ),
              ]),
        ),
      ),
    );
  const choice = make(
    "select",
    {
      class: "choice",
      id: "sentence",
      "aria-label": "Sentence",
      onchange: ({ currentTarget }) => show(samples[currentTarget.selectedIndex]),
    },
    ...samples.map(({ source, tokens }) => make("option", {}, `${tokens} tokens: ${source}`)),
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
      ...scores.flatMap(({ name, signature }) => [`${name}: `, make("code", {}, signature), make("br")]),
      "Intervals hold 95 % of the bootstrap's resamples of the test set; BLEU by length has the same signature on the sentences of each bucket. ",
      `Decoding was timed greedily with one thread on the same ${speed.sentences} sentences, entrants in turns. Memory is the peak of a fresh process over its first 10 updates, Python and torch included. `,
      "Attention shows where information may flow; it is not by itself an explanation.",
    ),
    make("p", { class: "muted look-for" }, make("code", {}, race.command)),
  );
}

header();
element("sections").append(
  ...[
    section(
      "Who translates best",
      "Look at whether the whiskers overlap: they hold 95 % of what other test sentences of the same kind might have shown.",
      scoreTable(),
      scoreCharts(),
    ),
    entrants.length > 1 &&
      section(
        "Could it be chance?",
        "Look for bold print: a difference that chance alone would make in fewer than one of twenty cases. Every pair is tested by itself, so of many bold ones a few may still be luck.",
        make("div", { class: "side-by-side" }, pairTable(0), pairTable(1)),
      ),
    section(
      "Short and long sentences",
      "Look at the right end: does an entrant that squeezes the sentence into one state fall behind as sentences grow, while those that can look back keep up?",
      legendOf(),
      lengthChart(),
    ),
    section(
      "How they learned",
      "Look at the left charts for who learns most from the same text, and at the right ones for who learns fastest on this machine; validations take no part in the time.",
      legendOf(),
      curveCharts(),
    ),
    section(
      "What they cost",
      "Look at tokens per second beside BLEU: a recurrent layer waits for the token before, the others read a sentence at once. An entrant whose sentences are longer is slower per sentence, not per token.",
      costBars(),
    ),
    section(
      "The same sentences",
      "Look at the long ones, further down: names and numbers that are lost, parts that are said twice, an end that comes early.",
      sampleTexts(),
    ),
    section(
      "Where they looked",
      "Look for a dark diagonal with jumps where word order differs: an alignment that nobody taught. Shown is cross-attention, the mean of all layers and heads; rows are words written, columns words read.",
      sampleLooks(),
    ),
  ].filter(isThere),
);
footer();
