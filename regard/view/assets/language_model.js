// A language model inside a page: a text in, and what was expected at each of its places out, as
// regard/tasks/language_model/generator.py looks at it.

class PortableLanguageModel {
  /** @param {PortableLanguage} given */
  constructor(given) {
    this.given = given;
    this.tokenizer = new SentencePiece(bytesOf(given.tokenizer.joint ?? given.tokenizer.source ?? ""));
    this.model = new StackedLayers(unpackWeights(given.weights), given.settings);
  }

  // Of a stream, the lines of a text; where lines are documents, a text is one of them, however it is broken.
  /** @type {(text: string) => string[]} */
  lines(text) {
    const lines = text.replace(/\n$/, "").split("\n").map(strip);
    return this.given.stream ? lines : [strip(lines.join(" "))];
  }

  // What stands before each token of a text, and after the last.
  /** @type {(text: string) => number[]} */
  encode(text) {
    const start = this.given.stream ? END_ID : START_ID;
    return [start, ...this.lines(text).flatMap((line) => [...this.tokenizer.encode(line), END_ID])];
  }

  /** @type {(ids: number[]) => Rows} */
  logits(ids) {
    return this.project(this.model.layers(this.model.embed(ids, "embedding"), true));
  }

  /** @type {(states: Rows) => Rows} */
  project(states) {
    return linear(states, this.model.tensor("output.weight"));
  }

  // What stands before the text that is to be continued, and its own tokens.
  /** @type {(prompt: string) => number[]} */
  read(prompt) {
    const lines = prompt.split("\n").map(strip);
    if (!this.given.stream) return [START_ID, ...this.tokenizer.encode(strip(lines.join(" ")))];
    return [END_ID, ...lines.flatMap((line, number) => [...(number ? [END_ID] : []), ...this.tokenizer.encode(line)])];
  }

  // Continue a text by so many tokens at most, as `generate` of Python does: the most probable token each time at temperature
  // 0, else a draw, which the seed decides. Whenever the context is full, the last half of it is read anew.
  /** @type {(request: WriteRequest, tell?: (written: string) => void) => string} */
  write({ text, most, temperature, seed, changes }, tell = () => {}) {
    const { model, given } = this;
    Object.assign(model, { changes, record: null });
    const ids = this.read(text);
    let last = /** @type {number} */ (ids.pop());
    let seen = ids.length < given.context ? ids : this.half(ids);
    let past = this.past(seen);
    const draw = randomNumbers(seed);
    const written = new WrittenText(this.tokenizer.pieces, text === "" || /\s$/.test(text));
    for (let count = 0; count < most; count++) {
      if (seen.length === given.context) {
        seen = this.half(seen);
        past = this.past(seen);
      }
      const scores = Float64Array.from(this.project([model.step(last, past)])[0]);
      seen.push(last);
      for (const id of [PAD_ID, START_ID, UNKNOWN_ID]) scores[id] = Number.NEGATIVE_INFINITY;
      last = chosenToken(scores, temperature, draw);
      if (last === END_ID && !given.stream) break;
      written.add(last);
      tell(written.text);
    }
    return written.text;
  }

  // Together with the token that is read next, half of the context.
  /** @type {(seen: number[]) => number[]} */
  half(seen) {
    return seen.slice(seen.length - Math.max(1, Math.floor(this.given.context / 2)) + 1);
  }

  // The keys and values of what was read, by layer.
  /** @type {(seen: number[]) => KeyValue[]} */
  past(seen) {
    /** @type {KeyValue[]} */
    const past = Array.from({ length: this.given.settings.layers }, () => ({ key: [], value: [] }));
    for (const id of seen) this.model.step(id, past);
    return past;
  }

  /** @type {(request: LiveRequest) => Scene[]} */
  scenes({ text, off, temperature, hard }) {
    const { given, model } = this;
    const ids = this.encode(text);
    if (ids.length - 1 > given.context)
      throw new Error(`the text has ${ids.length - 1} tokens; this model looks back at most ${given.context}.`);
    const [read, wanted] = [ids.slice(0, -1), ids.slice(1)];
    /** @type {Record_} */
    const record = new Map();
    Object.assign(model, { changes: { off, temperature, hard }, record });
    const alternatives = alternativesOf(this.logits(read), wanted, this.tokenizer.pieces);
    model.record = null;
    const words = this.lines(text).reduce((sum, line) => sum + split(line).length + 1, 0);
    const bits = alternatives.reduce((sum, { probability }) => sum - Math.log2(Math.max(probability, 1e-12)), 0);
    /** @type {(side: number[]) => string[]} */
    const tokensOf = (side) => side.map((id) => this.tokenizer.pieces[id]);
    const walk = walkOf(record);
    return [
      {
        title: given.title,
        facts: given.facts,
        shape: given.shape,
        parts: 1,
        source: { text, tokens: [], words: [] },
        target: sideOf("", tokensOf(wanted)),
        read: sideOf("", ["<s>", ...tokensOf(read).slice(1)]), // nothing has ended where a text begins
        attention: { decoder: weightsOf(record, model.names, model.changes) },
        alternatives,
        steps: [],
        search: null,
        warnings: [],
        surprise: { perplexity: 2 ** Math.min(bits / Math.max(1, words), 1_000), words, pointed: null },
        positions: positionsOf(model, "embedding", wanted.length),
        stacks: given.stacks,
        walk: walkSize(walk) <= MOST_WALKED ? walk : null,
        lens: statesAfter(model, record, given.stacks[0], "norm").map((states) =>
          alternativesOf(this.project(states), wanted, this.tokenizer.pieces, SHOWN_BY_LENS),
        ),
        matrices: matricesOf(model, given.stacks),
      },
    ];
  }
}

// Tokens become text as they are written; half a character is not shown.
class WrittenText {
  /** @param {string[]} pieces @param {boolean} bare whether the next word needs no space before it */
  constructor(pieces, bare) {
    this.pieces = pieces;
    this.bare = bare;
    this.decoder = new TextDecoder();
    this.text = "";
  }

  /** @type {(id: number) => void} */
  add(id) {
    if (id === END_ID) {
      this.bare = true;
      this.decoder = new TextDecoder();
      this.text += "\n";
      return;
    }
    const piece = this.pieces[id];
    const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
    let bytes = byte && Uint8Array.of(Number.parseInt(byte[1], 16));
    if (bytes) this.bare = false;
    else {
      const spelled = piece.replaceAll("▁", " ");
      const shown = this.bare ? spelled.replace(/^ /, "") : spelled;
      this.bare = this.bare && shown === "";
      bytes = new TextEncoder().encode(shown);
    }
    // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes can spell them
    this.text += this.decoder.decode(bytes, { stream: true }).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
  }
}
