// Asks a classifier, a language model or a painter, and shows what it answers: bars for labels, text as it is written, pictures
// as they form. What has to do with pictures is in ask_pictures.js.

const SAY = {
  ask: {
    "/classify": { en: "Classify", ko: "분류하기" },
    "/generate": { en: "Write on", ko: "이어 쓰기" },
    "/recognize": { en: "Recognize", ko: "인식하기" },
    "/paint": { en: "Paint", ko: "그리기" },
  },
  placeholder: {
    "/classify": { en: "Type a text to classify …", ko: "분류할 글을 입력하세요 …" },
    "/generate": { en: "Type how a text begins, or nothing …", ko: "글의 첫머리를 입력하세요. 비워 두어도 됩니다 …" },
    "/recognize": { en: "", ko: "" },
    "/paint": { en: "Type what to paint …", ko: "무엇을 그릴지 입력하세요 …" },
  },
  keys: { en: "Enter asks, Shift + Enter starts a new line", ko: "Enter로 묻고 Shift + Enter로 줄을 바꿉니다" },
  model: { en: "Model", ko: "모델" },
  max_new_tokens: { en: "New tokens", ko: "새 토큰 수" },
  temperature: { en: "Temperature", ko: "온도" },
  seed: { en: "Seed", ko: "시드" },
  count: { en: "Pictures", ko: "그림 수" },
  guidance: { en: "Guidance", ko: "가이던스" },
  hints: {
    max_new_tokens: { en: "How many tokens to write at most.", ko: "최대 몇 토큰까지 쓸지 정합니다." },
    temperature: {
      en: "Below 1 is safer, above 1 wilder; 0 always takes the most probable token.",
      ko: "1보다 작으면 무난하게, 크면 자유롭게 씁니다. 0이면 언제나 가장 그럴듯한 토큰을 고릅니다.",
    },
    seed: { en: "The same seed gives the same answer.", ko: "시드가 같으면 같은 답이 나옵니다." },
    count: { en: "How many pictures to paint.", ko: "그림을 몇 장 그릴지 정합니다." },
    guidance: {
      en: "Exaggerates what the words change; 1 is the model as it is, 0 ignores them.",
      ko: "설명이 그림에 미치는 영향을 키웁니다. 1이면 모델 그대로이고 0이면 설명을 무시합니다.",
    },
  },
  stop: { en: "Stop", ko: "멈추기" },
  labels: { en: "It tells apart: {0}", ko: "구별하는 범주: {0}" },
  more: { en: "and {0} more", ko: "그 밖에 {0}개" },
  empty: {
    en: "There is nothing to classify: type a text first.",
    ko: "분류할 글이 없습니다. 먼저 글을 입력해 주세요.",
  },
  emptyCaption: {
    en: "There is nothing to paint: type a caption first.",
    ko: "그릴 것이 없습니다. 먼저 설명을 입력해 주세요.",
  },
  long: {
    en: "The text has {0} characters; this server takes at most {1}.",
    ko: "글이 {0}자입니다. 이 서버는 {1}자까지 받습니다.",
  },
  cut: {
    en: "The text is longer than the model reads; only a part of it was read.",
    ko: "글이 모델이 읽을 수 있는 길이보다 길어 일부만 읽었습니다.",
  },
  windows: { en: "{0} windows over the text voted.", ko: "글을 {0}개 구간으로 나누어 투표했습니다." },
  ended: {
    end: { en: "{0} tokens; the text came to its end.", ko: "토큰 {0}개. 글이 끝났습니다." },
    length: { en: "{0} tokens, as many as were asked for.", ko: "토큰 {0}개. 요청한 만큼 썼습니다." },
    stop: { en: "{0} tokens, up to a stop string.", ko: "토큰 {0}개. 멈춤 문자열에서 끝났습니다." },
    stopped: { en: "Stopped.", ko: "멈췄습니다." },
  },
  gone: {
    en: "The server does not answer. Is it still running?",
    ko: "서버가 응답하지 않습니다. 실행 중인지 확인해 주세요.",
  },
  broken: { en: "The answer broke off.", ko: "응답이 중간에 끊겼습니다." },
  inside: { en: "Look inside: words, walk, heads to switch", ko: "모델 속 들여다보기: 단어, 계산 과정, 헤드 끄기" },
  programs: { en: "Programs ask by a JSON API: ", ko: "프로그램에서는 JSON API로 물을 수 있습니다: " },
};
const SHOWN = 20; // labels; a model may know thousands
/** @type {AskPage} */
const server = JSON.parse(element("data").textContent);
const newTokens = Math.max(1, ...server.models.map((each) => (each.path === "/generate" ? each.most_new_tokens : 1)));
const mostPictures = Math.max(1, ...server.models.map((each) => (each.path === "/paint" ? each.most_pictures : 1)));
/** @type {AbortController | null} */
let running = null; // of the latest question
/** @type {() => Node[]} */
let shown = () => []; // what the answer looks like in the language of the moment

/** @type {(name: string, more: Attributes<HTMLInputElement>) => HTMLInputElement} */
const field = (name, more) => make("input", { type: "number", id: `ask-${name}`, ...more });
const part = {
  text: make("textarea", { id: "ask-text", rows: 3, dir: "auto", spellcheck: "false" }),
  model: make(
    "select",
    {
      id: "ask-model",
      onchange: () => {
        clear();
        draw();
      },
    },
    ...server.models.map(({ name, title }) =>
      make("option", { value: name }, title === name ? name : `${name} · ${title}`),
    ),
  ),
  max_new_tokens: field("max_new_tokens", { min: 1, max: newTokens, value: Math.min(100, newTokens) }),
  temperature: field("temperature", { min: 0, step: 0.1, value: 0.8 }),
  count: field("count", { min: 1, max: mostPictures, value: Math.min(4, mostPictures) }),
  guidance: field("guidance", { min: 0, max: 100, step: 0.5, value: 2 }),
  seed: field("seed", { min: 0, value: 0 }),
  keys: make("span", { class: "keys" }),
  submit: make("button", { type: "submit", id: "ask-submit" }),
  error: make("p", { class: "error", role: "alert", hidden: true }),
};
const FIELDS = /** @type {const} */ (["model", "max_new_tokens", "temperature", "count", "guidance", "seed"]);
/** @type {Record<AskModel["path"], string[]>} */
const USED = {
  "/classify": [],
  "/generate": ["max_new_tokens", "temperature", "seed"],
  "/recognize": [],
  "/paint": ["count", "guidance", "seed"],
};
const fields = FIELDS.map((name) =>
  make("label", { for: `ask-${name}`, data: { name } }, make("span", { class: "name" }), part[name]),
);
const languages = namesOf(LANGUAGES).map((language) =>
  make(
    "button",
    {
      type: "button",
      lang: language,
      onclick: () => {
        reader.language = language;
        draw();
      },
    },
    LANGUAGES[language],
  ),
);
const form = make(
  "form",
  {
    class: "live",
    novalidate: true,
    onsubmit: (event) => {
      event.preventDefault();
      submit();
    },
  },
  part.text,
  drop,
  make("div", { class: "row" }, ...fields, part.keys, part.submit),
  part.error,
);
part.text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // an input method takes Enter for itself
  event.preventDefault();
  if (!running) form.requestSubmit();
});

const model = () => server.models[part.model.selectedIndex];

function draw() {
  document.documentElement.lang = reader.language;
  for (const button of languages) button.setAttribute("aria-pressed", String(button.lang === reader.language));
  FIELDS.forEach((name, place) => {
    const label = fields[place];
    nameIn(label).textContent = say(SAY[name]);
    label.hidden = name === "model" ? server.models.length < 2 : !USED[model().path].includes(name);
    if (name !== "model") label.title = say(SAY.hints[name]);
  });
  part.text.placeholder = say(SAY.placeholder[model().path]);
  part.text.setAttribute("aria-label", part.text.placeholder);
  part.keys.textContent = say(SAY.keys);
  const pictured = model().path === "/recognize";
  part.text.hidden = part.keys.hidden = pictured;
  drop.hidden = !pictured;
  drawDrop();
  part.submit.textContent = say(running ? SAY.stop : SAY.ask[model().path]);
  form.setAttribute("aria-busy", String(Boolean(running)));
  element("title").textContent = model().title;
  element("programs").replaceChildren(
    ...(server.look ? [make("a", { href: "look" }, say(SAY.inside)), make("br")] : []),
    say(SAY.programs),
    make("a", { href: "docs" }, "docs"),
  );
  element("answer").replaceChildren(...shown());
}

function clear() {
  running?.abort();
  running = null;
  part.error.hidden = true;
  const asked = model();
  shown = () => ("labels" in asked ? [make("p", { class: "muted" }, say(SAY.labels, listed(asked.labels)))] : []);
}

/** @type {(labels: string[]) => string} */
function listed(labels) {
  const rest = labels.length - SHOWN;
  return rest > 0 ? `${labels.slice(0, SHOWN).join(", ")}, ${say(SAY.more, rest)}` : labels.join(", ");
}

/** @type {(message: string) => void} */
function fail(message) {
  part.error.textContent = message;
  part.error.hidden = false;
}

async function submit() {
  if (running) {
    running.abort();
    return;
  }
  clear();
  const wrong = mistake();
  if (wrong) {
    fail(wrong);
    draw();
    return;
  }
  const mine = new AbortController();
  running = mine;
  draw();
  try {
    await answerOf(mine.signal);
  } catch (error) {
    if (running === mine && !mine.signal.aborted) fail(messageOf(error));
  }
  if (running !== mine) return;
  running = null;
  draw();
}

// What is wrong with the question, before anybody is asked.
function mistake() {
  const asked = model();
  if (asked.path === "/recognize") return taken.file ? "" : say(SAY_PICTURES.none);
  const text = part.text.value;
  const length = [...text].length;
  if (asked.path !== "/generate" && !text.trim()) return say(asked.path === "/paint" ? SAY.emptyCaption : SAY.empty);
  if (length <= asked.most_characters) return "";
  return say(SAY.long, length.toLocaleString("en"), asked.most_characters.toLocaleString("en"));
}

// What was typed; nothing is left out of JSON, and is the server's own choice.
/** @type {(input: HTMLInputElement) => number | undefined} */
const numberIn = (input) => (input.value === "" ? undefined : Number(input.value));

/** @type {(signal: AbortSignal) => Promise<void>} */
function answerOf(signal) {
  const asked = model();
  const text = part.text.value;
  if (asked.path === "/recognize") return recognize(asked, signal);
  if (asked.path === "/generate") return write(text, signal);
  if (asked.path === "/classify") return classify(text, signal);
  const more = { guidance: numberIn(part.guidance), seed: numberIn(part.seed) };
  return paintCaption(text, numberIn(part.count), more, signal);
}

// The response, or an error whose message is for the reader.
/** @type {(body: object, signal: AbortSignal) => Promise<Response>} */
async function ask(body, signal) {
  const { path, name } = model();
  const options = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, model: name }),
    signal,
  };
  const response = await fetchWithKey(path.slice(1), options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error(say(SAY.gone));
  });
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  throw new Error(answer?.detail ?? say(SAY.broken));
}

// A bar for each label, the most probable first.
/** @type {(probabilities: Record<string, number>) => HTMLElement} */
function labelBars(probabilities) {
  const ranked = Object.entries(probabilities).sort(([, a], [, b]) => b - a); // numbers as keys come first in JavaScript
  const rest = ranked.length - SHOWN;
  return make(
    "div",
    {},
    make(
      "dl",
      { class: "labels" },
      ...ranked
        .slice(0, SHOWN)
        .flatMap(([label, share]) => [
          make("dt", {}, label),
          make("dd", { class: "bar", style: { "--share": `${100 * share}%` } }),
          make("dd", {}, `${(100 * share).toFixed(1)} %`),
        ]),
    ),
    ...(rest > 0 ? [make("p", { class: "muted" }, say(SAY.more, rest))] : []),
  );
}

/** @type {(text: string, signal: AbortSignal) => Promise<void>} */
async function classify(text, signal) {
  /** @type {ClassifyAnswer} */
  const {
    classifications: [found],
  } = await (await ask({ text }, signal)).json();
  shown = () => [
    make("p", { class: "sentence written" }, ...orNothing(found.label)),
    labelBars(found.probabilities),
    ...[found.cut && say(SAY.cut), found.windows > 1 && say(SAY.windows, found.windows)]
      .filter(isThere)
      .map((remark) => make("p", { class: "muted" }, remark)),
  ];
}

/** @type {(prompt: string, signal: AbortSignal) => Promise<void>} */
async function write(prompt, signal) {
  const asked = {
    prompt,
    stream: true,
    max_new_tokens: numberIn(part.max_new_tokens),
    temperature: numberIn(part.temperature),
    seed: numberIn(part.seed),
  };
  const added = make("span", { class: "written" });
  const remark = make("p", { class: "muted" });
  /** @type {Both} */
  let how = SAY.ended.stopped;
  let tokens = 0;
  let cut = false;
  const response = await ask(asked, signal);
  shown = () => {
    remark.textContent = running ? "" : [say(how, tokens), cut && say(SAY.cut)].filter(Boolean).join(" ");
    return [make("p", { class: "sentence text", dir: "auto" }, prompt, added), remark];
  };
  draw();
  let whole = false;
  await eachEvent(response, (event) => {
    added.append(event.text ?? "");
    const found = event.generations?.[0];
    if (!found) return;
    how = SAY.ended[found.finish_reason];
    tokens = found.tokens.length;
    cut = found.cut;
    whole = true;
  });
  if (!whole) throw new Error(say(SAY.broken));
}

// Calls what handles each server-sent event but errors; one event is two lines and an empty one.
/** @type {(response: Response, handle: (event: StreamedEvent) => void) => Promise<void>} */
async function eachEvent(response, handle) {
  if (!response.body) throw new Error(say(SAY.broken));
  const stream = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await stream.read().catch((error) => {
      throw error.name === "AbortError" ? error : new Error(say(SAY.broken));
    });
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const { data } = event.match(/^event: (?:text|painted|error|done)\ndata: (?<data>.*)$/)?.groups ?? {};
      if (!data) throw new Error(say(SAY.broken));
      /** @type {StreamedEvent} */
      const content = JSON.parse(data);
      if (content.detail) throw new Error(content.detail);
      handle(content);
    }
  }
}

element("header").append(
  make(
    "div",
    { class: "title" },
    make("h1", { id: "title" }),
    make("div", { class: "languages", role: "group", "aria-label": "Language · 언어" }, ...languages),
  ),
  form,
);
clear();
draw();
part.text.focus();
