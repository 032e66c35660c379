// Charts of series: points over a common axis, joined by lines, with whiskers where an interval is known; drawn anew for
// every width, so that letters keep their size. One colour and one shape for each of them, wherever it appears.

const SHAPES = [
  "M0-4A4 4 0 1 1 0 4A4 4 0 1 1 0-4Z",
  "M-3.5-3.5H3.5V3.5H-3.5Z",
  "M0-4.5L4.5 3.5H-4.5Z",
  "M0-5L5 0L0 5L-5 0Z",
  "M-4.5-3.5H4.5L0 4.5Z",
  "M-1.5-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z",
];
/**
 * @typedef {{ x: number, y: number, low?: number, high?: number, says: string }} ChartPoint
 * @typedef {{ name: string, number: number, points: ChartPoint[], quiet?: boolean }} ChartLine
 * @typedef {ChartPoint & { line: ChartLine, at: [x: number, y: number] }} PlacedPoint
 * @typedef {{ lines: ChartLine[], xTitle: string, yTitle: string, fromZero?: boolean, log?: boolean, labels?: string[][] | null }} ChartContent
 */
/** @type {(number: number) => Settings} */
const seriesStyle = (number) => ({ "--series": `var(--series-${number % SHAPES.length})` });
/** @type {(number: number, attributes?: Attributes<SVGPathElement>) => SVGElement} */
const shapeOf = (number, attributes = {}) =>
  makeShape("path", { class: "mark", d: SHAPES[number % SHAPES.length], ...attributes });

// The name of a series in its colour, behind its shape.
/** @type {(name: string, number: number) => HTMLElement} */
const seriesName = (name, number) =>
  make(
    "span",
    { class: "series", style: seriesStyle(number) },
    makeShape("svg", { viewBox: "-6 -6 12 12", "aria-hidden": "true" }, shapeOf(number)),
    name,
  );

// Round numbers that cover a span in about `count` steps.
/** @type {(low: number, high: number, count: number) => number[]} */
function ticksOf(low, high, count) {
  const rough = (high - low || Math.abs(high) || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, number) => Number(((first + number) * step).toPrecision(12)));
}

// Round numbers above zero that cover a span on a logarithmic axis: powers of ten, with 2 and 5 between where few are needed.
/** @type {(low: number, high: number) => number[]} */
function logTicksOf(low, high) {
  const steps = high / low > 1000 ? [1] : [1, 2, 5];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const all = Array.from({ length: last - first + 1 }, (_, number) =>
    steps.map((step) => Number((step * 10 ** (first + number)).toPrecision(3))),
  ).flat();
  const begin = all.findLastIndex((tick) => tick <= low);
  const end = all.findIndex((tick) => tick >= high);
  return all.slice(Math.max(0, begin), end < 0 ? all.length : end + 1);
}

/** @type {(value: number) => string} */
const brief = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

const READ = {
  en: "Point at the chart, or use the arrow keys, to read values.",
  ko: "차트를 가리키거나 화살표 키를 쓰면 값을 읽을 수 있습니다.",
};

// lines: [{ name, number, points: [{ x, y, low, high, says }], quiet }] with x in the units of the axis; `labels` replaces
// its numbers by names, one for each x = 0, 1, 2, … A quiet line is thin, without marks, and not read out beside others.
/** @type {(content: ChartContent & { title?: string }) => HTMLElement} */
function chart({ title, lines, xTitle, yTitle, fromZero = true, log = false, labels = null }) {
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const svg = makeShape("svg", {
    role: "img",
    tabindex: 0,
    "aria-label": `${title ?? yTitle}: ${lines
      .filter(({ quiet }) => !quiet)
      .map(({ name, points: own }) => `${name} ${own.map(({ y }) => brief(y)).join(", ")}`)
      .join("; ")}`,
  });
  const figure = make("figure", { class: "chart" }, title && make("figcaption", {}, title), svg, readout);
  const points = lines.flatMap((line) =>
    line.points.map((point) => /** @type {PlacedPoint} */ ({ ...point, line, at: [0, 0] })),
  );
  if (points.length) {
    const draw = () => drawChart(svg, { lines, points, xTitle, yTitle, fromZero, log, labels });
    new ResizeObserver(draw).observe(figure);
    followPoints(
      svg,
      points.some(({ line }) => !line.quiet) ? points.filter(({ line }) => !line.quiet) : points,
      readout,
    );
  }
  return figure;
}

/** @type {(svg: SVGSVGElement, content: ChartContent & { points: PlacedPoint[] }) => void} */
function drawChart(svg, { lines, points, xTitle, yTitle, fromZero, log, labels }) {
  const width = Math.max(240, svg.parentElement?.clientWidth ?? 0);
  const height = Math.min(360, Math.max(220, 0.55 * width));
  const start = 44;
  const end = width - 12;
  const top = 22;
  const bottom = height - (xTitle ? (labels ? 52 : 40) : 24);
  const ys = points.flatMap(({ y, low = y, high = y }) => [low, high]);
  const scale = log && Math.min(...ys) > 0 ? Math.log10 : Number;
  const yTicks =
    scale === Number
      ? ticksOf(fromZero ? 0 : Math.min(...ys), Math.max(...ys), 5)
      : logTicksOf(Math.min(...ys), Math.max(...ys));
  const xTicks = labels
    ? labels.map((_, place) => place)
    : ticksOf(0, Math.max(...points.map(({ x }) => x)), width < 420 ? 3 : 6);
  const room = labels ? [-0.5, labels.length - 0.5] : [xTicks[0], xTicks[xTicks.length - 1]];
  /** @type {(x: number) => number} */
  const atX = (x) => start + ((x - room[0]) / (room[1] - room[0] || 1)) * (end - start);
  /** @type {(y: number) => number} */
  const atY = (y) => {
    const [lowest, highest] = [scale(yTicks[0]), scale(yTicks[yTicks.length - 1])];
    return bottom - ((scale(y) - lowest) / (highest - lowest || 1)) * (bottom - top);
  };
  /** @type {(x: number, y: number, anchor: string, ...content: string[]) => SVGElement} */
  const text = (x, y, anchor, ...content) => makeShape("text", { x, y, "text-anchor": anchor }, ...content);
  const across = yTicks.flatMap((tick) => [
    makeShape("line", { class: "grid", x1: start, x2: end, y1: atY(tick), y2: atY(tick) }),
    text(start - 8, atY(tick) + 4, "end", brief(tick)),
  ]);
  const along = xTicks.flatMap((tick) =>
    (labels ? labels[tick] : [brief(tick)]).map((line, row) => text(atX(tick), bottom + 16 + 14 * row, "middle", line)),
  );
  const drawn = lines.map(({ number, points: own, quiet }) =>
    makeShape(
      "g",
      { class: quiet && "quiet", style: seriesStyle(number), data: { series: number } },
      makeShape("path", {
        class: "curve",
        d: own.map(({ x, y }, place) => `${place ? "L" : "M"}${atX(x)} ${atY(y)}`).join(""),
      }),
      ...own
        .filter(({ low }) => low !== undefined)
        .map(({ x, y, low = y, high = y }) =>
          makeShape("line", { class: "whisker", x1: atX(x), x2: atX(x), y1: atY(low), y2: atY(high) }),
        ),
      ...(quiet ? [] : own).map(({ x, y }) => shapeOf(number, { transform: `translate(${atX(x)} ${atY(y)})` })),
    ),
  );
  for (const point of points) point.at = [atX(point.x), atY(point.y)];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.setProperty("height", `${height}px`);
  svg.replaceChildren(
    ...across,
    ...along,
    makeShape("line", { class: "axis", x1: start, x2: end, y1: bottom, y2: bottom }),
    text(0, 10, "start", yTitle),
    ...(xTitle ? [text(end, height - 4, "end", xTitle)] : []),
    ...drawn,
    makeShape("circle", { class: "ring", r: 8 }),
  );
}

// Pointer and arrow keys → the nearest point, whose values are read out.
/** @type {(svg: SVGSVGElement, points: PlacedPoint[], readout: HTMLElement) => void} */
function followPoints(svg, points, readout) {
  readout.textContent = say(READ);
  let chosen = -1;
  /** @type {(place: number) => void} */
  const reach = (place) => {
    chosen = place;
    const { at, line, says } = points[place];
    const ring = svg.querySelector(".ring");
    ring?.setAttribute("cx", String(at[0]));
    ring?.setAttribute("cy", String(at[1]));
    svg.classList.add("pointed");
    readout.replaceChildren(make("b", { style: seriesStyle(line.number) }, line.name), ` ${says}`);
  };
  /** @type {(event: PointerEvent) => void} */
  const near = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    const distances = points.map(({ at }) => Math.hypot(at[0] - x, at[1] - y));
    reach(distances.indexOf(Math.min(...distances)));
  };
  svg.addEventListener("pointermove", near);
  svg.addEventListener("pointerdown", near);
  svg.addEventListener("pointerleave", () => svg.classList.remove("pointed"));
  svg.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    reach((chosen + step + points.length) % points.length);
  });
}

// One number for each entrant of a race as bars.
/** @type {(shown: { title: string, entrants: Entrant[], value: (entrant: Entrant) => number | null, shown?: (found: number) => string }) => HTMLElement} */
function bars({ title, entrants, value, shown = brief }) {
  const values = entrants.map(value);
  const most = Math.max(...values.map((each) => each ?? 0)) || 1;
  /** @type {(found: number | null) => string} */
  const told = (found) => (found === null ? "–" : shown(found));
  return make(
    "div",
    {},
    make("h3", {}, title),
    make(
      "div",
      { class: "bars" },
      ...entrants.flatMap((entrant, number) => [
        seriesName(entrant.name, number),
        make("i", { style: { ...seriesStyle(number), "--share": (values[number] ?? 0) / most } }),
        make("span", { class: "value" }, told(values[number])),
      ]),
    ),
  );
}
