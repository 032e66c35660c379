// Small helpers: elements, languages, and the registry of views.

const element = (id) => document.getElementById(id);

// make("button", { class: "x", onclick: f, "aria-label": "…" }, "text", child, …). Text is always text, never markup.
const make = (name, attributes, ...children) => furnish(document.createElement(name), attributes, ...children);

// The same for the shapes of a drawing (SVG).
const makeShape = (name, attributes, ...children) =>
  furnish(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, ...children);

function furnish(made, attributes = {}, ...children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style")
      for (const [property, each] of Object.entries(value)) made.style.setProperty(property, each);
    else if (key === "data") Object.assign(made.dataset, value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

// Every sentence of the page in both languages: say({ en: "…", ko: "…" }, name, …) puts values for {0}, {1}, …
const say = (text, ...values) => text[page.language].replace(/\{(\d)\}/g, (_, index) => values[index]);

// The choice between them; `redraw` makes new buttons, of which the chosen one keeps the focus.
const languageButtons = (redraw) =>
  make(
    "div",
    { class: "languages", role: "group", "aria-label": "Language · 언어" },
    ...["en", "ko"].map((language) =>
      make(
        "button",
        {
          type: "button",
          id: `language-${language}`,
          lang: language,
          "aria-pressed": String(page.language === language),
          onclick: () => {
            page.language = language;
            redraw();
            element(`language-${language}`).focus();
          },
        },
        { en: "English", ko: "한국어" }[language],
      ),
    ),
  );

const SPECIAL = {
  "<s>": { en: "start", ko: "시작" },
  "</s>": { en: "end", ko: "끝" },
  "<pad>": { en: "padding", ko: "채움" },
  "<unk>": { en: "unknown", ko: "모름" },
};
const isSpecial = (token) => Object.hasOwn(SPECIAL, token); // `in` would also find "constructor"

const BYTE = /^<(0x[0-9A-F]{2})>$/;
const BYTE_MEANING = {
  en: "one byte of a character that the model has no piece for",
  ko: "모델에 조각이 없는 문자를 이루는 바이트 하나",
};
const isByte = (token) => BYTE.test(token);

// A piece as people read it; "▁" stands for the space before a word.
function readable(token) {
  if (isSpecial(token)) return say(SPECIAL[token]);
  return token.replace(BYTE, "$1").replaceAll("▁", " ").trim() || "␣";
}

// How it is set and explained: the attributes of an element that shows it.
const pieceLook = (token, ...classes) => ({
  class: [...classes, isSpecial(token) && "special", isByte(token) && "byte"].filter(Boolean).join(" ") || null,
  title: isByte(token) ? say(BYTE_MEANING) : null,
});

// A text that a model wrote; if it is empty, that is said as a remark.
const NOTHING = { en: "(nothing)", ko: "(없음)" };
const orNothing = (text, ...nodes) =>
  text.trim() ? (nodes.length ? nodes : [text]) : [make("i", { class: "nothing" }, say(NOTHING))];

// A scroller whose far edge fades as long as there is more beyond it.
function fading(scroller) {
  const look = () =>
    scroller.classList.toggle("more", Math.abs(scroller.scrollLeft) + scroller.clientWidth < scroller.scrollWidth - 1);
  scroller.classList.add("fading");
  scroller.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(scroller);
  return scroller;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const directionOf = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");

// Weights to shades: a root, because the eye should still see a weight of a tenth.
const shade = (weight) => Math.min(1, Math.max(0, weight)) ** 0.7;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// What the page shows, and what its reader chose. Views read it; `choose` changes it and draws again.
const page = {
  scenes: [], // one per part of the text
  scene: null, // the one shown
  movie: null,
  live: null, // set by live.js when a server answers behind the page
  language: "en", // or "ko"
  wanted: "look", // the view that the reader asked for …
  view: "look", // … and the one that is shown, because the other may have nothing to show yet
  choice: { kind: "cross", layer: 0, head: "mean", words: false, query: null },
};

// A view: { id, title: { en, ko }, available(scene) → bool, draw(root, scene) }, and its `address` if that is not its id.
// In the order of registration.
const views = [];
const view = (definition) => views.push(definition);
const addressOf = ({ id, address = id }) => address;
function addressedView() {
  const name = location.hash.slice(1);
  return views.find((each) => each.id === name || addressOf(each) === name)?.id;
}

function choose(change) {
  Object.assign(page.choice, change);
  draw();
}
