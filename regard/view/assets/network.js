// A Transformer computed with plain typed arrays, from the same definitions as regard/attention and regard/models.
// A sequence is a list of rows, one Float32Array per position. Shapes: [Q] positions · [D] width · [H] heads · [E] of a head.

/** @typedef {Float32Array[]} Rows */
/** @typedef {{ key: Rows, value: Rows }} KeyValue */
/** @typedef {{ off: Record<string, number[]>, temperature: number, hard: boolean }} Changes */
/** @typedef {Map<string, Record<string, PlainTensor>>} Record_ */

/** @type {(count: number, width: number) => Rows} */
function emptyRows(count, width) {
  const values = new Float32Array(count * width);
  return Array.from({ length: count }, (_, row) => values.subarray(row * width, (row + 1) * width));
}

// x [Q, D] → x·Wᵀ + b [Q, O]. Four outputs at a time stay in the nearest cache while all rows pass by.
/** @type {(x: Rows, weight: PlainTensor, bias?: Float32Array | null) => Rows} */
function linear(x, weight, bias = null) {
  const [outputs, inputs] = weight.shape;
  const w = weight.values;
  const y = emptyRows(x.length, outputs);
  let o = 0;
  for (; o + 4 <= outputs; o += 4) {
    const a = o * inputs;
    const b = a + inputs;
    const c = b + inputs;
    const d = c + inputs;
    for (let row = 0; row < x.length; row++) {
      const from = x[row];
      let p = 0;
      let q = 0;
      let r = 0;
      let s = 0;
      for (let i = 0; i < inputs; i++) {
        const value = from[i];
        p += value * w[a + i];
        q += value * w[b + i];
        r += value * w[c + i];
        s += value * w[d + i];
      }
      const to = y[row];
      to[o] = bias ? p + bias[o] : p;
      to[o + 1] = bias ? q + bias[o + 1] : q;
      to[o + 2] = bias ? r + bias[o + 2] : r;
      to[o + 3] = bias ? s + bias[o + 3] : s;
    }
  }
  for (; o < outputs; o++)
    for (let row = 0; row < x.length; row++) {
      let sum = bias ? bias[o] : 0;
      for (let i = 0; i < inputs; i++) sum += x[row][i] * w[o * inputs + i];
      y[row][o] = sum;
    }
  return y;
}

/** @type {(x: Rows, scale: Float32Array, shift: Float32Array, epsilon: number) => Rows} */
function layerNorm(x, scale, shift, epsilon) {
  const y = emptyRows(x.length, scale.length);
  x.forEach((row, place) => {
    let sum = 0;
    for (const value of row) sum += value;
    const mean = sum / row.length;
    let squares = 0;
    for (const value of row) squares += (value - mean) * (value - mean);
    const factor = 1 / Math.sqrt(squares / row.length + epsilon);
    for (let i = 0; i < row.length; i++) y[place][i] = (row[i] - mean) * factor * scale[i] + shift[i];
  });
  return y;
}

/** @type {(one: Rows, other: Rows) => Rows} */
function addRows(one, other) {
  const sum = emptyRows(one.length, one[0].length);
  for (let row = 0; row < one.length; row++)
    for (let i = 0; i < sum[row].length; i++) sum[row][i] = one[row][i] + other[row][i];
  return sum;
}

// The error function, to seven places (Abramowitz and Stegun, 7.1.26).
/** @type {(x: number) => number} */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

/** @type {Record<string, (x: number) => number>} */
const ACTIVATIONS = {
  relu: (x) => (x > 0 ? x : 0),
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  swish: (x) => x / (1 + Math.exp(-x)),
};

// Scores of one query → weights, in place: softmax, or all on the best, the first of equals.
/** @type {(scores: Float32Array | Float64Array, hard: boolean) => void} */
function toWeights(scores, hard) {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const score of scores) if (score > greatest) greatest = score;
  if (hard) {
    const best = scores.indexOf(greatest);
    scores.fill(0);
    scores[best] = 1;
    return;
  }
  let sum = 0;
  for (let k = 0; k < scores.length; k++) {
    scores[k] = Math.exp(scores[k] - greatest);
    sum += scores[k];
  }
  for (let k = 0; k < scores.length; k++) scores[k] /= sum;
}

// Rows [Q, H × E] → [H, Q, E], as they are shown.
/** @type {(rows: Rows, heads: number) => PlainTensor} */
function splitHeads(rows, heads) {
  const width = rows[0].length / heads;
  const values = new Float32Array(rows.length * rows[0].length);
  rows.forEach((row, q) => {
    for (let head = 0; head < heads; head++)
      values.set(row.subarray(head * width, (head + 1) * width), (head * rows.length + q) * width);
  });
  return { shape: [heads, rows.length, width], values };
}

/** @type {(rows: Rows) => PlainTensor} */
function tensorOfRows(rows) {
  const width = rows[0].length;
  const values = new Float32Array(rows.length * width);
  rows.forEach((row, place) => {
    values.set(row, place * width);
  });
  return { shape: [rows.length, width], values };
}

// Layers by the names of their weights; what a layer computes is noted if somebody records.
class Network {
  /** @param {Map<string, PlainTensor>} tensors @param {NetworkSettings} settings */
  constructor(tensors, settings) {
    this.tensors = tensors;
    this.settings = settings;
    /** @type {Changes} */
    this.changes = { off: {}, temperature: 1, hard: false };
    /** @type {Record_ | null} */
    this.record = null;
  }

  /** @type {(name: string) => PlainTensor} */
  tensor(name) {
    const found = this.tensors.get(name);
    if (!found) throw new Error(`the model has no weights called ${name}`);
    return found;
  }

  /** @type {(module: string, noted: () => Record<string, PlainTensor>) => void} */
  note(module, noted) {
    if (this.record) this.record.set(module, { ...this.record.get(module), ...noted() });
  }

  /** @type {(x: Rows, name: string) => Rows} */
  linear(x, name) {
    return linear(x, this.tensor(`${name}.weight`), this.tensors.get(`${name}.bias`)?.values);
  }

  /** @type {(x: Rows, name: string) => Rows} */
  norm(x, name) {
    const scale = this.tensor(`${name}.weight`).values;
    return layerNorm(x, scale, this.tensor(`${name}.bias`).values, this.settings.norm_epsilon);
  }

  // What a stack ends with: a pre-norm one leaves its last output unnormalised.
  /** @type {(x: Rows, name: string) => Rows} */
  lastNorm(x, name) {
    return this.settings.norm === "pre" ? this.norm(x, name) : x;
  }

  // What marks a position [D]; nothing where the model knows none.
  /** @type {(name: string, position: number) => Float32Array | null} */
  position(name, position) {
    const { positions, width } = this.settings;
    if (positions === "none") return null;
    if (positions === "learned") {
      const table = this.tensor(`${name}.positions.table`);
      return table.values.subarray(position * width, (position + 1) * width);
    }
    return Float32Array.from({ length: width }, (_, place) => {
      const angle = position * Math.exp((place - (place % 2)) * (-Math.log(10_000) / width));
      return place % 2 ? Math.cos(angle) : Math.sin(angle);
    });
  }

  // Ids → vectors: the token's own times √D, plus its position if any. [Q] → [Q, D]
  /** @type {(ids: number[], name: string, start?: number) => Rows} */
  embed(ids, name, start = 0) {
    const { values, shape } = this.tensor(`${name}.table.weight`);
    const [, width] = shape;
    const scale = Math.sqrt(width);
    const vectors = emptyRows(ids.length, width);
    ids.forEach((id, row) => {
      for (let i = 0; i < width; i++) vectors[row][i] = values[id * width + i] * scale;
    });
    const places = ids.map((_, row) => this.position(name, start + row)).filter((row) => row !== null);
    const output = places.length ? addRows(vectors, places) : vectors;
    this.note(name, () => ({
      vectors: tensorOfRows(vectors),
      ...(places.length && { positions: tensorOfRows(places) }),
      output: tensorOfRows(output),
    }));
    return output;
  }

  // Add & norm around a sub-layer: after adding as in the paper, or before the sub-layer (pre-norm).
  /** @type {(x: Rows, name: string, sublayer: (x: Rows) => Rows) => Rows} */
  residual(x, name, sublayer) {
    const { norm, residual } = this.settings;
    const normed = norm === "pre" ? this.norm(x, `${name}.norm`) : null;
    const update = sublayer(normed ?? x);
    const added = residual ? addRows(x, update) : update;
    const output = norm === "post" ? this.norm(added, `${name}.norm`) : added;
    this.note(name, () => ({ added: tensorOfRows(added), normed: tensorOfRows(normed ?? output) }));
    return output;
  }

  // Two linear layers with a ReLU or its kind between.
  /** @type {(x: Rows, name: string) => Rows} */
  feedForward(x, name) {
    const hidden = this.linear(x, `${name}.widen`);
    const activation = ACTIVATIONS[this.settings.activation];
    for (const row of hidden) for (let i = 0; i < row.length; i++) row[i] = activation(row[i]);
    const output = this.linear(hidden, `${name}.narrow`);
    this.note(name, () => ({ hidden: tensorOfRows(hidden), output: tensorOfRows(output) }));
    return output;
  }

  // The last sub-layer of a layer, if it has one.
  /** @type {(x: Rows, layer: string) => Rows} */
  think(x, layer) {
    if (!this.settings.feed_forward) return x;
    return this.residual(x, `${layer}.after_feed_forward`, (rows) => this.feedForward(rows, `${layer}.feed_forward`));
  }

  get widths() {
    const { width, heads, key_width: key, value_width: value } = this.settings;
    return { keys: heads * key || width, values: heads * value || width };
  }

  // One product gives queries, keys and values side by side: [Q, D] → [Q, H × E] twice and [Q, H × F].
  /** @type {(x: Rows, name: string) => { query: Rows, key: Rows, value: Rows }} */
  project(x, name) {
    const { keys, values } = this.widths;
    const all = this.linear(x, `${name}.query_key_value`);
    return {
      query: all.map((row) => row.subarray(0, keys)),
      key: all.map((row) => row.subarray(keys, 2 * keys)),
      value: all.map((row) => row.subarray(2 * keys, 2 * keys + values)),
    };
  }

  // What can be looked at of a memory, once for all looks.
  /** @type {(memory: Rows, name: string) => { key: Rows, value: Rows }} */
  projectMemory(memory, name) {
    const { keys, values } = this.widths;
    const both = this.linear(memory, `${name}.key_value`);
    return {
      key: both.map((row) => row.subarray(0, keys)),
      value: both.map((row) => row.subarray(keys, keys + values)),
    };
  }

  // Every query looks with each head at the keys before its own `visible(q)` of them, and the heads are merged: [Q, D].
  // Several hypotheses may have keys of their own: then `of(q)` gives them.
  /** @type {(name: string, query: Rows, of: (q: number) => { key: Rows, value: Rows }, visible: (q: number) => number) => Rows} */
  attend(name, query, of, visible) {
    const { heads, scale } = this.settings;
    const { keys, values } = this.widths;
    const [e, f] = [keys / heads, values / heads];
    const root = scale ? Math.sqrt(e) : 1;
    const { temperature, hard } = this.changes;
    const off = this.changes.off[name] ?? [];
    const mixed = emptyRows(query.length, values);
    const most = this.record ? of(0).key.length : 0;
    const scores = new Float32Array(heads * query.length * most);
    const weights = new Float32Array(heads * query.length * most);
    for (let q = 0; q < query.length; q++) {
      const { key, value } = of(q);
      for (let head = 0; head < heads; head++) {
        const row = new Float64Array(this.record ? key.length : visible(q));
        for (let k = 0; k < row.length; k++) {
          let sum = 0;
          for (let i = head * e; i < (head + 1) * e; i++) sum += query[q][i] * key[k][i];
          row[k] = sum / root;
        }
        const at = (head * query.length + q) * most;
        if (this.record) scores.set(row, at); // before temperature and mask
        const seen = row.subarray(0, visible(q));
        for (let k = 0; k < seen.length; k++) seen[k] /= temperature;
        toWeights(seen, hard);
        if (this.record) weights.set(seen, at);
        if (off.includes(head)) continue; // its weights are known, but reach nothing
        for (let k = 0; k < seen.length; k++)
          for (let i = head * f; i < (head + 1) * f; i++) mixed[q][i] += seen[k] * value[k][i];
      }
    }
    const output = this.linear(mixed, `${name}.output`);
    const shape = [heads, query.length, most];
    this.note(name, () => ({
      query: splitHeads(query, heads),
      key: splitHeads(of(0).key, heads),
      value: splitHeads(of(0).value, heads),
      scores: { shape, values: scores },
      weights: { shape, values: weights },
      head_outputs: splitHeads(mixed, heads),
      output: tensorOfRows(output),
    }));
    return output;
  }

  // A layer in which a sequence looks at itself: all of it, or each position at what is before it.
  /** @type {(x: Rows, layer: string, causal: boolean) => Rows} */
  selfLayer(x, layer, causal) {
    const name = `${layer}.self_attention`;
    return this.residual(x, `${layer}.after_self`, (rows) => {
      const { query, key, value } = this.project(rows, name);
      return this.attend(
        name,
        query,
        () => ({ key, value }),
        (q) => (causal ? q + 1 : key.length),
      );
    });
  }
}
