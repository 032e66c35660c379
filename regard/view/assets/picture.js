// A picture with attention over it: every layer and head, rollout, gradient × input, positions, and a walk with the real numbers.

const PICTURE_TEXT = {
  layer: { en: "layer {0}", ko: "{0}층" },
  head: { en: "head {0}", ko: "헤드 {0}" },
  mean: { en: "mean", ko: "평균" },
  every: { en: "Every layer and head: choose one", ko: "모든 층과 헤드: 하나를 고르세요" },
  looks: { en: "{0} looks at: layer {1}, {2}", ko: "{0} 시선: {1}층, {2}" },
  patch: { en: "patch {0}, {1}", ko: "패치 {0}, {1}" },
  token: { en: "class token", ko: "클래스 토큰" },
  pooled: { en: "what is labelled", ko: "라벨이 붙는 벡터" },
  picture: { en: "The picture as the model saw it: point at a patch", ko: "모델이 본 그림: 패치를 가리켜 보세요" },
  rollout: { en: "Rollout: all layers together", ko: "롤아웃: 모든 층을 합친 것" },
  gradient: {
    en: "Gradient × input: blue for {0}, orange against",
    ko: "기울기 × 입력: 파랑은 {0}에 유리, 주황은 불리",
  },
  places: {
    en: "Positions: how similar each place is to all others",
    ko: "위치: 각 자리가 다른 자리와 얼마나 비슷한가",
  },
  walk: { en: "The walk: {0}, layer {1}, {2}", ko: "따라가기: {0}, {1}층, {2}" },
  values: { en: "its pixels", ko: "픽셀" },
  mean_pixel: { en: "mean {0}", ko: "평균 {0}" },
  vector: { en: "vector", ko: "벡터" },
  query: { en: "query Q", ko: "쿼리 Q" },
  key: { en: "key K", ko: "키 K" },
  value: { en: "value V", ko: "값 V" },
  strongest: { en: "looks most at (Q · K / √d → softmax)", ko: "가장 많이 보는 곳 (Q · K / √d → softmax)" },
  state: { en: "after the last layer", ko: "마지막 층 다음" },
  counts: { en: "counts for the label", ko: "라벨에 기여하는 몫" },
  label: { en: "all tokens, by what they count → label", ko: "모든 토큰을 그 몫만큼 → 라벨" },
};
const FIRST = 8; // numbers of a vector that are written out

/** @type {(root: Element, shown: PictureShown) => void} */
function drawPicture(root, shown) {
  const { grid, extra, side, label } = shown;
  const pixels = Uint8Array.from(atob(shown.pixels), (letter) => letter.charCodeAt(0));
  const weights = tensorOf(shown.weights);
  const [layers, heads] = weights.shape;
  /** @type {{ layer: number, head: Head, token: number }} */
  const choice = { layer: layers - 1, head: heads > 1 ? "mean" : 0, token: -1 };
  /** @type {(head: Head) => string} */
  const headName = (head) => (typeof head === "number" ? say(PICTURE_TEXT.head, head + 1) : say(PICTURE_TEXT.mean));
  /** @type {(token: number) => string} */
  const tokenName = (token) => {
    if (token < 0) return say(PICTURE_TEXT.pooled);
    if (token < extra) return say(PICTURE_TEXT.token);
    return say(PICTURE_TEXT.patch, Math.floor((token - extra) / grid) + 1, ((token - extra) % grid) + 1);
  };

  // Where a token looks, or what is labelled: the mean of all tokens, each as much as it counts.
  /** @type {(layer: number, head: Head, token: number) => Float32Array} */
  const look = (layer, head, token) => {
    const map = mapOf(weights.at(layer), head);
    const found = new Float32Array(grid * grid);
    const pooled = tensorOf(shown.pooled).values;
    for (let query = 0; query < map.shape[0]; query++) {
      const part = token < 0 ? pooled[query] : Number(query === token);
      if (part)
        for (let place = 0; place < found.length; place++) found[place] += part * map.number(query, extra + place);
    }
    return found;
  };

  // The picture, dark where the map has little; with signs, blue for and orange against.
  /** @type {(canvas: HTMLCanvasElement, map: Float32Array | null, signed?: boolean, framed?: number) => HTMLCanvasElement} */
  const paint = (canvas, map, signed = false, framed = -1) => {
    const scale = Math.max(1, Math.ceil(224 / side));
    canvas.width = canvas.height = side * scale;
    const pen = penOf(canvas);
    const most = map ? Math.max(...Array.from(map, Math.abs)) || 1 : 1;
    for (let row = 0; row < side; row++)
      for (let column = 0; column < side; column++) {
        const place = Math.floor((row * grid) / side) * grid + Math.floor((column * grid) / side);
        const depth = map ? map[place] / most : 0;
        const own = [0, 1, 2].map((channel) => pixels[3 * (row * side + column) + channel]);
        const tint = depth >= 0 && !signed ? [255, 190, 60] : depth >= 0 ? [60, 140, 255] : [255, 130, 40];
        const part = map ? 0.7 * Math.abs(depth) ** 0.7 : 0;
        const dim = map ? 0.55 : 1;
        pen.fillStyle = `rgb(${own.map((value, channel) => (1 - part) * dim * value + part * tint[channel]).join(" ")})`;
        pen.fillRect(column * scale, row * scale, scale, scale);
      }
    if (framed >= 0) {
      const cell = (side * scale) / grid;
      pen.lineWidth = Math.max(2, scale / 4);
      pen.strokeStyle = "white";
      pen.strokeRect((framed % grid) * cell, Math.floor(framed / grid) * cell, cell, cell);
    }
    return canvas;
  };

  /** @type {(values: ArrayLike<number>) => string} */
  const numbers = (values) =>
    Array.from(values)
      .slice(0, FIRST)
      .map((each) => each.toFixed(2).replace("-", "−"))
      .join("  ") + (values.length > FIRST ? "  …" : "");

  const large = make("canvas", { tabindex: 0, role: "img" });
  const caption = make("figcaption", { "aria-live": "polite" });
  const walk = make("div", {});
  const overview = make("div", { class: "looks", style: { "--heads": heads + Number(heads > 1) } });

  // What a token was cut from, and how bright that is.
  /** @type {(place: number) => (string | Node)[]} */
  const patchOf = (place) => {
    const within = [...Array(side).keys()];
    const rows = within.filter((row) => Math.floor((row * grid) / side) === Math.floor(place / grid));
    const columns = within.filter((column) => Math.floor((column * grid) / side) === place % grid);
    const canvas = make("canvas");
    canvas.width = columns.length;
    canvas.height = rows.length;
    const pen = penOf(canvas);
    let sum = 0;
    rows.forEach((row, y) => {
      columns.forEach((column, x) => {
        const own = pixels.subarray(3 * (row * side + column), 3 * (row * side + column) + 3);
        sum += (own[0] + own[1] + own[2]) / 3;
        pen.fillStyle = `rgb(${own.join(" ")})`;
        pen.fillRect(x, y, 1, 1);
      });
    });
    return [canvas, say(PICTURE_TEXT.mean_pixel, (sum / (rows.length * columns.length)).toFixed(1))];
  };

  const walkOf = () => {
    const token = choice.token < 0 ? 0 : choice.token;
    const head = typeof choice.head === "number" ? choice.head : 0;
    const projected = tensorOf(shown.projected);
    const row = mapOf(weights.at(choice.layer), head).at(token).values;
    const best = Array.from(row.keys())
      .sort((one, other) => row[other] - row[one])
      .slice(0, 3);
    const place = token - extra;
    /** @type {[string, (string | Node)[]][]} */
    const rows = [
      [say(PICTURE_TEXT.values), place >= 0 ? patchOf(place) : ["–"]],
      [say(PICTURE_TEXT.vector), [numbers(tensorOf(shown.vectors).at(token).values)]],
      [say(PICTURE_TEXT.query), [numbers(projected.at(0, choice.layer, head, token).values)]],
      [say(PICTURE_TEXT.key), [numbers(projected.at(1, choice.layer, head, token).values)]],
      [say(PICTURE_TEXT.value), [numbers(projected.at(2, choice.layer, head, token).values)]],
      [
        say(PICTURE_TEXT.strongest),
        [best.map((key) => `${tokenName(key)} ${(100 * row[key]).toFixed(1)} %`).join(", ")],
      ],
      [say(PICTURE_TEXT.state), [numbers(tensorOf(shown.states).at(token).values)]],
      [say(PICTURE_TEXT.counts), [`${(100 * tensorOf(shown.pooled).values[token]).toFixed(1)} %`]],
      [say(PICTURE_TEXT.label), [`${label} ${(100 * shown.probability).toFixed(1)} %`]],
    ];
    walk.replaceChildren(
      make("h2", {}, say(PICTURE_TEXT.walk, tokenName(token), choice.layer + 1, headName(head))),
      make(
        "table",
        { class: "walk" },
        ...rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, ...value))),
      ),
    );
  };

  const show = () => {
    paint(large, look(choice.layer, choice.head, choice.token), false, choice.token - extra);
    const told = say(PICTURE_TEXT.looks, tokenName(choice.token), choice.layer + 1, headName(choice.head));
    caption.textContent = told;
    large.setAttribute("aria-label", told);
    walkOf();
  };
  /** @type {(token: number) => void} */
  const point = (token) => {
    if (token === choice.token) return;
    choice.token = token;
    show();
  };
  large.addEventListener("pointermove", (event) => {
    const box = large.getBoundingClientRect();
    const [column, row] = [event.clientX - box.left, event.clientY - box.top].map((each) =>
      Math.min(grid - 1, Math.max(0, Math.floor((each / box.width) * grid))),
    );
    point(extra + row * grid + column);
  });
  large.addEventListener("pointerleave", () => point(-1));
  large.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid, ArrowDown: grid }[event.key];
    if (!step) return;
    event.preventDefault();
    const place = choice.token < extra ? 0 : choice.token - extra + step;
    if (place >= 0 && place < grid * grid) point(extra + place);
  });

  const drawOverview = () => {
    /** @type {Head[]} */
    const choices = [...(heads > 1 ? /** @type {const} */ (["mean"]) : []), ...Array(heads).keys()];
    overview.replaceChildren(
      make("span"),
      ...choices.map((head) => make("span", {}, headName(head))),
      ...Array.from({ length: layers }, (_, layer) => [
        make("span", {}, say(PICTURE_TEXT.layer, layer + 1)),
        ...choices.map((head) =>
          make(
            "button",
            {
              type: "button",
              "aria-label": say(PICTURE_TEXT.looks, tokenName(-1), layer + 1, headName(head)),
              "aria-pressed": String(layer === choice.layer && head === choice.head),
              onclick: () => {
                Object.assign(choice, { layer, head });
                drawOverview();
                show();
              },
            },
            paint(make("canvas"), look(layer, head, -1)),
          ),
        ),
      ]).flat(),
    );
  };

  // Small maps of one number for each place, without the picture.
  /** @type {(map: Float32Array) => HTMLCanvasElement} */
  const plainMap = (map) => {
    const canvas = make("canvas");
    canvas.width = canvas.height = grid;
    const pen = penOf(canvas);
    map.forEach((value, place) => {
      const part = Math.round(255 * (0.5 + value / 2));
      pen.fillStyle = `rgb(${part} ${part} ${Math.round(0.6 * part + 60)})`;
      pen.fillRect(place % grid, Math.floor(place / grid), 1, 1);
    });
    return canvas;
  };

  /** @type {(canvas: HTMLCanvasElement, text: string) => HTMLElement} */
  const figure = (canvas, text) => make("figure", {}, canvas, make("figcaption", {}, text));
  const draw = () => {
    const similar = shown.positions && tensorOf(shown.positions);
    root.replaceChildren(
      make("h2", {}, say(PICTURE_TEXT.picture)),
      make(
        "div",
        { class: "large" },
        make("figure", {}, large, caption),
        figure(paint(make("canvas"), tensorOf(shown.rollout).values), say(PICTURE_TEXT.rollout)),
        figure(paint(make("canvas"), tensorOf(shown.gradient).values, true), say(PICTURE_TEXT.gradient, label)),
      ),
      walk,
      make("h2", {}, say(PICTURE_TEXT.every)),
      overview,
      ...(similar
        ? [
            make("h2", {}, say(PICTURE_TEXT.places)),
            make(
              "div",
              { class: "places", role: "img", "aria-label": say(PICTURE_TEXT.places), style: { "--grid": grid } },
              ...Array.from({ length: grid * grid }, (_, place) => plainMap(similar.at(place).values)),
            ),
          ]
        : []),
    );
    drawOverview();
    show();
  };
  draw();
  const observer = new MutationObserver(() => {
    if (!root.isConnected) {
      observer.disconnect(); // another picture is shown in its place
      return;
    }
    reader.language = document.documentElement.lang === "ko" ? "ko" : "en";
    draw();
  });
  observer.observe(document.documentElement, { attributeFilter: ["lang"] });
}

for (const root of document.querySelectorAll(".picture-page"))
  drawPicture(root, JSON.parse(root.querySelector("script")?.textContent ?? "null"));
