// What a page draws of any model that runs inside it, as regard/view/inside.py and regard/tasks/alternatives.py put it.

const SHOWN_ALTERNATIVES = 10;
const SHOWN_BY_LENS = 3;
const SHOWN_POSITIONS = 64;
const [STRIP_ROWS, STRIP_COLUMNS] = [16, 64]; // of a weight matrix
const MOST_WALKED = 4_000_000; // numbers of walks through the computation that a page takes at most
const WALKED = [
  "vectors",
  "positions",
  "query",
  "key",
  "value",
  "scores",
  "head_outputs",
  "added",
  "normed",
  "hidden",
  "output",
  "memory",
  "states",
  "pooled",
];

/** @type {(tensor: PlainTensor) => Packed} */
const packed = ({ shape, values }) => ({ type: "float", shape, data: values });

// One kind of attention: the weights of all its layers [L, H, Q, K], and the heads that were switched off.
/** @type {(record: Record_, names: string[], changes: Changes) => Weights} */
function weightsOf(record, names, changes) {
  const layers = names.map((name) => /** @type {Record<string, PlainTensor>} */ (record.get(name)).weights);
  const values = new Float32Array(layers.length * layers[0].values.length);
  layers.forEach((layer, place) => {
    values.set(layer.values, place * layer.values.length);
  });
  return {
    names,
    off: names.map((name) => [...(changes.off[name] ?? [])].sort((one, other) => one - other)),
    weights: packed({ shape: [layers.length, ...layers[0].shape], values }),
  };
}

// The tensors of a walk by module and name.
/** @type {(record: Record_) => Record<string, Record<string, Packed>>} */
function walkOf(record) {
  return Object.fromEntries(
    [...record].map(([module, noted]) => [
      module,
      Object.fromEntries(
        Object.entries(noted)
          .filter(([name]) => WALKED.includes(name) && !(name === "output" && "added" in noted))
          .map(([name, tensor]) => [name, packed(tensor)]),
      ),
    ]),
  );
}

/** @type {(walk: Record<string, Record<string, Packed>>) => number} */
const walkSize = (walk) =>
  Object.values(walk)
    .flatMap((noted) => Object.values(noted))
    .reduce((sum, { shape }) => sum + shape.reduce((product, each) => product * each, 1), 0);

// Of each position [T, V], the most probable tokens, and where the one stands that was written.
/** @type {(logits: Rows, written: number[], pieces: string[], shown?: number) => Alternatives[]} */
function alternativesOf(logits, written, pieces, shown = SHOWN_ALTERNATIVES) {
  return logits.map((row, place) => {
    const shares = Float32Array.from(logSoftmax(row), Math.exp);
    const best = topPlaces(shares, shown);
    const probability = shares[written[place]];
    let rank = 1;
    for (const share of shares) if (share > probability) rank += 1;
    return {
      tokens: best.map((id) => pieces[id]),
      probabilities: best.map((id) => shares[id]),
      logits: best.map((id) => row[id]),
      probability,
      rank,
    };
  });
}

// The states [T, D] after each layer of a stack, as what follows the last layer reads them.
/** @type {(model: Network, record: Record_, stack: WalkStack, norm: string) => Rows[]} */
const statesAfter = (model, record, { layers, count }, norm) =>
  Array.from({ length: count }, (_, layer) => {
    const last = ["after_feed_forward", "after_cross", "after_self"].map((each) =>
      record.get(`${layers}.${layer}.${each}`),
    );
    const { added, normed } = /** @type {Record<string, PlainTensor>} */ (last.find((each) => each !== undefined));
    const { shape, values } = model.settings.norm === "pre" ? added : normed;
    const rows = Array.from({ length: shape[0] }, (__, row) => values.subarray(row * shape[1], (row + 1) * shape[1]));
    return model.lastNorm(rows, norm);
  });

// The matrices of layers that can be walked through, by module and the paper's letter, as regard/view/matrices.py makes them.
/** @type {(model: Network, stacks: WalkStack[]) => Record<string, Record<string, Matrix>>} */
function matricesOf(model, stacks) {
  const { heads, feed_forward } = model.settings;
  const { keys, values } = model.widths;
  /** @type {Record<string, Record<string, Matrix>>} */
  const found = {};
  /** @type {(module: string, parameter: string, parts: [letter: string, rows: number, heads: number][]) => void} */
  const add = (module, parameter, parts) => {
    const { shape, values: numbers } = model.tensor(`${module}.${parameter}.weight`);
    let begun = 0;
    for (const [letter, rows, count] of parts) {
      const strips = Array.from({ length: count }, (_, head) => {
        const begin = (begun + (head * rows) / count) * shape[1];
        return stripOf(numbers.subarray(begin, begin + (rows / count) * shape[1]), rows / count, shape[1]);
      });
      begun += rows;
      const all = new Float32Array(strips.flatMap((strip) => [...strip.values]));
      const matrix = {
        shape: [shape[1], rows / count],
        strips: packed({ shape: [count, ...strips[0].shape], values: all }),
      };
      found[module] = { ...found[module], [letter]: /** @type {Matrix} */ (matrix) };
    }
  };
  for (const { layers, count, cross } of stacks)
    for (let layer = 0; layer < count; layer++) {
      const name = `${layers}.${layer}`;
      const { width } = model.settings;
      add(`${name}.self_attention`, "query_key_value", [
        ["Q", keys, heads],
        ["K", keys, heads],
        ["V", values, heads],
      ]);
      add(`${name}.self_attention`, "output", [["O", width, 1]]);
      if (cross) {
        add(`${name}.cross_attention`, "query", [["Q", keys, heads]]);
        add(`${name}.cross_attention`, "key_value", [
          ["K", keys, heads],
          ["V", values, heads],
        ]);
        add(`${name}.cross_attention`, "output", [["O", width, 1]]);
      }
      if (!feed_forward) continue;
      add(`${name}.feed_forward`, "widen", [["1", feed_forward, 1]]);
      add(`${name}.feed_forward`, "narrow", [["2", width, 1]]);
    }
  return found;
}

// [outputs, inputs] → [at most 16, at most 64]: of each block the number farthest from zero; a small matrix stays whole.
/** @type {(weight: Float32Array, outputs: number, inputs: number) => PlainTensor} */
function stripOf(weight, outputs, inputs) {
  const shape = [Math.min(outputs, STRIP_ROWS), Math.min(inputs, STRIP_COLUMNS)];
  /** @type {(place: number, size: number, count: number) => number} */
  const begin = (place, size, count) => Math.floor((place * size) / count);
  const values = new Float32Array(shape[0] * shape[1]);
  for (let row = 0; row < shape[0]; row++)
    for (let column = 0; column < shape[1]; column++) {
      let [highest, lowest] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (let o = begin(row, outputs, shape[0]); o < begin(row + 1, outputs, shape[0]); o++)
        for (let i = begin(column, inputs, shape[1]); i < begin(column + 1, inputs, shape[1]); i++) {
          highest = Math.max(highest, weight[o * inputs + i]);
          lowest = Math.min(lowest, weight[o * inputs + i]);
        }
      values[row * shape[1] + column] = highest >= -lowest ? highest : lowest;
    }
  return { shape, values };
}

// Where the greatest values are, the greatest first.
/** @type {(values: Float32Array, count: number) => number[]} */
function topPlaces(values, count) {
  /** @type {number[]} */
  const best = [];
  for (let place = 0; place < values.length; place++) {
    if (best.length === count && values[place] <= values[best[count - 1]]) continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]] < values[place]) at--;
    best.splice(at, 0, place);
    if (best.length > count) best.pop();
  }
  return best;
}

// What marks the positions, [positions, width]; nothing where the model knows none.
/** @type {(network: Network, name: string, length: number) => Packed | null} */
function positionsOf(network, name, length) {
  const count = Math.min(Math.max(SHOWN_POSITIONS, length), network.settings.max_positions);
  const rows = Array.from({ length: count }, (_, place) => network.position(name, place)).filter((row) => row !== null);
  return rows.length ? packed(tensorOfRows(rows)) : null;
}
