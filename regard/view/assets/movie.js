// The movie: how the cross-attention of a few sentences formed while the model was trained.

const MOVIE = {
  title: { en: "Movie", ko: "학습 영상" },
  about: {
    en: "The same sentences, looked at again and again during the training. At first attention is spread over all words; then an alignment forms. The map shows where each piece of the reference looks when the model reads the reference; beside it stands what the model wrote by itself at that time.",
    ko: "학습하는 동안 같은 문장을 거듭 들여다본 기록입니다. 처음에는 어텐션이 모든 단어에 퍼져 있다가 점차 정렬이 생겨납니다. 그림은 모델이 참조 번역을 읽을 때 각 조각이 어디를 보는지 나타내고, 옆에는 그 시점의 모델이 스스로 쓴 번역이 있습니다.",
  },
  play: { en: "Play", ko: "재생" },
  pause: { en: "Pause", ko: "멈춤" },
  slider: { en: "Moment of the training", ko: "학습 시점" },
  update: { en: "update {0}", ko: "업데이트 {0}" },
  speed: { en: "Speed", ko: "속도" },
  probe: { en: "Sentence", ko: "문장" },
  layer: { en: "Layer", ko: "층" },
  head: { en: "Head", ko: "헤드" },
  mean: { en: "mean", ko: "평균" },
  max: { en: "maximum", ko: "최댓값" },
  words: { en: "Words", ko: "단어로 합치기" },
  read: { en: "Source", ko: "원문" },
  wrote: { en: "What the model wrote", ko: "모델이 쓴 번역" },
  reference: { en: "Reference", ko: "참조 번역" },
  nothing: { en: "nothing", ko: "없음" },
  map: { en: "Cross-attention: rows are pieces of the reference, columns are pieces of the source", ko: "교차 어텐션: 행은 참조 번역의 조각, 열은 원문의 조각" },
  point: { en: "Point at the map to read a weight.", ko: "그림 위를 가리키면 가중치를 읽을 수 있습니다." },
};
const MOVIE_SPEEDS = [0.5, 1, 2, 4];
const MOVIE_PACE = 0.9;   // seconds per frame at speed 1
const MOVIE_EASE = 0.35;  // seconds that a jump of the slider takes

// What the reader chose; `at` is a moment between frames, `goal` the frame it moves to.
const movieState = { at: 0, goal: 0, playing: false, speed: 1, probe: 0, layer: null, head: "mean", words: false };

const movesLittle = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// The map of one frame, computed once per choice; frames are then mixed.
function movieMaps(chosen) {
  const known = new Map(), { source, target } = page.movie.probes[chosen.probe];
  return (number) => {
    if (!known.has(number)) {
      const weights = tensorOf(page.movie.frames[number].probes[chosen.probe].cross);
      const map = mapOf(weights.at(Math.min(chosen.layer, weights.shape[0] - 1)), chosen.head);
      known.set(number, chosen.words ? mergeWords(map, target.words, source.words) : map);
    }
    return known.get(number);
  };
}

function mixMaps(one, other, share) {
  return new Tensor(one.shape, one.values.map((value, place) => value + share * (other.values[place] - value)));
}

// A heat map on a canvas that can be painted again at every moment.
function makeMovieMap(rows, columns) {
  const pen = make("canvas").getContext("2d"), family = getComputedStyle(document.body).fontFamily, font = `13px ${family}`;
  pen.font = font;
  const widest = (labels) => Math.min(120, Math.max(...labels.map((label) => pen.measureText(label).width)));
  const left = widest(rows) + 10, top = widest(columns) * 0.75 + 18;
  const cell = Math.max(14, Math.min(44, Math.floor(460 / Math.max(columns.length, rows.length))));
  const wide = left + cell * columns.length + widest(columns) * 0.75, high = top + cell * rows.length + 2;
  const scale = Math.min(devicePixelRatio || 1, 2), canvas = make("canvas", {
    width: Math.round(wide * scale), height: Math.round(high * scale), role: "img", "aria-label": say(MOVIE.map),
    style: { width: `${wide}px`, height: `${high}px` },
  });
  const brush = canvas.getContext("2d"), ink = color("--soft"), accent = color("--accent"), line = color("--line");
  const label = (text, x, y, turn, align) => {
    brush.save();
    brush.translate(x, y);
    brush.rotate(turn);
    brush.textAlign = align;
    brush.fillText(text, 0, 0, 120);
    brush.restore();
  };
  const paint = (map) => {
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    brush.clearRect(0, 0, wide, high);
    brush.font = font;
    brush.textBaseline = "middle";
    brush.fillStyle = ink;
    rows.forEach((text, row) => label(text, left - 8, top + cell * (row + 0.5), 0, "right"));
    columns.forEach((text, column) => label(text, left + cell * (column + 0.5), top - 8, -Math.PI / 4, "left"));
    brush.fillStyle = accent;
    map.values.forEach((weight, place) => {
      brush.globalAlpha = shade(weight);
      brush.fillRect(left + cell * (place % columns.length) + 0.5, top + cell * Math.floor(place / columns.length) + 0.5, cell - 1, cell - 1);
    });
    brush.globalAlpha = 1;
    brush.strokeStyle = line;
    brush.strokeRect(left - 0.5, top - 0.5, cell * columns.length + 1, cell * rows.length + 1);
  };
  // The cell under a pointer, as [row, column].
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - top) / cell), column = Math.floor((event.clientX - box.left - left) / cell);
    return row >= 0 && row < rows.length && column >= 0 && column < columns.length ? [row, column] : null;
  };
  return { canvas, paint, find };
}

// One small curve per metric, all over the same updates.
function movieCurve(name, frames) {
  const WIDE = 240, HIGH = 56;
  const points = frames.map((frame, number) => ({ x: frame.update, y: frame.metrics[name], number })).filter(({ y }) => typeof y === "number");
  const low = Math.min(...points.map(({ y }) => y)), high = Math.max(...points.map(({ y }) => y));
  const first = frames[0].update, last = frames.at(-1).update;
  const across = (update) => 4 + (WIDE - 8) * (last > first ? (update - first) / (last - first) : 0.5);
  const up = (value) => HIGH - 4 - (HIGH - 8) * (high > low ? (value - low) / (high - low) : 0.5);
  const mark = makeShape("line", { class: "mark", y1: 0, y2: HIGH }), dot = makeShape("circle", { r: 3.5 }), value = make("dd");
  const drawing = makeShape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" }, mark,
    makeShape("polyline", { points: points.map(({ x, y }) => `${across(x)},${up(y)}`).join(" ") }), dot);
  const set = (at) => {
    const before = frames[Math.floor(at)], after = frames[Math.ceil(at)], share = at % 1;
    const update = before.update + share * (after.update - before.update), x = across(update);
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
    const here = points.findLast(({ number }) => number <= at), next = points.find(({ number }) => number > at) ?? here;
    dot.setAttribute("visibility", here ? "visible" : "hidden");
    value.textContent = here ? here.y.toFixed(Math.abs(here.y) < 10 ? 2 : 1) : "–";
    if (!here) return;
    const part = next.x > here.x ? Math.max(0, (update - here.x) / (next.x - here.x)) : 0;
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", up(here.y + part * (next.y - here.y)));
  };
  return { part: make("div", {}, make("dt", {}, name === "bleu" ? "BLEU" : name), value, drawing), set };
}

function movieSettings(change) {
  const { probes, frames } = page.movie, [layers, heads] = frames[0].probes[movieState.probe].cross.shape;
  const select = (name, options, chosen, take) => make("label", {}, make("span", {}, say(MOVIE[name])), make("select", {
    id: `movie-${name}`, onchange: (event) => change({ [name]: take(event.target.value) }),
  }, ...options.map(([value, text]) => make("option", { value, selected: value === chosen }, text))));
  const headOptions = [["mean", say(MOVIE.mean)], ["max", say(MOVIE.max)], ...Array.from({ length: heads }, (_, head) => [head, String(head + 1)])];
  return make("div", { class: "settings" },
    probes.length > 1 && select("probe", probes.map((probe, number) => [number, probe.source.text]), movieState.probe, Number),
    select("layer", Array.from({ length: layers }, (_, layer) => [layer, String(layer + 1)]), movieState.layer, Number),
    select("head", headOptions, movieState.head, (value) => (value === "mean" || value === "max" ? value : Number(value))),
    select("speed", MOVIE_SPEEDS.map((speed) => [speed, `${speed} ×`]), movieState.speed, Number),
    make("label", {}, make("input", {
      type: "checkbox", id: "movie-words", checked: movieState.words, onchange: (event) => change({ words: event.target.checked }),
    }), say(MOVIE.words)));
}

// The clock: moves `at` on while playing, or to the `goal`, and asks for one painting per picture of the screen.
function movieClock(root, last, paint) {
  let before = null, pending = false;
  function tick(now) {
    pending = false;
    if (!root.isConnected) return;
    const passed = before === null ? 0 : (now - before) / 1000;
    before = now;
    if (movieState.playing) {
      movieState.at = Math.min(last, movieState.at + passed * movieState.speed / MOVIE_PACE);
      movieState.goal = Math.floor(movieState.at);
      movieState.playing = movieState.at < last;
    } else {
      const rest = movieState.goal - movieState.at;
      movieState.at = Math.abs(rest) < 0.01 || movesLittle() ? movieState.goal : movieState.at + rest * Math.min(1, 4 * passed / MOVIE_EASE);
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

function drawMovie(root) {
  const { probes, frames } = page.movie, last = frames.length - 1;
  movieState.probe = Math.min(movieState.probe, probes.length - 1);
  const [layers, heads] = frames[0].probes[movieState.probe].cross.shape;
  movieState.layer = Math.min(movieState.layer ?? layers - 1, layers - 1);
  if (typeof movieState.head === "number") movieState.head = Math.min(movieState.head, heads - 1);
  movieState.goal = Math.min(movieState.goal, last);
  movieState.at = Math.min(movieState.at, last);

  const probe = probes[movieState.probe], mapAt = movieMaps({ ...movieState });
  const labels = (side) => (movieState.words ? side.words.map((word) => word.text) : side.tokens).map(readable);
  const rows = labels(probe.target), columns = labels(probe.source), heat = makeMovieMap(rows, columns);
  const reading = make("p", { class: "muted reading" }, say(MOVIE.point)), wrote = make("p", { class: "serif", id: "movie-text", dir: "auto" });
  const names = [...new Set(frames.flatMap((frame) => Object.keys(frame.metrics)))];
  const curves = names.map((name) => movieCurve(name, frames));
  const slider = make("input", { type: "range", id: "movie-slider", min: 0, max: last, "aria-label": say(MOVIE.slider), oninput: () => {
    Object.assign(movieState, { playing: false, goal: Number(slider.value) });
    start();
  } });
  const play = make("button", { type: "button", id: "movie-play", class: "quiet", onclick: () => {
    movieState.playing = !movieState.playing && last > 0;
    if (movieState.playing && movieState.at >= last) movieState.at = 0;
    if (!movieState.playing) movieState.goal = Math.round(movieState.at);
    start();
  } });
  const moment = make("output", { class: "position", for: "movie-slider" });
  let map = null;

  function paint() {
    // Who wants little motion sees whole frames, one after the other.
    const at = movesLittle() ? Math.floor(movieState.at) : movieState.at, near = Math.round(at), share = at % 1;
    map = share === 0 ? mapAt(at) : mixMaps(mapAt(Math.floor(at)), mapAt(Math.ceil(at)), share);
    heat.paint(map);
    curves.forEach((curve) => curve.set(at));
    wrote.textContent = frames[near].probes[movieState.probe].text || say(MOVIE.nothing);
    play.textContent = say(movieState.playing ? MOVIE.pause : MOVIE.play);
    if (movieState.playing || document.activeElement !== slider) slider.value = near;
    moment.textContent = say(MOVIE.update, frames[near].update.toLocaleString("en"));
    slider.setAttribute("aria-valuetext", moment.textContent);
  }
  const start = movieClock(root, last, paint);
  heat.canvas.addEventListener("pointermove", (event) => {
    const cell = heat.find(event);
    reading.textContent = cell ? `${rows[cell[0]]} → ${columns[cell[1]]}: ${shareText(map.number(...cell))}` : say(MOVIE.point);
  });
  const text = (name, element) => make("div", {}, make("h2", {}, say(MOVIE[name])), element);
  root.append(
    make("p", { class: "muted" }, say(MOVIE.about)),
    make("div", { class: "instrument" }, play, slider, moment),
    movieSettings((change) => { Object.assign(movieState, change); draw(); }),
    make("div", { class: "stage" },
      make("div", {},
        make("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": say(MOVIE.map), dir: "ltr" }, heat.canvas), reading),
      make("div", { class: "texts" },
        text("read", make("p", { class: "serif", dir: "auto" }, probe.source.text)),
        text("wrote", wrote),
        text("reference", make("p", { class: "serif", dir: "auto" }, probe.target.text)),
        names.length > 0 && make("dl", { class: "curves" }, ...curves.map((curve) => curve.part)))));
  paint();
  if (movieState.playing || movieState.at !== movieState.goal) start();
}

view({ id: "movie", title: MOVIE.title, available: () => page.movie !== null && page.movie.frames.length > 0, draw: drawMovie });
