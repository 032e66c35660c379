// What the page shows, to take along: a link to it, and any part of it as a drawing (SVG) or a picture (PNG).

const TAKE = {
  link: { en: "Copy link", ko: "링크 복사" },
  copied: { en: "Copied", ko: "복사했습니다" },
  svg: { en: "Save as a drawing (SVG)", ko: "벡터 그림(SVG)으로 저장" },
  png: { en: "Save as a picture (PNG)", ko: "이미지(PNG)로 저장" },
};
const TAKE_SCALE = 2; // pixels of a picture for one of the page

// A colour as every program knows it; newer ways to spell one are read off a pixel.
/** @type {Map<string, { hex: string, alpha: number }>} */
const knownColors = new Map();
/** @type {(css: string) => { hex: string, alpha: number }} */
function plainColor(css) {
  const known = knownColors.get(css);
  if (known) return known;
  const pen = penOf(make("canvas", { width: 1, height: 1 }));
  pen.fillStyle = css;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  const hex = `#${[red, green, blue].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
  knownColors.set(css, { hex, alpha: alpha / 255 });
  return { hex, alpha: alpha / 255 };
}

/** @typedef {{ left: number, top: number }} Origin */
// A word or a label where it stands. Names that run upwards are turned, those whose letters stand upright are stacked.
/** @type {(text: string, box: DOMRect, style: CSSStyleDeclaration, origin: Origin, opacity: number) => SVGElement[]} */
function drawnWord(text, box, style, origin, opacity) {
  const pen = penOf(make("canvas"));
  pen.font = style.font;
  const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText(text);
  const { hex, alpha } = plainColor(style.color);
  const look = {
    fill: hex,
    "fill-opacity": (alpha * opacity).toFixed(3),
    "font-family": style.fontFamily,
    "font-size": style.fontSize,
    "font-weight": style.fontWeight === "400" ? null : style.fontWeight,
    "font-style": style.fontStyle === "normal" ? null : style.fontStyle,
    "xml:space": "preserve",
  };
  const size = parseFloat(style.fontSize);
  const [x, y] = [box.left - origin.left, box.top - origin.top];
  const middle = x + box.width / 2;
  if (!style.writingMode.startsWith("vertical"))
    return [makeShape("text", { ...look, x: x.toFixed(1), y: (y + (box.height * up) / (up + down)).toFixed(1) }, text)];
  if (style.textOrientation === "upright")
    return [...text].map((letter, place) =>
      makeShape("text", { ...look, x: middle, y: y + size * (place + 0.85), "text-anchor": "middle" }, letter),
    );
  const turn = `translate(${(middle + size * 0.35).toFixed(1)} ${(y + box.height).toFixed(1)}) rotate(-90)`;
  return [makeShape("text", { ...look, transform: turn }, text)];
}

// The shapes of a drawing that is in the page already, with the style they have there.
/** @type {(drawing: SVGSVGElement, origin: Origin, opacity: number) => SVGElement} */
function drawnShapes(drawing, origin, opacity) {
  const box = drawing.getBoundingClientRect();
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const originals = [...drawing.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((shape, index) => {
    const style = getComputedStyle(originals[index]);
    shape.removeAttribute("style");
    shape.removeAttribute("class");
    for (const name of ["fill", "stroke"]) {
      const value = style.getPropertyValue(name);
      shape.setAttribute(name, value === "none" ? value : plainColor(value).hex);
    }
    for (const name of [
      "stroke-width",
      "stroke-opacity",
      "fill-opacity",
      "opacity",
      "stroke-dasharray",
      "stroke-linecap",
    ])
      shape.setAttribute(name, style.getPropertyValue(name));
    if (shape instanceof SVGTextElement)
      for (const name of ["font-family", "font-size", "font-weight", "text-anchor"])
        shape.setAttribute(name, style.getPropertyValue(name));
  });
  const place = { x: box.left - origin.left, y: box.top - origin.top, width: box.width, height: box.height };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value.toFixed(1));
  for (const name of ["class", "style"]) copy.removeAttribute(name);
  copy.setAttribute("overflow", "visible");
  copy.setAttribute("opacity", String(opacity));
  return copy;
}

// Everything that can be seen of an element, back to front.
/** @type {(element: Element, origin: Origin, opacity: number) => SVGElement[]} */
function drawnElement(element, origin, opacity) {
  const style = getComputedStyle(element);
  const seen = opacity * Number(style.opacity);
  if (style.display === "none" || seen === 0 || element.matches(".take, select, input, textarea")) return [];
  const box = element.getBoundingClientRect();
  if (element instanceof SVGSVGElement) return [drawnShapes(element, origin, seen)];
  const place = {
    x: (box.left - origin.left).toFixed(1),
    y: (box.top - origin.top).toFixed(1),
    width: box.width.toFixed(1),
    height: box.height.toFixed(1),
  };
  if (element instanceof HTMLCanvasElement)
    return element.width && element.height
      ? [makeShape("image", { ...place, href: element.toDataURL(), opacity: seen, preserveAspectRatio: "none" })]
      : [];
  if (style.visibility === "hidden")
    return [...element.children].flatMap((each) => drawnElement(each, origin, opacity));
  /** @type {SVGElement[]} */
  const shapes = [];
  const { hex, alpha } = plainColor(style.backgroundColor);
  if (alpha > 0 && box.width && box.height)
    shapes.push(
      makeShape("rect", {
        ...place,
        fill: hex,
        "fill-opacity": (alpha * seen).toFixed(3),
        rx: parseFloat(style.borderRadius) || null,
      }),
    );
  if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth))
    shapes.push(
      makeShape("rect", {
        ...place,
        fill: "none",
        stroke: plainColor(style.outlineColor).hex,
        "stroke-width": parseFloat(style.outlineWidth),
      }),
    );
  for (const child of element.childNodes)
    if (child instanceof Element) shapes.push(...drawnElement(child, origin, seen));
    else if (child instanceof Text)
      for (const { 0: word, index } of child.data.matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(child, index);
        range.setEnd(child, index + word.length);
        const [first] = range.getClientRects();
        if (first) shapes.push(...drawnWord(word, first, style, origin, seen));
      }
  return shapes;
}

// A part of the page as a drawing of its own, with the colours of the page.
/** @type {(part: HTMLElement) => SVGSVGElement} */
function drawingOf(part) {
  const box = part.getBoundingClientRect();
  const width = Math.ceil(Math.max(box.width, part.scrollWidth));
  const height = Math.ceil(Math.max(box.height, part.scrollHeight));
  const edge = 16;
  const paper = { x: -edge, y: -edge, width: width + 2 * edge, height: height + 2 * edge };
  return makeShape(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: Object.values(paper).join(" "),
      width: paper.width,
      height: paper.height,
    },
    makeShape("rect", { ...paper, fill: plainColor(color("--paper")).hex }),
    ...drawnElement(part, box, 1),
  );
}

/** @type {(content: Blob, name: string) => void} */
function save(content, name) {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @type {(drawing: SVGSVGElement) => Promise<Blob>} */
async function pictureFile(drawing) {
  const picture = new Image();
  const drawn = encodeURIComponent(new XMLSerializer().serializeToString(drawing));
  picture.setAttribute("src", `data:image/svg+xml,${drawn}`);
  await picture.decode();
  const canvas = make("canvas", { width: picture.width * TAKE_SCALE, height: picture.height * TAKE_SCALE });
  penOf(canvas).drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((content) => (content ? resolve(content) : reject(new Error("the picture is too large"))));
  });
}

// Buttons that save a part of the page under a name.
/** @type {(part: HTMLElement, name: string) => HTMLElement} */
function takeButtons(part, name) {
  /** @type {(kind: "svg" | "png", take: (drawing: SVGSVGElement) => void) => HTMLElement} */
  const button = (kind, take) =>
    make(
      "button",
      { type: "button", title: say(TAKE[kind]), "aria-label": say(TAKE[kind]), onclick: () => take(drawingOf(part)) },
      kind.toUpperCase(),
    );
  return make(
    "div",
    { class: "take" },
    button("svg", (drawing) => {
      save(new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" }), `${name}.svg`);
    }),
    button("png", async (drawing) => save(await pictureFile(drawing), `${name}.png`)),
  );
}

// The clipboard is there only where a page is trusted; elsewhere a selected field does the same.
/** @type {(text: string) => Promise<void>} */
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = make("textarea", { "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** @type {() => HTMLElement} */
function linkButton() {
  const button = make(
    "button",
    {
      type: "button",
      id: "copy-link",
      "aria-live": "polite",
      onclick: async () => {
        await copyText(location.href);
        button.textContent = say(TAKE.copied);
      },
    },
    say(TAKE.link),
  );
  return make("div", { class: "take" }, button);
}
