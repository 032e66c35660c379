// Codes → a picture: the decoder of regard/models/image_codes.py, over planes of one channel each.
// [L] numbers of a code · [C] channels · [P] pixels of a side

/** @typedef {{ side: number, planes: Float32Array[] }} Planes */

// A convolution with a kernel of 3 × 3 and a border of zeros: [C, P, P] → [O, P, P].
/** @type {(x: Planes, weight: PlainTensor, bias: Float32Array) => Planes} */
function convolve({ side, planes }, weight, bias) {
  const [outputs, inputs] = weight.shape;
  return {
    side,
    planes: Array.from({ length: outputs }, (_, output) => {
      const plane = new Float32Array(side * side).fill(bias[output]);
      for (let input = 0; input < inputs; input++)
        for (let place = 0; place < 9; place++) {
          const factor = weight.values[(output * inputs + input) * 9 + place];
          const [down, right] = [Math.floor(place / 3) - 1, (place % 3) - 1];
          const [from, shift] = [planes[input], down * side + right];
          const [first, end] = [Math.max(0, -right), Math.min(side, side - right)];
          for (let row = Math.max(0, -down); row < Math.min(side, side - down); row++)
            for (let at = row * side + first; at < row * side + end; at++) plane[at] += factor * from[at + shift];
        }
      return plane;
    }),
  };
}

// A transposed convolution with a kernel of 4 × 4 and a stride of 2, which doubles the picture: [C, P, P] → [O, 2P, 2P].
/** @type {(x: Planes, weight: PlainTensor, bias: Float32Array) => Planes} */
function enlarge({ side, planes }, weight, bias) {
  const [inputs, outputs] = weight.shape;
  const twice = 2 * side;
  return {
    side: twice,
    planes: Array.from({ length: outputs }, (_, output) => {
      const plane = new Float32Array(twice * twice).fill(bias[output]);
      for (let input = 0; input < inputs; input++)
        for (let place = 0; place < 16; place++) {
          const factor = weight.values[(input * outputs + output) * 16 + place];
          const [down, right] = [Math.floor(place / 4) - 1, (place % 4) - 1];
          const from = planes[input];
          const [first, end] = [right < 0 ? 1 : 0, right > 1 ? side - 1 : side];
          for (let row = down < 0 ? 1 : 0; row < (down > 1 ? side - 1 : side); row++) {
            const to = (2 * row + down) * twice + right;
            for (let column = first; column < end; column++)
              plane[to + 2 * column] += factor * from[row * side + column];
          }
        }
      return plane;
    }),
  };
}

/** @type {(x: Planes) => Planes} */
const silu = ({ side, planes }) => ({ side, planes: planes.map((plane) => plane.map((x) => x / (1 + Math.exp(-x)))) });

class PictureDecoder {
  /** @param {Map<string, PlainTensor>} tensors @param {PictureStage} stage */
  constructor(tensors, stage) {
    this.tensors = tensors;
    this.stage = stage;
  }

  /** @type {(kind: typeof convolve, x: Planes, name: string) => Planes} */
  apply(kind, x, name) {
    const [weight, bias] = ["weight", "bias"].map((part) => this.tensors.get(`decoder.${name}.${part}`));
    if (!weight || !bias) throw new Error(`the painter has no weights called ${name}`);
    return kind(x, weight, bias.values);
  }

  // What the decoder is given for codes [G·G]: levels between −1 and 1, or vectors out of a codebook.
  /** @type {(codes: number[]) => Planes} */
  latents(codes) {
    const { levels, grid } = this.stage;
    const table = this.tensors.get("quantiser.table");
    const size = table ? table.shape[1] : levels.length;
    let place = 1;
    const planes = Array.from({ length: size }, (_, number) => {
      if (table) return Float32Array.from(codes, (code) => table.values[code * size + number]);
      const [count, own] = [levels[number], place];
      place *= count;
      return Float32Array.from(codes, (code) => ((Math.floor(code / own) % count) * 2) / (count - 1) - 1);
    });
    return { side: grid, planes };
  }

  // Codes [G·G] → bytes [P, P, C], as they are shown.
  /** @type {(codes: number[]) => { shape: number[], values: number[] }} */
  pixels(codes) {
    const { blocks, halvings } = this.stage;
    let x = this.apply(convolve, this.latents(codes), "0");
    for (let block = 1; block <= blocks; block++) {
      const inner = silu(this.apply(convolve, silu(x), `${block}.first`));
      const update = this.apply(convolve, inner, `${block}.second`);
      const before = x;
      x = {
        side: x.side,
        planes: before.planes.map((plane, channel) => plane.map((value, at) => value + update.planes[channel][at])),
      };
    }
    for (let up = 1; up <= halvings; up++) x = this.apply(enlarge, silu(x), `${blocks + up}.1`);
    const { side, planes } = this.apply(convolve, silu(x), String(blocks + halvings + 2));
    const values = Array.from({ length: side * side * planes.length }, (_, at) => {
      const value = (planes[at % planes.length][Math.floor(at / planes.length)] + 1) / 2;
      return Math.round(255 * Math.min(1, Math.max(0, value)));
    });
    return { shape: [side, side, planes.length], values };
  }
}
