// Tokens → words, and what a reader should be warned of: as regard/view/words.py and regard/tasks/translation/warnings.py do.

const SPECIAL_TOKENS = ["<s>", "</s>", "<pad>"];
const NO_SPACES = /^[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/;
const BYTE_TOKEN = /^<0x([0-9A-F]{2})>$/;
const LATER_BYTE = /^<0x[89AB][0-9A-F]>$/; // in UTF-8 such a byte goes on with a character
const ENDLESS = 8; // so often nothing repeats for a reason
const LONGEST_RUN = 12;
const STUTTER = /(\p{L}{1,4}?)\1{3,}/iu; // BABABABA
const COVERED = { seen: 0.5, missed: 0.75 }; // how much attention a word's tokens get, and how much words side by side may lack of it

/** @type {(token: string) => string} */
const bare = (token) => token.replace(/^▁+|▁+$/g, "");
/** @type {(token: string) => boolean} */
const isPunctuation = (token) => {
  const text = bare(token);
  return (
    text !== "" &&
    !SPECIAL_TOKENS.includes(token) &&
    !/<0x[0-9A-F]{2}>/.test(text) &&
    /^[\p{P}\p{S}\p{Z}]+$/u.test(text)
  );
};

/** @type {(tokens: string[], place: number, spaced: boolean) => boolean} */
function begins(tokens, place, spaced) {
  const [before, token] = [tokens[place - 1], tokens[place]];
  if (LATER_BYTE.test(token) && BYTE_TOKEN.test(before)) return false;
  if (!spaced || SPECIAL_TOKENS.includes(token) || SPECIAL_TOKENS.includes(before)) return true;
  if (bare(before) === "") return false; // a space by itself opens the word that follows
  if (token.startsWith("▁") || NO_SPACES.test(token)) return true;
  return isPunctuation(token) !== isPunctuation(before);
}

/** @type {(tokens: string[]) => string} */
function textOfTokens(tokens) {
  const bytes = tokens.flatMap((token) => {
    const byte = BYTE_TOKEN.exec(token);
    return byte ? [Number.parseInt(byte[1], 16)] : [...toBytes.encode(token)];
  });
  return toText
    .decode(Uint8Array.from(bytes))
    .replaceAll("▁", " ")
    .replace(/^ +| +$/g, "");
}

// A sentence for the page: its text, its tokens, and the words that they make up.
/** @type {(text: string, tokens: string[]) => Side} */
function sideOf(text, tokens) {
  const spaced = tokens.some((token) => token.startsWith("▁"));
  const starts = tokens.flatMap((_, place) => (place === 0 || begins(tokens, place, spaced) ? [place] : []));
  const words = starts.map((first, number) => {
    const end = starts[number + 1] ?? tokens.length;
    return { first, end, text: textOfTokens(tokens.slice(first, end)) };
  });
  return { text, tokens, words };
}

// Words that come again at once, as places, and how often; the longest stretch of each place. Case is one, and behind two words marks are.
/** @type {(texts: string[]) => { places: number[], times: number }[]} */
function repeatedRuns(texts) {
  const words = texts.map((text) => text.toLowerCase());
  const level = words.map((word) => (/[\p{L}\p{N}]/u.test(word) ? word : ","));
  const found = [];
  for (let place = 0; place < words.length; ) {
    let best = { stretch: 0, length: 0, times: 0 };
    for (let length = 1; length <= LONGEST_RUN; length++) {
      const times = timesOf(length > 2 ? level : words, place, length);
      if (times > 1 && times * length > best.stretch) best = { stretch: times * length, length, times };
    }
    const from = place;
    if (best.stretch)
      found.push({ places: Array.from({ length: best.stretch }, (_, step) => from + step), times: best.times });
    place += best.stretch || 1;
  }
  return found;
}

// Runs of output words that say the same again, more often than the source does, and words that stutter.
/** @type {(words: string[], source: string[]) => number[][]} */
function repeatedWords(words, source) {
  const usual = Math.max(1, ...repeatedRuns(source).map(({ times }) => times));
  const runs = repeatedRuns(words).flatMap(({ places, times }) => (times > usual ? [places] : []));
  const told = new Set(runs.flat());
  if (!source.some((word) => STUTTER.test(word)))
    for (const [place, word] of words.entries()) if (!told.has(place) && STUTTER.test(word)) runs.push([place]);
  return runs.sort((a, b) => a[0] - b[0]);
}

/** @type {(words: string[], place: number, length: number) => number} */
function timesOf(words, place, length) {
  const run = words.slice(place, place + length);
  let times = 1;
  while (
    place + (times + 1) * length <= words.length &&
    run.every((word, step) => words[place + times * length + step] === word)
  )
    times += 1;
  const letters = run.join("").match(/\p{L}/gu)?.length ?? 0;
  return letters * times > 2 || times >= ENDLESS ? times : 1;
}

// Runs of source words that were hardly looked at, by how much attention each token got in all.
/** @type {(covered: number[], source: Side) => number[][]} */
function unseenWords(covered, { tokens, words }) {
  const amounts = words.map(({ first, end, text }) =>
    SPECIAL_TOKENS.includes(tokens[first]) || !/[\p{L}\p{N}]/u.test(text)
      ? Number.POSITIVE_INFINITY
      : covered.slice(first, end).reduce((sum, each) => sum + each, 0) / (end - first),
  );
  const lacks = amounts.map((amount) => Math.max(0, 1 - amount / COVERED.seen));
  /** @type {number[][]} */
  const runs = [];
  lacks.forEach((lack, word) => {
    if (lack === 0) return;
    const last = runs[runs.length - 1];
    if (last?.at(-1) === word - 1) last.push(word);
    else runs.push([word]);
  });
  return runs.filter((run) => run.reduce((sum, word) => sum + lacks[word] ** 2, 0) >= COVERED.missed);
}

// What a reader should mistrust of one translation; `covered` is nothing where the model has no cross-attention.
/** @type {(source: Side, target: Side, covered: number[] | null) => Warning[]} */
function warningsOf(source, target, covered) {
  const spelled = source.words.flatMap(({ first, end }, word) =>
    source.tokens.slice(first, end).some((token) => BYTE_TOKEN.test(token)) ? [[word]] : [],
  );
  /** @type {(side: Side) => string[]} */
  const textsOf = ({ words }) => words.map(({ text }) => text);
  /** @type {(kind: Warning["kind"], side: Warning["side"], runs: number[][]) => Warning[]} */
  const told = (kind, side, runs) => runs.map((words) => ({ kind, side, words }));
  return [
    ...told("unseen", "source", covered ? unseenWords(covered, source) : []),
    ...told("spelled", "source", spelled),
    ...told("repeated", "target", repeatedWords(textsOf(target), textsOf(source))),
  ];
}
