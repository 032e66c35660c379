// The numbers of a model inside a page: whole ones of 8 bits with a scale for every few of them, and plain ones of 32 bits.
// regard/view/portable.py packs them.

/** @type {(text: string) => Uint8Array} */
function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

/** @type {(packed: PackedWeights) => Map<string, PlainTensor>} */
function unpackWeights({ numbers, tensors, same }) {
  const bytes = bytesOf(numbers);
  /** @type {Map<string, PlainTensor>} */
  const found = new Map();
  for (const { name, shape, at, group } of tensors) {
    const size = shape.reduce((product, each) => product * each, 1);
    const count = group ? size / group : size;
    const plain = new Float32Array(bytes.buffer.slice(at, at + 4 * count)); // scales, or the numbers themselves
    found.set(name, { shape, values: group ? scaled(bytes, at + 4 * count, plain, size, group) : plain });
  }
  for (const [name, other] of Object.entries(same)) {
    const tensor = found.get(other);
    if (tensor) found.set(name, tensor);
  }
  return found;
}

/** @type {(bytes: Uint8Array, at: number, scales: Float32Array, size: number, group: number) => Float32Array} */
function scaled(bytes, at, scales, size, group) {
  const whole = new Int8Array(bytes.buffer, at, size);
  const values = new Float32Array(size);
  for (let first = 0, number = 0; first < size; first += group, number++)
    for (let place = first; place < first + group; place++) values[place] = whole[place] * scales[number];
  return values;
}
