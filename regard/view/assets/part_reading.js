// How a part of a text is read: values behind placeholders, and what is in one case in the case that the tokenizer knows.
// As regard/data/placeholders.py and regard/tasks/translation/reading.py have it.

const PLACEHOLDERS = Array.from({ length: 10 }, (_, number) => String.fromCodePoint(0x10f100 + number));
const HELD = "\\u{10f100}-\\u{10f109}";
const CHARACTER = "\\p{L}\\p{N}_"; // of a word, as Python's \w
const LETTER = "[\\p{L}\\p{Nl}\\p{No}]";
const HANGUL = "가-힣"; // which goes on behind an address: a.example에서
const HOST = `(?:(?![${HANGUL}])[${CHARACTER}]|-)`;
const SIGN = "€$£¥₩";
const UNIT =
  // what a number measures is kept with it
  `(?:[ \\u00a0\\u202f]?(?:[${SIGN}]|EUR|USD|GBP|CHF|KRW|°[CF]?|km/h|(?:[mck]?m|ha)[²³]?|[mk]?g|m?l|[kMGT]B|[kM]?Wh?|[kMG]Hz|h))`;
const ENDED = "(?![A-Za-z\\p{Nd}]|[.,:/'’\\-]\\p{Nd})";
const CODE_ENDED = `(?!(?![${HANGUL}])[${CHARACTER}]|-|\\.[${CHARACTER}])`;
const PICTURES = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}";
const VALUE_PATTERN = [
  `[${HELD}]`,
  `(?:(?:https?|s?ftp|file)://|www\\.)(?:[^${WHITE}/?#<>"„“”»«${HANGUL}${HELD}]|[${HANGUL}](?=[${HANGUL}\\-]{0,62}\\.[${CHARACTER}])){0,300}` +
    `(?:[/?#][^${WHITE}<>"„“”»«${HELD}]{0,2000})?(?<![.,;:!?)\\]'’])`,
  `(?<![${CHARACTER}.+@\\-])[${CHARACTER}.+\\-]{1,64}@${HOST}{1,63}(?:\\.${HOST}{1,63}){1,8}`,
  `(?<![${CHARACTER}.@/\\-])(?:[${CHARACTER}\\-]{1,62}\\.){1,4}(?:${ENDINGS})(?:/[${CHARACTER}./?=&%#\\-]{0,200}[${CHARACTER}/])?(?!@|${HOST})`,
  `(?<![${CHARACTER}@#&/])[@#][${CHARACTER}]{1,60}|&#?[${CHARACTER}]{1,10};`,
  `</?[A-Za-z][^<>]{0,200}>|[$%]?\\{{1,3}[${CHARACTER}.]{0,40}\\}{1,3}`,
  `%(?:\\([${CHARACTER}]{1,40}\\)|\\p{Nd}\\$)?[\\p{Nd}.]{0,4}[sdf](?![${CHARACTER}])`,
  `[${PICTURES}][\\u200d\\ufe0f${PICTURES}]{0,40}`,
  `(?<![${CHARACTER}])[A-Z]{2}\\p{Nd}\\p{Nd} ?[A-Z\\p{Nd}]{4}(?: ?\\p{Nd}[A-Z\\p{Nd}]{3}){1,6}(?: ?\\p{Nd}[A-Z\\p{Nd}]{0,2})?(?![${CHARACTER}])`,
  `(?<![${CHARACTER}.,])(?:\\+\\p{Nd}{1,4}|\\(0\\p{Nd}{1,5}\\)|0\\p{Nd}{1,5})` +
    `(?:(?:[ \\u00a0/\\-]| [/–\\-] )(?:\\(\\p{Nd}{1,4}\\) ?)?\\p{Nd}{1,8}){1,6}(?![A-Za-z\\p{Nd}])`,
  `(?<![${CHARACTER}.,])\\p{Nd}{4}-\\p{Nd}{2}-\\p{Nd}{2}T\\p{Nd}{2}:\\p{Nd}{2}(?::\\p{Nd}{2}(?:\\.\\p{Nd}{1,9})?)?` +
    `(?:Z|[+\\-]\\p{Nd}{2}:?\\p{Nd}{2})?(?![${CHARACTER}])`,
  `(?<![${CHARACTER}.@/\\-])(?![A-Z\\p{Nd}\\-]{0,60}[A-Z]{4})(?=[A-Z\\-]{0,20}\\p{Nd})(?=[\\p{Nd}\\-]{0,60}[A-Z])` +
    `[A-Z\\p{Nd}]{1,12}(?:-[A-Z\\p{Nd}]{1,12}){1,4}${CODE_ENDED}`,
  `(?<![${CHARACTER}.@/\\-])[A-Z]{1,4}\\p{Nd}{2,12}[A-Z]{0,3}${CODE_ENDED}`,
  `(?<![${CHARACTER}.,])(?:[${SIGN}] ?)?[+\\-]?` +
    `(?:\\p{Nd}{1,3}(?:[ \\u00a0\\u202f]\\p{Nd}{3}){1,4}(?:[.,]\\p{Nd}{1,40})?${UNIT}?${ENDED}` +
    `|\\p{Nd}{1,40}(?:[.,:/'’\\-]\\p{Nd}{1,40}){0,20}${UNIT}?${ENDED})`,
].join("|");
const WORD_PATTERN = `${LETTER}{1,64}(?:['’]${LETTER}{1,64}){0,3}`;
const READ = {
  value: pattern(VALUE_PATTERN, "ug"),
  word: pattern(WORD_PATTERN, "ug"),
  wordOrValue: pattern(`(${VALUE_PATTERN})|(${WORD_PATTERN})`, "ug"),
};

/** @typedef {{ text: string, values: string[], original: string, capitals: boolean, copied: boolean }} ReadPart copied: there is nothing to translate */

// The text with placeholders in place of its values, and the values; what occurs twice has one placeholder.
/** @type {(text: string) => { text: string, values: string[] }} */
function protect(text) {
  /** @type {string[]} */
  const values = [];
  const masked = text.replace(READ.value, (value) => {
    if (!values.includes(value)) {
      if (values.length === PLACEHOLDERS.length) return PLACEHOLDERS.includes(value) ? "" : value;
      values.push(value);
    }
    return PLACEHOLDERS[values.indexOf(value)];
  });
  return { text: masked, values };
}

// The values in their places; a placeholder that stands for nothing is left out.
/** @type {(text: string, values: string[]) => string} */
function restore(text, values) {
  return text.replace(pattern(`[${HELD}]`, "ug"), (held) => values[PLACEHOLDERS.indexOf(held)] ?? "");
}

// Whether all letters are capitals but for values, and there is a word of two or more.
/** @type {(text: string) => boolean} */
function inCapitals(text) {
  const bare = text.replace(READ.value, " ").replaceAll("ß", "");
  if (!/\p{Uppercase}/u.test(bare) || /[\p{Lowercase}\p{Lt}]|(?!\p{Uppercase})\p{L}/u.test(bare)) return false;
  return (bare.match(READ.word) ?? []).some((word) => [...word].length > 1);
}

/** @type {(text: string) => boolean} */
function inSmallLetters(text) {
  const bare = text.replace(READ.value, " ");
  return /\p{Lowercase}/u.test(bare) && !/[\p{Uppercase}\p{Lt}]|(?!\p{Lowercase})\p{L}/u.test(bare);
}

/** @type {(word: string) => string} */
function capitalised(word) {
  const [first, ...rest] = word;
  return first.toUpperCase() + rest.join("");
}

// All that is written like this in capitals, the most usual first: a sentence does not begin with a small letter.
/** @type {(word: string, first: boolean) => string[]} */
function formsOf(word, first) {
  const small = word.toLowerCase();
  const forms = small.includes("ss") ? [small, small.replaceAll("ss", "ß")] : [small];
  return [...forms.flatMap((form) => (first ? [capitalised(form)] : [form, capitalised(form)])), word];
}

class PartReader {
  /** @param {SentencePiece} tokenizer @param {SentenceRules} rules */
  constructor(tokenizer, rules) {
    this.tokenizer = tokenizer;
    this.rules = rules;
    this.protects = tokenizer.ids.has(PLACEHOLDERS[PLACEHOLDERS.length - 1]);
  }

  /** @type {(text: string) => ReadPart} */
  read(text) {
    const { text: masked, values } = this.protects ? protect(text) : { text, values: [] };
    if (this.protects && !/\p{L}/u.test(masked))
      return { text: masked, values, original: text, capitals: false, copied: true };
    return this.cased(masked, values, text);
  }

  // The same without placeholders.
  /** @type {(part: ReadPart) => ReadPart} */
  plain({ original }) {
    return this.cased(original, [], original);
  }

  // As many tokens as the model may have to read.
  /** @type {(text: string) => number} */
  measure(text) {
    const part = this.read(text);
    const ways = [text, part.text, this.protects ? protect(text).text : text, this.plain(part).text];
    return Math.max(...[...new Set(ways)].map((way) => this.tokenizer.encode(way).length));
  }

  /** @type {(text: string, values: string[], original: string) => ReadPart} */
  cased(text, values, original) {
    const capitals = inCapitals(text);
    const read = capitals ? this.truecase(text) : inSmallLetters(text) ? this.withCapitals(text) : text;
    return { text: read, values, original, capitals, copied: false };
  }

  // Each word in the case in which the tokenizer knows it best, the first of a sentence capitalised.
  /** @type {(text: string) => string} */
  truecase(text) {
    const sentences = splitSentences(text, this.rules).map((sentence) => {
      let begins = true;
      return sentence.replace(READ.wordOrValue, (found, value) => {
        const first = begins;
        begins = false;
        return value === undefined ? this.bestKnown(formsOf(found, first)) : found;
      });
    });
    return sentences.join("");
  }

  // A text in small letters with a capital where the tokenizer knows a word better by one.
  /** @type {(text: string) => string} */
  withCapitals(text) {
    return text.replace(READ.wordOrValue, (found, value) => {
      if (value !== undefined) return found;
      const name = capitalised(found);
      return this.tokenizer.encode(name).length < this.tokenizer.encode(found).length ? name : found;
    });
  }

  // The form of the fewest tokens; of equals the one whose tokens are the most usual, then the first.
  /** @type {(forms: string[]) => string} */
  bestKnown(forms) {
    const { tokenizer } = this;
    const ranked = forms.map((form) => {
      const ids = tokenizer.encode(form);
      return { form, count: ids.length, usual: ids.reduce((sum, id) => sum + tokenizer.scores[id], 0) };
    });
    return ranked.reduce((best, each) =>
      each.count < best.count || (each.count === best.count && each.usual > best.usual) ? each : best,
    ).form;
  }
}

// What tokens of a part's translation stand for, on one line.
/** @type {(part: ReadPart, tokens: number[], tokenizer: SentencePiece) => string} */
function writtenOf({ values, original, capitals, copied }, tokens, tokenizer) {
  if (copied) return original;
  const line = tokenizer.line(tokens);
  if (!capitals) return restore(line, values);
  let end = 0;
  let written = "";
  for (const value of line.matchAll(READ.value)) {
    written += line.slice(end, value.index).toUpperCase() + value[0];
    end = value.index + value[0].length;
  }
  return restore(written + line.slice(end).toUpperCase(), values);
}
