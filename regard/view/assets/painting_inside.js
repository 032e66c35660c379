// A painter inside the page: a caption is typed, and a thread of the page paints it, code after code. Runs last.

const INSIDE = {
  caption: { en: "Caption", ko: "캡션" },
  placeholder: { en: "a red boot left of a blue bag", ko: "파란 가방 왼쪽에 빨간 부츠" },
  paint: { en: "Paint", ko: "그리기" },
  busy: { en: "Painting …", ko: "그리는 중 …" },
  empty: { en: "Type a caption first.", ko: "먼저 캡션을 입력해 주세요." },
  cut: { en: "The caption is too long: its end was not read.", ko: "캡션이 너무 길어 끝부분은 읽지 못했습니다." },
  guidance: { en: "Guidance", ko: "가이던스" },
  guidanceHint: {
    en: "Exaggerates what the caption changes: 1 is the model as it is, 0 ignores the caption.",
    ko: "캡션의 영향을 과장합니다. 1은 모델 그대로이고, 0은 캡션을 무시합니다.",
  },
  temperature: { en: "Sampling temperature", ko: "샘플링 온도" },
  temperatureHint: {
    en: "0 takes the most probable code each time (greedy). Above 0, each code is drawn from the most probable ones that make up 95 %.",
    ko: "0이면 매번 확률이 가장 높은 코드를 고릅니다(greedy). 0보다 크면 확률의 합이 95%가 되는 상위 코드 가운데서 뽑습니다.",
  },
  seed: { en: "Seed", ko: "시드" },
  seedHint: {
    en: "The same seed paints the same picture in this page.",
    ko: "시드가 같으면 이 페이지에서 같은 그림이 그려집니다.",
  },
  here: {
    en: "The painter is inside this page and runs on your device; nothing you type is sent anywhere.",
    ko: "화가 모델이 이 페이지 안에 있고 이 기기에서 실행됩니다. 입력한 글은 어디에도 보내지 않습니다.",
  },
};
const TOP_P = 0.95;
const { inside } = /** @type {PaintingInside} */ (given);
const worker = new Worker(URL.createObjectURL(new Blob([inside.program], { type: "text/javascript" })));
worker.postMessage({ model: inside.model });
const asking = { id: 0, busy: false, error: "" };

// One form for the page's whole life, so that what is typed survives when all else is drawn again.
const field = {
  caption: make("input", { type: "text", id: "caption", dir: "auto", autocomplete: "off", value: inside.caption }),
  guidance: make("input", { type: "number", id: "guidance", min: 0, max: 100, step: 0.5, value: 2 }),
  temperature: make("input", { type: "number", id: "temperature", min: 0, max: 2, step: 0.1, value: 1 }),
  seed: make("input", { type: "number", id: "seed", min: 0, max: 4294967295, step: 1, value: 0 }),
  submit: make("button", { type: "submit", id: "paint" }),
  error: make("p", { class: "error", role: "alert" }),
  here: make("p", { class: "muted" }),
};
const labels = {
  caption: make("label", { for: "caption", class: "caption" }, make("span", { class: "name" }), field.caption),
  guidance: make("label", { for: "guidance" }, make("span", { class: "name" }), field.guidance),
  temperature: make("label", { for: "temperature" }, make("span", { class: "name" }), field.temperature),
  seed: make("label", { for: "seed" }, make("span", { class: "name" }), field.seed),
};
const form = make(
  "form",
  {
    class: "asking",
    novalidate: true,
    onsubmit: (event) => {
      event.preventDefault();
      askForPicture();
    },
  },
  labels.caption,
  make("div", { class: "row" }, labels.guidance, labels.temperature, labels.seed, field.submit),
  field.error,
  field.here,
);

above.draw = () => {
  for (const name of namesOf(labels)) nameIn(labels[name]).textContent = say(INSIDE[name]);
  labels.guidance.title = say(INSIDE.guidanceHint);
  labels.temperature.title = say(INSIDE.temperatureHint);
  labels.seed.title = say(INSIDE.seedHint);
  field.caption.placeholder = say(INSIDE.placeholder);
  field.here.textContent = say(INSIDE.here);
  refresh();
  return [form];
};

function refresh() {
  field.submit.textContent = say(asking.busy ? INSIDE.busy : INSIDE.paint);
  field.error.textContent = asking.error;
  field.error.hidden = !asking.error;
  form.setAttribute("aria-busy", String(asking.busy));
}

function askForPicture() {
  const caption = field.caption.value.trim();
  asking.error = caption ? "" : say(INSIDE.empty);
  if (caption) {
    asking.id += 1;
    asking.busy = true;
    /** @type {(input: HTMLInputElement, otherwise: number) => number} */
    const number = ({ valueAsNumber: value, min, max }, otherwise) =>
      Number.isFinite(value) ? Math.min(Number(max), Math.max(Number(min), value)) : otherwise;
    /** @type {PaintRequest} */
    const paint = {
      caption,
      guidance: number(field.guidance, 2),
      temperature: number(field.temperature, 1),
      top_p: TOP_P,
      seed: number(field.seed, 0),
    };
    worker.postMessage({ id: asking.id, paint });
  }
  refresh();
}

// Of several questions, only the answer to the last one is shown.
/** @type {(event: MessageEvent<PainterAnswer>) => void} */
worker.onmessage = ({ data }) => {
  if (data.id !== asking.id) return;
  if ("error" in data) Object.assign(asking, { busy: false, error: data.error });
  else {
    const { codes, pixels, words, cut, weights } = data.painted;
    const { grid } = inside.model.stage;
    showing.painted = { ...given, caption: words.join(" "), words, pixels, grid, weights, left_out: null };
    chosen.painted = codes.length;
    asking.busy = codes.length < grid ** 2;
    const first = codes.length === 1;
    if (first) chosen.word = words.length - 1;
    if (cut) asking.error = say(INSIDE.cut);
    if (first) drawAll();
    else drawMap();
  }
  refresh();
};
worker.onerror = (event) => {
  Object.assign(asking, { busy: false, error: event.message });
  refresh();
};

drawAll();
if (inside.caption) askForPicture();
