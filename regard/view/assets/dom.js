// What every page needs: elements, languages, and how tokens of text are shown.

// The element of that name, which the page's markup has or the page has drawn.
/** @type {(id: string) => HTMLElement} */
function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`this page has no element “${id}”`);
  return found;
}

// The element that an event happened to, be it this one or one inside it.
/** @type {(event: Event) => HTMLElement | null} */
const targetOf = ({ target }) => (target instanceof HTMLElement ? target : null);

// Which of some elements an event happened to; −1 if none of them.
/** @type {(event: Event, elements: Element[]) => number} */
function placeOf(event, elements) {
  const target = targetOf(event);
  return target ? elements.indexOf(target) : -1;
}

// The text that names a field inside its label.
/** @type {(label: HTMLLabelElement) => Element} */
function nameIn(label) {
  const name = label.querySelector(".name");
  if (!name) throw new Error("this label has no name");
  return name;
}

// What went wrong, in words.
/** @type {(error: unknown) => string} */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

// What draws on a canvas.
/** @type {(canvas: HTMLCanvasElement) => CanvasRenderingContext2D} */
function penOf(canvas) {
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser cannot draw on a canvas");
  return pen;
}

// make("button", { class: "x", onclick: f, "aria-label": "…" }, "text", child, …). Text is always text, never markup.
/** @type {<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes?: Attributes<HTMLElementTagNameMap[Name]>, ...children: Child[]) => HTMLElementTagNameMap[Name]} */
const make = (name, attributes, ...children) => furnish(document.createElement(name), attributes, ...children);

// The same for the shapes of a drawing (SVG).
/** @type {<Name extends keyof SVGElementTagNameMap>(name: Name, attributes?: Attributes<SVGElementTagNameMap[Name]>, ...children: Child[]) => SVGElementTagNameMap[Name]} */
const makeShape = (name, attributes, ...children) =>
  furnish(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, ...children);

/** @type {<Made extends HTMLElement | SVGElement>(made: Made, attributes?: Attributes<Made>, ...children: Child[]) => Made} */
function furnish(made, attributes = {}, ...children) {
  const { style = {}, data = {}, ...others } = attributes;
  for (const [property, value] of Object.entries(style)) made.style.setProperty(property, String(value));
  for (const [name, value] of Object.entries(data)) made.dataset[name] = String(value);
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter(isThere));
  return made;
}

// What remains of a list in which some things may be left out: list.filter(isThere).
/**
 * @template Thing
 * @param {Thing | false | null | undefined} thing
 * @returns {thing is Thing}
 */
const isThere = (thing) => thing !== undefined && thing !== null && thing !== false;

// The names of an object's parts, as its type spells them.
/**
 * @template {string} Name
 * @param {Partial<Record<Name, unknown>>} parts
 */
const namesOf = (parts) => /** @type {Name[]} */ (Object.keys(parts));

// What the reader wants of any page; it follows the browser.
/** @type {{ language: Language }} */
const reader = { language: /^ko\b/.test(navigator.language) ? "ko" : "en" };
const BROWSER_LANGUAGE = reader.language;
const LANGUAGES = { en: "English", ko: "한국어" };

// Every sentence of the page in both languages: say({ en: "…", ko: "…" }, name, …) puts values for {0}, {1}, …
/** @type {(text: Both, ...values: (string | number)[]) => string} */
const say = (text, ...values) => text[reader.language].replace(/\{(\d)\}/g, (_, index) => String(values[index]));

// The choice between them; `redraw` makes new buttons, of which the chosen one keeps the focus.
/** @type {(redraw: () => void) => HTMLElement} */
const languageButtons = (redraw) =>
  make(
    "div",
    { class: "languages", role: "group", "aria-label": "Language · 언어" },
    ...namesOf(LANGUAGES).map((language) =>
      make(
        "button",
        {
          type: "button",
          id: `language-${language}`,
          lang: language,
          "aria-pressed": String(reader.language === language),
          onclick: () => {
            reader.language = language;
            redraw();
            element(`language-${language}`).focus();
          },
        },
        LANGUAGES[language],
      ),
    ),
  );

// A share in per cent, as precise as it takes to be neither nothing nor, by rounding alone, all.
/** @type {(share: number, least?: number) => string} */
function percentage(share, least = 0) {
  const percent = 100 * share;
  const round = percent === 0 || (percent >= 10 && percent < 99.5) || percent >= 100;
  const places = round ? (percent < 100 ? least : 0) : percent >= 0.1 ? 1 : 2;
  const number = percent < 0.005 && percent > 0 ? percent.toPrecision(1) : percent.toFixed(places);
  const text = percent < 100 && Number(number) >= 100 ? "99.9" : number;
  return reader.language === "ko" ? `${text}%` : `${text} %`;
}

/** @type {Record<string, Both>} */
const SPECIAL = {
  "<s>": { en: "start", ko: "시작" },
  "</s>": { en: "end", ko: "끝" },
  "<pad>": { en: "padding", ko: "채움" },
  "<unk>": { en: "unknown", ko: "모름" },
};
/** @type {(token: string) => boolean} */
const isSpecial = (token) => Object.hasOwn(SPECIAL, token); // `in` would also find "constructor"

const BYTE = /^<(0x[0-9A-F]{2})>$/;
const BYTE_MEANING = {
  en: "one byte of a character that the model has no token for",
  ko: "모델에 토큰이 없는 문자를 이루는 바이트 하나",
};
/** @type {(token: string) => boolean} */
const isByte = (token) => BYTE.test(token);

// A token as people read it; "▁" stands for the space before a word.
/** @type {(token: string) => string} */
function readable(token) {
  if (isSpecial(token)) return say(SPECIAL[token]);
  return token.replace(BYTE, "$1").replaceAll("▁", " ").trim() || "␣";
}

// The same where nothing but its letters can tell that it is no word: the mark of the end beside the word "end".
/** @type {(token: string) => string} */
const labelOf = (token) => (isSpecial(token) ? `⟨${readable(token)}⟩` : readable(token));

// How it is set and explained: the attributes of an element that shows it.
/** @type {(token: string, ...classes: string[]) => { class: string | null, title: string | null }} */
const tokenLook = (token, ...classes) => ({
  class: [...classes, isSpecial(token) && "special", isByte(token) && "byte"].filter(Boolean).join(" ") || null,
  title: isByte(token) ? say(BYTE_MEANING) : null,
});

// A command in words: a line of it ends between two of them, not behind the first hyphen of an option.
/** @type {(command: string) => Node[]} */
const commandWords = (command) =>
  command.split(" ").flatMap((word) => [make("span", { class: "command-word" }, word), document.createTextNode(" ")]);

// A text that a model wrote; if it is empty, that is said as a remark.
const NOTHING = { en: "(nothing)", ko: "(없음)" };
/** @type {(text: string, ...nodes: (Node | string)[]) => (Node | string)[]} */
const orNothing = (text, ...nodes) =>
  text.trim() ? (nodes.length ? nodes : [text]) : [make("i", { class: "nothing" }, say(NOTHING))];

// A scroller whose far edge fades as long as there is more beyond it.
/** @type {<Scroller extends HTMLElement>(scroller: Scroller) => Scroller} */
function fading(scroller) {
  const look = () =>
    scroller.classList.toggle("more", Math.abs(scroller.scrollLeft) + scroller.clientWidth < scroller.scrollWidth - 1);
  scroller.classList.add("fading");
  scroller.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(scroller);
  return scroller;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
/** @type {(text: string) => "rtl" | "ltr"} */
const directionOf = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");

// Weights to shades: a root, because the eye should still see a weight of a tenth.
/** @type {(weight: number) => number} */
const shade = (weight) => Math.min(1, Math.max(0, weight)) ** 0.7;
/** @type {(name: string) => string} */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
