// A map of weights: cells with their values, bars along its edges, a readout. Every view that shows a map uses it.

const HEAT = {
  entropy: { en: "entropy {0} bits", ko: "엔트로피 {0}비트" },
  coverage: { en: "coverage {0}", ko: "받은 어텐션 합계 {0}" },
  spread: { en: "entropy", ko: "엔트로피" },
  received: { en: "coverage", ko: "받은 어텐션 합계" },
  hidden: { en: "masked", ko: "마스크로 가려짐" },
  strongest: { en: "Strongest", ko: "가장 큰 가중치" },
  edges: {
    en: "Bars: how spread out each row is (entropy), and how much each column received in all (coverage).",
    ko: "막대: 각 행이 얼마나 퍼져 있는지(엔트로피)와 각 열이 모두 얼마나 받았는지(받은 어텐션 합계)를 나타냅니다.",
  },
};
const MOST_CELLS = 1500; // a larger map is one canvas: elements would make it slow
const DENSE = 72; // with more rows or columns than this there is no room for labels
const UPRIGHT = /^⟨?[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]+⟩?$/;

/** @type {(weight: number) => string} */
const brief = (weight) => (weight >= 0.9995 ? "1" : weight.toFixed(weight < 0.995 ? 2 : 3).slice(1)); // .996 is not 1
const OPACITIES = Uint8Array.from({ length: 1025 }, (_, step) => 255 * shade(step / 1024)); // long maps have many cells

// A colour of the style sheet as three numbers; a canvas spells any colour as #rrggbb.
const colorReader = penOf(make("canvas"));
/** @type {(name: string) => number[]} */
function channelsOf(name) {
  colorReader.fillStyle = color(name);
  const spelled = colorReader.fillStyle;
  return [1, 3, 5].map((start) => parseInt(spelled.slice(start, start + 2), 16));
}

/** @typedef {(query: number, key: number) => boolean} Hidden whether a mask hides the key from the query */

/** @type {(map: Tensor, hidden?: Hidden) => HTMLCanvasElement} */
function thumbnail(map, hidden = () => false) {
  const [height, width] = map.shape;
  const canvas = make("canvas", { width, height, "aria-hidden": "true" });
  const context = penOf(canvas);
  const image = context.createImageData(width, height);
  const [red, green, blue] = channelsOf("--accent");
  const ink = (blue << 16) | (green << 8) | red;
  const [grey] = channelsOf("--soft");
  const pixels = new Uint32Array(image.data.buffer);
  map.values.forEach((weight, place) => {
    pixels[place] = hidden(Math.floor(place / width), place % width)
      ? (70 << 24) | (grey << 16) | (grey << 8) | grey
      : (OPACITIES[Math.round(1024 * Math.min(1, weight))] << 24) | ink;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** @type {(map: Tensor, queries: string[], keys: string[], name: string, hidden: Hidden) => HTMLElement[]} */
function cellsOf(map, queries, keys, name, hidden) {
  return queries.map((query, q) =>
    make(
      "div",
      { role: "row" },
      ...keys.map((key, k) => {
        const weight = map.number(q, k);
        const depth = shade(weight);
        return make(
          "span",
          {
            class: hidden(q, k) ? "cell hidden" : "cell",
            role: "gridcell",
            id: `${name}-${q}-${k}`,
            "aria-label": `${query}, ${key}: ${hidden(q, k) ? say(HEAT.hidden) : weight.toFixed(3)}`,
            style: { "--shade": depth.toFixed(3) },
          },
          weight >= 0.005 ? brief(weight) : "",
        );
      }),
    ),
  );
}

// What the rows' queries are unsure of, and what the columns' keys received.
/** @type {(map: Tensor) => { entropies: number[], coverages: number[] }} */
function edgesOf(map) {
  const [rows, columns] = map.shape;
  const received = new Float32Array(columns);
  map.values.forEach((weight, place) => {
    received[place % columns] += weight;
  });
  return { entropies: Array.from({ length: rows }, (_, q) => entropy(map.at(q).values)), coverages: [...received] };
}

/** @type {(masks: boolean) => HTMLElement} */
function legend(masks) {
  const steps = Array.from({ length: 11 }, (_, step) => make("i", { style: { "--shade": shade(step / 10) } }));
  return make(
    "div",
    { class: "legend", "aria-hidden": "true" },
    "0",
    make("div", {}, ...steps),
    "1",
    masks && make("i", { class: "hidden" }),
    masks && say(HEAT.hidden),
  );
}

/** @type {(kind: string, values: number[], most: number, text: Both) => HTMLElement} */
const bars = (kind, values, most, text) =>
  make(
    "div",
    { class: kind, "aria-hidden": "true" },
    ...values.map((value) =>
      make(
        "span",
        { title: say(text, value.toFixed(2)) },
        make("i", { style: { "--part": Math.min(1, value / (most || 1)).toFixed(3) } }),
      ),
    ),
  );

/** @type {(kind: string, texts: string[]) => HTMLElement} */
const labels = (kind, texts) =>
  make(
    "div",
    { class: kind, "aria-hidden": "true" },
    ...texts.map((text) =>
      make("span", { title: text }, make("bdi", { class: UPRIGHT.test(text) && "upright" }, text)),
    ),
  );

let mapsMade = 0;

// A map with labels, edges, legend and a readout that follows pointer and keys; it tells of each move by a "point"
// event. Leave the `edges` out where rows are no shares of 1.
/** @type {(shown: { queries: string[], keys: string[], map: Tensor, label: string, queryTitle?: string, keyTitle?: string, edges?: boolean, hidden?: Hidden }) => HTMLElement} */
function heatMap({ queries, keys, map, label, queryTitle = "", keyTitle = "", edges = true, hidden = () => false }) {
  const [rows, columns] = map.shape;
  const name = `map-${mapsMade++}`;
  const isCanvas = rows * columns > MOST_CELLS;
  const { entropies, coverages } = edgesOf(map);
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const cursor = make("i", { class: "cursor" });
  const cells = make(
    "div",
    {
      class: "cells",
      tabindex: 0,
      role: isCanvas ? "img" : "grid",
      "aria-label": label,
    },
    ...(isCanvas ? [thumbnail(map, hidden)] : cellsOf(map, queries, keys, name, hidden)),
    cursor,
  );
  const down = labels("down", queries);
  const across = labels("across", keys);
  const grid = make(
    "div",
    {
      class: Math.max(rows, columns) > DENSE ? "map dense" : "map",
      dir: directionOf(keys.join("")),
      style: { "--rows": rows, "--columns": columns, "--most": Math.max(rows, columns) },
    },
    make("div", { class: "corner" }, make("span", {}, keyTitle), make("span", {}, queryTitle)),
    across,
    down,
    cells,
    ...(edges
      ? [
          bars("entropy", entropies, Math.log2(columns), HEAT.entropy),
          bars("coverage", coverages, Math.max(...coverages), HEAT.coverage),
          make("span", { class: "spread" }, say(HEAT.spread)),
          make("span", { class: "received" }, say(HEAT.received)),
        ]
      : []),
  );
  const figure = make(
    "figure",
    { class: "heat" },
    fading(make("div", { class: "scroll" }, grid)),
    readout,
    make("figcaption", {}, legend(hidden(0, columns - 1)), edges && make("span", {}, say(HEAT.edges))),
  );

  /** @type {(query: number, key: number, opening?: string) => void} */
  const tell = (query, key, opening = "") =>
    readout.replaceChildren(
      opening,
      make("bdi", {}, queries[query]),
      " → ",
      make("bdi", {}, keys[key]),
      " ",
      make("b", {}, hidden(query, key) ? say(HEAT.hidden) : map.number(query, key).toFixed(3)),
      ...(edges
        ? [
            make(
              "small",
              {},
              ` ${say(HEAT.entropy, entropies[query].toFixed(2))} · ${say(HEAT.coverage, coverages[key].toFixed(2))}`,
            ),
          ]
        : []),
    );
  const strongest = map.values.reduce((best, weight, place, all) => (weight > all[best] ? place : best), 0);
  tell(Math.floor(strongest / columns), strongest % columns, `${say(HEAT.strongest)}: `);
  /** @type {Element[]} */
  let near = [];
  followCells({ figure, grid, cells, cursor, rows, columns }, (query, key) => {
    for (const each of near) each.classList.remove("near");
    near = [down.children[query], across.children[key]];
    for (const each of near) each.classList.add("near");
    if (!isCanvas) cells.setAttribute("aria-activedescendant", `${name}-${query}-${key}`);
    tell(query, key);
  });
  return figure;
}

// Pointer and arrow keys → a cell: the same for a canvas as for elements.
/** @type {(parts: { figure: HTMLElement, grid: HTMLElement, cells: HTMLElement, cursor: HTMLElement, rows: number, columns: number }, reach: (query: number, key: number) => void) => void} */
function followCells({ figure, grid, cells, cursor, rows, columns }, reach) {
  const place = { query: 0, key: 0 };
  /** @type {(value: number, count: number) => number} */
  const within = (value, count) => Math.min(count - 1, Math.max(0, Math.floor(value)));
  /** @type {(query: number, key: number) => void} */
  const point = (query, key) => {
    Object.assign(place, { query: within(query, rows), key: within(key, columns) });
    cursor.style.setProperty("--row", String(place.query));
    cursor.style.setProperty("--column", String(place.key));
    grid.classList.add("pointed");
    reach(place.query, place.key);
    figure.dispatchEvent(new CustomEvent("point", { bubbles: true, detail: { ...place } }));
  };
  /** @type {(event: PointerEvent) => void} */
  const hover = (event) => {
    const box = cells.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const query = within(((event.clientY - box.top) / box.height) * rows, rows);
    const key = within((grid.dir === "rtl" ? 1 - x : x) * columns, columns);
    if (query !== place.query || key !== place.key || !grid.classList.contains("pointed")) point(query, key);
  };
  const leave = () => {
    grid.classList.remove("pointed");
    figure.dispatchEvent(new CustomEvent("point", { bubbles: true, detail: null }));
  };
  cells.addEventListener("pointermove", hover);
  cells.addEventListener("pointerdown", hover);
  cells.addEventListener("pointerleave", () => cells.matches(":focus-visible") || leave());
  cells.addEventListener("focus", () => cells.matches(":focus-visible") && point(place.query, place.key));
  cells.addEventListener("blur", leave);
  cells.addEventListener("keydown", (event) => {
    const step = stepOf(event, grid.dir);
    if (!step) return;
    event.preventDefault();
    point(place.query + step[0], place.key + step[1]);
    cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

// An arrow key as [down, along], in the direction in which the text runs; Home and End go all the way.
/** @type {(event: { key: string }, direction: string) => [down: number, along: number] | undefined} */
function stepOf({ key }, direction) {
  const along = direction === "rtl" ? -1 : 1;
  /** @type {Record<string, [number, number]>} */
  const steps = {
    ArrowRight: [0, along],
    ArrowLeft: [0, -along],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    Home: [0, -Infinity],
    End: [0, Infinity],
  };
  return steps[key];
}
