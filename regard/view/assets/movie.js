// The movie: how the attention within a few texts formed while the model was trained.

const MOVIE = {
  title: { en: "Movie", ko: "학습 영상" },
  about: {
    cross: {
      en: "The same sentences, looked at again and again during the training. At first attention is spread over all words; then an alignment forms. The map shows where each token of the reference looks when the model reads the reference; beside it stands what the model wrote by itself at that time.",
      ko: "학습하는 동안 같은 문장을 거듭 들여다본 기록입니다. 처음에는 어텐션이 모든 단어에 퍼져 있다가 점차 정렬이 생겨납니다. 그림은 모델이 참조 번역을 읽을 때 각 토큰이 어디를 보는지 나타내고, 옆에는 그 시점의 모델이 스스로 쓴 번역이 있습니다.",
    },
    encoder: {
      en: "The same texts, looked at again and again during the training. At first attention is spread over all words; then the telling ones draw it. The map shows where each token looks; beside it stands how the model would have labelled the text at that time.",
      ko: "학습하는 동안 같은 글을 거듭 들여다본 기록입니다. 처음에는 어텐션이 모든 단어에 퍼져 있다가 점차 판단에 중요한 단어로 모입니다. 그림은 각 토큰이 어디를 보는지 나타내고, 옆에는 그 시점의 모델이 붙였을 라벨이 있습니다.",
    },
    decoder: {
      en: "The same texts, looked at again and again during the training. The map shows where the model looks back in order to predict each token; what comes later is masked. Beside it stands what the model expected at each place at that time.",
      ko: "학습하는 동안 같은 글을 거듭 들여다본 기록입니다. 그림은 모델이 각 토큰을 예측하기 위해 앞의 어디를 보는지 나타내며, 뒤에 올 것은 마스크로 가려집니다. 옆에는 그 시점의 모델이 각 자리에서 예상한 토큰이 있습니다.",
    },
    pooling: {
      en: "The same texts, looked at again and again during the training. At first the query looks at all words alike; then the telling ones draw it. Beside the map stands how the model would have labelled the text at that time.",
      ko: "학습하는 동안 같은 글을 거듭 들여다본 기록입니다. 처음에는 쿼리가 모든 단어를 고르게 보다가 점차 판단에 중요한 단어로 모입니다. 옆에는 그 시점의 모델이 붙였을 라벨이 있습니다.",
    },
  },
  whose: {
    en: "This is the training of “{0}”, on sentences of its own: what you type above does not change it.",
    ko: "“{0}”의 학습을 그 모델의 문장으로 기록한 영상입니다. 위에 입력한 글에 따라 달라지지 않습니다.",
  },
  play: { en: "Play", ko: "재생" },
  pause: { en: "Pause", ko: "멈춤" },
  slider: { en: "Moment of the training", ko: "학습 시점" },
  update: { en: "update {0}", ko: "업데이트 {0}" },
  untrained: { en: "before training", ko: "학습 전" },
  speed: { en: "Speed", ko: "속도" },
  probe: { en: "Text", ko: "글" },
  layer: { en: "Layer", ko: "층" },
  head: { en: "Head", ko: "헤드" },
  mean: { en: "mean", ko: "평균" },
  max: { en: "maximum", ko: "최댓값" },
  words: { en: "Whole words", ko: "단어로 합치기" },
  read: {
    cross: { en: "Source", ko: "원문" },
    encoder: { en: "Text", ko: "글" },
    decoder: { en: "Text", ko: "글" },
    pooling: { en: "Text", ko: "글" },
  },
  wrote: {
    cross: { en: "What the model wrote", ko: "모델이 쓴 번역" },
    encoder: { en: "What the model called it", ko: "모델이 붙인 라벨" },
    decoder: { en: "What the model expected", ko: "모델이 예상한 토큰" },
    pooling: { en: "What the model called it", ko: "모델이 붙인 라벨" },
  },
  reference: {
    cross: { en: "Reference", ko: "참조 번역" },
    encoder: { en: "Label", ko: "정답 라벨" },
    decoder: { en: "What came", ko: "실제 글" },
    pooling: { en: "Label", ko: "정답 라벨" },
  },
  map: {
    cross: {
      en: "Cross-attention: rows are tokens of the reference, columns are tokens of the source",
      ko: "크로스 어텐션: 행은 참조 번역의 토큰, 열은 원문의 토큰",
    },
    encoder: {
      en: "Self-attention: rows are the tokens that look, columns those that are looked at",
      ko: "셀프 어텐션: 행은 주목하는 토큰, 열은 주목받는 토큰",
    },
    decoder: {
      en: "Self-attention: rows are tokens to predict, columns are tokens read before",
      ko: "셀프 어텐션: 행은 예측할 토큰, 열은 앞서 읽은 토큰",
    },
    pooling: {
      en: "Attention that pools: one row, the learned query; columns are the tokens of the text",
      ko: "풀링 어텐션: 한 행은 학습된 쿼리, 열은 글의 토큰",
    },
  },
  point: {
    en: "Point at the map, or use the arrow keys, to read a weight.",
    ko: "그림 위를 가리키거나 화살표 키를 쓰면 가중치를 읽을 수 있습니다.",
  },
};
/** @type {Record<string, Both>} */
const MOVIE_METRICS = {
  loss: { en: "training loss", ko: "학습 손실" },
  bleu: { en: "BLEU", ko: "BLEU" },
  accuracy: { en: "validation accuracy", ko: "검증 정확도" },
  perplexity: { en: "validation perplexity", ko: "검증 퍼플렉서티" },
};
const MOVIE_SPEEDS = [0.5, 1, 2, 4];
const MOVIE_PACE = 0.9; // seconds per frame at speed 1
const MOVIE_EASE = 0.35; // seconds that a jump of the slider takes

// What the reader chose; `at` is a moment between frames, `goal` the frame it moves to.
/** @type {{ at: number, goal: number, playing: boolean, speed: number, probe: number, layer: number | null, head: Head, words: boolean }} */
const movieState = { at: 0, goal: 0, playing: false, speed: 1, probe: 0, layer: null, head: "mean", words: false };

const movesLittle = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// The map of one frame, computed once per choice; frames are then mixed.
/** @type {(movie: Movie, chosen: { probe: number, layer: number, head: Head, words: boolean }) => (number: number) => Tensor} */
function movieMaps({ probes, frames }, chosen) {
  /** @type {Map<number, Tensor>} */
  const known = new Map();
  const { source, target } = probes[chosen.probe];
  /** @type {(number: number) => Tensor} */
  const mapAt = (number) => {
    const weights = tensorOf(frames[number].probes[chosen.probe].weights);
    const map = mapOf(weights.at(Math.min(chosen.layer, weights.shape[0] - 1)), chosen.head);
    return chosen.words ? mergeWords(map, target.words, source.words) : map;
  };
  return (number) => {
    const map = known.get(number) ?? mapAt(number);
    known.set(number, map);
    return map;
  };
}

/** @type {(one: Tensor, other: Tensor, share: number) => Tensor} */
function mixMaps(one, other, share) {
  return new Tensor(
    one.shape,
    one.values.map((value, place) => value + share * (other.values[place] - value)),
  );
}

/** @typedef {[row: number, column: number]} Cell */

// How large the map's cells are and where they begin, so that it fills the room it has, if its sentence is long enough.
/** @type {(rows: string[], columns: string[], room: number, pen: CanvasRenderingContext2D) => { start: number, top: number, across: number, down: number, wide: number, high: number }} */
function movieGrid(rows, columns, room, pen) {
  /** @type {(labels: string[]) => number} */
  const widest = (labels) => Math.min(120, Math.max(...labels.map((label) => pen.measureText(label).width)));
  const start = widest(rows) + 10;
  const slanted = widest(columns) * 0.75;
  const top = slanted + 18;
  const across = Math.max(14, Math.min(64, Math.floor((room - start - slanted) / columns.length)));
  const down = Math.max(14, Math.min(across, Math.floor(640 / rows.length)));
  return {
    start,
    top,
    across,
    down,
    wide: start + across * columns.length + slanted,
    high: top + down * rows.length + 2,
  };
}

// A heat map on a canvas that can be painted again at every moment, with one cell pointed at. Its columns run as their
// text does; from right to left, the rows' names stand on the right.
/**
 * @param {Movie["kind"]} kind
 * @param {string[]} rows
 * @param {string[]} columns
 */
function makeMovieMap(kind, rows, columns) {
  const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": say(MOVIE.map[kind]) });
  const brush = penOf(canvas);
  const font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const direction = directionOf(columns.join(""));
  const isLeft = direction === "rtl";
  const ink = color("--ink");
  const soft = color("--soft");
  const accent = color("--accent");
  const line = color("--line");
  let grid = movieGrid(rows, columns, 0, brush); // until it is known how much room there is
  let scale = 1;
  /** @type {(room: number) => void} */
  const fit = (room) => {
    brush.font = font;
    grid = movieGrid(rows, columns, room, brush);
    scale = Math.min(devicePixelRatio || 1, 2);
    Object.assign(canvas, { width: Math.round(grid.wide * scale), height: Math.round(grid.high * scale) });
    Object.assign(canvas.style, { width: `${grid.wide}px`, height: `${grid.high}px` });
  };
  /** @type {(row: number, column: number) => [x: number, y: number]} */
  const place = (row, column) => [
    isLeft ? grid.wide - grid.start - grid.across * (column + 1) : grid.start + grid.across * column,
    grid.top + grid.down * row,
  ];
  /** @type {(text: string, x: number, y: number, turn: number, align: CanvasTextAlign) => void} */
  const label = (text, x, y, turn, align) => {
    brush.save();
    brush.translate(x, y);
    brush.rotate(turn);
    brush.textAlign = align;
    brush.fillText(text, 0, 0, 120);
    brush.restore();
  };
  /** @type {(map: Tensor, cell: Cell | null) => void} */
  const paint = (map, cell) => {
    const { across, down, wide, high, start, top } = grid;
    /** @type {CanvasTextAlign[]} */
    const [near, far] = isLeft ? ["left", "right"] : ["right", "left"];
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    brush.clearRect(0, 0, wide, high);
    Object.assign(brush, { font, textBaseline: "middle", fillStyle: soft });
    rows.forEach((text, row) => {
      label(text, isLeft ? wide - start + 8 : start - 8, top + down * (row + 0.5), 0, near);
    });
    columns.forEach((text, column) => {
      label(text, place(0, column)[0] + across / 2, top - 8, isLeft ? Math.PI / 4 : -Math.PI / 4, far);
    });
    brush.fillStyle = accent;
    map.values.forEach((weight, index) => {
      const [x, y] = place(Math.floor(index / columns.length), index % columns.length);
      brush.globalAlpha = shade(weight);
      brush.fillRect(x + 0.5, y + 0.5, across - 1, down - 1);
    });
    brush.globalAlpha = 1;
    Object.assign(brush, { strokeStyle: line, lineWidth: 1 });
    brush.strokeRect(
      place(0, isLeft ? columns.length - 1 : 0)[0] - 0.5,
      top - 0.5,
      across * columns.length + 1,
      down * rows.length + 1,
    );
    if (!cell) return;
    Object.assign(brush, { strokeStyle: ink, lineWidth: 2 });
    brush.strokeRect(...place(...cell), across, down);
  };
  // The cell under a pointer, as [row, column].
  /** @type {(event: PointerEvent) => Cell | null} */
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - grid.top) / grid.down);
    const x = isLeft ? box.right - event.clientX : event.clientX - box.left;
    const column = Math.floor((x - grid.start) / grid.across);
    return row >= 0 && row < rows.length && column >= 0 && column < columns.length ? [row, column] : null;
  };
  return { canvas, direction, fit, paint, find, place };
}

// Pointer and arrow keys → the cell to be read, or null; `tell` is called when it has changed.
/** @type {(heat: ReturnType<typeof makeMovieMap>, scroller: HTMLElement, rows: number, columns: number, tell: () => void) => () => Cell | null} */
function followMovieMap(heat, scroller, rows, columns, tell) {
  const { canvas } = heat;
  /** @type {(value: number, count: number) => number} */
  const within = (value, count) => Math.max(0, Math.min(count - 1, value));
  /** @type {Cell | null} */
  let cell = null;
  /** @type {Cell} */
  let last = [0, 0];
  /** @type {(to: Cell | null) => void} */
  const point = (to) => {
    cell = to;
    last = to ?? last;
    tell();
  };
  canvas.addEventListener("pointermove", (event) => point(heat.find(event)));
  canvas.addEventListener("pointerleave", () => canvas.matches(":focus-visible") || point(null));
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && point(last));
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("keydown", (event) => {
    const step = stepOf(event, heat.direction);
    if (!step) return;
    event.preventDefault();
    point([within(last[0] + step[0], rows), within(last[1] + step[1], columns)]);
    const [x] = heat.place(...last);
    const seen = canvas.getBoundingClientRect().left - scroller.getBoundingClientRect().left + x;
    if (seen < 0 || seen > scroller.clientWidth - 64) scroller.scrollBy(seen - scroller.clientWidth / 2, 0);
  });
  return () => cell;
}

/** @type {(update: number) => string} */
const updateName = (update) => (update === 0 ? say(MOVIE.untrained) : say(MOVIE.update, update.toLocaleString("en")));

// One small curve per metric, all over the same updates: what was measured, joined by straight lines.
/** @type {(name: string, frames: Frame[]) => { part: HTMLElement, set: (at: number) => void }} */
function movieCurve(name, frames) {
  const WIDE = 240;
  const HIGH = 56;
  const points = frames
    .map((frame, number) => ({ x: frame.update, y: frame.metrics[name], number }))
    .filter(({ y }) => typeof y === "number");
  const low = Math.min(...points.map(({ y }) => y));
  const high = Math.max(...points.map(({ y }) => y));
  const first = frames[0].update;
  const last = frames[frames.length - 1].update;
  /** @type {(update: number) => number} */
  const across = (update) => 4 + (WIDE - 8) * (last > first ? (update - first) / (last - first) : 0.5);
  /** @type {(y: number) => number} */
  const up = (y) => HIGH - 4 - (HIGH - 8) * (high > low ? (y - low) / (high - low) : 0.5);
  const mark = makeShape("line", { class: "mark", y1: 0, y2: HIGH });
  const value = make("dd");
  const dots = points.map(({ x, y }) => makeShape("circle", { cx: across(x), cy: up(y), r: 1.5 }));
  const drawing = makeShape(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" },
    mark,
    makeShape("polyline", { points: points.map(({ x, y }) => `${across(x)},${up(y)}`).join(" ") }),
    ...dots,
  );
  /** @type {(at: number) => void} */
  const set = (at) => {
    const before = frames[Math.floor(at)];
    const after = frames[Math.ceil(at)];
    const x = across(before.update + (at % 1) * (after.update - before.update));
    mark.setAttribute("x1", String(x));
    mark.setAttribute("x2", String(x));
    const index = points.findLastIndex(({ number }) => number <= at);
    const here = points[index];
    dots.forEach((dot, each) => {
      dot.setAttribute("class", each === index ? "here" : "");
      dot.setAttribute("r", each === index ? "3.5" : "1.5");
    });
    value.replaceChildren(
      ...(here ? [here.y.toFixed(Math.abs(here.y) < 10 ? 2 : 1), make("small", {}, ` ${updateName(here.x)}`)] : ["–"]),
    );
  };
  return {
    part: make(
      "div",
      {},
      make("dt", {}, Object.hasOwn(MOVIE_METRICS, name) ? say(MOVIE_METRICS[name]) : name),
      value,
      drawing,
    ),
    set,
  };
}

/** @type {(movie: Movie, change: (changed: Partial<typeof movieState>) => void) => HTMLElement} */
function movieSettings({ probes, frames }, change) {
  const [layers, heads] = frames[0].probes[movieState.probe].weights.shape;
  /** @type {(name: "probe" | "layer" | "head" | "speed", options: [value: string | number, text: string][], chosen: string | number | null, take: (value: string) => Head) => HTMLElement} */
  const select = (name, options, chosen, take) =>
    make(
      "label",
      {},
      make("span", {}, say(MOVIE[name])),
      make(
        "select",
        {
          id: `movie-${name}`,
          onchange: (event) => change({ [name]: take(event.currentTarget.value) }),
        },
        ...options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)),
      ),
    );
  /** @type {[value: Head, text: string][]} */
  const headOptions = [
    ["mean", say(MOVIE.mean)],
    ["max", say(MOVIE.max)],
    ...Array.from({ length: heads }, (_, head) => /** @type {[number, string]} */ ([head, String(head + 1)])),
  ];
  return make(
    "div",
    { class: "settings" },
    probes.length > 1 &&
      select(
        "probe",
        probes.map((probe, number) => [number, probe.source.text]),
        movieState.probe,
        Number,
      ),
    select(
      "layer",
      Array.from({ length: layers }, (_, layer) => [layer, String(layer + 1)]),
      movieState.layer,
      Number,
    ),
    select("head", headOptions, movieState.head, (value) =>
      value === "mean" || value === "max" ? value : Number(value),
    ),
    select(
      "speed",
      MOVIE_SPEEDS.map((speed) => [speed, `${speed} ×`]),
      movieState.speed,
      Number,
    ),
    make(
      "label",
      {},
      make("input", {
        type: "checkbox",
        id: "movie-words",
        checked: movieState.words,
        onchange: (event) => change({ words: event.currentTarget.checked }),
      }),
      say(MOVIE.words),
    ),
  );
}

// The clock: moves `at` on while playing, or to the `goal`, and asks for one painting per picture of the screen.
/** @type {(root: HTMLElement, last: number, paint: () => void) => () => void} */
function movieClock(root, last, paint) {
  /** @type {number | null} */
  let before = null;
  let pending = false;
  /** @type {(now: number) => void} */
  function tick(now) {
    pending = false;
    if (!root.isConnected) return;
    const passed = before === null ? 0 : (now - before) / 1000;
    before = now;
    if (movieState.playing) {
      movieState.at = Math.min(last, movieState.at + (passed * movieState.speed) / MOVIE_PACE);
      movieState.goal = Math.floor(movieState.at);
      movieState.playing = movieState.at < last;
    } else {
      const rest = movieState.goal - movieState.at;
      movieState.at =
        Math.abs(rest) < 0.01 || movesLittle()
          ? movieState.goal
          : movieState.at + rest * Math.min(1, (4 * passed) / MOVIE_EASE);
    }
    paint();
    if (movieState.playing || movieState.at !== movieState.goal) start();
    else before = null;
  }
  const start = () => {
    if (!pending) requestAnimationFrame(tick);
    pending = true;
  };
  return start;
}

/** @type {(root: HTMLElement) => void} */
function drawMovie(root) {
  if (!page.movie) return;
  const { run, kind, probes, frames } = page.movie;
  const last = frames.length - 1;
  movieState.probe = Math.min(movieState.probe, probes.length - 1);
  const [layers, heads] = frames[0].probes[movieState.probe].weights.shape;
  movieState.layer = Math.min(movieState.layer ?? layers - 1, layers - 1);
  if (typeof movieState.head === "number") movieState.head = Math.min(movieState.head, heads - 1);
  movieState.goal = Math.min(movieState.goal, last);
  movieState.at = Math.min(movieState.at, last);

  const probe = probes[movieState.probe];
  const mapAt = movieMaps(page.movie, { ...movieState, layer: movieState.layer });
  /** @type {(side: Side) => string[]} */
  const labels = (side) => (movieState.words ? side.words.map((word) => word.text) : side.tokens).map(labelOf);
  const rows = labels(probe.target);
  const columns = labels(probe.source);
  const heat = makeMovieMap(kind, rows, columns);
  const scroller = fading(make("div", { class: "scroller", dir: heat.direction }, heat.canvas));
  const pointed = followMovieMap(heat, scroller, rows.length, columns.length, () => paint());
  const reading = make("p", { class: "muted reading" }, say(MOVIE.point));
  const wrote = make("p", { class: "serif", id: "movie-text", dir: "auto" });
  const names = [...new Set(frames.flatMap((frame) => Object.keys(frame.metrics)))];
  const curves = names.map((name) => movieCurve(name, frames));
  const slider = make("input", {
    type: "range",
    id: "movie-slider",
    min: 0,
    max: last,
    "aria-label": say(MOVIE.slider),
    oninput: () => {
      Object.assign(movieState, { playing: false, goal: Number(slider.value) });
      start();
    },
  });
  const play = make("button", {
    type: "button",
    id: "movie-play",
    class: "quiet",
    onclick: () => {
      movieState.playing = !movieState.playing && last > 0;
      if (movieState.playing && movieState.at >= last) movieState.at = 0;
      if (!movieState.playing) movieState.goal = Math.round(movieState.at);
      start();
    },
  });
  const moment = make("output", { class: "position", for: "movie-slider" });
  let map = mapAt(0);

  function paint() {
    // Who wants little motion sees whole frames, one after the other.
    const at = movesLittle() ? Math.floor(movieState.at) : movieState.at;
    const near = Math.round(at);
    const share = at % 1;
    map = share === 0 ? mapAt(at) : mixMaps(mapAt(Math.floor(at)), mapAt(Math.ceil(at)), share);
    heat.paint(map, pointed());
    tell();
    for (const curve of curves) curve.set(at);
    wrote.replaceChildren(...orNothing(frames[near].probes[movieState.probe].text));
    play.textContent = say(movieState.playing ? MOVIE.pause : MOVIE.play);
    if (movieState.playing || document.activeElement !== slider) slider.value = String(near);
    moment.textContent = updateName(frames[near].update);
    slider.setAttribute("aria-valuetext", moment.textContent);
  }
  const start = movieClock(root, last, paint);
  // The same cell is read in every frame; aloud only while the movie stands still.
  function tell() {
    const cell = pointed();
    reading.setAttribute("aria-live", cell && !movieState.playing ? "polite" : "off");
    reading.replaceChildren(
      ...(cell
        ? [
            make("bdi", {}, rows[cell[0]]),
            " → ",
            make("bdi", {}, columns[cell[1]]),
            `: ${shareText(map.number(...cell))}`,
          ]
        : [say(MOVIE.point)]),
    );
  }
  /** @type {(name: "read" | "wrote" | "reference", content: HTMLElement) => HTMLElement} */
  const text = (name, content) => make("div", {}, make("h2", {}, say(MOVIE[name][kind])), content);
  root.append(
    make("p", { class: "muted" }, say(MOVIE.about[kind])),
    page.live && run ? make("p", { class: "muted whose" }, say(MOVIE.whose, run)) : "",
    make("div", { class: "instrument" }, play, slider, moment),
    movieSettings(page.movie, (change) => {
      Object.assign(movieState, change);
      draw();
    }),
    make(
      "div",
      { class: "stage" },
      make("div", {}, scroller, reading),
      make(
        "div",
        { class: "texts" },
        text("read", make("p", { class: "serif", dir: "auto" }, probe.source.text)),
        text("wrote", wrote),
        text("reference", make("p", { class: "serif", dir: "auto" }, probe.target.text)),
        names.length > 0 && make("dl", { class: "curves" }, ...curves.map((curve) => curve.part)),
      ),
    ),
  );
  heat.fit(scroller.clientWidth);
  paint();
  new ResizeObserver(() => {
    heat.fit(scroller.clientWidth);
    paint();
  }).observe(scroller);
  if (movieState.playing || movieState.at !== movieState.goal) start();
}

view({
  id: "movie",
  title: MOVIE.title,
  available: () => page.movie !== null && page.movie.frames.length > 0,
  draw: drawMovie,
});
