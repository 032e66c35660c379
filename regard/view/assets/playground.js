// The playground: a few vectors to type, and attention worked out with them. What is typed stands in the address, too.

const MOST_ROWS = 5;
const MOST_NUMBERS = 6;
const SLIDER = 40; // steps of β to each side of 1, by which it is multiplied or divided by 100; the least is 0

/** @typedef {"query" | "key" | "value"} Part */
const play = {
  query: [...PRESETS[0].query],
  key: [...PRESETS[0].key],
  value: [...PRESETS[0].value],
  beta: 1,
  hard: false,
  scale: true,
  positions: false,
  /** @type {"none" | "causal" | "own"} */
  mask: "none",
  /** @type {Set<string>} */
  hidden: new Set(), // "query,key" of a mask of one's own
  chosen: 0, // the query that is worked out
  /** @type {Both | null} */
  remark: null, // what the last shuffle showed
};
/** @type {Part[]} */
const PARTS = ["query", "key", "value"];

// What was typed as numbers, or what is wrong with it.
/** @type {(text: string) => { numbers: number[], wrong: string }} */
function readVector(text) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const numbers = words.map((word) => Number(word.replace("−", "-")));
  const odd = numbers.findIndex((number) => !Number.isFinite(number));
  const large = numbers.findIndex((number) => Math.abs(number) >= 1e6);
  if (words.length === 0) return { numbers, wrong: say(PLAY.wrong.empty) };
  if (odd >= 0) return { numbers, wrong: say(PLAY.wrong.word, words[odd].slice(0, 20)) };
  if (large >= 0) return { numbers, wrong: say(PLAY.wrong.large, words[large].slice(0, 20)) };
  if (words.length > MOST_NUMBERS) return { numbers, wrong: say(PLAY.wrong.long, MOST_NUMBERS) };
  return { numbers, wrong: "" };
}

// All three matrices, and of each row what is wrong with it: queries and keys are as wide as the first query.
function readAll() {
  const read = { query: play.query.map(readVector), key: play.key.map(readVector), value: play.value.map(readVector) };
  for (const part of PARTS) {
    const first = read[part === "value" ? "value" : "query"][0].numbers.length;
    for (const row of read[part])
      if (!row.wrong && row.numbers.length !== first)
        row.wrong = say(part === "value" ? PLAY.wrong.values : PLAY.wrong.width, row.numbers.length, first);
  }
  return read;
}

/** @type {(q: number, k: number) => boolean} */
const maySee = (q, k) => (play.mask === "causal" ? k <= q : play.mask !== "own" || !play.hidden.has(`${q},${k}`));

// Everything that attention computes of what is typed; nothing while something is wrong.
function work() {
  const read = readAll();
  if (PARTS.some((part) => read[part].some(({ wrong }) => wrong))) return { read, found: null };
  /** @type {(part: Part) => number[][]} */
  const matrix = (part) => read[part].map(({ numbers }) => numbers);
  /** @type {(rows: number[][]) => number[][]} */
  const placed = (rows) =>
    play.positions ? rows.map((row, at) => row.map((each, i) => each + positionVector(at, row.length)[i])) : rows;
  const [query, key, value] = [placed(matrix("query")), placed(matrix("key")), matrix("value")];
  const mayLook = query.map((_, q) => key.map((__, k) => maySee(q, k)));
  return { read, found: { query, key, value, mayLook, ...attend(query, key, value, mayLook, play) } };
}
/** @typedef {NonNullable<ReturnType<typeof work>["found"]>} Found */

// A number as short as it can be read: a real minus, and no more than four digits that count.
/** @type {(value: number) => string} */
function short(value) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 5e-4 && size < 1e5)) return String(Number(value.toPrecision(4))).replace("-", "−");
  const [digits, power] = value.toExponential(1).split("e");
  return `${digits.replace("-", "−")}·10${[...String(Number(power))].map((each) => SUPERSCRIPTS[each]).join("")}`;
}
/** @type {Record<string, string>} */
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
// A weight in a cell: what is nearly nothing is told apart from nothing.
/** @type {(weight: number) => string} */
const inCell = (weight) => (weight !== 0 && weight < 5e-4 ? "≈ 0" : String(Number(weight.toFixed(3))));
/** @type {(value: number) => string} */
const inProduct = (value) => (value < 0 ? `(${short(value)})` : short(value));
/** @type {(row: number[]) => string} */
const vector = (row) => `(${row.map(short).join(", ")})`;
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
/** @type {(letter: string, place: number) => string} */
const sub = (letter, place) => letter + SUBSCRIPTS[place + 1];

// β on a slider whose middle is 1 and whose left end is 0.
/** @type {(step: number) => number} */
const betaAt = (step) => (step <= -SLIDER ? 0 : Number((100 ** (step / SLIDER)).toPrecision(3)));
/** @type {(beta: number) => number} */
const stepOfBeta = (beta) =>
  beta <= 0 ? -SLIDER : Math.max(-SLIDER, Math.min(SLIDER, Math.round((SLIDER * Math.log(beta)) / Math.log(100))));

// What is typed and chosen, in the address behind #, and back.
function toAddress() {
  const { query, key, value, beta, hard, scale, positions, mask, hidden } = play;
  const parameters = new URLSearchParams({
    q: query.join(";"),
    k: key.join(";"),
    v: value.join(";"),
    beta: String(beta),
    ...(hard && { hard: "1" }),
    ...(!scale && { scale: "0" }),
    ...(positions && { positions: "1" }),
    ...(mask !== "none" && { mask }),
    ...(mask === "own" && { hidden: [...hidden].join(";") }),
  });
  return `#${parameters}`;
}

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  /** @type {(name: string) => string[]} */
  const rows = (name) => (given.get(name) ?? "").split(";").slice(0, MOST_ROWS);
  if (!given.get("q") || !given.get("k") || rows("k").length !== rows("v").length) return;
  const beta = Number(given.get("beta") ?? 1);
  const mask = given.get("mask");
  Object.assign(play, {
    query: rows("q"),
    key: rows("k"),
    value: rows("v"),
    beta: beta >= 0 && beta <= 100 ? beta : 1,
    hard: given.has("hard"),
    scale: given.get("scale") !== "0",
    positions: given.has("positions"),
    mask: mask === "causal" || mask === "own" ? mask : "none",
    hidden: new Set((given.get("hidden") ?? "").split(";").filter((each) => /^\d,\d$/.test(each))),
    chosen: 0,
  });
}

// The form: drawn anew when rows come or go; while somebody types, only what follows from it is.

/** @type {(change: Partial<typeof play>) => void} */
function change(changed) {
  Object.assign(play, { remark: null, ...changed });
  draw();
}

/** @type {(part: Part) => HTMLElement} */
function drawRows(part) {
  const own = part === "query" ? "query" : "key"; // a value comes and goes with its key
  const letter = part[0];
  const rows = play[part].map((text, row) =>
    make(
      "div",
      { class: "vector" },
      make("label", { for: `${part}-${row}` }, sub(letter, row)),
      make("input", {
        type: "text",
        id: `${part}-${row}`,
        value: text,
        inputmode: "text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": say(PLAY.rowOf[part], row + 1),
        "aria-describedby": `${part}-${row}-wrong`,
        oninput: (event) => {
          play[part][row] = event.currentTarget.value.replaceAll(";", " ");
          play.remark = null;
          refresh();
        },
      }),
      part !== "key" &&
        play[part].length > 1 &&
        make(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": say(PLAY.less[own], row + 1),
            onclick: () => {
              play[own].splice(row, 1);
              if (own === "key") play.value.splice(row, 1);
              change({ chosen: 0, hidden: new Set() });
            },
          },
          "×",
        ),
      make("p", { class: "wrong", id: `${part}-${row}-wrong`, role: "status" }),
    ),
  );
  const add = () => {
    play[own].push(play[own][play[own].length - 1]);
    if (own === "key") play.value.push(play.value[play.value.length - 1]);
    change({});
  };
  const more =
    part !== "value" &&
    play[own].length < MOST_ROWS &&
    make("button", { type: "button", class: "quiet", id: `more-${own}`, onclick: add }, `+ ${say(PLAY.more[own])}`);
  return make("fieldset", { class: part }, make("legend", {}, say(PLAY[part])), ...rows, more);
}

function drawSwitches() {
  /** @type {(name: "scale" | "positions", hint?: Both) => HTMLElement} */
  const box = (name, hint) =>
    make(
      "label",
      { title: hint ? say(hint) : null },
      make("input", {
        type: "checkbox",
        id: name,
        checked: play[name],
        onchange: (event) => {
          play[name] = event.currentTarget.checked;
          play.remark = null;
          refresh();
        },
      }),
      say(PLAY[name]),
    );
  /** @type {(hard: boolean) => HTMLElement} */
  const kind = (hard) =>
    make(
      "button",
      {
        type: "button",
        id: hard ? "hard" : "soft",
        "aria-pressed": String(play.hard === hard),
        title: hard ? say(PLAY.hardHint) : null,
        onclick: () => change({ hard }),
      },
      say(hard ? PLAY.hard : PLAY.soft),
    );
  const masks = namesOf(PLAY.masks).map((name) =>
    make("option", { value: name, selected: play.mask === name }, say(PLAY.masks[name])),
  );
  return make(
    "div",
    { class: "switches" },
    make(
      "label",
      { class: "beta", title: say(PLAY.betaHint) },
      say(PLAY.beta),
      make("input", {
        type: "range",
        id: "beta",
        min: -SLIDER,
        max: SLIDER,
        value: stepOfBeta(play.beta),
        oninput: (event) => {
          play.beta = betaAt(event.currentTarget.valueAsNumber);
          play.remark = null;
          refresh();
        },
      }),
      make("output", { for: "beta", id: "degree" }),
    ),
    make("div", { class: "kinds", role: "group", "aria-label": say(PLAY.choice) }, kind(false), kind(true)),
    box("scale"),
    box("positions", PLAY.positionsHint),
    make(
      "label",
      { title: say(PLAY.maskHint) },
      say(PLAY.mask),
      make(
        "select",
        {
          id: "mask",
          onchange: (event) => change({ mask: namesOf(PLAY.masks)[event.currentTarget.selectedIndex] }),
        },
        ...masks,
      ),
    ),
    make("button", { type: "button", id: "shuffle", onclick: shuffle }, `⤨ ${say(PLAY.shuffle)}`),
    make("p", { class: "muted", id: "remark", role: "status" }),
  );
}

// Keys and values in another order, together, and what that did to the outputs.
function shuffle() {
  const before = work().found?.outputs;
  const turn = play.key.length > 2 && Math.random() < 0.5 ? 2 : 1; // any turn but none, so that something moves
  play.key = play.key.map((_, place, all) => all[(place + turn) % all.length]);
  play.value = play.value.map((_, place, all) => all[(place + turn) % all.length]);
  const after = work().found?.outputs;
  const same = before?.every((row, q) => row.every((each, f) => Math.abs(each - (after?.[q][f] ?? Number.NaN)) < 1e-9));
  change({ remark: before ? (same ? PLAY.shuffled.same : PLAY.shuffled.other) : null });
}

function drawPresets() {
  return make(
    "div",
    { class: "presets", role: "group", "aria-label": say(PLAY.presets) },
    ...PRESETS.map((preset, place) =>
      make(
        "button",
        {
          type: "button",
          id: `preset-${place}`,
          onclick: () => {
            const { query, key, value, beta = 1, hard = false, mask = "none" } = preset;
            const rows = { query: [...query], key: [...key], value: [...value] };
            const plain = { scale: true, positions: false, hidden: new Set(), chosen: 0 };
            change({ ...rows, ...plain, beta, hard, mask });
          },
        },
        say(preset.name),
      ),
    ),
  );
}

// What follows from what is typed.

/** @type {(found: Found) => HTMLElement} */
function drawMatrix({ weights, mayLook }) {
  /** @type {(q: number, k: number) => HTMLElement} */
  const cell = (q, k) =>
    make(
      "td",
      {},
      make(
        "button",
        {
          type: "button",
          id: `cell-${q}-${k}`,
          class: mayLook[q][k] ? "cell" : "cell hidden",
          "aria-pressed": String(!mayLook[q][k]),
          "aria-label": mayLook[q][k]
            ? say(PLAY.cell, q + 1, k + 1, inCell(weights[q][k]))
            : say(PLAY.cellHidden, q + 1, k + 1),
          style: { "--shade": shade(weights[q][k]).toFixed(3) },
          onclick: () => toggleCell(q, k, mayLook),
        },
        mayLook[q][k] ? inCell(weights[q][k]) : "×",
      ),
    );
  return make(
    "table",
    { class: "matrix" },
    make("tr", {}, make("td", {}), ...weights[0].map((_, k) => make("th", { scope: "col" }, sub("k", k)))),
    ...weights.map((row, q) =>
      make("tr", {}, make("th", { scope: "row" }, sub("q", q)), ...row.map((_, k) => cell(q, k))),
    ),
  );
}

// Hide a cell or show it again; whatever mask there was becomes one's own.
/** @type {(q: number, k: number, mayLook: boolean[][]) => void} */
function toggleCell(q, k, mayLook) {
  const hidden = new Set(mayLook.flatMap((row, i) => row.flatMap((seen, j) => (seen ? [] : [`${i},${j}`]))));
  if (!hidden.delete(`${q},${k}`)) hidden.add(`${q},${k}`);
  change({ mask: hidden.size ? "own" : "none", hidden });
}

// A table row for each key: product, score, power, weight, value, all in real numbers.
/** @type {(found: Found, q: number) => HTMLElement} */
function drawSteps({ query, key, value, mayLook, products, scores, powers, sums, weights }, q) {
  const names = namesOf(PLAY.columns);
  const rows = key.map((row, k) => {
    const worked = row.map((each, i) => `${inProduct(query[q][i])}·${inProduct(each)}`).join(" + ");
    const seen = mayLook[q][k];
    return make(
      "tr",
      { class: seen ? null : "hidden" },
      make("th", { scope: "row" }, `${sub("k", k)} = ${vector(row)}`),
      make("td", { class: "worked" }, `${worked} = `, make("b", {}, short(products[q][k]))),
      make("td", {}, seen ? short(scores[q][k]) : say(PLAY.hiddenKey)),
      make("td", {}, play.hard ? "–" : short(powers[q][k])),
      make(
        "td",
        { class: "weight" },
        make("span", { class: "bar", style: { "--share": weights[q][k].toFixed(4) } }),
        make("b", {}, short(weights[q][k])),
      ),
      make("td", {}, `${sub("v", k)} = ${vector(value[k])}`),
    );
  });
  const total = make(
    "tr",
    { class: "sum" },
    make("th", { scope: "row", colspan: 3 }, say(PLAY.sum)),
    make("td", {}, play.hard ? "–" : short(sums[q])),
    make("td", {}, short(weights[q].reduce((sum, each) => sum + each, 0))),
    make("td", {}),
  );
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, say(PLAY.columns[name]))));
  return fading(
    make("div", { class: "scroller", tabindex: 0 }, make("table", { class: "steps" }, head, ...rows, total)),
  );
}

// The formula with the numbers in it, and what comes out.
/** @type {(found: Found, q: number) => HTMLElement} */
function drawFormula({ query, value, weights, outputs }, q) {
  const width = query[0].length;
  const inner = `${play.beta === 1 ? "" : `${short(play.beta)} · `}${sub("q", q)}·Kᵀ${play.scale ? ` / √${width}` : ""}`;
  const mix = weights[q].flatMap((weight, k) => (weight ? [`${short(weight)} · ${vector(value[k])}`] : []));
  return make(
    "div",
    { class: "formula" },
    make("p", {}, `${sub("q", q)} = ${vector(query[q])}`),
    make("p", {}, `α = ${play.hard ? "hardmax" : "softmax"}(${inner}) = ${vector(weights[q])}`),
    make(
      "p",
      { id: "output" },
      ...(mix.length
        ? [`${say(PLAY.output)} = ${mix.join(" + ")} = `, make("b", {}, vector(outputs[q]))]
        : [say(PLAY.nothing)]),
    ),
  );
}

// Values and outputs as points of a plane; a vector of one number lies on a line.
/** @type {(found: Found, q: number) => HTMLElement} */
function drawPlane({ value, weights, outputs }, q) {
  /** @type {(row: number[]) => [number, number]} */
  const point = (row) => [row[0], row[1] ?? 0];
  const all = [...value, ...outputs].map(point);
  const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
  const [left, low] = [Math.min(...xs), Math.min(...ys)];
  const [wide, high] = [Math.max(...xs) - left || 1, Math.max(...ys) - low || 1];
  /** @type {(row: number[]) => { x: number, y: number }} */
  const at = (row) => ({
    x: 40 + (260 * (point(row)[0] - left)) / wide,
    y: 190 - (150 * (point(row)[1] - low)) / high,
  });
  const lines = value.map((row, k) => {
    const [from, to] = [at(row), at(outputs[q])];
    const look = { x1: from.x, y1: from.y, x2: to.x, y2: to.y, "stroke-width": (6 * weights[q][k]).toFixed(2) };
    return makeShape("line", { ...look, class: "pull" });
  });
  const dots = value.flatMap((row, k) => {
    const { x, y } = at(row);
    return [
      makeShape("circle", { cx: x, cy: y, r: (4 + 8 * Math.sqrt(weights[q][k])).toFixed(2), class: "value" }),
      makeShape("text", { x, y: y - 16, "text-anchor": "middle" }, sub("v", k)),
    ];
  });
  const squares = outputs.map((row, each) => {
    const { x, y } = at(row);
    const kind = each === q ? "output chosen" : "output";
    return makeShape("rect", { x: x - 4, y: y - 4, width: 8, height: 8, class: kind });
  });
  const drawn = makeShape("svg", { viewBox: "0 0 340 220", role: "img", "aria-label": say(PLAY.picture) });
  drawn.append(...lines, ...dots, ...squares);
  return make("figure", { class: "plane" }, drawn, make("figcaption", { class: "muted" }, say(PLAY.picture)));
}

function drawChoice() {
  return make(
    "div",
    { class: "kinds", role: "group", "aria-label": say(PLAY.whichQuery) },
    ...play.query.map((_, q) =>
      make(
        "button",
        {
          type: "button",
          id: `chosen-${q}`,
          "aria-pressed": String(q === play.chosen),
          onclick: () => change({ chosen: q }),
        },
        sub("q", q),
      ),
    ),
  );
}

function refresh() {
  const { read, found } = work();
  for (const part of PARTS)
    read[part].forEach(({ wrong }, row) => {
      element(`${part}-${row}-wrong`).textContent = wrong;
      element(`${part}-${row}`).setAttribute("aria-invalid", String(Boolean(wrong)));
    });
  element("degree").textContent =
    `${short(play.beta)} (${say(PLAY.temperature, play.beta ? short(1 / play.beta) : "∞")})`;
  element("remark").textContent = play.remark ? say(play.remark) : "";
  const results = element("results");
  results.classList.toggle("stale", !found);
  if (!found) return; // what was found before stays in sight, pale
  history.replaceState(null, "", toAddress());
  results.replaceChildren(
    make("section", {}, make("h2", {}, say(PLAY.steps, play.chosen + 1)), drawChoice(), drawSteps(found, play.chosen)),
    drawFormula(found, play.chosen),
    make(
      "div",
      { class: "beside" },
      make(
        "section",
        {},
        make("h2", {}, say(PLAY.matrix)),
        make("p", { class: "muted" }, say(PLAY.matrixHint)),
        drawMatrix(found),
      ),
      drawPlane(found, play.chosen),
    ),
  );
}

/** @type {(event: Event & { currentTarget: HTMLButtonElement }) => Promise<void>} */
async function copyLink({ currentTarget }) {
  const copied = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
  currentTarget.textContent = say(copied ? PLAY.copied : PLAY.address);
}

function draw() {
  document.documentElement.lang = reader.language;
  document.title = `${say(PLAY.title)} · regard`;
  const focused = document.activeElement?.id;
  element("header").replaceChildren(
    make("div", { class: "title" }, make("h1", {}, say(PLAY.title)), languageButtons(draw)),
    make("p", { class: "sentence" }, "softmax(β · Q·Kᵀ / √d) · V"),
    make("p", { class: "muted lead" }, say(PLAY.lead)),
  );
  element("view").replaceChildren(
    drawPresets(),
    make("form", { class: "vectors", onsubmit: (event) => event.preventDefault() }, ...PARTS.map(drawRows)),
    drawSwitches(),
    make("div", { id: "results" }),
    make("button", { type: "button", class: "quiet", id: "link", onclick: copyLink }, say(PLAY.link)),
  );
  element("caution").textContent = say(PLAY.foot);
  refresh();
  if (focused) document.getElementById(focused)?.focus();
}

addEventListener("hashchange", () => {
  fromAddress();
  draw();
});
fromAddress();
draw();
