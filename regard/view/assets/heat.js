// A map of weights: cells with their values, bars along its edges, a readout. Every view that shows a map uses it.

const OPACITIES = Uint8Array.from({ length: 1025 }, (_, step) => 255 * shade(step / 1024)); // long maps have many cells

function thumbnail(map) {
  const [height, width] = map.shape;
  const canvas = make("canvas", { width, height, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  context.fillStyle = color("--accent");
  const [red, green, blue] = context.fillStyle.match(/\w\w/g).map((two) => parseInt(two, 16));
  const ink = (blue << 16) | (green << 8) | red;
  const pixels = new Uint32Array(image.data.buffer);
  map.values.forEach((weight, place) => {
    pixels[place] = (OPACITIES[Math.round(1024 * Math.min(1, weight))] << 24) | ink;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function cellsOf(map, queries, keys, name) {
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
            class: depth > DEEP ? "cell deep" : "cell",
            role: "gridcell",
            id: `${name}-${q}-${k}`,
            "aria-label": `${query}, ${key}: ${weight.toFixed(3)}`,
            style: { "--shade": depth.toFixed(3) },
          },
          weight >= 0.005 ? brief(weight) : "",
        );
      }),
    ),
  );
}

// What the rows' queries are unsure of, and what the columns' keys received.
function edgesOf(map) {
  const [rows, columns] = map.shape;
  const received = new Float32Array(columns);
  map.values.forEach((weight, place) => {
    received[place % columns] += weight;
  });
  return { entropies: Array.from({ length: rows }, (_, q) => entropy(map.at(q).values)), coverages: [...received] };
}

function legend() {
  const steps = Array.from({ length: 11 }, (_, step) => make("i", { style: { "--shade": shade(step / 10) } }));
  return make("div", { class: "legend", "aria-hidden": "true" }, "0", make("div", {}, ...steps), "1");
}

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
function heatMap({ queries, keys, map, label, queryTitle = "", keyTitle = "", edges = true }) {
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
    ...(isCanvas ? [thumbnail(map)] : cellsOf(map, queries, keys, name)),
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
          bars("entropy", entropies, Math.log2(columns), LOOK.entropy),
          bars("coverage", coverages, Math.max(...coverages), LOOK.coverage),
          make("span", { class: "spread" }, say(LOOK.spread)),
          make("span", { class: "received" }, say(LOOK.received)),
        ]
      : []),
  );
  const figure = make(
    "figure",
    { class: "heat" },
    fading(make("div", { class: "scroll" }, grid)),
    readout,
    make("figcaption", {}, legend(), edges && make("span", {}, say(LOOK.edges))),
  );

  const tell = (query, key, opening = "") =>
    readout.replaceChildren(
      opening,
      make("bdi", {}, queries[query]),
      " → ",
      make("bdi", {}, keys[key]),
      " ",
      make("b", {}, map.number(query, key).toFixed(3)),
      ...(edges
        ? [
            make(
              "small",
              {},
              ` ${say(LOOK.entropy, entropies[query].toFixed(2))} · ${say(LOOK.coverage, coverages[key].toFixed(2))}`,
            ),
          ]
        : []),
    );
  const strongest = map.values.reduce((best, weight, place, all) => (weight > all[best] ? place : best), 0);
  tell(Math.floor(strongest / columns), strongest % columns, `${say(LOOK.strongest)}: `);
  let near = [];
  followCells({ figure, grid, cells, cursor, rows, columns }, (query, key) => {
    for (const label of near) label.classList.remove("near");
    near = [down.children[query], across.children[key]];
    for (const label of near) label.classList.add("near");
    if (!isCanvas) cells.setAttribute("aria-activedescendant", `${name}-${query}-${key}`);
    tell(query, key);
  });
  return figure;
}

// Pointer and arrow keys → a cell: the same for a canvas as for elements.
function followCells({ figure, grid, cells, cursor, rows, columns }, reach) {
  const place = { query: 0, key: 0 };
  const within = (value, count) => Math.min(count - 1, Math.max(0, Math.floor(value)));
  const point = (query, key) => {
    Object.assign(place, { query: within(query, rows), key: within(key, columns) });
    cursor.style.setProperty("--row", place.query);
    cursor.style.setProperty("--column", place.key);
    grid.classList.add("pointed");
    reach(place.query, place.key);
    figure.dispatchEvent(new CustomEvent("point", { bubbles: true, detail: { ...place } }));
  };
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
function stepOf({ key }, direction) {
  const along = direction === "rtl" ? -1 : 1;
  return {
    ArrowRight: [0, along],
    ArrowLeft: [0, -along],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    Home: [0, -Infinity],
    End: [0, Infinity],
  }[key];
}
