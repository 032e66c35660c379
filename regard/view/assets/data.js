// Numbers out of JSON: arrays of 16 bits in base64 (regard/view/arrays.py) become tensors with a shape.

class Tensor {
  /**
   * @param {number[]} shape
   * @param {Float32Array} values last axis fastest
   */
  constructor(shape, values) {
    this.shape = shape;
    this.values = values;
  }

  // The part at the given leading indices: tensor.at(layer, head) of [L, H, Q, K] is [Q, K]. Shares the numbers.
  /** @type {(...indices: number[]) => Tensor} */
  at(...indices) {
    let size = this.values.length;
    let start = 0;
    indices.forEach((index, axis) => {
      size /= this.shape[axis];
      start += index * size;
    });
    return new Tensor(this.shape.slice(indices.length), this.values.subarray(start, start + size));
  }

  // The single number at full indices.
  /** @type {(...indices: number[]) => number} */
  number(...indices) {
    return this.at(...indices).values[0];
  }
}

/** @type {(bits: number) => number} */
const shareToNumber = (bits) => bits / 65535;

/** @type {(bits: number) => number} */
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** @type {(packed: Packed) => Tensor} */
function unpack(packed) {
  if (packed.type === "float") return new Tensor(packed.shape, packed.data);
  const bytes = atob(packed.data);
  const values = new Float32Array(bytes.length / 2); // a plain loop: the quickest by far
  const read = packed.type === "share" ? shareToNumber : halfToNumber;
  for (let index = 0; index < values.length; index++)
    values[index] = read(bytes.charCodeAt(2 * index) | (bytes.charCodeAt(2 * index + 1) << 8));
  return new Tensor(packed.shape, values);
}

// Unpack once, when first asked for: tensorOf(scene.attention.cross.weights).
/** @type {WeakMap<Packed, Tensor>} */
const unpacked = new WeakMap();
/** @type {(packed: Packed) => Tensor} */
function tensorOf(packed) {
  const tensor = unpacked.get(packed) ?? unpack(packed);
  unpacked.set(packed, tensor);
  return tensor;
}

// The weights of a kind that the model has.
/** @type {(scene: Scene, kind: Kind) => Weights} */
function attentionOf(scene, kind) {
  const found = scene.attention[kind];
  if (!found) throw new Error(`this model has no attention of kind “${kind}”`);
  return found;
}

// The heads of a layer that were switched off: their weights are known, but reach nothing.
/** @type {(scene: Scene, kind: Kind, layer: number) => number[]} */
const headsOffIn = (scene, kind, layer) => attentionOf(scene, kind).off[layer] ?? [];

// One map [Q, K] of a layer [H, Q, K]: a head by its number, or "mean" or "max" over the heads that are on.
/** @type {(layer: Tensor, head: Head, off?: number[]) => Tensor} */
function mapOf(layer, head, off = []) {
  if (typeof head === "number") return layer.at(head);
  const [heads, queries, keys] = layer.shape;
  const size = queries * keys;
  const values = new Float32Array(size);
  const on = [...Array(heads).keys()].filter((each) => !off.includes(each));
  for (let place = 0; place < size && on.length > 0; place++) {
    let sum = 0;
    let most = 0;
    for (const h of on) {
      const value = layer.values[h * size + place];
      sum += value;
      if (value > most) most = value;
    }
    values[place] = head === "max" ? most : sum / on.length;
  }
  return new Tensor([queries, keys], values);
}

// Tokens → words: a word is looked at as much as its tokens together, and looks as they do on average.
/** @type {(map: Tensor, queryWords: Word[], keyWords: Word[]) => Tensor} */
function mergeWords(map, queryWords, keyWords) {
  const values = new Float32Array(queryWords.length * keyWords.length);
  queryWords.forEach((query, q) => {
    keyWords.forEach((key, k) => {
      let sum = 0;
      for (let i = query.first; i < query.end; i++) for (let j = key.first; j < key.end; j++) sum += map.number(i, j);
      values[q * keyWords.length + k] = sum / (query.end - query.first);
    });
  });
  return new Tensor([queryWords.length, keyWords.length], values);
}

// The two sides of a kind of attention: who asks (queries) and who is asked (keys).
/** @type {(scene: Scene, kind: Kind) => { queries: Side, keys: Side }} */
function sidesOf(scene, kind) {
  if (kind === "cross") return { queries: scene.target, keys: scene.source };
  if (kind === "encoder") return { queries: scene.source, keys: scene.source };
  return { queries: scene.target, keys: scene.read };
}

// One text from those of its parts; some scripts put no space between sentences.
const SPACELESS =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff60]$/;
/** @type {(scenes: Scene[], side?: "source" | "target") => string} */
const wholeText = (scenes, side = "target") =>
  scenes
    .map((scene) => scene[side].text)
    .filter(Boolean)
    .reduce((whole, text) => whole + (whole === "" || SPACELESS.test(whole) ? "" : " ") + text, "");

// In bits; 0 when all attention is on one key.
/** @type {(row: ArrayLike<number>) => number} */
const entropy = (row) =>
  Array.from(row).reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log2(weight) : sum), 0);
