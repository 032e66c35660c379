// What a page draws of any model that runs inside it, as regard/view/inside.py and regard/tasks/alternatives.py put it.

const SHOWN_ALTERNATIVES = 10;
const SHOWN_POSITIONS = 64;
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

// Of each position [T, V], the ten most probable tokens, and where the one stands that was written.
/** @type {(logits: Rows, written: number[], pieces: string[]) => Alternatives[]} */
function alternativesOf(logits, written, pieces) {
  return logits.map((row, place) => {
    const shares = Float32Array.from(logSoftmax(row), Math.exp);
    const best = topPlaces(shares, SHOWN_ALTERNATIVES);
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
