// The two sentences of the Look view, with lines from who looks to what is looked at. A sentence stands in one line that
// shrinks to fit; if it would get too small to read, both stand as columns, a token in each row. So nothing is ever broken,
// and a line begins and ends at its own words.

const LEAST_SIZE = 15; // pixels of type in one line
const MOST_LINES = 600; // at rest: the strongest; more would hide each other

// Its own hue for each head.
/** @type {(head: number, heads: number) => string} */
const headColor = (head, heads) => `hsl(${Math.round(215 + (360 * head) / heads) % 360} 70% var(--hue))`;

// What stands in a row: tokens, or the words they make up. `open` says that a space goes before.
/** @type {(side: Side, asWords: boolean) => Unit[]} */
function unitsOf(side, asWords) {
  const spaced = side.tokens.some((token) => token.startsWith("▁"));
  const parts = asWords ? side.words : side.tokens.map((token, first) => ({ first, end: first + 1, text: token }));
  return parts.map(({ first, end, text }) => {
    const before = side.tokens[first - 1];
    const token = side.tokens[first];
    return {
      first,
      end,
      text: readable(text),
      label: labelOf(text),
      look: tokenLook(text, "token"),
      open: !spaced || token.startsWith("▁") || isSpecial(token) || isSpecial(before),
    };
  });
}

/**
 * @typedef {"query" | "key"} Row
 * @typedef {{ side: Row, index: number }} Place
 * @typedef {{ first: number, end: number, text: string, label: string, look: { class: string | null, title: string | null }, open: boolean }} Unit
 * @typedef {{ name: string, map: Tensor, color: string }} Overlay what is drawn in one colour
 */
class Band {
  /**
   * @param {{
   *   kind: Kind,
   *   map: Tensor, // of all that is shown, for shades and words
   *   overlays: Overlay[], // of which the lines are made
   *   units: Record<Row, Unit[]>,
   *   titles: Record<Row, string>,
   *   marked: Record<Row, (unit: Unit) => string | undefined>,
   *   shares: boolean,
   * }} shown
   */
  constructor({ kind, map, overlays, units, titles, marked, shares }) {
    this.kind = kind;
    this.map = map;
    this.overlays = overlays;
    this.units = units;
    this.shares = shares;
    /** @type {Place | null} */
    this.hovered = null;
    /** @type {Place | null} */
    this.focused = null;
    /** @type {Place | null} */
    this.kept = null;
    /** @type {Map<HTMLElement, string>} */
    this.marks = new Map();
    /** @type {Record<Row, number[][]> | null} */
    this.ends = null; // of the lines, as soon as there is room for them
    this.columns = false;
    this.readout = make("div", { class: "readout", id: "readout", "aria-live": "polite" });
    this.lines = { resting: makeShape("g", { class: "resting" }), active: makeShape("g", { class: "active" }) };
    /** @type {Record<Row, HTMLButtonElement[]>} */
    this.tokens = { key: this.buttons("key", marked.key), query: this.buttons("query", marked.query) };
    const ruler = make("i", { class: "ruler" }); // as wide as there is room, whatever the sentences need
    this.band = make(
      "div",
      { class: overlays.length > 1 ? "band overlaid" : "band" },
      ruler,
      makeShape("svg", { class: "lines", "aria-hidden": "true" }, this.lines.resting, this.lines.active),
      this.row("key", titles.key),
      this.row("query", titles.query),
    );
    this.picture = make("div", {}, this.band, this.key());
    this.root = make("div", {}, this.picture, this.readout);
    this.listen();
    new ResizeObserver(() => this.band.isConnected && this.lay(ruler.offsetWidth)).observe(ruler);
  }

  // Which colour is whose.
  /** @type {() => HTMLElement | string} */
  key() {
    if (this.overlays.length < 2) return "";
    const entries = this.overlays.map(({ name, color }) =>
      make("span", {}, make("i", { style: { background: color } }), name),
    );
    return make("p", { class: "muted hues" }, ...entries);
  }

  /** @type {(side: Row, marked: (unit: Unit) => string | undefined) => HTMLButtonElement[]} */
  buttons(side, marked) {
    return this.units[side].map((unit, index) =>
      make(
        "button",
        {
          ...unit.look,
          type: "button",
          title: unit.look.title ?? (unit.text.length > 12 && unit.text), // a column may be narrower than a word
          class: [unit.look.class, !unit.open && "joined", marked(unit)].filter(Boolean).join(" "),
          dir: "auto",
          id: `token-${side}-${index}`,
          tabindex: index ? -1 : 0,
          data: { side, index },
        },
        unit.text,
      ),
    );
  }

  /** @type {(side: Row, title: string) => HTMLElement} */
  row(side, title) {
    const spaced = this.tokens[side].flatMap((token, index) => (this.units[side][index].open ? [" ", token] : [token]));
    const text = this.units[side].map((unit) => unit.text).join("");
    return make(
      "div",
      { class: `side ${side}`, role: "group", "aria-label": title },
      make("span", { class: "name" }, title),
      make("p", { dir: directionOf(text) }, ...spaced),
    );
  }

  listen() {
    /** @type {(event: Event) => Place | null} */
    const tokenOf = (event) => {
      const token = targetOf(event)?.closest("button");
      const side = token && (this.tokens.query.includes(token) ? "query" : "key");
      return side ? { side, index: this.tokens[side].indexOf(token) } : null;
    };
    /** @type {(name: "hovered" | "focused", value: Place | null) => void} */
    const set = (name, value) => {
      this[name] = value;
      this.show();
    };
    this.band.addEventListener("pointerover", (event) => set("hovered", tokenOf(event)));
    this.band.addEventListener("pointerleave", () => set("hovered", null));
    this.band.addEventListener("focusin", (event) =>
      set("focused", targetOf(event)?.matches(":focus-visible") ? tokenOf(event) : null),
    );
    this.band.addEventListener("focusout", () => set("focused", null));
    this.band.addEventListener("click", (event) => {
      const token = tokenOf(event);
      if (token) this.pin(token);
    });
    this.band.addEventListener("keydown", (event) => {
      const across = this.columns || !targetOf(event)?.closest("[dir=rtl]") ? "ltr" : "rtl";
      const step = stepOf(event, across);
      const token = tokenOf(event);
      if (!step || !token) return;
      event.preventDefault();
      const [down, along] = step;
      this.walk(token, this.columns && Number.isFinite(along) ? [along, down] : step);
    });
  }

  /** @type {(from: Place, step: [down: number, along: number]) => void} */
  walk({ side, index }, [down, along]) {
    const to = down ? (down > 0 ? "query" : "key") : side;
    const row = this.tokens[to];
    const next = Math.min(row.length - 1, Math.max(0, index + along));
    row.forEach((token, place) => {
      token.tabIndex = place === next ? 0 : -1;
    });
    row[next].focus();
  }

  // As what a token takes part. In self-attention it stands in both rows: as one who looks, and as one looked at.
  /** @type {(token: Place) => { query?: number, key?: number }} */
  facesOf({ side, index }) {
    const later = this.kind === "decoder" ? 1 : 0; // the decoder reads a token one step after it was written
    const query = side === "query" ? index : this.kind === "cross" ? undefined : index - later;
    const key = side === "key" ? index : this.kind === "cross" ? undefined : index + later;
    /** @type {(row: Row, place: number | undefined) => number | undefined} */
    const within = (row, place) => (place !== undefined && this.units[row][place] ? place : undefined);
    return { query: within("query", query), key: within("key", key) };
  }

  // A query stays pinned in every view; what only is looked at, such as the source in cross-attention, in this one.
  /** @type {(token: Place) => void} */
  pin(token) {
    const { query } = this.facesOf(token);
    const pinned = this.pinned();
    const side = query === undefined ? "key" : "query";
    const index = query ?? token.index;
    const again = pinned?.side === side && pinned.index === index;
    this.kept = again || side === "query" ? null : { side, index };
    page.choice.query = again || query === undefined ? null : this.units.query[query].first;
    this.show();
    writeAddress();
  }

  release() {
    page.choice.query = null;
    this.kept = null;
    this.hovered = null;
    this.focused = null;
    this.show();
    writeAddress();
  }

  /** @type {() => Place | null} */
  pinned() {
    if (this.kept) return this.kept;
    const token = page.choice.query;
    const index = this.units.query.findIndex(({ first, end }) => token !== null && first <= token && token < end);
    return index < 0 ? null : { side: "query", index };
  }

  // Fit the sentences into the room, measure, then draw all lines: at first and whenever the room changes.
  /** @type {(room: number) => void} */
  lay(room) {
    this.fit(room);
    const box = this.band.getBoundingClientRect();
    /** @type {(side: Row) => number[][]} */
    const endsOf = (side) =>
      this.tokens[side].map((token) => {
        const { left, right, top, bottom } = token.getBoundingClientRect();
        const [x, y] = this.columns
          ? [side === "key" ? right : left, (top + bottom) / 2]
          : [(left + right) / 2, side === "key" ? bottom : top];
        return [x - box.left, y - box.top];
      });
    this.ends = { key: endsOf("key"), query: endsOf("query") };
    const all = this.overlays.flatMap((overlay) =>
      Array.from(overlay.map.values, (weight, place) => ({ overlay, weight, place })).filter(
        ({ weight }) => weight >= FAINT,
      ),
    );
    const strongest = all.sort((one, other) => other.weight - one.weight).slice(0, MOST_LINES);
    this.lines.resting.replaceChildren(
      ...strongest.map(({ overlay, place }) => this.line(overlay, ...this.cellOf(place))),
    );
    this.show();
  }

  /** @type {(room: number) => void} */
  fit(room) {
    const rows = [...this.band.querySelectorAll("p")];
    this.band.classList.remove("columns");
    this.band.style.removeProperty("--size");
    const size = parseFloat(getComputedStyle(rows[0]).fontSize);
    const fitting = Math.min(size, (size * room) / Math.max(...rows.map((row) => row.offsetWidth)));
    this.columns = fitting < LEAST_SIZE;
    this.band.classList.toggle("columns", this.columns);
    if (!this.columns && fitting < size) this.band.style.setProperty("--size", `${fitting.toFixed(2)}px`);
  }

  /** @type {(place: number) => [query: number, key: number]} */
  cellOf(place) {
    const columns = this.map.shape[1];
    return [Math.floor(place / columns), place % columns];
  }

  // The line of one look, from the word that looks to the word that is looked at.
  /** @type {(overlay: Overlay, query: number, key: number, more?: Attributes<SVGPathElement>) => SVGPathElement} */
  line({ map, color }, query, key, more = {}) {
    const weight = map.number(query, key);
    const [x, y] = this.ends?.query[query] ?? [0, 0];
    const [toX, toY] = this.ends?.key[key] ?? [0, 0];
    const bends = this.columns ? [(x + toX) / 2, y, (x + toX) / 2, toY] : [x, (y + toY) / 2, toX, (y + toY) / 2];
    const points = [...bends, toX, toY].map((each) => each.toFixed(1));
    return makeShape("path", {
      d: `M${x.toFixed(1)} ${y.toFixed(1)}C${points.join(" ")}`,
      data: { query, key },
      style: {
        stroke: color,
        "stroke-width": (0.75 + 3 * weight).toFixed(2),
        "stroke-opacity": shade(weight).toFixed(3),
      },
      ...more,
    });
  }

  // Mark what the token under the pointer, the focus or the pin looks at (shade), and who looks at it (underline).
  /** @type {(told?: Place | null) => void} */
  show(told = null) {
    const pinned = this.pinned();
    const active = told ?? this.hovered ?? this.focused ?? pinned;
    const { query, key } = active ? this.facesOf(active) : {};
    this.band.classList.toggle("telling", Boolean(active));
    const {
      values,
      shape: [, columns],
    } = this.map;
    this.tokens.key.forEach((token, k) => {
      const depth = query === undefined ? 0 : shade(values[query * columns + k]);
      this.mark(token, depth, k === key);
    });
    this.tokens.query.forEach((token, q) => {
      const depth = key === undefined ? 0 : shade(values[q * columns + key]);
      this.mark(token, depth, q === query, pinned?.side === "query" && q === pinned.index);
    });
    if (this.ends) this.drawActive(query, key);
    this.tell(query, key);
  }

  // Most tokens of a long sentence stay as they are: only a change is worth the browser's work.
  /** @type {(token: HTMLElement, depth: number, self: boolean, pressed?: boolean | null) => void} */
  mark(token, depth, self, pressed = null) {
    const marks = `${depth.toFixed(2)} ${self} ${pressed}`;
    if (this.marks.get(token) === marks) return;
    this.marks.set(token, marks);
    token.style.setProperty("--depth", depth.toFixed(2));
    token.classList.toggle("self", self);
    if (pressed !== null) token.setAttribute("aria-pressed", String(pressed));
  }

  /** @type {(query?: number, key?: number) => void} */
  drawActive(query, key) {
    /** @type {(row: Row, select: (place: number) => [query: number, key: number], more?: Attributes<SVGPathElement>) => SVGPathElement[]} */
    const linesOf = (row, select, more) =>
      this.overlays.flatMap((overlay) =>
        [...this.units[row].keys()]
          .map(select)
          .filter(([q, k]) => overlay.map.number(q, k) >= 0.01)
          .map(([q, k]) => this.line(overlay, q, k, more)),
      );
    this.lines.active.replaceChildren(
      ...(key === undefined ? [] : linesOf("query", (q) => [q, key], { class: "seen" })),
      ...(query === undefined ? [] : linesOf("key", (k) => [query, k])),
    );
  }

  /** @type {(query?: number, key?: number) => void} */
  tell(query, key) {
    /** @type {(side: Row, index: number, others: Unit[], verb: Both, weightOf: (place: number) => number, number: string) => HTMLElement} */
    const line = (side, index, others, verb, weightOf, number) => {
      const items = others
        .map(({ text }, place) => ({ text, weight: weightOf(place) }))
        .filter(({ weight }) => weight >= 0.01)
        .sort((one, other) => other.weight - one.weight)
        .slice(0, 4)
        .flatMap(({ text, weight }) => [
          make("span", {}, make("bdi", {}, text), " ", make("b", {}, brief(weight))),
          " ",
        ]);
      return make(
        "p",
        { class: side },
        make("i", { class: "mark" }),
        make("strong", { dir: "auto" }, this.units[side][index].text),
        ` ${say(verb)} `,
        ...(items.length ? items : [say(LOOK.nobody)]),
        this.shares && make("small", {}, number),
      );
    };
    /** @type {HTMLElement[]} */
    const lines = [];
    /** @type {(count: number, weightOf: (place: number) => number) => number[]} */
    const values = (count, weightOf) => Array.from({ length: count }, (_, place) => weightOf(place));
    if (query !== undefined) {
      /** @type {(k: number) => number} */
      const weightOf = (k) => this.map.number(query, k);
      const bits = entropy(values(this.units.key.length, weightOf));
      lines.push(line("query", query, this.units.key, LOOK.looks, weightOf, say(HEAT.entropy, bits.toFixed(2))));
    }
    if (key !== undefined) {
      /** @type {(q: number) => number} */
      const weightOf = (q) => this.map.number(q, key);
      const sum = values(this.units.query.length, weightOf).reduce((a, b) => a + b, 0);
      lines.push(line("key", key, this.units.query, LOOK.seen, weightOf, say(HEAT.coverage, sum.toFixed(2))));
    }
    this.readout.replaceChildren(...(lines.length ? lines : [make("p", { class: "muted" }, say(LOOK.hint))]));
  }
}
