// The two sentences of the Look view, with lines from who looks to what is looked at.

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
      look: tokenLook(text, "token"),
      open: !spaced || token.startsWith("▁") || isSpecial(token) || isSpecial(before),
    };
  });
}

/**
 * @typedef {"query" | "key"} Row
 * @typedef {{ side: Row, index: number }} Place
 * @typedef {{ first: number, end: number, text: string, look: { class: string | null, title: string | null }, open: boolean }} Unit
 */
class Band {
  /**
   * @param {{
   *   kind: Kind,
   *   map: Tensor,
   *   units: Record<Row, Unit[]>,
   *   titles: Record<Row, string>,
   *   marked: Record<Row, (unit: Unit) => string | undefined>,
   *   shares: boolean,
   * }} shown
   */
  constructor({ kind, map, units, titles, marked, shares }) {
    this.kind = kind;
    this.map = map;
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
    this.beside = false;
    this.readout = make("div", { class: "readout", id: "readout", "aria-live": "polite" });
    this.layers = ["resting", "active"].map((name) => make("canvas", { class: name, "aria-hidden": "true" }));
    /** @type {Record<Row, HTMLButtonElement[]>} */
    this.tokens = { key: this.buttons("key", marked.key), query: this.buttons("query", marked.query) };
    const rows = [this.row("key", titles.key), this.row("query", titles.query)];
    const long = Math.max(...rows.map((row) => row.textContent.length)) > 130;
    this.band = make("div", { class: long ? "band long" : "band" }, ...this.layers, ...rows);
    this.root = make("div", {}, this.band, this.readout);
    this.listen();
    new ResizeObserver(() => this.band.isConnected && this.lay()).observe(this.band);
  }

  /** @type {(side: Row, marked: (unit: Unit) => string | undefined) => HTMLButtonElement[]} */
  buttons(side, marked) {
    return this.units[side].map((unit, index) =>
      make(
        "button",
        {
          ...unit.look,
          type: "button",
          class: [unit.look.class, marked(unit)].filter(Boolean).join(" "),
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
      const step = stepOf(event, targetOf(event)?.closest("[dir=rtl]") ? "rtl" : "ltr");
      const token = tokenOf(event);
      if (!step || !token) return;
      event.preventDefault();
      this.walk(token, step);
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
  }

  release() {
    page.choice.query = null;
    this.kept = null;
    this.hovered = null;
    this.focused = null;
    this.show();
  }

  /** @type {() => Place | null} */
  pinned() {
    if (this.kept) return this.kept;
    const token = page.choice.query;
    const index = this.units.query.findIndex(({ first, end }) => token !== null && first <= token && token < end);
    return index < 0 ? null : { side: "query", index };
  }

  // Measure, then draw all lines: at first and whenever the room changes.
  lay() {
    const box = this.band.getBoundingClientRect();
    const sharp = devicePixelRatio;
    for (const canvas of this.layers) {
      canvas.width = Math.round(box.width * sharp);
      canvas.height = Math.round(box.height * sharp);
      penOf(canvas).setTransform(sharp, 0, 0, sharp, 0, 0);
    }
    const [key, query] = [...this.band.querySelectorAll("p")].map((row) => row.getBoundingClientRect());
    this.beside = key.right <= query.left; // then lines only cross the gutter, from line of text to line of text
    const gutter = { key: key.right - box.left, query: query.left - box.left };
    /** @type {(side: Row, edge: "top" | "bottom") => number[][]} */
    const endsOf = (side, edge) =>
      this.tokens[side].map((token) => {
        const { left, right, top, bottom, [edge]: y } = token.getBoundingClientRect();
        return this.beside
          ? [gutter[side], (top + bottom) / 2 - box.top]
          : [(left + right) / 2 - box.left, y - box.top];
      });
    this.ends = { key: endsOf("key", "bottom"), query: endsOf("query", "top") };
    if (!this.band.classList.contains("long")) this.rest();
    this.show();
  }

  rest() {
    const context = penOf(this.layers[0]);
    context.strokeStyle = color("--accent");
    for (const query of this.units.query.keys()) this.lookOf(context, query, FAINT);
  }

  // All lines of one who looks.
  /** @type {(context: CanvasRenderingContext2D, query: number, least: number) => void} */
  lookOf(context, query, least) {
    for (const key of this.units.key.keys()) this.line(context, query, key, least);
  }

  /** @type {(context: CanvasRenderingContext2D, query: number, key: number, least: number) => void} */
  line(context, query, key, least) {
    const weight = this.map.number(query, key);
    if (!this.ends || weight < least) return;
    const [x, y] = this.ends.query[query];
    const [toX, toY] = this.ends.key[key];
    context.globalAlpha = shade(weight);
    context.lineWidth = 0.75 + 3 * weight;
    context.beginPath();
    context.moveTo(x, y);
    if (this.beside) context.bezierCurveTo((x + toX) / 2, y, (x + toX) / 2, toY, toX, toY);
    else context.bezierCurveTo(x, (y + toY) / 2, toX, (y + toY) / 2, toX, toY);
    context.stroke();
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
      token.classList.toggle("deep", depth > DEEP);
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
    const canvas = this.layers[1];
    const context = penOf(canvas);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setLineDash([1, 5]);
    context.lineCap = "round";
    context.strokeStyle = color("--ink");
    if (key !== undefined) for (const each of this.units.query.keys()) this.line(context, each, key, 0.01);
    context.setLineDash([]);
    context.strokeStyle = color("--accent");
    if (query !== undefined) this.lookOf(context, query, 0.01);
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
