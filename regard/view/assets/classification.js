// A text classifier inside a page, as regard/tasks/classification decides and explains: windows that vote, attention rollout,
// n-grams, and what each word's vector does to the label's log-odds.

const MULTIPLIER = 6364136223846793005n; // of the hash of n-grams
const NGRAM_SCALE = 20;
const MOST_WINDOWS = 8;
const MOST_NGRAMS = 12;
const MOST_PRODUCTS = 1e9; // multiplications spent on gradients, two passes for each token: about a second
const SHIFT = 0.001; // by which share a vector grows and shrinks to find the gradient

class PortableClassifier {
  /** @param {PortableClassification} given */
  constructor(given) {
    this.given = given;
    this.tokenizer = new SentencePiece(bytesOf(given.tokenizer.joint ?? given.tokenizer.source ?? ""));
    this.model = new StackedLayers(unpackWeights(given.weights), given.settings);
  }

  /** @type {(text: string) => number[]} */
  encode(text) {
    let read = text;
    for (const [old, other] of Object.entries(this.given.replace)) read = read.replaceAll(old, () => other);
    return this.tokenizer.encode(split(read).join(" "));
  }

  // What of a text is read: all of it, or what the recipe says; windows overlap by half.
  /** @type {(ids: number[]) => number[][]} */
  windows(ids) {
    const { max_tokens: most, long } = this.given;
    const half = Math.floor(most / 2);
    if (ids.length <= most) return [ids];
    if (long === "first") return [ids.slice(0, most)];
    if (long === "ends") return [[...ids.slice(0, most - half), ...ids.slice(ids.length - half)]];
    const starts = [];
    for (let start = 0; start < ids.length - most; start += Math.max(1, half)) starts.push(start);
    return [...starts, ids.length - most].map((start) => ids.slice(start, start + most));
  }

  // States [T, D] → one vector for all of the text.
  /** @type {(states: Rows) => Float32Array} */
  pool(states) {
    const { pooling } = this.given.settings;
    if (pooling === "first") return states[0];
    return states[0].map((_, i) => {
      const column = states.map((row) => row[i]);
      return pooling === "max" ? Math.max(...column) : column.reduce((sum, each) => sum + each, 0) / column.length;
    });
  }

  // Logits [C] of what attention found of embedded tokens, and the states that they came from.
  /** @type {(embedded: Rows) => { logits: number[], states: Rows }} */
  attended(embedded) {
    const states = this.model.layers(embedded, false);
    const pooled = this.pool(states);
    this.model.note("model", () => ({ pooled: { shape: [pooled.length], values: pooled } }));
    return { logits: [...this.model.linear([pooled], "output")[0]], states };
  }

  // The bucket of each n-gram, with its place and length.
  /** @type {(ids: number[]) => { first: number, length: number, bucket: number }[]} */
  ngrams(ids) {
    const table = this.model.tensors.get("ngram_bag.table.weight");
    if (!table) return [];
    const buckets = BigInt(table.shape[0] - 1);
    /** @type {(number: bigint, bits: bigint) => bigint} */
    const mix = (number, bits) => number ^ (number >> bits);
    /** @type {(number: bigint) => bigint} */
    const whole = (number) => BigInt.asIntN(64, number);
    const found = [];
    let hashed = ids.map(() => 0n);
    for (let length = 1; length <= Math.min(this.given.settings.ngrams, ids.length); length++) {
      hashed = Array.from({ length: ids.length - length + 1 }, (_, first) => {
        const next = whole(hashed[first] * MULTIPLIER + BigInt(ids[first + length - 1]));
        return mix(whole(mix(next, 31n) * MULTIPLIER), 29n);
      });
      for (const [first, number] of hashed.entries())
        found.push({ first, length, bucket: 1 + Number(((number % buckets) + buckets) % buckets) });
    }
    return found;
  }

  // Logits [C] that the different n-grams of a text add up to; nothing if the model has none.
  /** @type {(ids: number[]) => number[] | null} */
  counted(ids) {
    const table = this.model.tensors.get("ngram_bag.table.weight");
    if (!table) return null;
    const buckets = new Set(this.ngrams(ids).map(({ bucket }) => bucket));
    const scale = NGRAM_SCALE / Math.sqrt(Math.max(1, buckets.size));
    const labels = table.shape[1];
    return Array.from({ length: labels }, (_, label) =>
      [...buckets].reduce((sum, bucket) => sum + scale * table.values[bucket * labels + label], 0),
    );
  }

  // Logits of one window: of attention, and of n-grams if there are any.
  /** @type {(ids: number[], embedded: Rows) => { separate: number[][], states: Rows }} */
  separate(ids, embedded) {
    const { logits, states } = this.attended(embedded);
    const counted = this.counted(ids);
    return { separate: counted ? [logits, counted] : [logits], states };
  }

  /** @type {(request: LiveRequest) => Scene[]} */
  scenes({ text, off, temperature, hard }) {
    const { given, model } = this;
    const ids = this.encode(text);
    if (ids.length === 0) throw new Error("an empty text has nothing to look at");
    model.changes = { off, temperature, hard };
    model.record = null;
    const start = given.settings.pooling === "first" ? [START_ID] : [];
    const windows = this.windows(ids).map((window) => [...start, ...window]);
    const votes = windows.map((window) =>
      logSoftmax(Float32Array.from(summed(this.separate(window, model.embed(window, "embedding")).separate))),
    );
    const voted = given.labels.map((_, label) =>
      Math.log(votes.reduce((sum, vote) => sum + Math.exp(vote[label]), 0) / votes.length),
    );
    const shares = [...logSoftmax(Float32Array.from(voted, (each) => each / given.temperature))].map(Math.exp);
    /** @type {[string, number][]} */
    const probabilities = given.labels.map((label, place) => [label, shares[place]]);
    probabilities.sort((one, other) => other[1] - one[1]);
    const cut = ids.length > given.max_tokens && windows.length === 1;
    return windows
      .slice(0, MOST_WINDOWS)
      .map((window, number) => this.scene(text, window, number, windows.length, probabilities, cut));
  }

  /** @type {(text: string, ids: number[], number: number, parts: number, probabilities: [string, number][], cut: boolean) => Scene} */
  scene(text, ids, number, parts, probabilities, cut) {
    const { given, model } = this;
    const label = given.labels.indexOf(probabilities[0][0]);
    /** @type {Record_} */
    const record = new Map();
    model.record = record;
    const embedded = model.embed(ids, "embedding");
    const { separate, states } = this.separate(ids, embedded);
    model.record = null;
    const tokens = ids.map((id) => this.tokenizer.pieces[id]);
    const before = given.long === "first" ? given.max_tokens : given.max_tokens - Math.floor(given.max_tokens / 2);
    const gap = cut ? before + (ids.length - given.max_tokens) : null;
    const source = sidesOfGap(text, tokens, gap);
    const byLogit = this.byLogit(summed(separate), label);
    const weights = weightsOf(record, model.names, model.changes);
    const attention = this.rollout(record, this.pooledFrom(states, byLogit));
    const ngrams = this.contributions(ids, byLogit);
    /** @type {(values: number[]) => number[]} */
    const byWord = (values) =>
      source.words.map(({ first, end }) => values.slice(first, end).reduce((sum, each) => sum + each, 0));
    const nothing = { text: "", tokens: [], words: [] };
    const walk = walkOf(record);
    return {
      title: given.title,
      facts: given.facts,
      shape: given.shape,
      parts,
      source,
      target: nothing,
      read: nothing,
      attention: { encoder: weights },
      alternatives: [],
      steps: [],
      search: null,
      warnings: [],
      decision: {
        label: probabilities[0][0],
        probabilities,
        window: number + 1,
        gap,
        mapped: true,
        words: {
          attention: byWord(attention),
          ...(this.productsOf(ids.length) * Math.min(parts, MOST_WINDOWS) <= MOST_PRODUCTS && {
            gradient: byWord(this.gradient(ids, embedded, separate, label)),
          }),
          ...(ngrams && { ngrams: byWord(sharedAmong(ngrams, ids.length)) }),
        },
        ngrams: ngrams ? strongest(ngrams, tokens).slice(0, MOST_NGRAMS) : [],
        labels: given.labels,
        logits: separate,
        temperature: given.temperature,
      },
      positions: positionsOf(model, "embedding", ids.length),
      stacks: given.stacks,
      walk: walkSize(walk) * Math.min(parts, MOST_WINDOWS) <= MOST_WALKED ? walk : null,
      lens: statesAfter(model, record, given.stacks[0], "norm").map((each) => [
        this.decided(each, separate.slice(1), label),
      ]),
      matrices: matricesOf(model, given.stacks),
    };
  }

  // What the states of a layer would decide, were it the last.
  /** @type {(states: Rows, others: number[][], label: number) => Alternatives} */
  decided(states, others, label) {
    const { labels, temperature } = this.given;
    const logits = summed([[...this.model.linear([this.pool(states)], "output")[0]], ...others]);
    const scaled = Float32Array.from(logits, (each) => each / temperature);
    const shares = Float32Array.from(logSoftmax(scaled), Math.exp);
    const best = topPlaces(shares, SHOWN_BY_LENS);
    return {
      tokens: best.map((place) => labels[place]),
      probabilities: best.map((place) => shares[place]),
      logits: best.map((place) => scaled[place]),
      probability: shares[label],
      rank: 1 + shares.reduce((count, share) => count + Number(share > shares[label]), 0),
    };
  }

  // log p / (1 − p) of a label by calibrated logits.
  /** @type {(logits: number[], label: number) => number} */
  logOdds(logits, label) {
    const scaled = logits.map((each) => each / this.given.temperature);
    const others = scaled.filter((_, place) => place !== label);
    const greatest = Math.max(...others);
    return scaled[label] - greatest - Math.log(others.reduce((sum, each) => sum + Math.exp(each - greatest), 0));
  }

  // How the log-odds move with each logit [C].
  /** @type {(logits: number[], label: number) => number[]} */
  byLogit(logits, label) {
    const others = Float32Array.from(logits, (each, place) =>
      place === label ? Number.NEGATIVE_INFINITY : each / this.given.temperature,
    );
    const shares = logSoftmax(others).map(Math.exp);
    return logits.map((_, place) => (place === label ? 1 : -shares[place]) / this.given.temperature);
  }

  // Which share of the pooled vector each position gave [T]; of `max`, each number counts as much as it decides.
  /** @type {(states: Rows, byLogit: number[]) => number[]} */
  pooledFrom(states, byLogit) {
    const { pooling, width } = this.given.settings;
    if (pooling === "mean") return states.map(() => 1 / states.length);
    if (pooling === "first") return states.map((_, place) => (place === 0 ? 1 : 0));
    const { values } = this.model.tensor("output.weight"); // [C, D]
    const winners = Array.from(states[0], (_, i) =>
      states.reduce((best, row, place) => (row[i] > states[best][i] ? place : best), 0),
    );
    const decides = winners.map((place, i) =>
      Math.abs(byLogit.reduce((sum, each, label) => sum + each * values[label * width + i], 0) * states[place][i]),
    );
    const total = decides.reduce((sum, each) => sum + each, 0);
    const shares = states.map(() => 0);
    winners.forEach((place, i) => {
      shares[place] += total > 0 ? decides[i] / total : 1 / decides.length;
    });
    return shares;
  }

  // Attention rollout (Abnar and Zuidema 2020): a position keeps half of itself in every layer, and mixes in the other half.
  /** @type {(record: Record_, pooled: number[]) => number[]} */
  rollout(record, pooled) {
    return this.model.names.reduceRight((share, name) => {
      const { shape, values } = /** @type {Record<string, PlainTensor>} */ (record.get(name)).weights;
      const [heads, length] = shape;
      return share.map((own, key) => {
        let mixed = 0;
        for (let head = 0; head < heads; head++)
          for (let query = 0; query < length; query++)
            mixed += (share[query] * values[(head * length + query) * length + key]) / heads;
        return (own + mixed) / 2;
      });
    }, pooled);
  }

  // Each n-gram wherever it stands; one that comes again counts once, divided among its places.
  /** @type {(ids: number[], byLogit: number[]) => Contribution[] | null} */
  contributions(ids, byLogit) {
    const table = this.model.tensors.get("ngram_bag.table.weight");
    if (!table) return null;
    const found = this.ngrams(ids);
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (const { bucket } of found) counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    const scale = NGRAM_SCALE / Math.sqrt(Math.max(1, counts.size));
    return found.map(({ first, length, bucket }) => {
      const sum = byLogit.reduce((all, each, label) => all + each * table.values[bucket * byLogit.length + label], 0);
      return { first, length, value: (sum * scale) / (counts.get(bucket) ?? 1) };
    });
  }

  // What the gradients of a window of so many tokens cost.
  /** @type {(length: number) => number} */
  productsOf(length) {
    const { layers, width, feed_forward: wide } = this.given.settings;
    return 2 * length * length * layers * (4 * width * width + 2 * width * wide);
  }

  // Gradient × input of each token [T]: how the log-odds move when its vector grows and shrinks a little.
  /** @type {(ids: number[], embedded: Rows, separate: number[][], label: number) => number[]} */
  gradient(ids, embedded, separate, label) {
    const others = separate.slice(1);
    const { values } = this.model.tensor("embedding.table.weight");
    const { width } = this.given.settings;
    /** @type {(place: number, by: number) => number} */
    const moved = (place, by) => {
      const factor = by * Math.sqrt(width);
      const vector = embedded[place].map((each, i) => each + factor * values[ids[place] * width + i]);
      const { logits } = this.attended(embedded.map((row, each) => (each === place ? vector : row)));
      return this.logOdds(summed([logits, ...others]), label);
    };
    return ids.map((_, place) => (moved(place, SHIFT) - moved(place, -SHIFT)) / (2 * SHIFT));
  }
}

/** @typedef {{ first: number, length: number, value: number }} Contribution */

/** @type {(rows: number[][]) => number[]} */
const summed = (rows) => rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0));

// What n-grams add, shared evenly among their tokens.
/** @type {(ngrams: Contribution[], length: number) => number[]} */
function sharedAmong(ngrams, length) {
  const shared = Array.from({ length }, () => 0);
  for (const { first, length: count, value } of ngrams)
    for (let place = first; place < first + count; place++) shared[place] += value / count;
  return shared;
}

// N-grams by their text, the strongest first.
/** @type {(ngrams: Contribution[], tokens: string[]) => [string, number][]} */
function strongest(ngrams, tokens) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { first, length, value } of ngrams) {
    const text = textOfTokens(tokens.slice(first, first + length)).replaceAll("\ufffd", "…"); // some bytes of a character
    sums.set(text || "␣", (sums.get(text || "␣") ?? 0) + value);
  }
  return [...sums].sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
}

// The words of a text of which a part was left out: none reaches across the gap.
/** @type {(text: string, tokens: string[], gap: number | null) => Side} */
function sidesOfGap(text, tokens, gap) {
  const end = gap ?? tokens.length;
  const after = sideOf("", tokens.slice(end)).words.map((word) => ({
    ...word,
    first: word.first + end,
    end: word.end + end,
  }));
  const words = [...sideOf("", tokens.slice(0, end)).words, ...after];
  return { text, tokens, words: words.map((word) => ({ ...word, text: word.text || "␣" })) };
}
