// The page of learning curves: every measure over updates and over time, a line for each run.

/** @type {CurvePage} */
const { runs, command, refresh } = JSON.parse(element("data").textContent);
const SAYS = {
  title: { en: "How they learned", ko: "학습 과정" },
  run: { en: "run", ko: "실행" },
  updates: { en: "updates", ko: "업데이트" },
  minutes: { en: "minutes", ko: "분" },
  seconds: { en: "seconds", ko: "초" },
  best: { en: "best {0}", ko: "가장 좋은 {0}" },
  at: { en: "at update {0}", ko: "업데이트 {0}" },
  validation: { en: "validation {0}", ko: "검증 {0}" },
  training: { en: "training {0}", ko: "학습 {0}" },
  both: { en: "loss in training and validation", ko: "학습과 검증의 손실" },
  over: { en: "{0} over {1}", ko: "{0} · {1}" },
  point: { en: "update {0}, {1} {2}: {3} {4}", ko: "업데이트 {0}, {1}{2}: {3} {4}" },
  lookFor: {
    en: "Look at where the marked line (validation) turns while the thin one (training) still falls: from there on, the run learns its text by heart. The training loss is measured with dropout, so that it may lie above.",
    ko: "가는 선(학습)은 계속 내려가는데 표시가 있는 선(검증)이 꺾이는 곳을 보세요. 거기서부터는 글을 외우기 시작합니다. 학습 손실은 드롭아웃이 켜진 채로 재므로 더 높을 수 있습니다.",
  },
  log: { en: "Logarithmic loss axis", ko: "손실을 로그 축으로" },
  smoothing: { en: "Smoothing of the training loss", ko: "학습 손실 평활화" },
  follow: { en: "Follow the training (every {0} s)", ko: "학습 따라가기({0}초마다 새로 읽기)" },
  time: {
    en: "The time is that of the updates; validations are not counted.",
    ko: "시간은 업데이트에 든 시간이며 검증은 들어가지 않습니다.",
  },
};
// What the reader chose: how the loss is drawn, how much of each mean comes from the points before, whether the page reads itself again.
const drawing = { log: false, smoothing: 0, follow: true };

// The address tells what was chosen, `#log=&smoothing=0.6`, so that a reload or a link shows it again.
function followAddress() {
  const told = new URLSearchParams(location.hash.slice(1));
  const smoothing = Number(told.get("smoothing"));
  drawing.log = told.has("log");
  drawing.smoothing = smoothing >= 0 && smoothing < 1 ? smoothing : 0;
  drawing.follow = !told.has("still");
  reader.language = namesOf(LANGUAGES).find((each) => each === told.get("lang")) ?? reader.language;
}
function writeAddress() {
  const told = [
    drawing.log && "log",
    drawing.smoothing && `smoothing=${drawing.smoothing}`,
    !drawing.follow && "still",
    reader.language !== BROWSER_LANGUAGE && `lang=${reader.language}`,
  ].filter(Boolean);
  const address = told.length ? `#${told.join("&")}` : "";
  if (location.protocol !== "about:" && location.hash !== address)
    history.replaceState(history.state, "", address || `${location.pathname}${location.search}`);
}

// An exponential moving average that starts at the first point: mean ← smoothing · mean + (1 − smoothing) · y.
/** @type {(values: number[]) => number[]} */
function smoothed(values) {
  let [mean, share] = [0, 0];
  return values.map((value) => {
    mean = drawing.smoothing * mean + (1 - drawing.smoothing) * value;
    share = drawing.smoothing * share + (1 - drawing.smoothing); // of all that was averaged: less than 1 at first
    return mean / share;
  });
}

/** @type {Record<string, Both>} */
const NAMES = {
  loss: { en: "loss", ko: "손실" },
  perplexity: { en: "perplexity", ko: "퍼플렉서티" },
  accuracy: { en: "accuracy", ko: "정확도" },
  bleu: { en: "BLEU", ko: "BLEU" },
  learning_rate: { en: "learning rate", ko: "학습률" },
};
/** @type {(measure: string) => string} */
const named = (measure) => (Object.hasOwn(NAMES, measure) ? say(NAMES[measure]) : measure);
/** @type {(value: number) => string} */
const whole = (value) => Math.round(value).toLocaleString("en");
const measures = [...new Set(runs.flatMap(({ best }) => Object.keys(best)))].sort(
  (a, b) => Number(a === "loss") - Number(b === "loss"),
);
const long = Math.max(...runs.map(({ seconds }) => seconds)) > 300;

/**
 * @typedef {(measured: Measured) => number} Axis
 * @type {() => { unit: string, time: Axis, list: [title: string, at: Axis][] }}
 */
function axes() {
  const unit = say(long ? SAYS.minutes : SAYS.seconds);
  /** @type {Axis} */
  const time = ({ seconds }) => (long ? seconds / 60 : seconds);
  return {
    unit,
    time,
    list: [
      [say(SAYS.updates), ({ update }) => update],
      [unit, time],
    ],
  };
}

/** @type {(measure: string, kind: "train" | "valid", title: string, at: Axis, quiet?: boolean) => ChartLine[]} */
const linesOf = (measure, kind, title, at, quiet = false) => {
  const { unit, time } = axes();
  return runs.map(({ name, [kind]: lines }, number) => {
    const measured = lines.filter((line) => Number.isFinite(line[measure]));
    const values = measured.map((line) => line[measure]);
    const shown = kind === "train" && measure === "loss" ? smoothed(values) : values;
    return {
      name,
      number,
      quiet,
      points: measured.map((line, place) => ({
        x: at(line),
        y: shown[place],
        says: say(
          SAYS.point,
          whole(line.update),
          brief(time(line)),
          unit,
          title,
          line[measure].toLocaleString("en", { maximumSignificantDigits: 4 }),
        ),
      })),
    };
  });
};

/** @type {(measure: string) => HTMLElement[]} */
function chartsOf(measure) {
  const title = say(SAYS.validation, named(measure));
  const withTraining = measure === "loss";
  return axes().list.map(([axis, at]) =>
    chart({
      title: say(SAYS.over, withTraining ? say(SAYS.both) : title, axis),
      yTitle: named(measure),
      xTitle: axis,
      fromZero: false,
      log: withTraining && drawing.log,
      lines: [
        ...(withTraining ? linesOf("loss", "train", say(SAYS.training, named("loss")), at, true) : []),
        ...linesOf(measure, "valid", title, at),
      ],
    }),
  );
}

function rates() {
  const [axis, at] = axes().list[0];
  return chart({
    title: say(SAYS.over, named("learning_rate"), axis),
    yTitle: named("learning_rate"),
    xTitle: axis,
    lines: linesOf("learning_rate", "train", named("learning_rate"), at, true),
  });
}

function table() {
  /** @type {(text: string, small?: string) => HTMLElement} */
  const cell = (text, small) => make("td", {}, text, small && make("small", {}, small));
  return make(
    "div",
    { class: "scroller", tabindex: 0 },
    make(
      "table",
      { class: "figures", id: "best" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ...[
            say(SAYS.run),
            say(SAYS.updates),
            say(SAYS.minutes),
            ...measures.map((each) => say(SAYS.best, say(SAYS.validation, named(each)))),
          ].map((text) => make("th", { scope: "col" }, text)),
        ),
      ),
      make(
        "tbody",
        {},
        ...runs.map(({ name, update, seconds, best }, number) =>
          make(
            "tr",
            {},
            make("td", {}, seriesName(name, number)),
            cell(whole(update)),
            cell((seconds / 60).toFixed(1)),
            ...measures.map((each) => {
              const found = best[each];
              return found ? cell(found[each].toFixed(3), say(SAYS.at, whole(found.update))) : cell("–");
            }),
          ),
        ),
      ),
    ),
  );
}

// How the loss is drawn.
function choices() {
  const log = make("input", {
    type: "checkbox",
    id: "log",
    checked: drawing.log,
    onchange: (event) => {
      drawing.log = event.currentTarget.checked;
      drawCharts();
    },
  });
  const smoothing = make("input", {
    type: "range",
    id: "smoothing",
    min: 0,
    max: 0.98,
    step: 0.02,
    value: drawing.smoothing,
    oninput: (event) => {
      drawing.smoothing = event.currentTarget.valueAsNumber;
      drawCharts();
    },
  });
  const follow = make("input", {
    type: "checkbox",
    id: "follow",
    checked: drawing.follow,
    onchange: (event) => {
      drawing.follow = event.currentTarget.checked;
      writeAddress();
    },
  });
  return make(
    "p",
    { class: "drawing" },
    make("label", {}, log, " ", say(SAYS.log)),
    make("label", {}, say(SAYS.smoothing), " ", smoothing),
    refresh > 0 && make("label", {}, follow, " ", say(SAYS.follow, refresh)),
  );
}

function drawCharts() {
  writeAddress();
  element("charts").replaceChildren(
    ...measures.flatMap(chartsOf),
    ...(runs.some(({ train }) => train.length) ? [rates()] : []),
  );
}

function drawAll() {
  document.documentElement.lang = reader.language;
  element("header").replaceChildren(
    make("div", { class: "title" }, make("h1", {}, runs.map(({ name }) => name).join(" · ")), languageButtons(drawAll)),
    table(),
  );
  element("sections").replaceChildren(
    make(
      "section",
      {},
      make("h2", {}, say(SAYS.title)),
      make("p", { class: "series-names" }, ...runs.map(({ name }, number) => seriesName(name, number))),
      measures.includes("loss") && choices(),
      make("div", { class: "charts", id: "charts" }),
      make("p", { class: "muted look-for" }, say(SAYS.lookFor), " ", say(SAYS.time)),
    ),
  );
  drawCharts();
  element("command").replaceChildren(...commandWords(command));
}

// Where the reader was when the page read itself again.
function comeBack() {
  if (!history.state) return;
  const { top, focused } = history.state;
  history.scrollRestoration = "manual";
  document.getElementById(focused)?.focus({ preventScroll: true });
  requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, top))); // charts have their height after the first frame
}

// `regard curve --follow` writes this file anew while the runs train, and the page reads itself again: not while it is hidden or a
// slider is held.
function readAgain() {
  let held = false;
  for (const name of ["pointerdown", "pointerup", "pointercancel"])
    addEventListener(name, () => {
      held = name === "pointerdown";
    });
  setInterval(() => {
    if (!drawing.follow || document.hidden || held) return;
    history.replaceState({ top: scrollY, focused: document.activeElement?.id }, "");
    location.reload();
  }, 1000 * refresh);
}

followAddress();
drawAll();
comeBack();
if (refresh > 0) readAgain();
