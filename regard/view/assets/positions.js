// The Positions view, and what it shares with the walk: numbers with a sign as colours, and lines of mathematics.

const POSITIONS = {
  title: { en: "Positions", ko: "위치" },
  sinusoidal: {
    en: "Attention sees a set; what makes it a sequence is added to the embeddings: at every position a vector of its own. Here each pair of dimensions is a sine and a cosine, from one turn in about six positions on the left to hardly any turn at all on the right, like the hands of many clocks (section 3.5 of the paper).",
    ko: "어텐션은 순서가 없는 집합을 봅니다. 이를 순서가 있는 열로 만드는 것은 임베딩에 더하는 위치별 벡터입니다. 여기서는 두 차원마다 사인과 코사인이 한 쌍을 이루며, 왼쪽 끝은 약 여섯 위치마다 한 바퀴를 돌고 오른쪽 끝은 거의 돌지 않습니다. 빠르기가 다른 시곗바늘을 늘어놓은 것과 같습니다(논문 3.5절).",
  },
  learned: {
    en: "Attention sees a set; what makes it a sequence is added to the embeddings: at every position a vector of its own. This model learned them, one free vector for each position; the paper found that to work as well as fixed sines (section 3.5).",
    ko: "어텐션은 순서가 없는 집합을 봅니다. 이를 순서가 있는 열로 만드는 것은 임베딩에 더하는 위치별 벡터입니다. 이 모델은 위치마다 벡터를 하나씩 자유롭게 학습했으며, 논문에 따르면 고정된 사인 함수와 성능이 거의 같습니다(3.5절).",
  },
  table: { en: "The table", ko: "위치 인코딩 표" },
  tableAxes: {
    en: "{0} positions downwards, {1} dimensions across; blue above zero, orange below",
    ko: "세로는 위치 {0}개, 가로는 차원 {1}개이며, 파랑은 양수, 주황은 음수입니다",
  },
  cell: { en: "position {0}, dimension {1}: {2}", ko: "위치 {0}, 차원 {1}: {2}" },
  dimension: { en: "Dimension", ko: "차원" },
  wave: { en: "dimension {0} over the positions", ko: "위치에 따른 차원 {0}의 값" },
  turn: {
    en: "dimension {0} over the positions: one turn in {1} positions",
    ko: "위치에 따른 차원 {0}의 값: {1}개 위치마다 한 바퀴",
  },
  products: { en: "How alike two positions are", ko: "두 위치는 얼마나 비슷한가" },
  productsText: {
    en: "The dot product of every two positions. With sines it depends only on their distance: it tells near from far, but not before from after. A learned matrix can tell that, too: going k positions on turns each sine-cosine pair by a fixed angle, so PE(t + k) is the same linear map of PE(t) whatever t is, and one matrix finds “the token before” anywhere in the sentence (section 3.5).",
    ko: "두 위치 벡터의 내적입니다. 사인 함수를 쓰면 내적은 두 위치의 거리에만 달려 있어서, 멀고 가까움은 알려 주지만 앞과 뒤는 가리지 못합니다. 앞뒤까지 가리는 것은 학습된 행렬입니다. k만큼 뒤로 가면 사인과 코사인의 각 쌍이 정해진 각도만큼 돌아가므로, PE(t + k)는 t가 무엇이든 PE(t)에 같은 선형 변환을 적용한 것입니다. 그래서 행렬 하나로 문장 어디서나 ‘바로 앞 토큰’을 찾을 수 있습니다(3.5절).",
  },
  productsLearned: {
    en: "The dot product of the vectors that the model learned for every two positions: the larger it is, the more the two point the same way.",
    ko: "모델이 학습한 두 위치 벡터의 내적입니다. 값이 클수록 두 벡터가 같은 방향을 가리킵니다.",
  },
  pair: { en: "positions {0} and {1}: {2}", ko: "위치 {0}, 위치 {1}: {2}" },
  position: { en: "Position", ko: "위치" },
  row: { en: "position {0} · every position", ko: "위치 {0}의 벡터와 모든 위치 벡터의 내적" },
};

// What the sliders of the view are at; kept when it is drawn again.
const positionsChoice = { dimension: 20, position: 12 };

/** @type {(value: number) => string} */
const signedNumber = (value) => {
  const text = value.toFixed(Math.abs(value) < 100 ? 2 : 1);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
};

/** @type {(tensors: Tensor[]) => number} */
const largestOf = (tensors) =>
  tensors.reduce(
    (most, tensor) => tensor.values.reduce((larger, value) => Math.max(larger, Math.abs(value)), most),
    1e-6,
  );

// One pixel per number: `zero` is the paper, `most` away from it the full colours.
/** @type {(canvas: HTMLCanvasElement, tensor: Tensor, most: number, zero: number) => void} */
function paintSigned(canvas, tensor, most, zero) {
  const context = penOf(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  const paper = channelsOf("--paper");
  const above = channelsOf("--accent");
  const below = channelsOf("--below");
  tensor.values.forEach((value, index) => {
    const strength = shade(Math.abs(value - zero) / most);
    const full = value < zero ? below : above;
    for (let part = 0; part < 3; part++)
      image.data[4 * index + part] = paper[part] + strength * (full[part] - paper[part]);
    image.data[4 * index + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

// A vector or matrix in colours. Pointer or arrow keys read single numbers through describe(row, column, value);
// `rest` is what stands below in the meantime.
/** @type {(tensor: Tensor, shown: { label: string, describe: (row: number, column: number, value: number) => string, rest?: string, zero?: number, most?: number, onpick?: (row: number, column: number) => void }) => HTMLElement} */
function signedMap(tensor, { label, describe, rest = "", zero = 0, most = largestOf([tensor]) - zero, onpick }) {
  const rows = tensor.shape.length > 1 ? tensor.shape[0] : 1;
  const columns = tensor.shape[tensor.shape.length - 1];
  const canvas = make("canvas", {
    width: columns,
    height: rows,
    tabindex: 0,
    role: "slider",
    "aria-label": label,
    "aria-valuemin": 0,
    "aria-valuemax": rows * columns - 1,
    "aria-valuenow": 0,
    "aria-valuetext": rest || label,
  });
  const cursor = make("i", { class: "cursor", hidden: true });
  const reading = make("span", { class: "reading" }, rest);
  let row = 0;
  let column = 0;
  /** @type {(toRow: number, toColumn: number) => void} */
  const read = (toRow, toColumn) => {
    row = Math.max(0, Math.min(rows - 1, toRow));
    column = Math.max(0, Math.min(columns - 1, toColumn));
    reading.textContent = describe(row, column, tensor.values[row * columns + column]);
    canvas.setAttribute("aria-valuenow", String(row * columns + column));
    canvas.setAttribute("aria-valuetext", reading.textContent);
    cursor.hidden = false;
    Object.assign(cursor.style, {
      left: `${(100 * column) / columns}%`,
      width: `${100 / columns}%`,
      top: `${(100 * row) / rows}%`,
      height: `${100 / rows}%`,
    });
  };
  const leave = () => {
    cursor.hidden = true;
    reading.textContent = rest;
  };
  /** @type {Record<string, [number, number]>} */
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    read(
      Math.floor(((event.clientY - box.top) / box.height) * rows),
      Math.floor(((event.clientX - box.left) / box.width) * columns),
    );
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("focus", () => {
    if (canvas.matches(":focus-visible")) read(row, column);
  });
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("click", () => onpick?.(row, column));
  canvas.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (event.key === "Enter") onpick?.(row, column);
    if (!move || row + move[0] < 0 || row + move[0] >= rows) return; // beyond the edge lies the next map of a step
    event.preventDefault();
    read(row + move[0], column + move[1]);
  });
  paintSigned(canvas, tensor, most, zero);
  return make("div", { class: "signed" }, make("div", { class: "field", dir: "ltr" }, canvas, cursor), reading);
}

// Of the maps in one step only one is a stop of the tab key; up and down lead to the others.
/** @type {<Step extends HTMLElement>(step: Step) => Step} */
function roveMaps(step) {
  const maps = [...step.querySelectorAll("canvas")];
  /** @type {(chosen: Element) => void} */
  const stopAt = (chosen) => {
    for (const map of maps) map.tabIndex = map === chosen ? 0 : -1;
  };
  stopAt(maps[0]);
  step.addEventListener("focusin", (event) => {
    const place = placeOf(event, maps);
    if (place >= 0) stopAt(maps[place]);
  });
  step.addEventListener("keydown", (event) => {
    const along = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    const place = placeOf(event, maps);
    const next = maps[place + along];
    if (event.defaultPrevented || !along || !next || place < 0) return;
    event.preventDefault();
    next.focus();
  });
  return step;
}

/** @type {Record<string, "sub" | "sup" | "root">} */
const MATH_FORMS = { _: "sub", "^": "sup", "√": "root" };

// A line of mathematics: x_{t} below, x^{Q} above, √{d} under a root; single letters are italic, names are not.
/** @type {(line: string) => HTMLElement} */
function setMath(line) {
  const set = make("span", { class: "equation", dir: "ltr" });
  for (let place = 0; place < line.length; ) {
    const form = MATH_FORMS[line[place]];
    if (form && line[place + 1] === "{") {
      let end = place + 2;
      for (let depth = 1; depth && end < line.length; end++)
        depth += line[end] === "{" ? 1 : line[end] === "}" ? -1 : 0;
      const inner = [...setMath(line.slice(place + 2, end - 1)).childNodes];
      if (form === "root") set.append("√", make("span", { class: "root" }, ...inner));
      else set.append(make(form, {}, ...inner));
      place = end;
      continue;
    }
    const word = line.slice(place).match(/^[\p{L}\p{M}]+/u)?.[0] ?? String.fromCodePoint(line.codePointAt(place) ?? 0);
    set.append(/^[^\P{L}Σ]\p{M}*$/u.test(word) ? make("i", {}, word) : word);
    place += word.length;
  }
  return set;
}

// A line over the positions, with its zero and the chosen position.
/** @type {(values: number[], mark?: number) => HTMLElement} */
function drawPositionCurve(values, mark) {
  const high = Math.max(0, ...values);
  const low = Math.min(0, ...values);
  const span = high - low || 1;
  /** @type {(index: number) => number} */
  const x = (index) => ((index + 0.5) / values.length) * 1000;
  /** @type {(value: number) => number} */
  const y = (value) => 96 - ((value - low) / span) * 92;
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(2)}`).join(" ");
  return make(
    "div",
    { class: "curve", dir: "ltr" },
    make("span", { class: "high" }, signedNumber(high)),
    make("span", { class: "low" }, signedNumber(low)),
    makeShape(
      "svg",
      { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      makeShape("line", { class: "zero", x1: 0, x2: 1000, y1: y(0), y2: y(0) }),
      mark !== undefined ? makeShape("line", { class: "mark", x1: x(mark), x2: x(mark), y1: 0, y2: 100 }) : "",
      makeShape("polyline", { points }),
    ),
    make("span", { class: "first" }, "0"),
    make("span", { class: "last" }, String(values.length - 1)),
  );
}

// A slider over one axis, and the curve that belongs to where it is.
/** @type {(axis: "dimension" | "position", most: number, follow: () => void) => HTMLElement} */
function makePositionSlider(axis, most, follow) {
  const id = `positions-${axis}`;
  const value = positionsChoice[axis];
  const output = make("output", { for: id }, String(value));
  const input = make("input", {
    type: "range",
    id,
    min: 0,
    max: most,
    value,
    oninput: () => {
      output.textContent = input.value;
      positionsChoice[axis] = Number(input.value);
      follow();
    },
  });
  return make("label", { class: "slider" }, make("span", {}, say(POSITIONS[axis])), input, output);
}

// Every two rows multiplied: [P, D] → [P, P].
/** @type {(table: Tensor) => Tensor} */
function positionProducts(table) {
  const [positions, width] = table.shape;
  const { values } = table;
  const products = new Float32Array(positions * positions);
  for (let i = 0; i < positions; i++)
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let m = 0; m < width; m++) sum += values[i * width + m] * values[j * width + m];
      products[i * positions + j] = sum;
      products[j * positions + i] = sum;
    }
  return new Tensor([positions, positions], products);
}

/** @type {(table: Tensor, sinusoidal: boolean) => HTMLElement} */
function drawPositionTable(table, sinusoidal) {
  const [positions, width] = table.shape;
  const plot = make("div", { class: "plot" });
  const follow = () => {
    const { dimension } = positionsChoice;
    const turn = 2 * Math.PI * 10000 ** ((2 * Math.floor(dimension / 2)) / width);
    plot.replaceChildren(
      make(
        "p",
        { class: "muted" },
        sinusoidal
          ? say(POSITIONS.turn, dimension, turn < 100 ? turn.toFixed(1) : Math.round(turn).toLocaleString())
          : say(POSITIONS.wave, dimension),
      ),
      drawPositionCurve(Array.from({ length: positions }, (_, position) => table.number(position, dimension))),
    );
  };
  follow();
  return make(
    "section",
    { class: "table" },
    make("h2", {}, say(POSITIONS.table)),
    make("p", { class: "muted" }, say(POSITIONS.tableAxes, positions, width)),
    signedMap(table, {
      label: say(POSITIONS.table),
      rest: "\u00a0",
      describe: (row, column, value) => say(POSITIONS.cell, row, column, signedNumber(value)),
      onpick: (row, column) => {
        Object.assign(positionsChoice, { position: row, dimension: column });
        draw();
      },
    }),
    makePositionSlider("dimension", width - 1, follow),
    plot,
  );
}

/** @type {(table: Tensor, sinusoidal: boolean) => HTMLElement} */
function drawPositionProducts(table, sinusoidal) {
  const positions = table.shape[0];
  const products = positionProducts(table);
  const plot = make("div", { class: "plot" });
  const follow = () =>
    plot.replaceChildren(
      make("p", { class: "muted" }, say(POSITIONS.row, positionsChoice.position)),
      drawPositionCurve([...products.at(positionsChoice.position).values], positionsChoice.position),
    );
  follow();
  return make(
    "section",
    { class: "products" },
    make("h2", {}, say(POSITIONS.products)),
    make("p", { class: "muted" }, say(sinusoidal ? POSITIONS.productsText : POSITIONS.productsLearned)),
    make(
      "div",
      { class: "pairs" },
      signedMap(products, {
        label: say(POSITIONS.products),
        rest: "\u00a0",
        zero: Math.max(0, Math.min(...products.values)),
        describe: (row, column, value) => say(POSITIONS.pair, row, column, signedNumber(value)),
        onpick: (row) => {
          positionsChoice.position = row;
          draw();
        },
      }),
      make("div", {}, makePositionSlider("position", positions - 1, follow), plot),
    ),
  );
}

view({
  id: "positions",
  title: POSITIONS.title,
  available: (scene) => Boolean(scene?.positions),
  draw(root, scene) {
    if (!scene.positions) return;
    const table = tensorOf(scene.positions);
    const sinusoidal = scene.shape.positions === "sinusoidal";
    positionsChoice.position = Math.min(positionsChoice.position, table.shape[0] - 1);
    positionsChoice.dimension = Math.min(positionsChoice.dimension, table.shape[1] - 1);
    const equations = sinusoidal ? SINUSOIDS : [];
    root.append(
      make("p", { class: "muted" }, say(sinusoidal ? POSITIONS.sinusoidal : POSITIONS.learned)),
      make("p", { class: "equations" }, ...equations.map((line) => setMath(line))),
      drawPositionTable(table, sinusoidal),
      drawPositionProducts(table, sinusoidal),
    );
  },
});
