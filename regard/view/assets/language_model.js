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
    /** @type {(side: number[]) => Side} */
    const side = (each) =>
      sideOf(
        "",
        each.map((id) => this.tokenizer.pieces[id]),
      );
    const walk = walkOf(record);
    return [
      {
        title: given.title,
        facts: given.facts,
        shape: given.shape,
        parts: 1,
        source: { text, tokens: [], words: [] },
        target: side(wanted),
        read: side(read),
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
