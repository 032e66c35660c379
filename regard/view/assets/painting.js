// The page of a picture that was painted from a caption: the picture as it forms, where each word was looked at, and which words
// each cell looked at.

/** @type {PaintingPage | PaintingInside} */
const given = JSON.parse(element("data").textContent);
// What is shown: a page with the painter inside has nothing at first.
/** @type {{ painted: PaintingPage | null }} */
const showing = { painted: "inside" in given ? null : given };
function picture() {
  if (!showing.painted) throw new Error("nothing is painted yet");
  return showing.painted;
}
const cellsOf = () => [...Array(picture().grid ** 2).keys()];
// What stands above the picture: where a page with the painter inside asks for a caption.
/** @type {{ draw: () => HTMLElement[] }} */
const above = { draw: () => [] };
const SAYS = {
  caution: {
    en: "Attention shows where information may flow. It is not by itself an explanation: compare it with what leaving the word out costs.",
    ko: "어텐션은 정보가 흐를 수 있는 곳을 보여 줄 뿐, 그 자체로 설명은 아닙니다. 단어를 뺐을 때의 손실과 비교해 보세요.",
  },
  plain: {
    en: "Attention shows where information may flow. It is not by itself an explanation: `regard view` without --live also shows what leaving each word out costs.",
    ko: "어텐션은 정보가 흐를 수 있는 곳을 보여 줄 뿐, 그 자체로 설명은 아닙니다. --live 없이 `regard view`를 쓰면 단어를 뺐을 때의 손실도 볼 수 있습니다.",
  },
  picture: { en: "The picture, code by code", ko: "코드 하나씩 그려지는 그림" },
  hint: {
    en: "Choose a word to see which parts of the picture looked at it. Point at the picture to see which words that part looked at.",
    ko: "단어를 고르면 그림의 어느 부분이 그 단어를 보았는지 나타납니다. 그림을 가리키면 그 부분이 본 단어가 나타납니다.",
  },
  play: { en: "Play", ko: "재생" },
  painted: { en: "codes painted", ko: "그려진 코드 수" },
  attention: { en: "attention", ko: "어텐션" },
  leftOut: { en: "bits lost without the word", ko: "단어를 뺐을 때 잃는 비트" },
  shown: { en: "What is shown", ko: "보여 주는 값" },
  layer: { en: "layer", ko: "층" },
  head: { en: "head", ko: "헤드" },
  every: { en: "all layers", ko: "모든 층" },
  mean: { en: "mean of all heads", ko: "모든 헤드의 평균" },
  nth: { en: "{0} {1}", ko: "{0} {1}" },
  word: { en: "Where “{0}” counts", ko: "“{0}”의 영향을 받는 곳" },
  cell: { en: "What row {0}, column {1} looked at", ko: "{0}행 {1}열이 본 단어" },
  rest: { en: "earlier codes, and the caption’s ends", ko: "앞선 코드와 캡션의 양 끝" },
  map: { en: "Heat map of the chosen word over the picture", ko: "고른 단어의 히트맵" },
};
/** @type {Record<string, string>} */
const FACTS = { parameters: "매개변수", codes: "코드(종류)", weights: "가중치", seed: "시드", command: "명령" };

/** @type {{ word: number, cell: number, painted: number, map: "attention" | "leftOut", layer: number | null, head: number | null }} */
const chosen = {
  word: showing.painted ? Math.max(0, showing.painted.words.length - 1) : 0,
  cell: 0,
  painted: showing.painted ? showing.painted.grid ** 2 : 0,
  map: "attention",
  layer: null,
  head: null,
};

/** @type {(count: number, one: number | null) => number[]} */
const some = (count, one) => (one === null ? [...Array(count).keys()] : [one]);

// How much a cell looked at a word, the mean over what was not chosen.
/** @type {(cell: number, word: number) => number} */
function share(cell, word) {
  const weights = tensorOf(picture().weights);
  const [layers, heads] = weights.shape;
  const pairs = some(layers, chosen.layer).flatMap((layer) => some(heads, chosen.head).map((head) => [layer, head]));
  return pairs.reduce((sum, [layer, head]) => sum + weights.number(layer, head, cell, word), 0) / pairs.length;
}

// The chosen word's map: a number for each cell.
const heat = () => {
  const { left_out: leftOut, grid } = picture();
  if (chosen.map === "attention" || !leftOut) return cellsOf().map((cell) => share(cell, chosen.word));
  const bits = tensorOf(leftOut);
  return cellsOf().map((cell) => bits.number(chosen.word, Math.floor(cell / grid), cell % grid));
};

/** @type {(value: number) => string} */
const told = (value) => (chosen.map === "attention" ? `${(100 * value).toFixed(1)} %` : value.toFixed(2));

function header() {
  const facts = Object.entries((showing.painted ?? given).facts).map(([name, value]) => [
    reader.language === "ko" ? (FACTS[name] ?? name) : name === "codes" ? "codes (kinds)" : name,
    reader.language === "ko" ? value.replace(/^8 bits$/, "8비트") : value,
  ]);
  element("header").replaceChildren(
    make(
      "div",
      { class: "title" },
      make("h1", { dir: "auto" }, showing.painted?.caption ?? given.title),
      languageButtons(drawAll),
    ),
    make(
      "dl",
      { class: "facts" },
      ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    ),
  );
}

// As far as it is painted; the rest stays paper.
/** @type {(canvas: HTMLCanvasElement) => void} */
function paint(canvas) {
  const { pixels, grid } = picture();
  const [height, width, channels] = pixels.shape;
  canvas.width = width;
  canvas.height = height;
  const pen = penOf(canvas);
  const image = pen.createImageData(width, height);
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) {
      const cell = Math.floor((row * grid) / height) * grid + Math.floor((column * grid) / width);
      const at = (row * width + column) * channels;
      const values = pixels.values;
      const colour = channels === 3 ? [values[at], values[at + 1], values[at + 2]] : Array(3).fill(values[at]);
      image.data.set([...colour, cell < chosen.painted ? 255 : 0], (row * width + column) * 4);
    }
  pen.putImageData(image, 0, 0);
}

const pictureSection = () =>
  make(
    "section",
    {},
    make("h2", {}, say(SAYS.picture)),
    make("p", { class: "muted" }, say(SAYS.hint)),
    make(
      "div",
      { class: "words", role: "toolbar", "aria-label": say(SAYS.attention), dir: "auto" },
      ...picture().words.map((word, place) =>
        make(
          "button",
          {
            type: "button",
            class: "word",
            data: { word: place },
            onmouseenter: () => select({ word: place }),
            onfocus: () => select({ word: place }),
            onclick: () => select({ word: place }),
          },
          word,
        ),
      ),
    ),
    make(
      "div",
      { class: "pictures" },
      make("figure", {}, make("canvas", { id: "picture", role: "img", "aria-label": picture().caption }), player()),
      make(
        "figure",
        {},
        make(
          "div",
          { class: "over", id: "map", role: "img", "aria-label": say(SAYS.map), style: { "--grid": picture().grid } },
          make("canvas", { id: "under", "aria-hidden": true }),
          ...cellsOf().map((cell) =>
            make("span", {
              class: "cell",
              data: { cell },
              onmouseenter: () => select({ cell }),
              onclick: () => select({ cell }),
            }),
          ),
        ),
        make("figcaption", { id: "key", class: "muted" }),
      ),
      make("div", { id: "looked" }),
    ),
    make("p", { class: "choosers" }, ...choosers()),
  );

const player = () =>
  make(
    "figcaption",
    { class: "player" },
    make("button", { type: "button", id: "play", onclick: play }, say(SAYS.play)),
    make("input", {
      type: "range",
      id: "painted",
      min: 0,
      max: picture().grid ** 2,
      value: chosen.painted,
      "aria-label": say(SAYS.painted),
      oninput: ({ currentTarget }) => select({ painted: Number(currentTarget.value) }),
    }),
    make("output", { id: "count" }),
  );

function play() {
  let count = 0;
  const timer = setInterval(() => {
    select({ painted: count });
    count += 1;
    if (count > picture().grid ** 2) clearInterval(timer);
  }, 40);
}

function choosers() {
  const [layers, heads] = picture().weights.shape;
  /** @type {(name: "layer" | "head", count: number, all: Both) => HTMLElement} */
  const chooser = (name, count, all) =>
    make(
      "select",
      {
        class: "parts",
        id: name,
        "aria-label": say(SAYS[name]),
        onchange: ({ currentTarget }) =>
          select({ [name]: currentTarget.value === "" ? null : Number(currentTarget.value) }),
      },
      make("option", { value: "", selected: chosen[name] === null }, say(all)),
      ...[...Array(count).keys()].map((each) =>
        make("option", { value: each, selected: chosen[name] === each }, say(SAYS.nth, say(SAYS[name]), each + 1)),
      ),
    );
  return [
    make(
      "select",
      {
        class: "parts",
        id: "shown",
        "aria-label": say(SAYS.shown),
        onchange: ({ currentTarget }) => select({ map: currentTarget.value === "leftOut" ? "leftOut" : "attention" }),
      },
      make("option", { value: "attention", selected: chosen.map === "attention" }, say(SAYS.attention)),
      picture().left_out && make("option", { value: "leftOut", selected: chosen.map === "leftOut" }, say(SAYS.leftOut)),
    ),
    chooser("layer", layers, SAYS.every),
    chooser("head", heads, SAYS.mean),
  ];
}

function lookedPart() {
  const { words, grid } = picture();
  const shares = words.map((word, place) => ({ word, share: share(chosen.cell, place) }));
  const rest = 1 - shares.reduce((sum, each) => sum + each.share, 0);
  return [
    make("h3", {}, say(SAYS.cell, Math.floor(chosen.cell / grid) + 1, (chosen.cell % grid) + 1)),
    make(
      "dl",
      { class: "shares" },
      ...[...shares, { word: say(SAYS.rest), share: Math.max(0, rest) }].flatMap((each) => [
        make("dt", { dir: "auto" }, each.word),
        make(
          "dd",
          {},
          make("i", { style: { "--share": each.share } }),
          make("span", {}, `${(100 * each.share).toFixed(1)} %`),
        ),
      ]),
    ),
  ];
}

function drawMap() {
  paint(/** @type {HTMLCanvasElement} */ (element("picture")));
  const under = /** @type {HTMLCanvasElement} */ (element("under"));
  const { words, grid } = picture();
  const shown = chosen.painted;
  chosen.painted = grid ** 2;
  paint(under);
  chosen.painted = shown;
  element("count").textContent = `${shown} / ${grid ** 2}`;
  /** @type {HTMLInputElement} */ (element("painted")).value = String(shown);
  const values = heat();
  const most = Math.max(...values, 1e-9);
  /** @type {NodeListOf<HTMLElement>} */
  const cells = element("map").querySelectorAll(".cell");
  cells.forEach((cell, place) => {
    cell.style.setProperty("--heat", String(Math.max(0, values[place]) / most));
    cell.classList.toggle("chosen", place === chosen.cell);
    cell.title = told(values[place]);
  });
  element("key").textContent =
    `${say(SAYS.word, words[chosen.word] ?? "")}: ${told(Math.min(...values))} … ${told(most)}`;
  element("looked").replaceChildren(...lookedPart());
  /** @type {NodeListOf<HTMLElement>} */
  const buttons = document.querySelectorAll(".word");
  for (const button of buttons)
    button.setAttribute("aria-pressed", String(Number(button.dataset.word) === chosen.word));
}

/** @type {(change: Partial<typeof chosen>) => void} */
function select(change) {
  Object.assign(chosen, change);
  drawMap();
}

function drawAll() {
  document.documentElement.lang = reader.language;
  header();
  element("sections").replaceChildren(...above.draw(), ...(showing.painted ? [pictureSection()] : []));
  element("caution").textContent = say(showing.painted?.left_out === null ? SAYS.plain : SAYS.caution);
  if (showing.painted) drawMap();
}

if (showing.painted) drawAll();
