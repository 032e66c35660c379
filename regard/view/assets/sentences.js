// A text → parts as the model was trained on: sentences by rules that know abbreviations, and none too long.
// The rules are those of regard/data/sentences.py and regard/tasks/translation/splitting.py, the lists come from there.

const CLOSERS = "‟\"'”’“»›)\\]}」』》）】";
const CLOSERS_WIDE = CLOSERS.replace("“", ""); // which closes in German, and opens where marks are wide
const WIDE = "。！？｡．؟۔।॥။។።፧";
const ENDINGS = // of the name of a site or a file
  "com|org|net|edu|gov|info|example|io|eu|de|at|ch|fr|uk|es|it|nl|kr|jp|cn" +
  "|pdf|docx?|xlsx?|pptx?|odt|txt|csv|tsv|jsonl?|xml|html?|md|srt|zip|png|jpe?g|gif|mp3|mp4|py|js|toml";
const LOOK_BACK = 40;
const WRAPPED = 50; // characters of a line that ends because the page does, not the sentence
/** @type {(pattern: string, flags?: string) => RegExp} */
const pattern = (text, flags = "uy") => new RegExp(text, flags);
const MARKS = {
  end: pattern(
    `(?<latin>[.!?…‥]+|(?<=[\\u0370-\\u03ff\\u1f00-\\u1fff])[;\\u037e][.!…]*)[${CLOSERS}]*` +
      `|(?<wide>[${WIDE}][${WIDE}.!?…‥]*)[${CLOSERS_WIDE}]*|(?<lines>\\n[${WHITE}]*)`,
    "ug",
  ),
  space: pattern(`[${WHITE}]*`),
  guillemet: pattern(`[${WHITE}]?[»›]+`),
  word: pattern(`[^${WHITE}"'„“”‚‘’«»()\\[\\]{}¿¡…]+$`, "u"),
  openers: pattern(`["'„“”‚‘’«»(\\[{¿¡—–\\-*•${WHITE}]*`),
  nextWord: pattern("[\\p{L}\\p{Nl}\\p{No}]+"),
  glued: pattern(`[\\p{L}\\p{Nl}\\p{No}]{2,40}(?=[${WHITE},;:!?…'’]|\\.(?![\\p{L}\\p{N}_])|$)`),
  initials: pattern(`(?:^|[${WHITE}])[\\p{L}\\p{N}_]\\.[${WHITE}]?$`, "u"),
  spaced: pattern(`(?:(?<![^${WHITE}])[\\p{L}\\p{Nl}\\p{No}]{1,3}\\.[${WHITE}]?)+$`, "u"), // the same, and the EE. of EE. UU.
  address: pattern(`[@/]|^[Ww]{3}\\.|[\\p{L}\\p{N}_-]{2}\\.(?:${ENDINGS})$`, "u"),
  ideographs: pattern("[\\u3040-\\u30ff\\u3400-\\u9fff]"),
  arabic: pattern("^[\\u0620-\\u064a]$", "u"), // single letters abbreviate, as in د. أحمد
  ofYear: pattern(`(?:^|\\P{Nd})\\p{Nd}{4}\\.[${WHITE}]?$`, "u"), // before the 5. of 2026. 5. 3.
  monthOrDay: pattern("\\p{Nd}{1,2}\\."),
  monthAndYear: pattern(`(?:0?[1-9]|1[0-2])\\.[${WHITE}]?\\p{Nd}{4}(?!\\p{Nd})`),
  measured: pattern(`\\p{Nd}[${WHITE}]?$`, "u"), // before the m of 1,80 m
  roman: pattern("^[IVXLC]{1,7}$", "u"),
  quotedOn: pattern("と|って|이?라(?:고|며|는)|하(?:고|며|면서) "),
  clause: pattern(`[,;:][${WHITE}]+|[、，；：،؛]+[${WHITE}]*|(?<![${WHITE}])[${WHITE}]+(?=[—–-][${WHITE}])`, "ug"),
  spaces: pattern(`[${WHITE}]+`, "ug"),
  list: pattern("(?:[\\-–—*•·▪◦‣>#]{1,6}|\\(?(?:\\p{Nd}{1,3}|[A-Za-z])\\))[ \\t\\u00a0]+"), // what its lines begin with
};

// Where a match that begins exactly here ends; −1: there is none.
/** @type {(expression: RegExp, text: string, at: number) => number} */
function matchEnd(expression, text, at) {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : -1;
}

/** @type {(character: string | undefined) => boolean} */
const isLower = (character) => character !== undefined && /^\p{Lowercase}$/u.test(character);
/** @type {(character: string | undefined) => boolean} */
const isHangul = (character) => character !== undefined && character >= "가" && character <= "힣";
/** @type {(text: string) => string} */
const strip = (text) => text.replace(pattern(`^[${WHITE}]+|[${WHITE}]+$`, "ug"), "");

// Sentences that together are the text: white space stays at the end of the sentence that it follows.
/** @type {(text: string, rules: SentenceRules) => string[]} */
function splitSentences(text, rules) {
  const lower = text.toUpperCase() !== text.toLowerCase() && text === text.toLowerCase(); // who writes no capitals at all
  const cuts = [0];
  for (const mark of text.matchAll(MARKS.end)) {
    const end = matchEnd(MARKS.space, text, mark.index + mark[0].length);
    if (mark.index < cuts[cuts.length - 1] || end >= text.length) continue;
    const cut = boundary(text, mark, end, rules, lower);
    if (cut) cuts.push(cut);
  }
  return [...cuts, text.length]
    .slice(1)
    .flatMap((end, place) => (cuts[place] < end ? [text.slice(cuts[place], end)] : []));
}

// Where the next sentence begins, behind the white space at `end`; 0 if it does not.
/** @type {(text: string, mark: RegExpExecArray, end: number, rules: SentenceRules, lower: boolean) => number} */
function boundary(text, mark, end, rules, lower) {
  const { latin, wide, lines } = mark.groups ?? {};
  const markEnd = mark.index + mark[0].length;
  if (lines !== undefined) return endsAtLine(text, mark.index, lines, end) ? end : 0;
  if (wide === "．" && /^\p{Nd}$/u.test(text[mark.index - 1] ?? "")) return 0; // ３．５
  if (wide !== undefined) return matchEnd(MARKS.quotedOn, text, end) >= 0 && mark[0].length > wide.length ? 0 : end;
  const alone = mark[0].length === latin.length;
  if (!alone && matchEnd(MARKS.quotedOn, text, end) >= 0) return 0;
  if (end === markEnd) return alone && endsWithoutSpace(text, mark.index, latin, rules) ? end : 0;
  const closing = rules.code === "de" ? -1 : matchEnd(MARKS.guillemet, text, markEnd);
  const begin = closing < 0 ? end : matchEnd(MARKS.space, text, closing);
  if (begin === text.length) return 0;
  const opened = begin + matchEnd(MARKS.openers, text.slice(begin, begin + LOOK_BACK), 0);
  const [follows] = text.slice(opened, opened + 2);
  if (isLower(follows) && !lower)
    return alone && closing < 0 && "!?;\u037e".includes(latin[latin.length - 1]) ? begin : 0;
  return latin !== "." || stopEnds(text, mark.index, begin, rules) ? begin : 0;
}

// Whether a single full stop ends the sentence, though a capital letter, a number or a script without case follows.
/** @type {(text: string, stop: number, end: number, rules: SentenceRules) => boolean} */
function stopEnds(text, stop, end, rules) {
  const before = text.slice(Math.max(0, stop - LOOK_BACK), stop);
  const found = MARKS.word.exec(before);
  if (!found) return true;
  const [word] = found;
  const ahead = text.slice(end, end + LOOK_BACK);
  const opened = matchEnd(MARKS.openers, ahead, 0);
  const following = matchEnd(MARKS.nextWord, ahead, opened);
  const nextWord = following < 0 ? "" : ahead.slice(opened, following);
  const next = nextWord.toLowerCase();
  const starts = rules.starters.includes(next);
  const name = spelledOut(word, before.slice(0, found.index), rules);
  if ([...name].length === 1 && word.toUpperCase() !== name) {
    if (rules.code === "en" && word === "I") return true;
    const aheadOf = before.slice(0, found.index);
    return starts && (isLower(word) ? MARKS.measured.test(aheadOf) : !MARKS.initials.test(aheadOf));
  }
  if (MARKS.arabic.test(word)) return false;
  if (/^\p{N}/u.test(ahead) && (rules.numbered.includes(name) || (rules.code === "de" && name.endsWith("str"))))
    return false; // Hauptstr. 5
  if (rules.never.includes(name)) return false;
  if (rules.closing.includes(name)) return starts || /^\p{Uppercase}/u.test(nextWord);
  const dotted = word.includes(".") && !/\p{Nd}/u.test(word) && !MARKS.address.test(word);
  if (rules.maybe.includes(name) || dotted || (word.length > 1 && MARKS.roman.test(word))) return starts;
  if (/^\p{Nd}{1,4}$/u.test(word)) return numberEnds(word, before.slice(0, found.index), ahead, next, starts, rules);
  return true;
}

// An abbreviation as the lists have it: z.b for the B of z. B.
/** @type {(word: string, before: string, rules: SentenceRules) => string} */
function spelledOut(word, before, rules) {
  const whole = `${MARKS.spaced.exec(before)?.[0] ?? ""}${word}`.replace(MARKS.spaces, "").toLowerCase();
  return [rules.never, rules.maybe, rules.closing].some((list) => list.includes(whole)) ? whole : word.toLowerCase();
}

// 했어요.그래서, or a space that was forgotten: Hunger.Wo bist du? Behind a full stop only a word that begins many sentences tells.
/** @type {(text: string, stop: number, latin: string, rules: SentenceRules) => boolean} */
function endsWithoutSpace(text, stop, latin, rules) {
  const ahead = text.slice(stop + latin.length, stop + latin.length + LOOK_BACK);
  if (isHangul(text[stop - 1]) && isHangul(ahead[0])) return true;
  if (matchEnd(MARKS.ideographs, text, stop - 1) >= 0 && matchEnd(MARKS.ideographs, ahead, 0) >= 0)
    return latin === "." || "!?".includes(latin[latin.length - 1]);
  const word = MARKS.word.exec(text.slice(Math.max(0, stop - LOOK_BACK), stop))?.[0] ?? "";
  const next = ahead.slice(0, Math.max(0, matchEnd(MARKS.glued, ahead, 0)));
  if (!/^(?:[\p{L}\p{Nl}\p{No}]+[-!?])*[\p{L}\p{Nl}\p{No}]*\p{Ll}$/u.test(word) || !/^\p{Lu}\p{Ll}+$/u.test(next))
    return false;
  if (!latin.includes(".")) return true;
  const starts = rules.starters.includes(next.toLowerCase());
  return latin === "." && starts && stopEnds(text, stop, stop + 1, rules);
}

// Whether `25.` ends a sentence rather than numbering a list's item, or being an ordinal or a part of a date.
/** @type {(word: string, before: string, ahead: string, next: string, starts: boolean, rules: SentenceRules) => boolean} */
function numberEnds(word, before, ahead, next, starts, rules) {
  const digits = [...word].length;
  if (matchEnd(MARKS.monthOrDay, ahead, 0) >= 0 && (digits === 4 || MARKS.ofYear.test(before))) return false;
  if (rules.ordinals && matchEnd(MARKS.monthAndYear, ahead, 0) >= 0) return false; // 3. 5. 2026
  if (digits > 3) return true;
  if (rules.code === "ko" && digits < 3) return false; // the 3. of 2026. 5. 3. 에
  const bare = before.replace(/[ \t]+$/, "");
  if (!bare.replace(/^[ \t]+/, "") || bare.endsWith("\n")) return false;
  if (!rules.ordinals) return true;
  const last = split(before).at(-1)?.toLowerCase() ?? "";
  if (/^\p{Nd}{1,2}\.$/u.test(last) && !next) return false; // 24. 12. 2020
  return !(rules.after_ordinal.includes(next) || (rules.before_ordinal.includes(last) && !starts));
}

// Whether a line break ends a sentence without a mark: always at a blank line, never where the line is only wrapped.
/** @type {(text: string, at: number, lines: string, end: number) => boolean} */
function endsAtLine(text, at, lines, end) {
  if (lines.indexOf("\n") !== lines.lastIndexOf("\n")) return true;
  const begin = Math.max(0, at - WRAPPED);
  const short = begin === 0 || text.slice(begin, at).includes("\n");
  return short && !isLower([...text.slice(end, end + 2)][0]);
}

// Parts of at most so many sentences and `longest` tokens as `measure` counts them; none for a text of no tokens.
/** @type {(text: string, longest: number, measure: (text: string) => number, most: number, rules: SentenceRules) => string[]} */
function splitText(text, longest, measure, most, rules) {
  if (!measure(text)) return [];
  const pieces = splitSentences(text, rules).flatMap((sentence) => cutLong(sentence, longest, measure));
  let begins = true; // whether a line does
  return gather(pieces, longest, measure, most).flatMap((piece) => {
    const bare = strip(piece);
    const spaces = piece.split(bare || piece); // before it and behind it
    if (!bare) begins ||= piece.includes("\n");
    if (!bare) return [];
    const marked = begins || spaces[0].includes("\n") ? matchEnd(MARKS.list, bare, 0) : 0;
    begins = spaces[spaces.length - 1].includes("\n");
    return [bare.slice(Math.max(0, marked))];
  });
}

/** @type {(text: string, longest: number, measure: (text: string) => number) => string[]} */
function cutLong(text, longest, measure) {
  const characters = [...text];
  if (measure(text) <= longest || characters.length === 1) return [text];
  for (const mark of [MARKS.clause, MARKS.spaces]) {
    const ends = Array.from(text.matchAll(mark), (found) => found.index + found[0].length);
    const cuts = [0, ...ends, text.length];
    const cut = cuts.slice(1).flatMap((end, place) => (cuts[place] < end ? [text.slice(cuts[place], end)] : []));
    if (cut.length > 1) return gather(cut, longest, measure, 0).flatMap((group) => cutLong(group, longest, measure));
  }
  const half = Math.floor(characters.length / 2);
  return [characters.slice(0, half), characters.slice(half)].flatMap((each) =>
    cutLong(each.join(""), longest, measure),
  );
}

// Join neighbours while they fit, at most so many and never across a line's end, so that there are few.
/** @type {(pieces: string[], longest: number, measure: (text: string) => number, most: number) => string[]} */
function gather(pieces, longest, measure, most) {
  if (most === 1) return pieces;
  /** @type {string[]} */
  const groups = [];
  let joined = 0;
  for (const piece of pieces) {
    const last = groups[groups.length - 1];
    if (last !== undefined && joined !== most && !last.includes("\n") && measure(last + piece) <= longest) {
      groups[groups.length - 1] = last + piece;
      joined += 1;
    } else {
      groups.push(piece);
      joined = 1;
    }
  }
  return groups;
}
