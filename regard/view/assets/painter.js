// A painter inside a page: a caption in, code after code of its picture out, as regard/tasks/text_to_image/painter.py paints it.

class PortablePainter {
  /** @param {PortablePainting} given */
  constructor(given) {
    this.given = given;
    this.tokenizer = new SentencePiece(bytesOf(given.tokenizer.joint ?? given.tokenizer.source ?? ""));
    this.model = new StackedLayers(unpackWeights(given.weights), { ...given.settings, positions: "learned" });
    this.decoder = new PictureDecoder(unpackWeights(given.stage.weights), given.stage);
  }

  // A caption as a row of ids that is always of the same length, and its words with the places of their tokens in it.
  /** @type {(caption: string) => { ids: number[], words: string[], places: number[][], cut: boolean }} */
  read(caption) {
    const positions = this.given.settings.max_positions;
    const all = this.tokenizer.encode(caption);
    const tokens = all.slice(0, positions - 3);
    const written = [START_ID, ...tokens, END_ID];
    const ids = [...written, ...Array(positions - written.length).fill(PAD_ID)];
    /** @type {number[][]} */
    const places = [];
    tokens.forEach((id, place) => {
      if (this.tokenizer.pieces[id].startsWith("▁") || place === 0) places.push([]);
      places[places.length - 1].push(place + 1); // behind the start
    });
    const words = places.map((each) => textOfTokens(each.map((place) => this.tokenizer.pieces[ids[place]])));
    return { ids, words, places, cut: all.length > tokens.length };
  }

  // The keys and values of a caption but for its last position, by layer.
  /** @type {(ids: number[]) => KeyValue[]} */
  past(ids) {
    /** @type {KeyValue[]} */
    const past = Array.from({ length: this.given.settings.layers }, () => ({ key: [], value: [] }));
    for (const id of ids.slice(0, -1)) this.model.step(id, past);
    return past;
  }

  // The state [D] that expects the code at a place of the picture: behind the caption's last token, or the code before it.
  /** @type {(codes: number[], place: number, past: KeyValue[]) => Float32Array} */
  state(codes, place, past) {
    if (place === 0) return this.model.step(PAD_ID, past);
    const { width } = this.given.settings;
    const { grid } = this.given.stage;
    const at = place - 1;
    const [table, rows, columns] = ["table.weight", "rows.table", "columns.table"].map(
      (name) => this.model.tensor(`code_embedding.${name}`).values,
    );
    const embedded = new Float32Array(width);
    for (let i = 0; i < width; i++)
      embedded[i] =
        table[codes[at] * width + i] * Math.sqrt(width) +
        (rows[Math.floor(at / grid) * width + i] + columns[(at % grid) * width + i]);
    return this.model.advance([embedded], past);
  }

  /** @type {(codes: number[], place: number, past: KeyValue[]) => Float32Array} */
  logits(codes, place, past) {
    return linear([this.state(codes, place, past)], this.model.tensor("output.weight"))[0];
  }

  // Paint code after code: the most probable at temperature 0, else a draw among the most probable that make up `top_p`.
  /** @type {(request: PaintRequest, tell?: (picture: PaintedPicture) => void) => PaintedPicture} */
  paint({ caption, guidance, temperature, top_p, seed }, tell) {
    const { model } = this;
    const { grid } = this.given.stage;
    const read = this.read(caption);
    model.record = null;
    const told = this.past(read.ids);
    const nothing = [START_ID, END_ID, ...Array(read.ids.length - 2).fill(PAD_ID)];
    const untold = guidance === 1 ? null : this.past(nothing);
    const draw = randomNumbers(seed);
    /** @type {number[]} */
    const codes = [];
    const weights = new Float32Array(model.names.length * model.settings.heads * grid * grid * read.words.length);
    while (codes.length < grid * grid) {
      const place = codes.length;
      model.record = new Map();
      const own = this.logits(codes, place, told);
      this.noteLooks(model.record, read.places, place, weights);
      model.record = null;
      const without = untold && this.logits(codes, place, untold);
      const scores = Float64Array.from(own, (score, code) =>
        without ? without[code] + guidance * (score - without[code]) : score,
      );
      codes.push(chosenToken(temperature === 0 ? scores : likeliest(scores, temperature, top_p), temperature, draw));
      tell?.(this.shown(codes, read, weights));
    }
    return this.shown(codes, read, weights);
  }

  // How much the code at a place looked at each word: what its tokens got together.
  /** @type {(record: Record_, places: number[][], place: number, weights: Float32Array) => void} */
  noteLooks(record, places, place, weights) {
    const { heads } = this.model.settings;
    const cells = this.given.stage.grid ** 2;
    this.model.names.forEach((name, layer) => {
      const { values } = /** @type {Record<string, PlainTensor>} */ (record.get(name)).weights; // [H, 1, K]
      const keys = values.length / heads;
      for (let head = 0; head < heads; head++)
        places.forEach((tokens, word) => {
          const at = ((layer * heads + head) * cells + place) * places.length + word;
          for (const token of tokens) weights[at] += values[head * keys + token];
        });
    });
  }

  // The picture as far as it is painted; what is to come is taken for more of what is in the corner, as in Python.
  /** @type {(codes: number[], read: ReturnType<PortablePainter["read"]>, weights: Float32Array) => PaintedPicture} */
  shown(codes, { words, cut }, weights) {
    const { grid } = this.given.stage;
    const shape = [this.model.names.length, this.model.settings.heads, grid * grid, words.length];
    const whole = Array.from({ length: grid * grid }, (_, place) => codes[place] ?? codes[0]);
    const looked = { type: /** @type {const} */ ("float"), shape, data: weights.slice() };
    return { codes: [...codes], pixels: this.decoder.pixels(whole), words, cut, weights: looked };
  }
}

// Scores without those that are not among the most probable which make up a share of all.
/** @type {(scores: Float64Array, temperature: number, share: number) => Float64Array} */
function likeliest(scores, temperature, share) {
  const shares = scores.map((score) => score / temperature);
  toWeights(shares, false);
  let before = 0;
  const kept = new Float64Array(scores.length).fill(Number.NEGATIVE_INFINITY);
  for (const code of [...scores.keys()].sort((one, other) => shares[other] - shares[one])) {
    if (before >= share) break;
    kept[code] = scores[code];
    before += shares[code];
  }
  return kept;
}
