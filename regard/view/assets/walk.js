// The Walk view: one position of one layer and head, from its token to the next, step by step with the real numbers.

/** @type {Set<string>} */
const walkFolded = new Set(); // steps that the reader folded, by part and name
/** @type {WeakMap<Scene, boolean>} */
const walkAsked = new WeakMap(); // scene → whether a server still looks for its numbers
/** @type {IntersectionObserver | null} */
let walkWatch = null; // tells the map which part is on the screen

/**
 * @typedef {{
 *   scene: Scene,
 *   walk: NonNullable<Scene["walk"]>,
 *   stack: WalkStack,
 *   side: Stack,
 *   layers: number,
 *   layer: number,
 *   head: number,
 *   place: number,
 *   pre: boolean,
 *   biased: boolean,
 *   width: number,
 *   heads: number,
 *   size: number,
 *   read: string[],
 *   number: number,
 * }} WalkPath `number` counts the steps that were drawn
 * @typedef {{ name: string, tensor: Tensor, rows?: string[], note?: string, button?: HTMLElement }} Strip
 * @typedef {{
 *   kind: Kind,
 *   tokens: string[],
 *   keys: string[],
 *   query: Tensor,
 *   key: Tensor,
 *   value: Tensor,
 *   scores: Float32Array,
 *   scaled: Float32Array,
 *   row: Float32Array,
 *   seen: number,
 *   answers: Tensor,
 *   output: Tensor,
 *   weights: Tensor,
 * }} Walked `seen` counts the keys that no mask hides
 */

// Where the walk goes: what the reader chose in any view, made definite.
/** @type {(scene: Scene, walk: WalkPath["walk"]) => WalkPath} */
function walkPath(scene, walk) {
  const { kind, layer, head, query } = page.choice;
  const stack = scene.stacks.find((each) => (each.kind === "encoder") === (kind === "encoder")) ?? scene.stacks[0];
  const layers = stack.count;
  const count = scene[stack.side].tokens.length;
  return {
    scene,
    walk,
    stack,
    side: stack.kind,
    layers,
    layer: Math.min(layer, layers - 1),
    head: typeof head === "number" ? head : 0,
    place: Math.min(query ?? Math.floor(count / 2), count - 1),
    pre: scene.shape.norm === "pre",
    biased: scene.shape.bias !== false,
    width: scene.shape.width,
    heads: scene.shape.heads,
    size: scene.shape.value_width || scene.shape.width / scene.shape.heads,
    read: scene[stack.side === "source" ? "source" : "read"].tokens,
    number: 0,
  };
}

// Change some of side, layer, head and place.
/** @type {(path: WalkPath, change: { side?: Stack, layer?: number, head?: number, place?: number | null }) => void} */
function walkTo(path, change) {
  const other = change.side !== undefined && change.side !== path.side;
  const crosses = path.scene.stacks.some((each) => each.kind === change.side && each.cross);
  const kind = !other ? page.choice.kind : crosses ? "cross" : (change.side ?? page.choice.kind);
  choose({
    kind,
    layer: change.layer ?? path.layer,
    head: change.head ?? path.head,
    query: change.place === undefined ? path.place : change.place,
  });
}

/** @type {(path: WalkPath, module: string, name: string) => Tensor} */
const walked = (path, module, name) => tensorOf(path.walk[module][name]);
/** @type {(path: WalkPath, module: string, name: string, layer?: number) => Tensor} */
const walkedLayer = (path, module, name, layer = path.layer) =>
  walked(path, `${path.stack.layers}.${layer}.${module}`, name);

// What stands around a layer's last sub-layer: a model may be without feed-forward.
/** @type {(path: WalkPath, layer?: number) => string} */
function walkLast(path, layer = path.layer) {
  if (path.walk[`${path.stack.layers}.${layer}.after_feed_forward`]) return "after_feed_forward";
  return path.stack.cross ? "after_cross" : "after_self";
}

// The position's vector after a layer; after layer −1 it is the embedding.
/** @type {(path: WalkPath, layer: number) => Tensor} */
function walkState(path, layer) {
  if (layer < 0) return walked(path, path.stack.embedding, "output").at(path.place);
  return walkedLayer(path, walkLast(path, layer), path.pre ? "added" : "normed", layer).at(path.place);
}

/** @type {(tensor: Tensor) => string} */
const walkShape = (tensor) => `[${tensor.shape.join(" × ")}]`;

// Vectors one below the other in the same colours: [{ name, tensor, rows }], `rows` naming those of a matrix.
/** @type {(...strips: Strip[]) => HTMLElement} */
function drawWalkStrips(...strips) {
  const most = largestOf(strips.map(({ tensor }) => tensor));
  const named = strips.some(({ rows }) => rows && rows.length <= 16);
  return make(
    "div",
    { class: named ? "strips aligned" : "strips" },
    ...strips.map(({ name, tensor, rows, note, button }) => {
      const length = tensor.values.length;
      const wraps = !rows && length > 256 && length % 256 === 0;
      const shown = wraps ? new Tensor([length / 256, 256], tensor.values) : tensor;
      const columns = shown.shape[shown.shape.length - 1];
      const first = [...tensor.values.slice(0, 6)].map(signedNumber).join("  ") + (length > 6 ? " …" : "");
      const strip = signedMap(shown, {
        label: `${name} ${walkShape(tensor)}`,
        most,
        rest: note ?? (rows ? "\u00a0" : first),
        describe: (row, column, value) =>
          (rows ? `${rows[row]}, ${column + 1}: ` : `${row * columns + column + 1}: `) + signedNumber(value),
      });
      strip.style.setProperty(
        "--height",
        `${rows ? Math.min(rows.length, 16) : shown.shape.length > 1 ? shown.shape[0] * 0.75 : 1.125}rem`,
      );
      if (columns <= 128) strip.classList.add("short");
      return make(
        "div",
        { class: "strip" },
        make("div", { class: "name" }, button ?? setMath(name), make("span", { class: "size" }, walkShape(tensor))),
        named
          ? make(
              "div",
              { class: "named" },
              make("ol", { "aria-hidden": "true" }, ...(rows ?? []).map((row) => make("li", {}, make("bdi", {}, row)))),
              strip,
            )
          : strip,
      );
    }),
  );
}

// Weight matrices in colours, each in its own; of large ones a number for every block.
/** @type {(path: WalkPath, module: string, letters: string[], head?: number) => HTMLElement | false} */
function drawWalkMatrices(path, module, letters, head = 0) {
  const found = (page.scenes[0] ?? path.scene).matrices?.[module];
  if (!found) return false;
  /** @type {(cell: number, cells: number, size: number) => string} */
  const range = (cell, cells, size) => {
    const [first, end] = [Math.floor((cell * size) / cells), Math.floor(((cell + 1) * size) / cells)];
    return end - first > 1 ? `${first + 1}–${end}` : String(end);
  };
  return make(
    "div",
    { class: "strips matrices" },
    make("p", { class: "muted" }, say(WALK.matrices)),
    ...letters.map((letter) => {
      const { shape, strips } = found[letter];
      const tensor = tensorOf(strips).at(head);
      const [rows, columns] = tensor.shape;
      const name = "QKVO".includes(letter) ? `W^{${letter}}` : `W_{${letter}}`;
      const size = `[${shape.join(" × ")}]`;
      const strip = signedMap(tensor, {
        label: `W ${letter} ${size}`,
        rest: "\u00a0",
        describe: (row, column, value) =>
          say(WALK.cell, range(row, rows, shape[1]), range(column, columns, shape[0]), signedNumber(value)),
      });
      strip.style.setProperty("--height", `${Math.max(1.125, rows * 0.1875)}rem`);
      strip.classList.add("short");
      return make(
        "div",
        { class: "strip" },
        make("div", { class: "name" }, setMath(name), make("span", { class: "size" }, size)),
        strip,
      );
    }),
  );
}

// One number per key, under its token; −∞ where the mask hides it.
/** @type {(tokens: string[], values: Float32Array, hiddenFrom?: number) => HTMLElement} */
function drawWalkKeys(tokens, values, hiddenFrom = Infinity) {
  const most = largestOf([new Tensor([values.length], values)]);
  return make(
    "ol",
    { class: "keys", "aria-label": say(WALK.key) },
    ...[...values].map((value, index) => {
      const hidden = index >= hiddenFrom;
      const share = Math.round(100 * shade(Math.abs(value) / most) * 0.55);
      const background = `color-mix(in oklab, var(${value < 0 ? "--below" : "--accent"}) ${share}%, var(--paper))`;
      return make(
        "li",
        { class: hidden && "hidden" },
        make("bdi", tokenLook(tokens[index]), readable(tokens[index])),
        make("span", { style: hidden ? {} : { background } }, hidden ? "−∞" : signedNumber(value)),
      );
    }),
  );
}

// A numbered step, to be folded by its title. `values` fill the placeholders of its equation and its text.
/** @type {(path: WalkPath, part: WalkPart, name: WalkStepName, shown?: { values?: Value[], shapes?: [symbol: string, ...sizes: number[]][], body?: Child[] }) => HTMLElement} */
function drawWalkStep(path, part, name, { values = [], shapes = [], body = [] } = {}) {
  /** @type {WalkStep} */
  const { title, section, equation, text } = WALK_STEPS[name];
  const [step] = name.split(".");
  const key = `${part}.${step}`;
  const lines = (typeof equation === "function" ? equation(...values) : equation).split(",  ");
  return roveMaps(
    make(
      "details",
      {
        class: "step",
        data: { step, part },
        open: !walkFolded.has(key),
        ontoggle: ({ currentTarget }) => (currentTarget.open ? walkFolded.delete(key) : walkFolded.add(key)),
      },
      make(
        "summary",
        { id: `walk-step-${part}-${step}` },
        make("span", { class: "number" }, String(++path.number)),
        make("h3", {}, say(title)),
        section !== "" && make("span", { class: "section" }, `§ ${section}`),
      ),
      make("div", { class: "equations" }, ...lines.map((line) => setMath(line))),
      make("p", { class: "explanation" }, say(text, ...values)),
      shapes.length > 0 &&
        make(
          "p",
          { class: "shapes" },
          ...shapes.map(([symbol, ...sizes]) => make("span", {}, setMath(symbol), ` [${sizes.join(" × ")}]`)),
        ),
      ...body,
    ),
  );
}

/** @type {(path: WalkPath) => HTMLElement[]} */
function drawWalkStart(path) {
  const { scene, stack, side, place, width, read, layer } = path;
  /** @type {(name: string) => Tensor} */
  const embedding = (name) => walked(path, stack.embedding, name).at(place);
  const written = side === "decoder" ? readable(scene.target.tokens[place]) : "";
  const root = Math.sqrt(width);
  const steps = [
    drawWalkStep(path, "start", scene.surprise ? "token.reader" : `token.${side}`, {
      values: [place, read.length, readable(read[place]), written],
      shapes: [["w", read.length]],
    }),
    drawWalkStep(path, "start", "embedding", {
      values: [width, signedNumber(root).replace(".00", "")],
      body: [drawWalkStrips({ name: "e", tensor: embedding("vectors") })],
    }),
    drawWalkStep(path, "start", `position.${scene.shape.positions}`, {
      body: [
        drawWalkStrips(
          ...(scene.shape.positions === "none"
            ? []
            : [
                { name: "e", tensor: embedding("vectors") },
                { name: scene.shape.positions === "sinusoidal" ? "PE_{t}" : "P_{t}", tensor: embedding("positions") },
              ]),
          { name: "x", tensor: embedding("output") },
        ),
      ],
    }),
  ];
  if (layer > 0)
    steps.push(drawWalkStep(path, "start", "before", { values: [layer + 1], body: [drawWalkLayers(path, 0, layer)] }));
  return steps;
}

// The vector after each of some layers; each can be jumped to.
/** @type {(path: WalkPath, first: number, end: number) => HTMLElement} */
const drawWalkLayers = (path, first, end) =>
  drawWalkStrips(
    ...Array.from({ length: end - first }, (_, index) => ({
      name: say(WALK.state, first + index + 1),
      tensor: walkState(path, first + index),
      button: make(
        "button",
        {
          type: "button",
          class: "jump",
          id: `walk-to-layer-${first + index}`,
          onclick: () => walkTo(path, { layer: first + index }),
        },
        say(WALK.nth, first + index + 1),
      ),
    })),
  );

/** @type {(path: WalkPath, part: WalkPart, before: Tensor, after: Tensor, name: "norm" | "norm.again" | "final") => HTMLElement} */
function drawWalkNorm(path, part, before, after, name) {
  const mean = before.values.reduce((sum, value) => sum + value, 0) / before.values.length;
  const deviation = Math.sqrt(
    before.values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / before.values.length,
  );
  return drawWalkStep(path, part, name, {
    body: [
      drawWalkStrips(
        { name: "x", tensor: before, note: say(WALK.mean, signedNumber(mean), signedNumber(deviation)) },
        { name: name === "final" ? "y" : "x′", tensor: after },
      ),
    ],
  });
}

// x + sub-layer, and the norm of it where the model has it there; or the sub-layer's output alone.
/** @type {(path: WalkPath, part: WalkPart, before: Tensor, output: Tensor, around: string) => HTMLElement} */
function drawWalkAdd(path, part, before, output, around) {
  const adds = path.scene.shape.residual !== false;
  const post = path.scene.shape.norm === "post";
  const sum = adds ? "x + o" : "o";
  const strips = [{ name: "o", tensor: output }];
  if (adds) {
    strips.unshift({ name: "x", tensor: before });
    strips.push({ name: sum, tensor: walkedLayer(path, around, "added").at(path.place) });
  }
  if (post) strips.push({ name: `LayerNorm(${sum})`, tensor: walkedLayer(path, around, "normed").at(path.place) });
  const name = adds ? (post ? "add.post" : "add.pre") : post ? "add.replaced.post" : "add.replaced";
  return drawWalkStep(path, part, name, { body: [drawWalkStrips(...strips)] });
}

// The numbers of one attention, as far as the chosen position and head have to do with them.
/** @type {(path: WalkPath, part: "self" | "cross") => Walked} */
function walkedAttention(path, part) {
  const { scene, place, head } = path;
  /** @type {(name: string) => Tensor} */
  const of = (name) => walkedLayer(path, `${part}_attention`, name);
  const kind = part === "cross" ? "cross" : path.side;
  const { tokens } = sidesOf(scene, kind).keys;
  const query = of("query").at(head, place);
  const scaled = of("scores").at(head, place).values;
  const weights = tensorOf(attentionOf(scene, kind).weights).at(path.layer);
  const root = scene.shape.scale === false ? 1 : Math.sqrt(query.values.length);
  return {
    kind,
    tokens,
    keys: tokens.map(readable),
    query,
    key: of("key").at(head),
    value: of("value").at(head),
    scores: scaled.map((score) => score * root),
    scaled,
    row: weights.at(head, place).values,
    seen: kind === "decoder" ? place + 1 : tokens.length,
    answers: of("head_outputs"),
    output: of("output").at(place),
    weights,
  };
}

/** @type {(path: WalkPath, part: "self" | "cross", before: Tensor) => HTMLElement[]} */
function drawWalkAttention(path, part, before) {
  const { width } = path;
  const around = `after_${part}`;
  const attention = walkedAttention(path, part);
  const { output } = attention;
  const normed = () => walkedLayer(path, around, "normed").at(path.place);
  return [
    ...(path.pre ? [drawWalkNorm(path, part, before, normed(), part === "self" ? "norm" : "norm.again")] : []),
    drawWalkProjections(path, part, attention),
    ...drawWalkScores(path, part, attention),
    drawWalkSoftmax(path, part, attention),
    drawWalkSum(path, part, attention),
    drawWalkMerge(path, part, attention),
    drawWalkStep(path, part, "output", {
      values: [width, walkBias(path, "^{O}")],
      shapes: [
        ["Z", path.heads * path.size],
        ["W^{O}", path.heads * path.size, width],
      ],
      body: [
        drawWalkMatrices(path, `${path.stack.layers}.${path.layer}.${part}_attention`, ["O"]),
        drawWalkStrips({ name: "o", tensor: output }),
      ],
    }),
    drawWalkAdd(path, part, before, output, around),
  ];
}

/** @type {(path: WalkPath, part: "self" | "cross", walked: Walked) => HTMLElement} */
function drawWalkProjections(path, part, { query, key, value, keys }) {
  const size = query.values.length;
  return drawWalkStep(path, part, `projections.${part}`, {
    values: [
      path.pre ? "x′" : "x",
      path.pre ? "X′" : "X",
      path.head + 1,
      path.biased ? say(WALK_ASIDES.bias) : "",
      ...["Q", "K", "V"].map((name) => walkBias(path, `^{${name}}`)),
    ],
    shapes: [
      ["W^{Q}", path.width, size],
      ["W^{K}", path.width, size],
      ["W^{V}", path.width, path.size],
    ],
    body: [
      drawWalkMatrices(path, `${path.stack.layers}.${path.layer}.${part}_attention`, ["Q", "K", "V"], path.head),
      drawWalkStrips(
        { name: "q", tensor: query },
        { name: "K", tensor: key, rows: keys },
        { name: "V", tensor: value, rows: keys },
      ),
    ],
  });
}

// The scores, then scaled, then masked.
/** @type {(path: WalkPath, part: WalkPart, walked: Walked) => HTMLElement[]} */
function drawWalkScores(path, part, { kind, tokens, keys, query, key, scores, scaled, seen }) {
  const size = query.values.length;
  const rooted = signedNumber(Math.sqrt(size)).replace(".00", "");
  const best = scaled.slice(0, seen).reduce((most, score, index) => (score > scaled[most] ? index : most), 0);
  const looked = key.at(best).values;
  const products = query.values.map((each, index) => each * looked[index]);
  const note = say(WALK.largest, keys[best], signedNumber(scores[best]));
  return [
    drawWalkStep(path, part, "scores", {
      values: [size],
      shapes: [
        ["q", size],
        ["K", keys.length, size],
        ["s", keys.length],
      ],
      body: [
        drawWalkKeys(tokens, scores),
        drawWalkStrips({ name: "q_{m} k_{m}", tensor: new Tensor([size], products), note }),
      ],
    }),
    ...(path.scene.shape.scale === false
      ? []
      : [
          drawWalkStep(path, part, "scale", {
            values: [size, rooted, particle(rooted, "으로", "로")],
            shapes: [["s", keys.length]],
            body: [drawWalkKeys(tokens, scaled)],
          }),
        ]),
    drawWalkStep(path, part, kind === "decoder" ? "mask.decoder" : "mask.encoder", {
      values: [keys.length - seen, keys.length],
      shapes: [["s", keys.length]],
      body: [drawWalkKeys(tokens, scaled, seen)],
    }),
  ];
}

// A number above zero, as precise as it takes not to print as nothing.
/** @type {(value: number) => string} */
const walkSmall = (value) => (value < 0.01 ? value.toPrecision(1) : signedNumber(value));

/** @type {(share: number) => HTMLElement} */
const drawWalkBar = (share) =>
  make(
    "td",
    { class: "share" },
    make("span", { class: "bar", style: { width: `${(100 * share).toFixed(2)}%` } }),
    make("span", {}, percentage(share)),
  );
/** @type {(heads: (Node | string)[], rows: HTMLElement[], kind?: string, foot?: HTMLElement | false) => HTMLElement} */
const drawWalkTable = (heads, rows, kind, foot = false) =>
  make(
    "div",
    { class: "scroller", tabindex: 0, role: "group" },
    make(
      "table",
      { class: kind },
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows),
      foot && make("tfoot", {}, foot),
    ),
  );

/** @type {(path: WalkPath, part: WalkPart, walked: Walked) => HTMLElement} */
function drawWalkSoftmax(path, part, { keys, scores, scaled, row, seen }) {
  const greatest = Math.max(...scaled.slice(0, seen));
  const shift = greatest > 10 ? greatest : 0; // the quotients stay the same, and the numbers readable
  const exponentials = scaled.slice(0, seen).map((score) => Math.exp(score - shift));
  const total = exponentials.reduce((sum, each) => sum + each, 0);
  const plain = exponentials.every((each, index) => Math.abs(each / total - row[index]) < 0.02);
  return drawWalkStep(path, part, "softmax", {
    shapes: [["α", keys.length]],
    body: [
      drawWalkTable(
        [
          say(WALK.key),
          setMath("q · k"),
          setMath("/ √{d_{k}}"),
          setMath(shift ? `exp(s − ${signedNumber(shift)})` : "exp(s)"),
          setMath("α"),
        ],
        keys.map((name, index) =>
          make(
            "tr",
            { class: index >= seen && "hidden" },
            make("th", { scope: "row" }, make("bdi", {}, name)),
            make("td", {}, signedNumber(scores[index])),
            make(
              "td",
              {},
              index < seen ? signedNumber(scaled[index]) : make("span", { title: say(WALK.hidden) }, "−∞"),
            ),
            make("td", {}, index < seen ? walkSmall(exponentials[index]) : "0"),
            drawWalkBar(row[index]),
          ),
        ),
        "softmax",
        make(
          "tr",
          {},
          make("th", { scope: "row", colspan: 3 }, say(WALK.sum)),
          make("td", {}, walkSmall(total)),
          make("td", { class: "all" }, percentage(1)),
        ),
      ),
      !plain && make("p", { class: "muted" }, say(WALK.changed)),
    ],
  });
}

// The values that count most, each times its weight, the rest together, and their sum.
/** @type {(path: WalkPath, part: WalkPart, walked: Walked) => HTMLElement} */
function drawWalkSum(path, part, { keys, row, value, answers, seen }) {
  const order = [...row.keys()].slice(0, seen).sort((one, other) => row[other] - row[one]);
  const leading = order.slice(0, seen > 5 ? 4 : 5);
  /** @type {(index: number) => Float32Array} */
  const times = (index) => value.at(index).values.map((each) => each * row[index]);
  const rest = order.slice(leading.length);
  const others = rest.reduce(
    (sum, index) => times(index).map((each, place) => each + sum[place]),
    new Float32Array(path.size),
  );
  const answer = answers.at(path.head, path.place);
  /** @type {(text: string) => HTMLElement} */
  const name = (text) => make("bdi", { class: "term" }, text);
  return drawWalkStep(path, part, "sum", {
    shapes: [
      ["α", keys.length],
      ["V", keys.length, path.size],
      ["z", path.size],
    ],
    body: [
      drawWalkStrips(
        ...leading.map((index) => ({
          name: keys[index],
          button: name(`${row[index] < 1 && row[index] >= 0.9995 ? "0.999…" : row[index].toFixed(3)} × ${keys[index]}`),
          tensor: new Tensor([path.size], times(index)),
        })),
        ...(rest.length
          ? [
              {
                name: say(WALK.others, rest.length),
                button: name(`+ ${say(WALK.others, rest.length)}`),
                tensor: new Tensor([path.size], others),
              },
            ]
          : []),
        { name: "z", tensor: answer },
      ),
      answer.values.every((each) => each === 0) && make("p", { class: "muted" }, say(WALK.off)),
    ],
  });
}

/** @type {(path: WalkPath, part: WalkPart, walked: Walked) => HTMLElement} */
function drawWalkMerge(path, part, { keys, weights, answers }) {
  /** @type {(head: number) => string} */
  const best = (head) => {
    const row = weights.at(head, path.place).values;
    const index = row.indexOf(Math.max(...row));
    return say(WALK.looks, percentage(row[index]), keys[index]);
  };
  return drawWalkStep(path, part, "merge", {
    values: [path.heads, path.size, path.heads * path.size],
    shapes: [
      ["z", path.size],
      ["Z", path.heads * path.size],
    ],
    body: [
      drawWalkStrips(
        ...Array.from({ length: path.heads }, (_, head) => ({
          name: say(WALK.nthHead, head + 1),
          tensor: answers.at(head, path.place),
          note: best(head),
          button: make(
            "button",
            {
              type: "button",
              class: "jump",
              id: `walk-${part}-head-${head}`,
              "aria-pressed": String(head === path.head),
              onclick: () => walkTo(path, { head }),
            },
            say(WALK.nthHead, head + 1),
          ),
        })),
      ),
    ],
  });
}

// What a linear layer adds, in an equation.
/** @type {(path: WalkPath, index: string) => string} */
const walkBias = (path, index) => (path.biased ? ` + b${index}` : "");

/** @type {(path: WalkPath) => HTMLElement[]} */
const drawWalkAfter = (path) =>
  path.layer + 1 < path.layers
    ? [drawWalkStep(path, "feed", "after", { body: [drawWalkLayers(path, path.layer + 1, path.layers)] })]
    : [];

/** @type {(path: WalkPath, before: Tensor) => HTMLElement[]} */
function drawWalkFeedForward(path, before) {
  const around = "after_feed_forward";
  if (walkLast(path) !== around)
    return [
      drawWalkStep(path, "feed", "skipped", { body: [drawWalkStrips({ name: "x", tensor: before })] }),
      ...drawWalkAfter(path),
    ];
  const activation = path.scene.shape.activation ?? "relu";
  const hidden = walkedLayer(path, "feed_forward", "hidden").at(path.place);
  const output = walkedLayer(path, "feed_forward", "output").at(path.place);
  const units = hidden.values.length;
  const active = hidden.values.reduce((count, value) => count + Number(value > 0), 0);
  const strongest = [...hidden.values.keys()]
    .sort((one, other) => hidden.values[other] - hidden.values[one])
    .slice(0, 5);
  const note = `${say(WALK.strongest)} ${strongest.map((unit) => `${unit + 1}: ${signedNumber(hidden.values[unit])}`).join(" · ")}`;
  return [
    ...(path.pre
      ? [drawWalkNorm(path, "feed", before, walkedLayer(path, around, "normed").at(path.place), "norm.again")]
      : []),
    drawWalkStep(path, "feed", activation === "relu" ? "widen" : "widen.smooth", {
      values: [
        units,
        active,
        Math.round((100 * active) / units),
        `${path.pre ? "x′" : "x"} W_{1}${walkBias(path, "_{1}")}`,
        activation === "gelu" ? "GELU" : "Swish",
      ],
      shapes: [
        ["W_{1}", path.width, units],
        ["h", units],
      ],
      body: [
        drawWalkMatrices(path, `${path.stack.layers}.${path.layer}.feed_forward`, ["1"]),
        drawWalkStrips({ name: "h", tensor: hidden, note }),
      ],
    }),
    drawWalkStep(path, "feed", "narrow", {
      values: [units, path.width, walkBias(path, "_{2}")],
      shapes: [
        ["W_{2}", units, path.width],
        ["o", path.width],
      ],
      body: [
        drawWalkMatrices(path, `${path.stack.layers}.${path.layer}.feed_forward`, ["2"]),
        drawWalkStrips({ name: "o", tensor: output }),
      ],
    }),
    drawWalkAdd(path, "feed", before, output, around),
    ...drawWalkAfter(path),
  ];
}

// The encoder's end: what the decoder makes of this position.
/** @type {(path: WalkPath) => HTMLElement[]} */
function drawWalkMemory(path) {
  /** @type {(name: string) => Tensor} */
  const of = (name) => walked(path, "decoder.0.cross_attention", name).at(path.head, path.place);
  return [
    drawWalkStep(path, "memory", "memory", {
      values: [
        1,
        path.head + 1,
        path.pre ? say(WALK_ASIDES.normed) : "",
        path.place,
        ...["K", "V"].map((name) => walkBias(path, `^{${name}}`)),
      ],
      shapes: [["M", path.read.length, path.width]],
      body: [
        drawWalkMatrices(path, "decoder.0.cross_attention", ["K", "V"], path.head),
        drawWalkStrips(
          { name: "m", tensor: walked(path, "model", "memory").at(path.place) },
          { name: "k", tensor: of("key") },
          { name: "v", tensor: of("value") },
        ),
      ],
    }),
  ];
}

/** @type {(path: WalkPath) => HTMLElement[]} */
function drawWalkEnd(path) {
  const { scene, place, pre, width, layers } = path;
  const { tied, vocabulary } = scene.shape;
  const choice = scene.alternatives[place];
  const state = walked(path, "model", "states").at(place);
  const y = pre ? "y" : "x";
  const product = tied ? `${y} E^{⊤}` : `${y} W`;
  const final = pre ? [drawWalkNorm(path, "end", walkState(path, layers - 1), state, "final")] : [];
  const came = say(scene.surprise ? WALK.came : WALK.written);
  if (!choice) return final;
  const written = scene.target.tokens[place];
  const rest = Math.max(0, 1 - choice.probabilities.reduce((sum, each) => sum + each, 0));
  const rows = choice.tokens.map((token, index) =>
    drawWalkNext(token, signedNumber(choice.logits[index]), choice.probabilities[index], token === written && came),
  );
  if (!choice.tokens.includes(written))
    rows.push(drawWalkNext(written, say(WALK.rank, choice.rank), choice.probability, came));
  return [
    ...final,
    drawWalkStep(path, "end", "logits", {
      values: [
        vocabulary.toLocaleString(),
        product,
        [
          say(tied ? WALK_ASIDES.tied : WALK_ASIDES.untied),
          scene.shape.clusters && say(WALK_ASIDES.clusters, scene.shape.clusters),
          scene.shape.pointer && say(WALK_ASIDES.pointer),
        ]
          .filter(isThere)
          .filter(Boolean)
          .join(" "),
      ],
      shapes: [
        [y, width],
        [tied ? "E^{⊤}" : "W", width, vocabulary],
        ["ℓ", vocabulary],
      ],
      body: [drawWalkKeys(choice.tokens, Float32Array.from(choice.logits))],
    }),
    drawWalkStep(path, "end", scene.surprise ? "next.reader" : "next", {
      values: [vocabulary.toLocaleString(), (vocabulary - choice.tokens.length).toLocaleString(), percentage(rest)],
      shapes: [["P", vocabulary]],
      body: [drawWalkTable([say(WALK.token), say(WALK.logit), say(WALK.probability)], rows)],
    }),
    ...drawWalkLens(path, "end", labelOf(written)),
  ];
}

// What each layer would predict, had it been the last.
/** @type {(path: WalkPath, part: WalkPart, came: string) => HTMLElement[]} */
function drawWalkLens(path, part, came) {
  const { layers, layer, pre, scene } = path;
  const tied = scene.shape.tied && part === "end";
  /** @type {(token: string) => HTMLElement} */
  const named = (token) => make("bdi", tokenLook(token), readable(token));
  const rows = Array.from({ length: layers }, (_, each) => walkLens(path, each)).flatMap((guess, each) => {
    if (!guess) return [];
    const [first, ...others] = guess.tokens.map((token, place) => ({ token, share: guess.probabilities[place] }));
    const rest = others.flatMap(({ token, share }, place) => [
      place ? " · " : "",
      named(token),
      ` ${percentage(share)}`,
    ]);
    return [
      make(
        "tr",
        { "aria-current": each === layer && "true" },
        make("th", { scope: "row" }, say(WALK.nth, each + 1)),
        make("td", {}, named(first.token), ` ${percentage(first.share)}`),
        make("td", {}, ...rest),
        drawWalkBar(guess.probability),
      ),
    ];
  });
  if (rows.length === 0) return [];
  const state = pre ? "LayerNorm(x_{l})" : "x_{l}";
  return [
    drawWalkStep(path, part, "lens", {
      values: part === "end" ? [state, tied ? "E^{⊤}" : "W"] : [`pool(${state})`, "W + b"],
      body: [drawWalkTable([say(WALK.lensLayer), say(WALK.lensFirst), say(WALK.lensNext), came], rows, "lens")],
    }),
  ];
}

/** @type {(token: string, logit: string, probability: number, mark: string | false) => HTMLElement} */
const drawWalkNext = (token, logit, probability, mark) =>
  make(
    "tr",
    { "aria-current": mark && "true" },
    make("th", { scope: "row" }, make("bdi", tokenLook(token), readable(token)), mark && make("small", {}, mark)),
    make("td", {}, logit),
    drawWalkBar(probability),
  );

// A classifier's end: all positions become one vector, and that a score for each label.
/** @type {(path: WalkPath) => HTMLElement[]} */
function drawWalkLabel(path) {
  const { scene, place, pre, width, layers } = path;
  const states = walked(path, "model", "states");
  const state = states.at(place);
  const pooled = walked(path, "model", "pooled");
  const pooling = scene.shape.pooling ?? "max";
  const count = states.shape[0];
  const wins = [...pooled.values].filter((value, index) => value === state.values[index]).length;
  const steps = pre ? [drawWalkNorm(path, "label", walkState(path, layers - 1), state, "final")] : [];
  steps.push(
    drawWalkStep(path, "label", `pool.${pooling}`, {
      values: [count, wins, width, pre ? "y" : "x"],
      shapes: [
        [pre ? "Y" : "X", count, width],
        ["p", width],
      ],
      body: [drawWalkStrips({ name: `${pre ? "y" : "x"}_{t}`, tensor: state }, { name: "p", tensor: pooled })],
    }),
  );
  if (!scene.decision?.logits.length) return steps;
  return [
    ...steps,
    drawWalkLogits(path, scene.decision),
    drawWalkDecision(path, scene.decision),
    ...drawWalkLens(path, "label", scene.decision.label),
  ];
}

// In the order of the model's labels; the scores of n-grams are added if it has them.
/** @type {(path: WalkPath, decision: Decision) => HTMLElement} */
function drawWalkLogits(path, { labels, logits }) {
  const [attended, ngrams] = logits;
  /** @type {(values: number[]) => HTMLElement[]} */
  const cells = (values) => values.map((value) => make("td", {}, signedNumber(value)));
  const rows = labels.map((label, index) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("bdi", {}, label)),
      ...cells(ngrams ? [attended[index], ngrams[index], attended[index] + ngrams[index]] : [attended[index]]),
    ),
  );
  return drawWalkStep(path, "label", ngrams ? "scores.label.ngrams" : "scores.label", {
    values: [labels.length],
    shapes: [
      ["W", path.width, labels.length],
      ["ℓ", labels.length],
    ],
    body: [
      drawWalkTable(
        [say(WALK_PARTS.label), setMath("p W + b"), ...(ngrams ? [say(WALK.ngrams), setMath("ℓ")] : [])],
        rows,
        "numbers",
      ),
    ],
  });
}

/** @type {(path: WalkPath, decision: Decision) => HTMLElement} */
function drawWalkDecision(path, { labels, logits, temperature, label, window }) {
  const sums = labels.map((_, index) => logits.reduce((sum, each) => sum + each[index], 0) / temperature);
  const exponentials = sums.map((each) => Math.exp(each - Math.max(...sums)));
  const total = exponentials.reduce((sum, each) => sum + each, 0);
  const order = [...labels.keys()].sort((one, other) => sums[other] - sums[one]).slice(0, 20);
  const rows = order.map((index) =>
    drawWalkNext(
      labels[index],
      signedNumber(sums[index]),
      exponentials[index] / total,
      labels[index] === label && say(WALK.decided),
    ),
  );
  return drawWalkStep(path, "label", temperature === 1 ? "decide.plain" : "decide.calibrated", {
    values: [labels.length, signedNumber(temperature), particle(signedNumber(temperature), "으로", "로")],
    shapes: [["P", labels.length]],
    body: [
      drawWalkTable([say(WALK_PARTS.label), say(WALK.logit), say(WALK.probability)], rows),
      path.scene.parts > 1 && make("p", { class: "muted" }, say(WALK.windows, window, path.scene.parts)),
    ],
  });
}

// What follows a stack of layers: the part of the walk, what draws it, and how the walk is introduced where it comes last.
/** @type {Record<WalkStack["end"], { part: WalkPart, draw: (path: WalkPath) => HTMLElement[], tells: (scene: Scene) => keyof typeof WALK.introductions }>} */
const WALK_ENDS = {
  memory: { part: "memory", draw: drawWalkMemory, tells: () => "label" },
  next: { part: "end", draw: drawWalkEnd, tells: ({ surprise }) => (surprise ? "reader" : "translator") },
  label: { part: "label", draw: drawWalkLabel, tells: () => "label" },
};

// The parts of the walk in order, each with the vector that enters it.
/** @type {(path: WalkPath) => HTMLElement[]} */
function drawWalkParts(path) {
  const { stack, layer, place, pre } = path;
  const entering = walkState(path, layer - 1);
  /** @type {(around: string) => Tensor} */
  const after = (around) => walkedLayer(path, around, pre ? "added" : "normed").at(place);
  /** @type {[part: WalkPart, steps: HTMLElement[]][]} */
  const parts = [
    ["start", drawWalkStart(path)],
    ["self", drawWalkAttention(path, "self", entering)],
  ];
  if (stack.cross) parts.push(["cross", drawWalkAttention(path, "cross", after("after_self"))]);
  parts.push(["feed", drawWalkFeedForward(path, after(stack.cross ? "after_cross" : "after_self"))]);
  const last = WALK_ENDS[stack.end];
  parts.push([last.part, last.draw(path)]);
  return parts.map(([part, steps]) =>
    make(
      "section",
      { id: `walk-${part}`, data: { part } },
      make(
        "h2",
        {},
        WALK_LAYER.some((each) => each === part)
          ? `${say(WALK.nth, layer + 1)} · ${say(WALK_PARTS[part])}`
          : say(WALK_PARTS[part]),
      ),
      ...steps,
    ),
  );
}

// The tokens of one side as buttons; arrow keys go to the next one.
/** @type {(path: WalkPath, stack: WalkStack) => HTMLElement} */
function drawWalkTokens(path, { kind: side, side: name, count }) {
  const { scene } = path;
  const { tokens, text } = scene[name];
  const here = side === path.side;
  const backwards = directionOf(text) === "rtl";
  /** @type {(place: number) => void} */
  const go = (place) => {
    walkTo(path, { side, place, layer: here ? path.layer : Math.min(path.layer, count - 1) });
    element(`walk-${name}-${place}`).focus();
  };
  return make(
    "div",
    { class: "tokens" },
    make("span", { class: "muted", id: `walk-${name}` }, say(scene.surprise ? WALK.reader : WALK[name])),
    make(
      "div",
      {
        role: "group",
        "aria-labelledby": `walk-${name}`,
        dir: backwards ? "rtl" : "ltr",
        onkeydown: (event) => {
          const step = stepOf(event, backwards ? "rtl" : "ltr")?.[1];
          if (!step || !Number.isFinite(step)) return;
          event.preventDefault();
          go(Math.max(0, Math.min(tokens.length - 1, Number(targetOf(event)?.dataset.token) + step)));
        },
      },
      ...tokens.map((token, place) =>
        make(
          "button",
          {
            type: "button",
            id: `walk-${name}-${place}`,
            data: { token: place, side },
            ...tokenLook(token),
            "aria-pressed": String(here && place === path.place),
            tabindex: place === (here ? path.place : 0) ? 0 : -1,
            onclick: () => go(place),
          },
          readable(token),
        ),
      ),
    ),
  );
}

/** @type {(path: WalkPath) => HTMLElement} */
function drawWalkChoices(path) {
  /** @type {(id: string, label: string, count: number, chosen: number, onchange: (place: number) => void) => HTMLElement} */
  const select = (id, label, count, chosen, onchange) =>
    make(
      "label",
      {},
      make("span", {}, label),
      make(
        "select",
        { id, onchange: (event) => onchange(event.currentTarget.selectedIndex) },
        ...Array.from({ length: count }, (_, index) =>
          make("option", { selected: index === chosen }, String(index + 1)),
        ),
      ),
    );
  /** @type {(folded: boolean) => void} */
  const fold = (folded) => {
    /** @type {NodeListOf<HTMLDetailsElement>} */
    const steps = document.querySelectorAll(".walk .step");
    for (const step of steps) step.open = !folded;
  };
  return make(
    "div",
    { class: "choices" },
    select("walk-layer", say(WALK.layer), path.layers, path.layer, (layer) => walkTo(path, { layer })),
    select("walk-head", say(WALK.head), path.heads, path.head, (head) => walkTo(path, { head })),
    make("button", { type: "button", id: "walk-fold", onclick: () => fold(true) }, say(WALK.fold)),
    make("button", { type: "button", id: "walk-unfold", onclick: () => fold(false) }, say(WALK.unfold)),
  );
}

// Mark on the map the part that is being read.
/** @type {(root: HTMLElement) => void} */
function watchWalk(root) {
  walkWatch?.disconnect();
  walkWatch = new IntersectionObserver(
    (entries) => {
      const shown = entries.findLast((entry) => entry.isIntersecting);
      if (!shown) return;
      /** @type {NodeListOf<SVGElement>} */
      const nodes = root.querySelectorAll(".map .node");
      for (const node of nodes) {
        if (`walk-${node.dataset.part}` === shown.target.id) node.setAttribute("aria-current", "step");
        else node.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-25% 0px -65% 0px" },
  );
  for (const section of root.querySelectorAll(".course section")) walkWatch.observe(section);
}

// A page from a server may hold no walk yet: ask for it once, but not while another scene is on its way.
/** @type {(scene: Scene) => void} */
function askForWalk(scene) {
  if (!page.live || page.live.running || walkAsked.has(scene)) return;
  walkAsked.set(scene, true);
  page.live
    .loadWalk()
    .catch(() => {})
    .finally(() => {
      walkAsked.set(scene, false);
      if (page.scene === scene && !scene.walk) draw();
    });
}

view({
  id: "walk",
  title: WALK.title,
  parts: choiceParts,
  available: (scene) => Boolean(scene?.stacks.length),
  draw(root, scene) {
    if (!scene.walk || namesOf(scene.attention).length === 0) {
      askForWalk(scene);
      root.append(
        make(
          "p",
          { class: "muted", role: "status" },
          say(walkAsked.get(scene) || page.live?.running ? WALK.loading : page.live ? WALK.unsent : WALK.absent),
        ),
      );
      return;
    }
    const path = walkPath(scene, scene.walk);
    const parts = drawWalkParts(path);
    const steps = parts.flatMap((part) => /** @type {HTMLDetailsElement[]} */ ([...part.querySelectorAll("details")]));
    root.append(
      ...scene.stacks.map((stack) => drawWalkTokens(path, stack)),
      drawWalkFlow(path, steps),
      make(
        "p",
        { class: "muted introduction" },
        say(WALK.introductions[WALK_ENDS[scene.stacks.at(-1)?.end ?? "next"].tells(scene)]),
      ),
      make("p", { class: "muted norm" }, say(WALK.norms[scene.shape.norm])),
      make(
        "div",
        { class: "body" },
        make("aside", {}, drawWalkChoices(path), drawWalkMap(path)),
        make("div", { class: "course" }, ...parts),
      ),
    );
    watchWalk(root);
  },
});
