// The maps of a decision: every layer and head small, the chosen one large.

const TEXT = {
  layer: { en: "layer {0}", ko: "{0}층" },
  head: { en: "head {0}", ko: "헤드 {0}" },
  mean: { en: "mean", ko: "평균" },
  looking: { en: "looking", ko: "보는 쪽" },
  looked: { en: "looked at", ko: "보이는 쪽" },
  chosen: { en: "Layer {0}, {1}", ko: "{0}층, {1}" },
  enlarge: { en: "Choose one to enlarge it.", ko: "하나를 고르면 크게 보입니다." },
};

/** @type {(root: Element, shown: { words: string[], weights: Tensor }, choice: { layer: number, head: Head }) => void} */
function drawMaps(root, { words, weights }, choice) {
  const [layers, heads] = weights.shape;
  /** @type {(head: Head) => string} */
  const named = (head) => (typeof head === "number" ? say(TEXT.head, head + 1) : say(TEXT.mean));
  /** @type {Head[]} */
  const choices = [...(heads > 1 ? /** @type {const} */ (["mean"]) : []), ...Array(heads).keys()];
  /** @type {(layer: number, head: Head) => HTMLElement} */
  const button = (layer, head) =>
    make(
      "div",
      { class: "head" },
      make(
        "button",
        {
          type: "button",
          "aria-label": say(TEXT.chosen, layer + 1, named(head)),
          "aria-pressed": String(layer === choice.layer && head === choice.head),
          onclick: () => drawMaps(root, { words, weights }, Object.assign(choice, { layer, head })),
        },
        thumbnail(mapOf(weights.at(layer), head)),
      ),
    );
  const overview = make(
    "div",
    { class: "small", style: { "--heads": choices.length } },
    make("span"),
    ...choices.map((head) => make("span", {}, named(head))),
    ...Array.from({ length: layers }, (_, layer) => [
      make("span", { class: "layer" }, say(TEXT.layer, layer + 1)),
      ...choices.map((head) => button(layer, head)),
    ]).flat(),
  );
  const label = say(TEXT.chosen, choice.layer + 1, named(choice.head));
  root.replaceChildren(
    make("p", { class: "muted" }, say(TEXT.enlarge)),
    overview,
    make("h2", {}, label),
    heatMap({
      queries: words,
      keys: words,
      map: mapOf(weights.at(choice.layer), choice.head),
      label,
      queryTitle: say(TEXT.looking),
      keyTitle: say(TEXT.looked),
      edges: false,
    }),
  );
}

for (const root of document.querySelectorAll(".maps")) {
  /** @type {Maps} */
  const { words, weights } = JSON.parse(root.querySelector("script")?.textContent ?? "null");
  const tensor = unpack(weights);
  /** @type {{ layer: number, head: Head }} */
  const choice = { layer: tensor.shape[0] - 1, head: tensor.shape[1] > 1 ? "mean" : 0 };
  const again = () => {
    reader.language = document.documentElement.lang === "ko" ? "ko" : "en";
    drawMaps(root, { words, weights: tensor }, choice);
  };
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["lang"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  again();
}
