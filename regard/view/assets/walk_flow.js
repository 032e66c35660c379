// The walk as one picture: stations from the token to what is predicted, along which the chosen token travels step by step.

/** @typedef {{ part: WalkPart, picture: SVGElement, width: number, layer?: number, goes?: number }} Station */

const FLOW_HEIGHT = 196;
const FLOW_KEYS = 10; // shown in the picture of an attention; the strongest of more
const FLOW_CELLS = 24; // of a vector
let walkStop = ""; // the step at which the token stands, by part and name; none: the first

// Numbers as shades, blue above zero and orange below.
/** @type {(value: number, most: number) => string} */
const flowShade = (value, most) =>
  `color-mix(in oklab, var(${value < 0 ? "--below" : "--accent"}) ${Math.round(100 * shade(Math.abs(value) / most))}%, var(--paper))`;

// A vector as a column of cells: of each block the number farthest from zero.
/** @type {(vector: Tensor, x: number, y: number, width: number, height: number, more?: Attributes<SVGGElement>) => SVGElement} */
function flowVector(vector, x, y, width, height, more = {}) {
  const { values } = vector;
  const most = largestOf([vector]);
  const cells = Math.min(FLOW_CELLS, values.length);
  return makeShape(
    "g",
    more,
    ...Array.from({ length: cells }, (_, cell) => {
      const block = values.slice(
        Math.floor((cell * values.length) / cells),
        Math.floor(((cell + 1) * values.length) / cells),
      );
      const far = block.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
      const top = y + (cell * height) / cells;
      return makeShape("rect", {
        x,
        y: top,
        width,
        height: height / cells + 0.3,
        style: { fill: flowShade(far, most) },
      });
    }),
    makeShape("rect", { class: "edge", x, y, width, height }),
  );
}

/** @type {(x: number, y: number, text: string, more?: Attributes<SVGTextElement>) => SVGTextElement} */
const flowText = (x, y, text, more = {}) => makeShape("text", { x, y, ...more }, text);

// What is too long for its place ends in dots.
/** @type {(text: string, most: number) => string} */
function flowShort(text, most) {
  const letters = [...text];
  /** @type {(letter: string) => number} */
  const widthOf = (letter) => (UPRIGHT.test(letter) ? 1.8 : 1); // a Korean syllable takes nearly two
  let width = 0;
  const end = letters.findIndex((letter) => {
    width += widthOf(letter);
    return width > most;
  });
  return end < 0 ? text : `${letters.slice(0, Math.max(1, end - 1)).join("")}…`;
}

/** @type {(width: number, ...shapes: (SVGElement | false)[]) => SVGElement} */
const flowPicture = (width, ...shapes) =>
  makeShape(
    "svg",
    { viewBox: `0 0 ${width} ${FLOW_HEIGHT}`, width, height: FLOW_HEIGHT, "aria-hidden": "true" },
    ...shapes,
  );

// The token's own vector, its position's, and their sum.
/** @type {(path: WalkPath) => Station} */
function flowStart(path) {
  const { stack, place, scene } = path;
  /** @type {(name: string) => Tensor} */
  const of = (name) => walked(path, stack.embedding, name).at(place);
  /** @type {[string, Tensor, string][]} */
  const vectors = [["e", of("vectors"), "embedding"]];
  if (scene.shape.positions !== "none")
    vectors.push([scene.shape.positions === "sinusoidal" ? "PE" : "P", of("positions"), "position"]);
  vectors.push(["x", of("output"), "position"]);
  const signs = ["+", "="];
  const picture = flowPicture(
    104,
    ...vectors.flatMap(([name, vector, step], index) => [
      flowVector(vector, 8 + 34 * index, 22, 18, 160, { data: { steps: step } }),
      flowText(17 + 34 * index, 14, name, { class: "math" }),
    ]),
    ...vectors.slice(1).map((_, index) => flowText(34 + 34 * index, 106, vectors.length === 2 ? "=" : signs[index])),
  );
  return { part: "start", picture, width: 104 };
}

// The keys, their scores and weights, the values' sum of this head, all heads side by side, and what is added.
/** @type {(path: WalkPath, part: "self" | "cross") => Station} */
function flowAttention(path, part) {
  const { keys, key, query, scaled, row, seen, answers, output, tokens } = walkedAttention(path, part);
  const strongest = [...row.keys()].sort((one, other) => row[other] - row[one]).slice(0, FLOW_KEYS);
  const shown = strongest.sort((one, other) => one - other);
  const step = Math.min(22, 156 / shown.length);
  const top = 26;
  const most = scaled.slice(0, seen).reduce((larger, score) => Math.max(larger, Math.abs(score)), 1e-6);
  const middle = top + 78;
  /** @type {(index: number) => number} */
  const height = (index) => top + step * (index + 0.5) + (156 - step * shown.length) / 2;
  const rows = shown.flatMap((place, index) => {
    const y = height(index);
    const hidden = place >= seen;
    const length = hidden ? 0 : (24 * Math.abs(scaled[place])) / most;
    return [
      flowText(64, y + 4, flowShort(keys[place], 9), { class: hidden ? "key hidden" : "key" }),
      flowVector(key.at(place), 70, y - 5, 6, 10, { data: { steps: "projections" } }),
      makeShape("rect", {
        x: scaled[place] < 0 ? 108 - length : 108,
        y: y - 4,
        width: length,
        height: 8,
        data: { steps: "scores scale mask" },
        style: { fill: `var(${scaled[place] < 0 ? "--below" : "--accent"})` },
      }),
      makeShape("rect", {
        class: "weight",
        x: 142,
        y: y - 4,
        width: 28 * row[place],
        height: 8,
        data: { steps: "softmax" },
      }),
      makeShape("path", {
        d: `M${142 + 28 * row[place]} ${y}C196 ${y} 190 ${middle} 208 ${middle}`,
        data: { steps: "sum" },
        style: { "stroke-width": (0.5 + 5 * row[place]).toFixed(2), "stroke-opacity": shade(row[place]).toFixed(3) },
      }),
    ];
  });
  const heads = Array.from({ length: path.heads }, (_, head) => {
    const tall = 156 / path.heads;
    const its = answers.at(head, path.place);
    return makeShape(
      "g",
      { class: head === path.head && "chosen", data: { steps: "merge" } },
      flowVector(its, 232, top + tall * head + 1, 10, tall - 2),
    );
  });
  const left = tokens.length - shown.length;
  const picture = flowPicture(
    284,
    flowVector(query, 70, 6, 6, 12, { data: { steps: "projections" } }),
    flowText(64, 15, "q", { class: "math key" }),
    flowText(108, 14, "s", { class: "math" }),
    makeShape("line", { x1: 108, x2: 108, y1: top, y2: top + 156 }),
    flowText(152, 14, "α", { class: "math" }),
    flowText(213, 14, "z", { class: "math" }),
    flowText(237, 14, "Z", { class: "math" }),
    flowText(263, 14, "o", { class: "math" }),
    ...rows,
    left > 0 && flowText(64, FLOW_HEIGHT - 2, say(WALK.others, left), { class: "key faint" }),
    flowVector(answers.at(path.head, path.place), 208, middle - 40, 10, 80, { data: { steps: "sum" } }),
    ...heads,
    flowVector(output, 256, top, 14, 156, { data: { steps: "output add" } }),
  );
  return { part, picture, width: 284 };
}

// A vector that is widened and narrowed again.
/** @type {(path: WalkPath) => Station} */
function flowFeedForward(path) {
  if (walkLast(path) !== "after_feed_forward") return { part: "feed", picture: flowPicture(40), width: 40 };
  /** @type {(name: string) => Tensor} */
  const of = (name) => walkedLayer(path, "feed_forward", name).at(path.place);
  const picture = flowPicture(
    96,
    flowText(28, 14, "h", { class: "math" }),
    flowText(74, 14, "o", { class: "math" }),
    makeShape("path", { class: "funnel", d: "M4 84 L16 22 V186 L4 124 Z" }),
    flowVector(of("hidden"), 18, 22, 20, 164, { data: { steps: "widen" } }),
    makeShape("path", { class: "funnel", d: "M40 22 L64 50 V158 L40 186 Z" }),
    flowVector(of("output"), 66, 50, 16, 108, { data: { steps: "narrow add" } }),
  );
  return { part: "feed", picture, width: 96 };
}

// What the model would predict if it ended after a layer; nothing where no prediction follows the layers.
/** @type {(path: WalkPath, layer: number) => Alternatives | undefined} */
function walkLens({ scene, stack, place }, layer) {
  if (stack.end === "memory") return undefined;
  const positions = scene.lens?.[layer];
  return positions?.[stack.end === "label" ? 0 : place];
}

// Another layer, which can be walked through, too.
/** @type {(path: WalkPath, layer: number, part: WalkPart) => Station} */
function flowLayer(path, layer, part) {
  const guess = walkLens(path, layer);
  const picture = flowPicture(
    62,
    flowVector(walkState(path, layer), 22, 22, 18, 126, { data: { steps: part === "start" ? "before" : "after" } }),
    flowText(31, 14, `x ${layer + 1}`, { class: "math" }),
    guess !== undefined && flowText(31, 166, flowShort(labelOf(guess.tokens[0]), 9), { class: "guess" }),
    guess !== undefined && flowText(31, 182, percentage(guess.probabilities[0]), { class: "faint" }),
  );
  return { part, picture, width: 62, layer, goes: layer };
}

// What comes of it all: probabilities as bars, or a row of the memory.
/** @type {(path: WalkPath) => Station} */
function flowEnd(path) {
  const { scene, place, stack } = path;
  const { part } = WALK_ENDS[stack.end];
  /** @type {[string, number, boolean][]} */
  let bars = [];
  if (stack.end === "next") {
    const choice = scene.alternatives[place];
    const written = scene.target.tokens[place];
    if (choice)
      bars = choice.tokens.map((token, index) => [labelOf(token), choice.probabilities[index], token === written]);
  } else if (stack.end === "label")
    bars = (scene.decision?.probabilities ?? []).map(([label, share]) => [
      label,
      share,
      label === scene.decision?.label,
    ]);
  const shown = bars.slice(0, 7);
  const vectors =
    stack.end === "memory"
      ? [flowVector(walked(path, "model", "memory").at(place), 40, 22, 24, 160, { data: { steps: "memory" } })]
      : [];
  const picture = flowPicture(
    156,
    stack.end === "memory" && flowText(52, 14, "m", { class: "math" }),
    ...vectors,
    ...shown.flatMap(([name, share, chosen], index) => {
      const y = 30 + 23 * index;
      return [
        flowText(4, y, flowShort(name, 14), { class: chosen ? "answer" : "other" }),
        flowText(152, y, percentage(share), { class: "share" }),
        makeShape("rect", {
          class: "weight",
          x: 4,
          y: y + 4,
          width: 148 * share,
          height: 5,
          data: { steps: "next decide" },
        }),
      ];
    }),
  );
  return { part, picture, width: 156 };
}

/** @type {(path: WalkPath) => Station[]} */
function flowStations(path) {
  const { layers, layer, stack } = path;
  const stations = [flowStart(path)];
  for (let before = 0; before < layer; before++) stations.push(flowLayer(path, before, "start"));
  stations.push(flowAttention(path, "self"));
  if (stack.cross) stations.push(flowAttention(path, "cross"));
  stations.push(flowFeedForward(path));
  for (let after = layer + 1; after < layers; after++) stations.push(flowLayer(path, after, "feed"));
  return [...stations, flowEnd(path)];
}

// The picture, and the steps in which the token travels through it; the steps are those of the text below.
/** @type {(path: WalkPath, steps: HTMLDetailsElement[]) => HTMLElement} */
function drawWalkFlow(path, steps) {
  const stations = flowStations(path);
  const items = stations.map(({ part, picture, layer, goes }) => {
    const title = layer === undefined ? say(WALK_PARTS[part]) : say(WALK.nth, layer + 1);
    const go = () =>
      goes === undefined ? to(steps.findIndex((step) => step.dataset.part === part)) : walkTo(path, { layer: goes });
    const name = make("button", { type: "button", onclick: go }, title);
    return make("li", { data: { part, ...(layer !== undefined && { layer }) } }, name, picture);
  });
  const traveller = make("bdi", { class: "traveller" });
  const stage = fading(
    make("div", { class: "stage" }, make("div", { class: "rail" }, traveller), make("ol", {}, ...items)),
  );
  const caption = make("div", { class: "caption", "aria-live": "polite" });
  const counter = make("span", { class: "counter muted" });
  const back = make("button", { type: "button", id: "walk-back", onclick: () => to(at - 1) }, `← ${say(WALK.back)}`);
  const next = make("button", { type: "button", id: "walk-next", onclick: () => to(at + 1) }, `${say(WALK.next)} →`);
  /** @type {(step: HTMLElement) => string} */
  const nameOf = ({ dataset }) => `${dataset.part}.${dataset.step}`;
  let at = Math.max(
    0,
    steps.findIndex((step) => nameOf(step) === walkStop),
  );

  // Where a step happens: other layers are stations of their own.
  /** @type {(step: HTMLElement) => number[]} */
  const placesOf = ({ dataset: { part, step } }) =>
    stations.flatMap((station, place) =>
      station.part === part && (station.layer !== undefined) === (step === "before" || step === "after") ? [place] : [],
    );
  const put = () => {
    const here = placesOf(steps[at]);
    const [first, last] = [items[here[0]], items[here[here.length - 1]]];
    if (!first) return;
    const alike = steps.filter((step) => placesOf(step)[0] === here[0]);
    const share = (alike.indexOf(steps[at]) + 0.5) / alike.length;
    const x = first.offsetLeft + share * (last.offsetLeft + last.offsetWidth - first.offsetLeft);
    const half = traveller.offsetWidth / 2;
    const shift = Math.max(half - x, Math.min(stage.scrollWidth - half - x, 0)); // of a long token at the picture's edge
    traveller.style.setProperty("--x", `${x.toFixed(1)}px`);
    traveller.style.setProperty("--shift", `${shift.toFixed(1)}px`);
    stage.scrollTo({ left: x - stage.clientWidth / 2 });
  };
  /** @type {(place: number) => void} */
  const to = (place) => {
    at = Math.max(0, Math.min(steps.length - 1, place));
    const step = steps[at];
    walkStop = nameOf(step);
    const here = placesOf(step);
    items.forEach((item, index) => {
      item.toggleAttribute("data-here", here.includes(index));
      /** @type {NodeListOf<SVGElement>} */
      const shapes = item.querySelectorAll("[data-steps]");
      for (const shape of shapes)
        shape.classList.toggle(
          "now",
          here.includes(index) && shape.dataset.steps?.split(" ").includes(step.dataset.step ?? ""),
        );
    });
    const ended = at === steps.length - 1 || ["next", "lens"].includes(step.dataset.step ?? "");
    const becomes = path.stack.end === "next" ? path.scene.target.tokens[path.place] : path.scene.decision?.label;
    const token = ended && path.stack.end !== "memory" && becomes ? labelOf(becomes) : labelOf(path.read[path.place]);
    traveller.textContent = token;
    traveller.classList.toggle("arrived", ended && path.stack.end !== "memory");
    back.disabled = at === 0;
    next.disabled = at === steps.length - 1;
    counter.textContent = say(WALK.step, at + 1, steps.length);
    caption.replaceChildren(...captionOf(step));
    put();
  };
  requestAnimationFrame(() => stage.isConnected && put());
  new ResizeObserver(put).observe(stage);
  to(at);
  return make(
    "section",
    { class: "flow", "aria-label": say(WALK.flow) },
    make("div", { class: "row" }, back, counter, next),
    stage,
    caption,
  );
}

// What a step says of itself, and the way to its numbers.
/** @type {(step: HTMLDetailsElement) => HTMLElement[]} */
function captionOf(step) {
  const title = step.querySelector("h3")?.textContent ?? "";
  const equations = step.querySelector(".equations")?.cloneNode(true);
  const read = make(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        step.open = true;
        step.scrollIntoView({ block: "start" });
        step.querySelector("summary")?.focus({ preventScroll: true });
      },
    },
    say(WALK.read),
  );
  return [
    make("h3", {}, title),
    make("div", {}, ...(equations ? [equations] : [])),
    make("p", { class: "muted" }, step.querySelector(".explanation")?.textContent ?? ""),
    read,
  ];
}
