// Greedy and beam search of one sentence, by the rules of regard/decoding/search.py; it remembers its steps to be looked at.

/**
 * @typedef {{ tokens: number[], total: number, past: KeyValue[] }} Hypothesis what is being written
 * @typedef {{ parent: number, token: number, log_probability: number, total: number, score: number }} Candidate
 * @typedef {{ tokens: number[], score: number, total: number, ended: boolean }} Written
 * @typedef {{ kept: Candidate[], finished: Candidate[] }} Step
 */

/** @type {(row: Float32Array) => Float64Array} */
function logSoftmax(row) {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const value of row) if (value > greatest) greatest = value;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - greatest);
  const shift = greatest + Math.log(sum);
  return Float64Array.from(row, (value) => value - shift);
}

// What a log-probability is divided by: lp(Y) of Wu et al. (2016).
/** @type {(length: number, settings: DecodingSettings) => number} */
function penalty(length, { length_penalty: kind, alpha }) {
  if (kind === "paper") return ((5 + length) / 6) ** alpha;
  return kind === "mean" ? length : 1;
}

// The most steps an output may take, its end included.
/** @type {(length: number, settings: DecodingSettings, most: number) => number} */
const lengthLimit = (length, { max_ratio: ratio, max_extra: extra }, most) =>
  Math.min(Math.floor(Math.min(ratio * length, most)) + extra, most);

// Never a start, padding or unknown token; and no run of so many tokens twice, if that is asked for.
/** @type {(scores: Float64Array, tokens: number[], ngram: number) => Float64Array} */
function constrain(scores, tokens, ngram) {
  for (const id of [PAD_ID, START_ID, UNKNOWN_ID]) scores[id] = Number.NEGATIVE_INFINITY;
  if (ngram > 0 && tokens.length >= ngram) {
    const recent = tokens.slice(tokens.length - ngram + 1);
    for (let at = 0; at + ngram <= tokens.length; at++)
      if (recent.every((token, place) => tokens[at + place] === token))
        scores[tokens[at + ngram - 1]] = Number.NEGATIVE_INFINITY;
  }
  return scores;
}

// The best ways to go on, best first.
/** @type {(active: Hypothesis[], scores: Float64Array[], count: number, divisor: number) => Candidate[]} */
function bestCandidates(active, scores, count, divisor) {
  /** @type {Candidate[]} */
  const best = [];
  scores.forEach((row, parent) => {
    const { total } = active[parent];
    for (let token = 0; token < row.length; token++) {
      const sum = total + row[token];
      if (sum === Number.NEGATIVE_INFINITY || (best.length === count && sum <= best[count - 1].total)) continue;
      let place = best.length;
      while (place > 0 && best[place - 1].total < sum) place--;
      best.splice(place, 0, { parent, token, log_probability: row[token], total: sum, score: sum / divisor });
      if (best.length > count) best.pop();
    }
  });
  return best;
}

// All that was written, best first, and how; it goes on until nothing unfinished can enter the `nbest` best.
/** @type {(model: TransformerModel, source: number[], settings: DecodingSettings, nbest?: number) => { written: Written[], steps: Step[] }} */
function search(model, source, settings, nbest = 1) {
  const width = settings.beam;
  const limit = lengthLimit(source.length - 1, settings, model.settings.max_positions); // without the end
  const greatest = penalty(limit, settings);
  const { memory, past } = model.start(source);
  /** @type {Hypothesis[]} */
  let active = [{ tokens: [], total: 0, past }];
  /** @type {Written[]} */
  const written = [];
  /** @type {Step[]} */
  const steps = [];
  while (limit > 0) {
    const last = active.map(({ tokens }) => tokens.at(-1) ?? START_ID);
    const pasts = active.map((hypothesis) => hypothesis.past);
    const { logits, pasts: longer } = model.step(last, pasts, memory);
    const length = active[0].tokens.length + 1;
    const scores = logits.map((row, each) => constrain(logSoftmax(row), active[each].tokens, settings.no_repeat_ngram));
    const found = bestCandidates(active, scores, width === 1 ? 1 : 2 * width, penalty(length, settings));
    /** @type {(candidate: Candidate) => boolean} */
    const stops = ({ token }) => token === END_ID || length === limit;
    const finished = found.slice(0, width).filter(stops);
    for (const { parent, token, total, score } of finished) {
      const ended = token === END_ID;
      written.push({ tokens: [...active[parent].tokens, ...(ended ? [] : [token])], score, total, ended });
    }
    if (found.length === 0 && length > 1 && written.length === 0) written.push(stuck(active, length - 1, settings));
    const kept = found.filter((each) => !stops(each)).slice(0, width);
    steps.push({ kept, finished });
    const lastOfBest = written.map(({ score }) => score).sort((one, other) => other - one)[nbest - 1];
    // Log-probabilities only fall, and at the limit they are divided by the most.
    if (kept.length === 0 || written.length >= width || lastOfBest >= kept[0].total / greatest) break;
    active = kept.map(({ parent, token, total }) => ({
      tokens: [...active[parent].tokens, token],
      total,
      past: longer[parent],
    }));
  }
  if (limit === 0) written.push({ tokens: [], score: 0, total: 0, ended: false });
  if (written.length === 0) throw new Error("the sentence has no possible output");
  return { written: written.sort((one, other) => other.score - one.score).slice(0, nbest), steps };
}

// What is written of a sentence that can go on in no way and never finished.
/** @type {(active: Hypothesis[], length: number, settings: DecodingSettings) => Written} */
function stuck(active, length, settings) {
  const { tokens, total } = active.reduce((best, each) => (each.total > best.total ? each : best));
  return { tokens, total, score: total / penalty(length, settings), ended: false };
}
