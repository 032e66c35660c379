// The two sentences of the Look view, with lines from who looks to what is looked at.

// What stands in a row: pieces, or the words they make up. `open` says that a space goes before.
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
      look: pieceLook(text, "token"),
      open: !spaced || token.startsWith("▁") || isSpecial(token) || isSpecial(before),
    };
  });
}

class Band {
  constructor({ kind, map, units, titles, marked, shares }) {
    Object.assign(this, { kind, map, units, shares, hovered: null, focused: null, marks: new Map() });
    this.readout = make("div", { class: "readout", id: "readout", "aria-live": "polite" });
    this.layers = ["resting", "active"].map((name) => make("canvas", { class: name, "aria-hidden": "true" }));
    this.tokens = {};
    const rows = ["key", "query"].map((side) => this.row(side, titles[side], marked[side]));
    const long = Math.max(...rows.map((row) => row.textContent.length)) > 130;
    this.band = make("div", { class: long ? "band long" : "band" }, ...this.layers, ...rows);
    this.root = make("div", {}, this.band, this.readout);
    this.listen();
    new ResizeObserver(() => this.band.isConnected && this.lay()).observe(this.band);
  }

  row(side, title, marked) {
    this.tokens[side] = this.units[side].map((unit, index) =>
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
    const tokenOf = (event) => {
      const token = event.target.closest(".token");
      return token && { side: token.dataset.side, index: Number(token.dataset.index) };
    };
    const set = (name, value) => {
      this[name] = value;
      this.show();
    };
    this.band.addEventListener("pointerover", (event) => set("hovered", tokenOf(event)));
    this.band.addEventListener("pointerleave", () => set("hovered", null));
    this.band.addEventListener("focusin", (event) =>
      set("focused", event.target.matches(":focus-visible") ? tokenOf(event) : null),
    );
    this.band.addEventListener("focusout", () => set("focused", null));
    this.band.addEventListener("click", (event) => tokenOf(event) && this.pin(tokenOf(event)));
    this.band.addEventListener("keydown", (event) => {
      const step = stepOf(event, event.target.closest("[dir=rtl]") ? "rtl" : "ltr");
      if (!step || !tokenOf(event)) return;
      event.preventDefault();
      this.walk(tokenOf(event), step);
    });
  }

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
  facesOf({ side, index }) {
    const later = this.kind === "decoder" ? 1 : 0; // the decoder reads a piece one step after it was written
    const faces =
      this.kind === "cross"
        ? { [side]: index }
        : side === "query"
          ? { query: index, key: index + later }
          : { query: index - later, key: index };
    return Object.fromEntries(Object.entries(faces).filter(([each, place]) => this.units[each][place]));
  }

  // A query stays pinned in every view; what only is looked at, such as the source in cross-attention, in this one.
  pin(token) {
    const { query } = this.facesOf(token);
    const pinned = this.pinned();
    const side = query === undefined ? "key" : "query";
    const index = query ?? token.index;
    const again = pinned?.side === side && pinned.index === index;
    this.kept = again || side === "query" ? null : { side, index };
    page.choice.query = again || side === "key" ? null : this.units.query[query].first;
    this.show();
  }

  release() {
    page.choice.query = this.kept = null;
    Object.assign(this, { hovered: null, focused: null });
    this.show();
  }

  pinned() {
    if (this.kept) return this.kept;
    const piece = page.choice.query;
    const index = this.units.query.findIndex(({ first, end }) => piece !== null && first <= piece && piece < end);
    return index < 0 ? null : { side: "query", index };
  }

  // Measure, then draw all lines: at first and whenever the room changes.
  lay() {
    const box = this.band.getBoundingClientRect();
    const sharp = devicePixelRatio;
    for (const canvas of this.layers) {
      canvas.width = Math.round(box.width * sharp);
      canvas.height = Math.round(box.height * sharp);
      canvas.getContext("2d").setTransform(sharp, 0, 0, sharp, 0, 0);
    }
    const [key, query] = ["key", "query"].map((side) => this.tokens[side][0].parentElement.getBoundingClientRect());
    this.beside = key.right <= query.left; // then lines only cross the gutter, from line of text to line of text
    const gutter = { key: key.right - box.left, query: query.left - box.left };
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
    const context = this.layers[0].getContext("2d");
    context.strokeStyle = color("--accent");
    this.units.query.forEach((_, q) => this.units.key.forEach((_, k) => this.line(context, q, k, FAINT)));
  }

  line(context, query, key, least) {
    const weight = this.map.number(query, key);
    if (weight < least) return;
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
    this.tokens.query.forEach((token, q) =>
      this.mark(
        token,
        key === undefined ? 0 : shade(values[q * columns + key]),
        q === query,
        pinned?.side === "query" && q === pinned.index,
      ),
    );
    if (this.ends) this.drawActive(query, key);
    this.tell(query, key);
  }

  // Most tokens of a long sentence stay as they are: only a change is worth the browser's work.
  mark(token, depth, self, pressed = null) {
    const marks = `${depth.toFixed(2)} ${self} ${pressed}`;
    if (this.marks.get(token) === marks) return;
    this.marks.set(token, marks);
    token.style.setProperty("--depth", depth.toFixed(2));
    token.classList.toggle("self", self);
    if (pressed !== null) token.setAttribute("aria-pressed", String(pressed));
  }

  drawActive(query, key) {
    const canvas = this.layers[1];
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setLineDash([1, 5]);
    context.lineCap = "round";
    context.strokeStyle = color("--ink");
    if (key !== undefined) this.units.query.forEach((_, q) => this.line(context, q, key, 0.01));
    context.setLineDash([]);
    context.strokeStyle = color("--accent");
    if (query !== undefined) this.units.key.forEach((_, k) => this.line(context, query, k, 0.01));
  }

  tell(query, key) {
    const line = (side, index, others, verb, weightOf, number) => {
      const found = others.map((unit, place) => [unit.text, weightOf(place)]).filter(([, weight]) => weight >= 0.01);
      const items = found
        .sort((a, b) => b[1] - a[1])
        .slice(0, 4)
        .flatMap(([text, weight]) => [make("span", {}, make("bdi", {}, text), " ", make("b", {}, brief(weight))), " "]);
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
    const lines = [];
    const values = (count, weightOf) => Array.from({ length: count }, (_, place) => weightOf(place));
    if (query !== undefined) {
      const weightOf = (k) => this.map.number(query, k);
      const bits = entropy(values(this.units.key.length, weightOf));
      lines.push(line("query", query, this.units.key, LOOK.looks, weightOf, say(LOOK.entropy, bits.toFixed(2))));
    }
    if (key !== undefined) {
      const weightOf = (q) => this.map.number(q, key);
      const sum = values(this.units.query.length, weightOf).reduce((a, b) => a + b, 0);
      lines.push(line("key", key, this.units.query, LOOK.seen, weightOf, say(LOOK.coverage, sum.toFixed(2))));
    }
    this.readout.replaceChildren(...(lines.length ? lines : [make("p", { class: "muted" }, say(LOOK.hint))]));
  }
}
