// Text ↔ ids as SentencePiece does it, from the very model that a model file carries: its protocol buffer is read here.
// Normalisation by the model's own table, byte-pair merges or the most probable tokens, bytes for what has no token.

const [PAD_ID, START_ID, END_ID, UNKNOWN_ID] = [0, 1, 2, 3];
const PIECE = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 };
const KIND = { unigram: 1, bpe: 2, word: 3, character: 4 };
const SPACE_SIGN = "▁";
const UNKNOWN_PENALTY = 10; // below the least probable token of a unigram model

// A protocol buffer: fields by number, each with the values that came; numbers, or bytes.
/** @type {(bytes: Uint8Array) => Map<number, (number | Uint8Array)[]>} */
function readFields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** @type {Map<number, (number | Uint8Array)[]>} */
  const fields = new Map();
  let at = 0;
  const whole = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * shift;
      if (!(byte & 128)) return value;
    }
  };
  while (at < bytes.length) {
    const key = whole();
    /** @type {number | Uint8Array} */
    let value = 0;
    if ((key & 7) === 0) value = whole();
    else if ((key & 7) === 5) {
      value = view.getFloat32(at, true);
      at += 4;
    } else if ((key & 7) === 1) {
      value = view.getFloat64(at, true);
      at += 8;
    } else {
      const length = whole();
      value = bytes.subarray(at, at + length);
      at += length;
    }
    const number = Math.floor(key / 8);
    const values = fields.get(number);
    if (values) values.push(value);
    else fields.set(number, [value]);
  }
  return fields;
}

const NO_BYTES = new Uint8Array();
/** @type {(fields: Map<number, (number | Uint8Array)[]>, number: number, otherwise: number) => number} */
const numberIn = (fields, number, otherwise) => /** @type {number} */ (fields.get(number)?.at(-1) ?? otherwise);
/** @type {(fields: Map<number, (number | Uint8Array)[]>, number: number) => Uint8Array} */
const bytesIn = (fields, number) => /** @type {Uint8Array} */ (fields.get(number)?.at(-1) ?? NO_BYTES);

const toBytes = new TextEncoder();
const toText = new TextDecoder("utf-8", { ignoreBOM: true });

// How many bytes the character that begins a valid text has.
/** @type {(first: number) => number} */
const characterLength = (first) => (first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);

// Characters in their normal form: the longest of the table's keys that the text begins with is replaced, again and again.
// The table is a double array (Darts): 32 bits to a node, which say label, offset and whether a value follows.
class Normalizer {
  /**
   * @param {Map<number, (number | Uint8Array)[]>} specification
   * @param {string[]} symbols user-defined tokens, which stay as they are
   */
  constructor(specification, symbols) {
    const table = bytesIn(specification, 2);
    this.prefix = numberIn(specification, 3, 1) !== 0;
    this.trims = numberIn(specification, 4, 1) !== 0;
    this.symbols = symbols.map((each) => toBytes.encode(each)).sort((one, other) => other.length - one.length);
    const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
    const size = table.length ? view.getUint32(0, true) : 0;
    this.nodes = new Uint32Array(size / 4);
    for (let node = 0; node < this.nodes.length; node++) this.nodes[node] = view.getUint32(4 + 4 * node, true);
    this.texts = table.subarray(4 + size);
  }

  // The user-defined token that stands here, or nothing.
  /** @type {(bytes: Uint8Array, at: number) => number} */
  symbolLength(bytes, at) {
    return this.symbols.find((symbol) => symbol.every((byte, place) => bytes[at + place] === byte))?.length ?? 0;
  }

  // What stands for the longest beginning that the table knows, else for one character; and how many bytes that was.
  /** @type {(bytes: Uint8Array, at: number) => { text: Uint8Array, length: number }} */
  prefixAt(bytes, at) {
    const symbol = this.symbolLength(bytes, at);
    if (symbol) return { text: bytes.subarray(at, at + symbol), length: symbol };
    const { nodes } = this;
    let longest = 0;
    let value = 0;
    let node = nodes.length ? offsetOf(nodes[0]) : 0;
    for (let place = at; nodes.length && place < bytes.length; place++) {
      node ^= bytes[place];
      const unit = nodes[node];
      if ((unit & 0x800000ff) >>> 0 !== bytes[place]) break; // another label, or a value where no label is
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) {
        longest = place + 1 - at;
        value = nodes[node] & 0x7fffffff;
      }
    }
    if (longest) {
      const end = this.texts.indexOf(0, value);
      return { text: this.texts.subarray(value, end < 0 ? undefined : end), length: longest };
    }
    const length = characterLength(bytes[at]);
    return { text: bytes.subarray(at, at + length), length };
  }

  /** @type {(text: string) => string} */
  normalize(text) {
    const bytes = toBytes.encode(text);
    /** @type {number[]} */
    const normal = [];
    let at = 0;
    while (this.trims && at < bytes.length) {
      const { text: first, length } = this.prefixAt(bytes, at);
      if (first.length !== 1 || first[0] !== 32) break;
      at += length;
    }
    if (at >= bytes.length) return "";
    if (this.prefix) normal.push(32);
    let afterSpace = this.trims;
    while (at < bytes.length) {
      const { text: found, length } = this.prefixAt(bytes, at);
      let begin = 0;
      while (afterSpace && found[begin] === 32) begin++;
      for (let place = begin; place < found.length; place++) normal.push(found[place]);
      if (begin < found.length) afterSpace = found[found.length - 1] === 32;
      if (!this.trims) afterSpace = false;
      at += length;
    }
    let end = normal.length;
    while (this.trims && end && normal[end - 1] === 32) end--;
    return toText.decode(Uint8Array.from(normal.slice(0, end))).replaceAll(" ", SPACE_SIGN);
  }
}

/** @type {(unit: number) => number} */
const offsetOf = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);

class SentencePiece {
  /** @param {Uint8Array} model */
  constructor(model) {
    const fields = readFields(model);
    /** @type {string[]} */
    this.pieces = [];
    /** @type {number[]} */
    this.types = [];
    const scores = [];
    for (const piece of fields.get(1) ?? []) {
      const own = readFields(/** @type {Uint8Array} */ (piece));
      this.pieces.push(toText.decode(bytesIn(own, 1)));
      scores.push(numberIn(own, 2, 0));
      this.types.push(numberIn(own, 3, PIECE.normal));
    }
    this.scores = Float32Array.from(scores);
    this.kind = numberIn(readFields(bytesIn(fields, 2)), 3, KIND.unigram);
    this.unknown = this.types.indexOf(PIECE.unknown);
    const isText = [PIECE.normal, PIECE.user, PIECE.unused];
    /** @type {Map<string, number>} */
    this.ids = new Map(this.pieces.flatMap((piece, id) => (isText.includes(this.types[id]) ? [[piece, id]] : [])));
    this.symbols = this.pieces.filter((_, id) => this.types[id] === PIECE.user);
    this.bytes = new Int32Array(256).fill(-1);
    this.pieces.forEach((piece, id) => {
      if (this.types[id] === PIECE.byte) this.bytes[Number.parseInt(piece.slice(3, 5), 16)] = id;
    });
    this.longest = Math.max(1, ...[...this.ids.keys()].map((piece) => [...piece].length));
    const usual = this.scores.filter((_, id) => this.types[id] === PIECE.normal);
    this.least = usual.reduce((least, score) => Math.min(least, score), Number.POSITIVE_INFINITY);
    this.normalizer = new Normalizer(readFields(bytesIn(fields, 3)), this.symbols);
  }

  get size() {
    return this.pieces.length;
  }

  // The sign for a space is a space, and half a surrogate pair a question mark: as regard/data/tokenizer.py reads a text.
  /** @type {(text: string) => string} */
  static readable(text) {
    return text.replaceAll(SPACE_SIGN, " ").replace(/\p{Surrogate}/gu, "?");
  }

  /** @type {(text: string) => number[]} */
  encode(text) {
    const read = SentencePiece.readable(text);
    if (this.kind === KIND.word) return split(read).flatMap((word) => this.wordIds(this.normalizer.normalize(word)));
    const normal = this.normalizer.normalize(read);
    const tokens = this.kind === KIND.unigram ? this.likeliest(normal) : this.merge(normal); // characters never merge
    return tokens.flatMap((token) => this.spelled(token));
  }

  // The id of a token; what has none is spelled in bytes.
  /** @type {(token: string) => number[]} */
  spelled(token) {
    const id = this.ids.get(token);
    if (id !== undefined) return [id];
    if (this.bytes[0] < 0) return [this.unknown];
    return Array.from(toBytes.encode(token), (byte) => this.bytes[byte]);
  }

  // A vocabulary of whole words: one unknown stands for all that follow each other.
  /** @type {(normal: string) => number[]} */
  wordIds(normal) {
    const words = normal.split(SPACE_SIGN).slice(1);
    const ids = words.map((word) => this.ids.get(SPACE_SIGN + word) ?? this.unknown);
    return ids.filter((id, place) => id !== this.unknown || ids[place - 1] !== this.unknown);
  }

  // Characters, and user-defined tokens, which nothing is merged with.
  /** @type {(normal: string) => { text: string, frozen: boolean }[]} */
  symbolsOf(normal) {
    if (this.symbols.length === 0) return Array.from(normal, (text) => ({ text, frozen: false }));
    const found = [];
    for (let at = 0; at < normal.length; ) {
      const symbols = this.symbols.filter((each) => normal.startsWith(each, at));
      const symbol = symbols.reduce((long, each) => (each.length > long.length ? each : long), "");
      const text = symbol || String.fromCodePoint(normal.codePointAt(at) ?? 0);
      found.push({ text, frozen: symbol !== "" });
      at += text.length;
    }
    return found;
  }

  // Byte-pair encoding: of all neighbours the pair with the best score is merged, the leftmost of equals, until none is known.
  /** @type {(normal: string) => string[]} */
  merge(normal) {
    const symbols = this.symbolsOf(normal);
    const before = symbols.map((_, place) => place - 1);
    const after = symbols.map((_, place) => (place + 1 < symbols.length ? place + 1 : -1));
    const agenda = new Agenda();
    /** @type {(left: number, right: number) => void} */
    const consider = (left, right) => {
      if (left < 0 || right < 0 || symbols[left].frozen || symbols[right].frozen) return;
      const text = symbols[left].text + symbols[right].text;
      const id = this.ids.get(text);
      if (id !== undefined) agenda.add({ score: this.scores[id], left, right, length: text.length });
    };
    for (let place = 1; place < symbols.length; place++) consider(place - 1, place);
    for (let best = agenda.take(); best; best = agenda.take()) {
      const { left, right, length } = best;
      const text = symbols[left].text + symbols[right].text;
      if (symbols[left].text === "" || symbols[right].text === "" || text.length !== length) continue; // merged meanwhile
      symbols[left].text = text;
      symbols[right].text = "";
      after[left] = after[right];
      if (after[right] >= 0) before[after[right]] = left;
      consider(before[left], left);
      consider(left, after[left]);
    }
    return symbols.flatMap(({ text }) => (text ? [text] : []));
  }

  // Unigrams: of all ways to cut the text, that whose tokens have the greatest sum of scores (Viterbi), in 32 bits as there.
  /** @type {(normal: string) => string[]} */
  likeliest(normal) {
    const characters = [...normal];
    const sums = new Float32Array(characters.length + 1);
    const starts = new Int32Array(characters.length + 1).fill(-1);
    for (let begin = 0; begin < characters.length; begin++) {
      let text = "";
      let alone = false;
      for (let end = begin + 1; end <= Math.min(characters.length, begin + this.longest); end++) {
        text += characters[end - 1];
        const id = this.ids.get(text);
        if (id === undefined || this.types[id] === PIECE.unused) continue;
        const sum = sums[begin] + (this.types[id] === PIECE.user ? -0.1 : this.scores[id]);
        if (starts[end] < 0 || sum > sums[end]) {
          sums[end] = sum;
          starts[end] = begin;
        }
        alone ||= end === begin + 1;
      }
      const sum = Math.fround(sums[begin] + Math.fround(this.least - UNKNOWN_PENALTY));
      if (!alone && (starts[begin + 1] < 0 || sum > sums[begin + 1])) {
        sums[begin + 1] = sum;
        starts[begin + 1] = begin;
      }
    }
    const tokens = [];
    for (let end = characters.length; end > 0; end = starts[end])
      tokens.push(characters.slice(starts[end], end).join(""));
    return tokens.reverse();
  }

  // The text of ids; special ids are dropped.
  /** @type {(ids: number[]) => string} */
  decode(ids) {
    let text = "";
    /** @type {number[]} */
    let spelled = [];
    const flush = () => {
      text += textOfBytes(spelled);
      spelled = [];
    };
    for (const id of ids) {
      if (this.types[id] === PIECE.byte) {
        spelled.push(Number.parseInt(this.pieces[id].slice(3, 5), 16));
        continue;
      }
      flush();
      if (this.types[id] !== PIECE.control && this.types[id] !== PIECE.unknown)
        text += this.pieces[id].replaceAll(SPACE_SIGN, " ");
    }
    flush();
    return text.replace(/^ +| +$/g, "");
  }

  // The same on one line: bytes can spell a line end.
  /** @type {(ids: number[]) => string} */
  line(ids) {
    return splitLines(this.decode(ids)).join(" ");
  }
}

// Bytes as text; each that belongs to no character is one replacement sign.
/** @type {(bytes: number[]) => string} */
function textOfBytes(bytes) {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes[at]);
    try {
      text += strict.decode(Uint8Array.from(bytes.slice(at, at + length)));
      at += length;
    } catch {
      text += "\ufffd";
      at += 1;
    }
  }
  return text;
}

const LINE_ENDS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";
// As Python does: lines end at more characters than the line feed, and the last one needs no end.
/** @type {(text: string) => string[]} */
function splitLines(text) {
  const lines = text.split(new RegExp(`\\r\\n|[${LINE_ENDS}]`));
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

// As Python's split and strip do it: not all that JavaScript takes for white space, and some that it does not.
const WHITE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
/** @type {(text: string) => string[]} */
const split = (text) => text.split(new RegExp(`[${WHITE}]+`)).filter(Boolean);

// What to merge next: a heap whose first is the best score, the leftmost of equals.
/** @typedef {{ score: number, left: number, right: number, length: number }} Merge */
class Agenda {
  constructor() {
    /** @type {Merge[]} */
    this.heap = [];
  }

  /** @type {(one: Merge, other: Merge) => boolean} */
  static isBefore(one, other) {
    return one.score > other.score || (one.score === other.score && one.left < other.left);
  }

  /** @type {(merge: Merge) => void} */
  add(merge) {
    const { heap } = this;
    let place = heap.push(merge) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!Agenda.isBefore(heap[place], heap[parent])) break;
      [heap[place], heap[parent]] = [heap[parent], heap[place]];
      place = parent;
    }
  }

  /** @type {() => Merge | undefined} */
  take() {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || !last) return first;
    heap[0] = last;
    for (let place = 0; ; ) {
      let best = place;
      for (const child of [2 * place + 1, 2 * place + 2])
        if (child < heap.length && Agenda.isBefore(heap[child], heap[best])) best = child;
      if (best === place) return first;
      [heap[place], heap[best]] = [heap[best], heap[place]];
      place = best;
    }
  }
}
