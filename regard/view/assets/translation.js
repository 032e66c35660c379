// A translator inside a page: a text in, scenes out, as regard/tasks/translation/translator.py makes them.

/** @typedef {{ part: ReadPart, best: Written, steps: Step[], lost: number }} Searched lost: values that it lacks */

const NEARLY = 1; // of a score: a translation that keeps a number may be so much less probable than one that does not

class PortableTranslator {
  /** @param {PortableTranslation} given */
  constructor(given) {
    this.given = given;
    const { joint, source = joint, target = joint } = given.tokenizer;
    this.source = new SentencePiece(bytesOf(source ?? ""));
    this.target = source === target ? this.source : new SentencePiece(bytesOf(target ?? ""));
    this.readers = Object.fromEntries(
      Object.entries(given.directions).map(([to, { rules }]) => [to, new PartReader(this.source, rules)]),
    );
    this.to = Object.keys(given.directions)[0];
    this.model = new TransformerModel(unpackWeights(given.weights), given.settings);
  }

  get direction() {
    return this.given.directions[this.to];
  }
  get reader() {
    return this.readers[this.to];
  }

  // Into the language that is asked for, or else that of the direction in whose letters most of the text is written.
  /** @type {(text: string, asked: string | null) => void} */
  turn(text, asked) {
    if (asked !== null && !Object.hasOwn(this.given.directions, asked))
      throw new Error(`this model translates into ${Object.keys(this.given.directions).join(", ")}, not into ${asked}`);
    const counts = this.given.letters.map(({ letters, weight }) =>
      letters ? (text.match(new RegExp(`[${letters}]`, "gu"))?.length ?? 0) * weight : 0,
    );
    const told = this.given.letters[counts.indexOf(Math.max(...counts))]?.target;
    this.to = asked ?? told ?? Object.keys(this.given.directions)[0];
  }

  // Source ids as the model reads them, without the end.
  /** @type {(text: string) => number[]} */
  encode(text) {
    return [...this.direction.tags, ...this.source.encode(text)];
  }

  /** @type {(text: string) => string[]} */
  split(text) {
    const { longest, sentences } = this.given;
    return splitText(text, longest, (part) => this.reader.measure(part), sentences, this.direction.rules);
  }

  // One scene for each part of the text, by the model as it is or changed.
  /** @type {(request: LiveRequest) => Scene[]} */
  scenes({ text, beam, to, off, temperature, hard }) {
    this.model.changes = { off, temperature, hard };
    this.turn(text, to);
    const parts = this.split(text);
    const search = { ...this.given.decoding, beam: beam ?? this.given.decoding.beam };
    let size = 0;
    return parts.map((part) => {
      const scene = this.scene(part, search, parts.length);
      size += walkSize(scene.walk ?? {});
      return size <= MOST_WALKED ? scene : { ...scene, walk: null };
    });
  }

  // What the search writes of one part: of hypotheses that are nearly as probable as the best, the one that keeps most values.
  /** @type {(part: ReadPart, settings: DecodingSettings, nbest?: number) => Searched} */
  translate(part, settings, nbest = 1) {
    this.model.record = null;
    const { written, steps } = search(this.model, [...this.encode(part.text), END_ID], settings, nbest);
    const near = written.filter(({ score }) => score >= written[0].score - NEARLY);
    const lost = near.map((each) => this.lost(part, each));
    const fewest = Math.min(...lost);
    return { part, best: near[lost.indexOf(fewest)], steps, lost: fewest };
  }

  // How many values lack their placeholder.
  /** @type {(part: ReadPart, written: Written) => number} */
  lost({ values }, { tokens }) {
    const line = this.target.line(tokens);
    return values.filter((_, place) => !line.includes(PLACEHOLDERS[place])).length;
  }

  // How a part is read, and what is written. If a value was lost, another hypothesis of the beam may have it, or one that was
  // read without placeholders.
  /** @type {(text: string, settings: DecodingSettings) => Searched} */
  searched(text, settings) {
    const part = this.reader.read(text);
    if (part.copied) {
      const best = { tokens: this.target.encode(part.text), score: 0, total: 0, ended: true };
      return { part, best, steps: [], lost: 0 };
    }
    const found = this.translate(part, settings);
    if (found.lost === 0) return found;
    const held = this.translate(part, settings, settings.beam);
    const plain = this.translate(this.reader.plain(part), settings);
    const line = writtenOf(plain.part, plain.best.tokens, this.target);
    return protect(text).values.filter((value) => !line.includes(value)).length < held.lost ? plain : held;
  }

  /** @type {(text: string, settings: DecodingSettings, parts: number) => Scene} */
  scene(text, settings, parts) {
    const { model, given } = this;
    const { part, best, steps } = this.searched(text, settings);
    const written = best.ended ? [...best.tokens, END_ID] : best.tokens;
    if (written.length === 0) throw new Error("the model wrote nothing");
    const read = [...this.encode(part.text), END_ID];
    /** @type {(piece: string) => string} */
    const shown = (piece) => restore(piece, part.values);
    /** @type {Record_} */
    const record = new Map();
    model.record = record;
    const logits = model.forward(read, [START_ID, ...written.slice(0, -1)]);
    model.record = null;
    const source = sideOf(
      text,
      read.map((id) => shown(this.source.pieces[id])),
    );
    const target = sideOf(
      writtenOf(part, written, this.target),
      written.map((id) => shown(this.target.pieces[id])),
    );
    const names = model.attentionNames();
    const attention = Object.fromEntries(
      namesOfKinds(names).map((kind) => [kind, weightsOf(record, names[kind], model.changes)]),
    );
    return {
      title: given.title,
      facts: this.direction.facts,
      shape: given.shape,
      parts,
      source,
      target,
      read: sideOf("", ["<s>", ...target.tokens.slice(0, -1)]),
      attention,
      alternatives: alternativesOf(logits, written, this.target.pieces.map(shown)),
      steps: this.steps(steps, shown),
      search: { ...settings, nbest: 1, sample: false, temperature: 1, top_k: 0, top_p: 1 },
      beside: null,
      positions: positionsOf(model, "source_embedding", Math.max(read.length, written.length)),
      warnings: warningsOf(source, target, this.coverage(record, names.cross, best.ended)),
      stacks: given.stacks,
      walk: walkOf(record),
      lens: statesAfter(model, record, given.stacks[1], "decoder_norm").map((states) =>
        alternativesOf(model.logits(states), written, this.target.pieces, SHOWN_BY_LENS),
      ),
      matrices: matricesOf(model, given.stacks),
    };
  }

  // The steps of the search with tokens and texts instead of ids.
  /** @type {(steps: Step[], named: (piece: string) => string) => SearchStep[]} */
  steps(steps, named) {
    /** @type {number[][]} */
    let before = [[]];
    return steps.map(({ kept, finished }) => {
      const paths = before;
      /** @type {(candidate: Candidate) => SearchPath} */
      const shown = ({ parent, token, ...numbers }) => ({
        parent,
        token: named(this.target.pieces[token]),
        ...numbers,
        text: named(this.target.line([...paths[parent], token].filter((id) => id > UNKNOWN_ID))),
      });
      before = kept.map(({ parent, token }) => [...paths[parent], token]);
      return { kept: kept.map(shown), finished: finished.map(shown) };
    });
  }

  // How much attention each source token got from all that was written: the last layer but one, mean of the heads that are on.
  /** @type {(record: Record_, names: string[], ended: boolean) => number[]} */
  coverage(record, names, ended) {
    const name = names[Math.max(0, names.length - 2)];
    const { tags } = this.direction;
    const { shape, values } = /** @type {Record<string, PlainTensor>} */ (record.get(name)).weights;
    const [heads, queries, keys] = shape;
    const off = this.model.changes.off[name] ?? [];
    const heard = Array.from({ length: heads }, (_, head) => head).filter((head) => !off.includes(head));
    return Array.from({ length: keys }, (_, key) => {
      if (key < tags.length) return Infinity; // nothing is lost with a tag
      let sum = 0;
      for (const head of heard)
        for (let query = 0; query < queries - (ended ? 1 : 0); query++)
          sum += values[(head * queries + query) * keys + key];
      return heard.length ? sum / heard.length : 0;
    });
  }
}

/** @type {(names: Record<Kind, string[]>) => Kind[]} */
const namesOfKinds = (names) => /** @type {Kind[]} */ (Object.keys(names)).filter((kind) => names[kind].length > 0);
