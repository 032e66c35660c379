// The page of a map: a canvas of points that can be moved, searched and walked through, and beside it the chosen one.

/** @type {MapPage} */
const map = JSON.parse(element("data").textContent);
const SAYS = {
  words: { en: "A map of words", ko: "단어 지도" },
  texts: { en: "A map of texts", ko: "텍스트 지도" },
  points: { en: "on the map", ko: "지도의 점" },
  of: { en: "{0} of {1}, by lot", ko: "{1}개 중 무작위 {0}개" },
  width: { en: "numbers in a vector", ko: "벡터 차원" },
  variance: { en: "variance on the two axes", ko: "두 축이 설명하는 분산" },
  task: { en: "task", ko: "과제" },
  pool: { en: "pooling", ko: "풀링" },
  side: { en: "side", ko: "언어 쪽" },
  search: { en: "Search", ko: "검색" },
  found: { en: "{0} found", ko: "{0}개 찾음" },
  other: { en: "other", ko: "그 밖" },
  map: {
    en: "Map of {0} points. Arrow keys go from point to point, plus and minus zoom, 0 shows all, Escape clears.",
    ko: "점 {0}개의 지도. 화살표 키로 점 사이를 옮기고, +와 -로 확대·축소하고, 0으로 전체를 보고, Esc로 해제합니다.",
  },
  hint: {
    en: "Point, click or use the arrow keys; drag to move, scroll to zoom.",
    ko: "가리키거나 누르거나 화살표 키를 쓰세요. 끌어서 옮기고 스크롤로 확대합니다.",
  },
  axes: { en: "axes: {0} % and {1} % of the variance", ko: "축: 분산의 {0}%와 {1}%" },
  closer: { en: "zoom in", ko: "확대" },
  farther: { en: "zoom out", ko: "축소" },
  all: { en: "all", ko: "전체" },
  nothing: {
    en: "Nothing is chosen. What you choose shows its nearest neighbours here.",
    ko: "아직 고른 것이 없습니다. 하나를 고르면 가장 가까운 이웃이 여기에 나옵니다.",
  },
  nearest: { en: "nearest by cosine, in all {0} dimensions", ko: "코사인 기준 가장 가까운 이웃({0}차원 전체)" },
  caution: {
    en: "The plane keeps only a part of what tells the vectors apart (principal component analysis): what lies close here may be far apart, and the other way round. The list of neighbours is computed from whole vectors.",
    ko: "평면에는 벡터를 구분하는 정보의 일부만 남습니다(주성분 분석, PCA). 여기서 가까워 보여도 실제로는 멀 수 있고 그 반대도 있습니다. 이웃 목록은 벡터 전체로 계산했습니다.",
  },
};
/** @type {Record<string, Both>} */
const FACTS = { task: SAYS.task, pool: SAYS.pool, side: SAYS.side };
const COLOURS = 8;
const RADIUS = map.kind === "words" ? 2.5 : 3.5;
const places = unpack(map.places); // [N, 2], from 0 to 1
const count = map.texts.length;
/** @type {(point: number) => [x: number, y: number]} */
const placeAt = (point) => [places.values[2 * point], 1 - places.values[2 * point + 1]];

// The most frequent labels have colours; the others share one.
const sizes = map.labels.map((_, label) => map.label.filter((each) => each === label).length);
const coloured = sizes
  .map((size, label) => ({ size, label }))
  .sort((a, b) => b.size - a.size)
  .slice(0, COLOURS)
  .map(({ label }) => label);
/** @type {(point: number) => number} */
const colourOf = (point) => coloured.indexOf(map.label[point]);
const lower = map.texts.map((text) => text.toLocaleLowerCase());

const state = {
  chosen: -1,
  pointed: -1,
  query: "",
  /** @type {Set<number>} */
  found: new Set(),
  /** Colours that are switched off; −1 is what has none. @type {Set<number>} */
  hidden: new Set(),
  zoom: 1,
  /** What of the plane is in the middle. */
  centre: [0.5, 0.5],
};
const canvas = make("canvas", { tabindex: 0, role: "application" });

/** @type {(point: number) => boolean} */
const isShown = (point) => !state.hidden.has(colourOf(point));

// Where the plane lies on the canvas: a square around the centre, in pixels of the page.
function frame() {
  const { clientWidth: width, clientHeight: height } = canvas;
  const size = (Math.min(width, height) - 48) * state.zoom;
  return { width, height, size, left: width / 2 - state.centre[0] * size, top: height / 2 - state.centre[1] * size };
}

/** @type {(point: number, box?: ReturnType<typeof frame>) => [x: number, y: number]} */
function pixelOf(point, { size, left, top } = frame()) {
  const [x, y] = placeAt(point);
  return [left + x * size, top + y * size];
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawMap();
  });
}

function drawMap() {
  const box = frame();
  const sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * sharp);
  canvas.height = Math.round(box.height * sharp);
  const pen = penOf(canvas);
  pen.scale(sharp, sharp);
  /** @type {(name: string) => string} */
  const tint = (name) => getComputedStyle(canvas).getPropertyValue(name).trim();
  const colours = [tint("--point"), ...Array.from({ length: COLOURS }, (_, each) => tint(`--label-${each}`))];
  const theme = {
    ink: tint("--ink"),
    paper: tint("--raised"),
    soft: tint("--soft"),
    accent: tint("--accent"),
    font: tint("--sans"),
  };
  const lit = state.query ? state.found : new Set(state.chosen < 0 ? [] : [state.chosen, ...map.near[state.chosen]]);
  const faded = state.query !== "" || state.chosen >= 0;
  // What has no colour lies below what has one.
  for (const wanted of [false, true])
    for (let point = 0; point < count; point++) {
      const colour = colourOf(point);
      if (colour >= 0 !== wanted || !isShown(point)) continue;
      const [x, y] = pixelOf(point, box);
      if (x < -9 || y < -9 || x > box.width + 9 || y > box.height + 9) continue;
      pen.globalAlpha = faded && !lit.has(point) ? 0.25 : map.labels.length && colour < 0 ? 0.6 : 0.85;
      pen.fillStyle = lit.has(point) && colour < 0 ? theme.accent : colours[colour + 1];
      pen.beginPath();
      pen.arc(x, y, lit.has(point) || colour >= 0 ? RADIUS + 1 : RADIUS, 0, 2 * Math.PI);
      pen.fill();
    }
  pen.globalAlpha = 1;
  drawNeighbours(pen, box, theme);
  drawNames(pen, box, theme);
}

/** @typedef {{ ink: string, paper: string, soft: string, accent: string, font: string }} Theme */
/** @type {(pen: CanvasRenderingContext2D, box: ReturnType<typeof frame>, theme: Theme) => void} */
function drawNeighbours(pen, box, { ink, accent }) {
  if (state.chosen >= 0) {
    const [x, y] = pixelOf(state.chosen, box);
    pen.strokeStyle = accent;
    for (const each of map.near[state.chosen]) {
      const [toX, toY] = pixelOf(each, box);
      pen.globalAlpha = 0.45;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(toX, toY);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }
  for (const point of [state.pointed, state.chosen]) {
    if (point < 0) continue;
    const [x, y] = pixelOf(point, box);
    pen.strokeStyle = point === state.chosen ? accent : ink;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, RADIUS + 4, 0, 2 * Math.PI);
    pen.stroke();
    pen.lineWidth = 1;
  }
}

// Names that do not cover each other: what is chosen or found first, then what has a colour, then the most frequent.
/** @type {(pen: CanvasRenderingContext2D, box: ReturnType<typeof frame>, theme: Theme) => void} */
function drawNames(pen, box, { ink, paper, soft, font }) {
  /** @type {[number, number, number, number][]} */
  const taken = [];
  /** @type {Set<number>} */
  const named = new Set();
  /** @type {(point: number, first: boolean) => void} */
  const write = (point, first) => {
    const [x, y] = pixelOf(point, box);
    if (named.has(point) || x < 0 || y < 0 || x > box.width || y > box.height) return;
    pen.font = `${first ? "600 14px" : "12px"} ${font}`;
    const whole = map.texts[point];
    const text = whole.length > 40 ? `${whole.slice(0, 39)}…` : whole;
    const width = pen.measureText(text).width;
    const beside = x + RADIUS + 6 + width > box.width ? x - RADIUS - 6 - width : x + RADIUS + 6;
    const left = Math.max(3, Math.min(beside, box.width - width - 3));
    const area = /** @type {[number, number, number, number]} */ ([left - 3, y - 9, left + width + 3, y + 9]);
    const hit = taken.some(([l, t, r, b]) => area[0] < r && area[2] > l && area[1] < b && area[3] > t);
    if (hit && !(point === state.chosen || point === state.pointed)) return;
    taken.push(area);
    named.add(point);
    pen.lineWidth = 4;
    pen.strokeStyle = paper;
    pen.strokeText(text, left, y);
    pen.lineWidth = 1;
    pen.fillStyle = first ? ink : soft;
    pen.fillText(text, left, y);
  };
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  const chosen = [state.pointed, state.chosen].filter((point) => point >= 0);
  const near = state.chosen >= 0 ? map.near[state.chosen] : [];
  for (const point of new Set([...chosen, ...near])) write(point, chosen.includes(point));
  let room = 150;
  for (const point of state.found) if (isShown(point) && room-- > 0) write(point, false);
  if (map.kind !== "words" || state.query !== "") return;
  const all = [...Array(count).keys()].filter(isShown);
  for (const point of all.filter((each) => colourOf(each) >= 0)) write(point, false);
  for (const point of all.slice(0, 600)) if (taken.length < 160) write(point, false);
}

/** @type {(event: { clientX: number, clientY: number }) => [x: number, y: number]} */
function within({ clientX, clientY }) {
  const { left, top } = canvas.getBoundingClientRect();
  return [clientX - left - 1, clientY - top - 1];
}

// The shown point nearest to a place on the canvas, if it is near.
/** @type {(x: number, y: number, reach: number) => number} */
function pointAt(x, y, reach) {
  const box = frame();
  let best = -1;
  let least = reach;
  for (let point = 0; point < count; point++) {
    if (!isShown(point)) continue;
    const [toX, toY] = pixelOf(point, box);
    const distance = Math.hypot(toX - x, toY - y);
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

/** @type {(factor: number, x?: number, y?: number) => void} */
function zoomBy(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const before = frame();
  state.zoom = Math.min(40, Math.max(1, state.zoom * factor));
  const { width, height, size } = frame();
  state.centre = [
    (x - before.left) / before.size - (x - width / 2) / size,
    (y - before.top) / before.size - (y - height / 2) / size,
  ];
  redraw();
}

function showAll() {
  state.zoom = 1;
  state.centre = [0.5, 0.5];
  redraw();
}

/** @type {(point: number) => void} */
function choose(point) {
  state.chosen = point;
  state.pointed = -1;
  if (point >= 0) {
    const [x, y] = pixelOf(point);
    if (x < 12 || y < 12 || x > canvas.clientWidth - 12 || y > canvas.clientHeight - 12) state.centre = placeAt(point);
  }
  drawChosen();
  redraw();
}

// The next point in the direction of an arrow key: near, and not too far aside.
/** @type {(x: number, y: number) => void} */
function walk(x, y) {
  if (state.chosen < 0) {
    choose(pointAt(canvas.clientWidth / 2, canvas.clientHeight / 2, Number.POSITIVE_INFINITY));
    return;
  }
  const box = frame();
  const [fromX, fromY] = pixelOf(state.chosen, box);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let point = 0; point < count; point++) {
    if (point === state.chosen || !isShown(point)) continue;
    const [toX, toY] = pixelOf(point, box);
    const along = (toX - fromX) * x + (toY - fromY) * y;
    const aside = Math.abs((toX - fromX) * y) + Math.abs((toY - fromY) * x);
    if (along > 0.01 && aside <= along && along + 2 * aside < least) [best, least] = [point, along + 2 * aside];
  }
  if (best >= 0) choose(best);
}

const KEYS = /** @type {Record<string, () => void>} */ ({
  ArrowLeft: () => walk(-1, 0),
  ArrowRight: () => walk(1, 0),
  ArrowUp: () => walk(0, -1),
  ArrowDown: () => walk(0, 1),
  "+": () => zoomBy(1.5),
  "=": () => zoomBy(1.5),
  "-": () => zoomBy(1 / 1.5),
  0: showAll,
  Escape: () => choose(-1),
});

function listen() {
  /** Pointers on the canvas, and where they are. @type {Map<number, [x: number, y: number]>} */
  const held = new Map();
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, within(event));
    moved = held.size > 1;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = within(event);
    const before = held.get(event.pointerId);
    if (!before) {
      state.pointed = pointAt(x, y, 14);
      canvas.classList.toggle("pointing", state.pointed >= 0);
      redraw();
      return;
    }
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const factor =
        Math.hypot(x - other[0], y - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
      zoomBy(factor, other[0], other[1]);
    } else if (moved || Math.hypot(x - before[0], y - before[1]) > 3) {
      moved = true;
      const { size } = frame();
      state.centre = [state.centre[0] - (x - before[0]) / size, state.centre[1] - (y - before[1]) / size];
      canvas.classList.add("dragged");
      redraw();
    } else return;
    held.set(event.pointerId, [x, y]);
  });
  /** @type {(event: PointerEvent) => void} */
  const release = (event) => {
    held.delete(event.pointerId);
    canvas.classList.remove("dragged");
  };
  canvas.addEventListener("pointerup", (event) => {
    if (!moved) choose(pointAt(...within(event), event.pointerType === "touch" ? 28 : 14));
    release(event);
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    state.pointed = -1;
    redraw();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoomBy(Math.exp(-Math.max(-100, Math.min(100, event.deltaY)) / 250), ...within(event));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  new ResizeObserver(redraw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

/** @type {(query: string) => void} */
function search(query) {
  state.query = query.trim().toLocaleLowerCase();
  const fits = state.query ? [...lower.keys()].filter((point) => lower[point].includes(state.query)) : [];
  // What begins so comes first; a whole word before all.
  fits.sort(
    (a, b) =>
      Number(lower[b].startsWith(state.query)) - Number(lower[a].startsWith(state.query)) ||
      lower[a].length - lower[b].length,
  );
  state.found = new Set(fits);
  element("count").textContent = state.query ? say(SAYS.found, fits.length) : "";
  redraw();
}

function drawHeader() {
  const drawn = count.toLocaleString("en");
  /** @type {[string, string][]} */
  const facts = [
    [say(SAYS.points), map.given > count ? say(SAYS.of, drawn, map.given.toLocaleString("en")) : drawn],
    [say(SAYS.width), String(map.width)],
    [say(SAYS.variance), `${(100 * (map.shares[0] + map.shares[1])).toFixed(1)} %`],
    ...Object.entries(map.facts).map(
      ([name, value]) =>
        /** @type {[string, string]} */ ([Object.hasOwn(FACTS, name) ? say(FACTS[name]) : name, value]),
    ),
  ];
  element("header").replaceChildren(
    make("div", { class: "title" }, make("h1", {}, map.title), languageButtons(drawAll)),
    make("p", { class: "sentence" }, say(map.kind === "words" ? SAYS.words : SAYS.texts)),
    make(
      "dl",
      { class: "facts" },
      ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    ),
  );
}

/** @type {(label: number) => HTMLElement} */
function legendButton(label) {
  const colour = coloured.indexOf(label);
  const size = colour >= 0 ? sizes[label] : [...Array(count).keys()].filter((point) => colourOf(point) < 0).length;
  const button = make(
    "button",
    {
      type: "button",
      "aria-pressed": String(!state.hidden.has(colour)),
      style: colour >= 0 ? { "--label": `var(--label-${colour})` } : {},
      onclick: () => {
        if (!state.hidden.delete(colour)) state.hidden.add(colour);
        button.setAttribute("aria-pressed", String(!state.hidden.has(colour)));
        redraw();
      },
    },
    colour >= 0 ? map.labels[label] : say(SAYS.other),
    make("small", {}, size.toLocaleString("en")),
  );
  return button;
}

function drawControls() {
  const rest = [...Array(count).keys()].some((point) => colourOf(point) < 0);
  element("controls").replaceChildren(
    make(
      "div",
      { class: "search" },
      make("input", {
        type: "search",
        id: "search",
        "aria-label": say(SAYS.search),
        placeholder: say(SAYS.search),
        value: state.query,
        oninput: ({ currentTarget }) => search(currentTarget.value),
        onkeydown: ({ key }) => {
          const [first] = state.found;
          if (key === "Enter" && first !== undefined) choose(first);
        },
      }),
      make("output", { id: "count", "aria-live": "polite" }),
    ),
    ...(map.labels.length
      ? [make("div", { class: "legend", role: "group" }, ...coloured.map(legendButton), rest && legendButton(-1))]
      : []),
  );
  search(state.query);
}

function drawFigure() {
  canvas.setAttribute("aria-label", say(SAYS.map, count));
  /** @type {(sign: string, name: Both, press: () => void) => HTMLElement} */
  const button = (sign, name, press) =>
    make("button", { type: "button", "aria-label": say(name), title: say(name), onclick: press }, sign);
  element("figure").replaceChildren(
    canvas,
    make(
      "div",
      { class: "zoom" },
      button("+", SAYS.closer, () => zoomBy(1.5)),
      button("−", SAYS.farther, () => zoomBy(1 / 1.5)),
      button("⤢", SAYS.all, showAll),
    ),
    make(
      "figcaption",
      {},
      make("span", {}, say(SAYS.hint)),
      make("span", {}, say(SAYS.axes, ...map.shares.map((share) => (100 * share).toFixed(1)))),
    ),
  );
}

function drawChosen() {
  const point = state.chosen;
  if (point < 0) {
    element("chosen").replaceChildren(make("p", { class: "muted" }, say(SAYS.nothing)));
    return;
  }
  const colour = colourOf(point);
  const label = map.labels[map.label[point]];
  const style = /** @type {Settings} */ (colour >= 0 ? { "--label": `var(--label-${colour})` } : {});
  element("chosen").replaceChildren(
    make("h2", { dir: directionOf(map.texts[point]) }, ...orNothing(map.texts[point])),
    ...(label ? [make("p", { class: "label", style }, label)] : []),
    make("h3", {}, say(SAYS.nearest, map.width)),
    make(
      "ol",
      { class: "near" },
      ...map.near[point].map((each, rank) =>
        make(
          "li",
          {},
          make(
            "button",
            {
              type: "button",
              onclick: () => {
                choose(each);
                element("chosen").querySelector("button")?.focus();
              },
            },
            make("span", {}, map.texts[each]),
            make("small", {}, map.cosines[point][rank].toFixed(3)),
          ),
        ),
      ),
    ),
  );
}

function drawAll() {
  document.documentElement.lang = reader.language;
  drawHeader();
  drawControls();
  drawFigure();
  drawChosen();
  element("caution").textContent = say(SAYS.caution);
  element("command").replaceChildren(...commandWords(map.command));
  redraw();
}

drawAll();
listen();
