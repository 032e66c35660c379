// A live model behind the page: a form to translate and to change the attention, and what the change did to the output.

const LIVE = {
  placeholder: { en: "Type a sentence …", ko: "문장을 입력하세요 …" },
  // By what the task does with a text; another than these is looked at.
  verbs: {
    translate: {
      text: { en: "Text to translate", ko: "번역할 글" },
      keys: {
        en: "Enter translates, Shift + Enter starts a new line",
        ko: "Enter로 번역하고 Shift + Enter로 줄을 바꿉니다",
      },
      submit: { en: "Translate", ko: "번역하기" },
      busy: { en: "Translating …", ko: "번역 중 …" },
      same: { en: "The change leaves the translation as it is.", ko: "이 변경으로는 번역이 달라지지 않습니다." },
    },
    classify: {
      text: { en: "Text to classify", ko: "분류할 글" },
      keys: {
        en: "Enter classifies, Shift + Enter starts a new line",
        ko: "Enter로 분류하고 Shift + Enter로 줄을 바꿉니다",
      },
      submit: { en: "Classify", ko: "분류하기" },
      busy: { en: "Classifying …", ko: "분류 중 …" },
      same: { en: "The change leaves the decision as it is.", ko: "이 변경으로는 판단이 달라지지 않습니다." },
    },
    look: {
      text: { en: "Text to look at", ko: "살펴볼 글" },
      keys: {
        en: "Enter reads, Shift + Enter starts a new line",
        ko: "Enter로 읽고 Shift + Enter로 줄을 바꿉니다",
      },
      submit: { en: "Read", ko: "읽기" },
      busy: { en: "Reading …", ko: "읽는 중 …" },
      same: { en: "The change leaves the perplexity as it is.", ko: "이 변경으로는 퍼플렉서티가 달라지지 않습니다." },
    },
  },
  empty: { en: "Type a sentence first.", ko: "먼저 문장을 입력해 주세요." },
  model: { en: "Model", ko: "모델" },
  beam: { en: "Beam", ko: "빔" },
  to: { en: "Into", ko: "번역할 언어" },
  byLetters: { en: "as its letters tell", ko: "글자를 보고 자동 선택" },
  usual: { en: "usual", ko: "기본" },
  temperature: { en: "Attention temperature", ko: "어텐션 온도" },
  temperatureHint: {
    en: "Scores are divided by it before softmax: below 1 attention is sharper, above 1 flatter. 1 is as trained.",
    ko: "소프트맥스 전에 점수를 이 값으로 나눕니다. 1보다 작으면 어텐션이 날카로워지고 크면 평평해집니다. 1은 학습된 그대로입니다.",
  },
  hard: { en: "Hard attention", ko: "하드 어텐션" },
  hardHint: {
    en: "Every query looks at one key only, the best one.",
    ko: "모든 쿼리가 가장 점수가 높은 키 하나만 봅니다.",
  },
  write: { en: "Continue the text", ko: "이어서 쓰기" },
  writing: { en: "Writing …", ko: "쓰는 중 …" },
  sampling: { en: "Sampling temperature", ko: "샘플링 온도" },
  samplingHint: {
    en: "0 takes the most probable token each time (greedy). Above 0 each token is drawn by its probability; a higher temperature makes rare tokens more probable.",
    ko: "0이면 매번 확률이 가장 높은 토큰을 고릅니다(greedy). 0보다 크면 확률에 따라 토큰을 뽑으며, 온도가 높을수록 드문 토큰이 더 자주 뽑힙니다.",
  },
  seed: { en: "Seed", ko: "시드" },
  seedHint: {
    en: "The same seed draws the same text in this page.",
    ko: "시드가 같으면 이 페이지에서 같은 글이 뽑힙니다.",
  },
  most: { en: "New tokens, at most", ko: "새 토큰 최대 개수" },
  off: { en: "Heads off: {0}", ko: "꺼진 헤드: {0}" },
  reset: { en: "Reset", ko: "초기화" },
  examples: {
    en: "Type a sentence above and look inside the model, or begin with one of these:",
    ko: "위에 문장을 입력하고 모델 속을 들여다보세요. 아래 문장으로 시작할 수도 있습니다.",
  },
  change: { en: "What the change did", ko: "변경의 효과" },
  trained: { en: "As trained", ko: "학습된 그대로" },
  now: { en: "Now", ko: "지금" },
  long: {
    en: "The text has {0} characters; this server takes at most {1}.",
    ko: "글이 {0}자입니다. 이 서버는 {1}자까지 받습니다.",
  },
  longInside: {
    en: "The text has {0} characters; this page takes at most {1}.",
    ko: "글이 {0}자입니다. 이 페이지는 {1}자까지 받습니다.",
  },
  inside: {
    en: "The model is inside this page and runs on your device; nothing you type is sent anywhere.",
    ko: "모델이 이 페이지 안에 있고 이 기기에서 실행됩니다. 입력한 글은 어디에도 보내지 않습니다.",
  },
  gone: {
    en: "The server does not answer. Is it still running?",
    ko: "서버가 응답하지 않습니다. 실행 중인지 확인해 주세요.",
  },
  refused: { en: "The server answered with status {0}.", ko: "서버가 요청을 처리하지 못했습니다. 상태 코드: {0}" },
  strange: { en: "The server’s answer could not be read.", ko: "서버의 응답을 읽을 수 없습니다." },
};
const MOST_IN_ADDRESS = 2000; // characters of a text; servers refuse much longer addresses
const LIVE_PAUSE = 250; // milliseconds of quiet before a change translates again

// Ask the server; what is wrong becomes an error whose message is for the reader.
/**
 * @template Answer
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
async function askServer(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const asked = fetchWithKey(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  const response = await asked.catch((error) => {
    throw error.name === "AbortError" ? error : new Error(say(LIVE.gone));
  });
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
  });
  if (response.ok && answer) return answer;
  const detail = Array.isArray(answer?.detail)
    ? answer.detail.map((/** @type {{ msg: string }} */ each) => each.msg).join("; ")
    : answer?.detail;
  throw new Error(detail || say(response.ok ? LIVE.strange : LIVE.refused, response.status));
}

/** @type {(text: string) => string[]} */
const wordsIn = (text) =>
  Array.from(new Intl.Segmenter(undefined, { granularity: "word" }).segment(text), ({ segment }) => segment);

// The words of `text` as nodes, those marked that are not in the longest run of words shared with `other`.
/** @type {(text: string, other: string) => (Node | string)[]} */
function markDifferences(text, other) {
  const own = wordsIn(text);
  const others = wordsIn(other);
  const width = others.length + 1;
  const shared = new Uint16Array((own.length + 1) * width);
  for (let i = own.length - 1; i >= 0; i--)
    for (let j = others.length - 1; j >= 0; j--) {
      shared[i * width + j] =
        own[i] === others[j]
          ? shared[(i + 1) * width + j + 1] + 1
          : Math.max(shared[(i + 1) * width + j], shared[i * width + j + 1]);
    }
  /** @type {(Node | string)[]} */
  const nodes = [];
  for (let i = 0, j = 0; i < own.length; i++) {
    while (j < others.length && own[i] !== others[j] && shared[i * width + j + 1] === shared[i * width + j]) j++;
    if (own[i] === others[j]) j++;
    else if (own[i].trim()) {
      nodes.push(make("mark", {}, own[i]));
      continue;
    }
    nodes.push(own[i]);
  }
  return nodes;
}

// Names of models are unique; their titles need not be, and may repeat the name.
/** @type {(model: LiveModel) => string} */
const titleOf = ({ name, title }) => (title === name ? "" : (title ?? ""));

// A language by its name, if the recipe calls it by a code.
/** @type {(language: string) => string} */
const languageNamed = (language) =>
  (/^[a-z]{2,3}$/.test(language) && new Intl.DisplayNames([reader.language], { type: "language" }).of(language)) ||
  language;

/** @typedef {<Answer>(path: string, body: object, signal?: AbortSignal, tell?: (written: string) => void) => Promise<Answer>} Ask */
class Live {
  /** @param {LiveSettings} settings @param {Ask} ask whoever answers: a server, or a model inside the page */
  constructor(settings, ask) {
    this.settings = settings;
    this.ask = ask;
    this.models = settings.models;
    /** @type {Map<string, Set<number>>} */
    this.off = new Map(); // heads by the name of their attention
    /** @type {LiveRequest | null} */
    this.asked = null; // the request whose answer is shown
    /** @type {{ trained: string, now: string } | null} */
    this.shown = null; // both translations, if something is changed
    /** @type {{ key: string, text: string } | null} */
    this.trained = null; // the last translation of the unchanged model
    /** @type {AbortController | null} */
    this.running = null; // of the latest request; older answers are dropped
    this.stale = false; // what is shown does not answer what was asked last
    /** @type {Scene | null} */
    this.walked = null; // the scene that came with its walk, if that was not too large
    this.timer = 0;
    /** @type {string | null} */
    this.written = null; // what a language model has added so far, while it writes
    this.error = "";
    this.part = this.makeParts();
    this.labels = this.makeLabels();
    this.root = this.makeForm();
    // What a change did stays in sight, wherever on the page the change was made.
    this.bar = make(
      "aside",
      { class: "effect" },
      this.part.told,
      make("div", { class: "row" }, this.part.off, this.part.reset),
    );
    element("view").after(this.bar);
    new ResizeObserver(() => {
      document.documentElement.style.setProperty("--bar", `${this.bar.offsetHeight}px`);
    }).observe(this.bar);
    this.listen();
  }

  get model() {
    return this.models[this.part.model.selectedIndex] ?? this.models[0];
  }
  get words() {
    const { verb } = this.model;
    return verb === "translate" || verb === "classify" ? LIVE.verbs[verb] : LIVE.verbs.look;
  }
  get canChange() {
    return Object.keys(this.model.attentions).length > 0;
  }
  // A language model inside the page continues a text; one behind a server is asked on the server's own page.
  get canWrite() {
    return this.settings.inside?.model.kind === "language-model";
  }
  get temperature() {
    return Number(this.part.temperature.value);
  }
  get headsOff() {
    return [...this.off.values()].reduce((sum, heads) => sum + heads.size, 0);
  }
  get isChanged() {
    return this.canChange && (this.headsOff > 0 || this.temperature !== 1 || this.part.hard.checked);
  }

  // One form for the page's whole life: text, focus and caret survive when all else is drawn again.
  makeParts() {
    /** @type {(type: string, name: string, more: Attributes<HTMLInputElement>) => HTMLInputElement} */
    const input = (type, name, more) => make("input", { type, id: `live-${name}`, ...more });
    return {
      text: make("textarea", { id: "live-text", rows: 2, dir: "auto", spellcheck: "false", enterkeyhint: "go" }),
      keys: make("span", { class: "keys" }),
      model: make(
        "select",
        { id: "live-model", onchange: () => this.changeModel() },
        ...this.models.map((model) =>
          make(
            "option",
            { value: model.name },
            [model.name, titleOf(model), model.languages].filter(Boolean).join(" · "),
          ),
        ),
      ),
      beam: input("number", "beam", { min: 1, max: this.settings.most_beam, step: 1, onchange: () => this.later() }),
      to: make("select", { id: "live-to", onchange: () => this.later() }),
      temperature: input("range", "temperature", { min: 0.1, max: 5, step: 0.1, value: 1 }),
      degree: make("output", { for: "live-temperature" }),
      hard: input("checkbox", "hard", { onchange: () => this.change() }),
      off: make("span", { id: "live-off" }),
      reset: make("button", { type: "button", id: "live-reset", class: "quiet", onclick: () => this.reset() }),
      submit: make("button", { type: "submit", id: "live-submit" }),
      sampling: input("number", "sampling", { min: 0, max: 2, step: 0.1, value: 0.8 }),
      seed: input("number", "seed", { min: 0, max: 4294967295, step: 1, value: 0 }),
      most: input("number", "most", { min: 1, max: 200, step: 1, value: 40 }),
      write: make("button", { type: "button", id: "live-write", class: "quiet", onclick: () => this.write() }),
      error: make("p", { class: "error", role: "alert" }),
      told: make("div", { "aria-live": "polite" }),
      examples: make("div", { class: "examples" }),
      inside: make("p", { class: "muted inside" }),
    };
  }

  makeLabels() {
    const { part } = this;
    /** @type {(name: string, ...fields: HTMLElement[]) => HTMLLabelElement} */
    const label = (name, ...fields) =>
      make("label", { for: `live-${name}`, data: { name } }, make("span", { class: "name" }), ...fields);
    return {
      model: label("model", part.model),
      to: label("to", part.to),
      beam: label("beam", part.beam),
      temperature: label("temperature", part.temperature, part.degree),
      hard: label("hard", part.hard),
      sampling: label("sampling", part.sampling),
      seed: label("seed", part.seed),
      most: label("most", part.most),
    };
  }

  makeForm() {
    const { part } = this;
    return make(
      "form",
      {
        class: "live",
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.translate();
        },
      },
      part.text,
      make("div", { class: "row" }, this.labels.model, this.labels.to, this.labels.beam, part.keys, part.submit),
      this.canWrite &&
        make("div", { class: "row writer" }, part.write, this.labels.sampling, this.labels.seed, this.labels.most),
      make("div", { class: "row" }, this.labels.temperature, this.labels.hard),
      part.error,
      part.inside,
      part.examples,
    );
  }

  listen() {
    const { part } = this;
    this.labels.model.hidden = this.models.length < 2;
    part.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // an input method takes Enter for itself
      event.preventDefault();
      this.root.requestSubmit();
    });
    part.temperature.addEventListener("input", () => this.refresh());
    part.temperature.addEventListener("change", () => this.change()); // on release: an answer amid a drag would end it
  }

  form() {
    this.refresh();
    return this.root;
  }

  refresh() {
    const { part } = this;
    part.text.setAttribute("aria-label", say(this.words.text));
    part.text.placeholder = say(LIVE.placeholder);
    for (const name of namesOf(this.labels)) nameIn(this.labels[name]).textContent = say(LIVE[name]);
    this.labels.beam.hidden = this.model.beam === null;
    this.offerTargets();
    this.labels.temperature.hidden = !this.canChange;
    this.labels.hard.hidden = !this.canChange;
    this.labels.temperature.title = say(LIVE.temperatureHint);
    this.labels.hard.title = say(LIVE.hardHint);
    part.beam.placeholder = String(this.model.beam ?? say(LIVE.usual));
    this.labels.sampling.title = say(LIVE.samplingHint);
    this.labels.seed.title = say(LIVE.seedHint);
    part.write.textContent = say(this.written === null ? LIVE.write : LIVE.writing);
    part.write.disabled = this.written !== null;
    part.degree.textContent = this.temperature.toFixed(1);
    part.off.textContent = this.headsOff ? say(LIVE.off, this.headsOff) : "";
    part.off.title = [...this.off]
      .map(([name, heads]) => `${name}: ${[...heads].map((head) => head + 1).join(", ")}`)
      .join("\n");
    part.reset.textContent = say(LIVE.reset);
    part.reset.hidden = !this.isChanged;
    this.bar.hidden = !this.isChanged && !this.shown;
    this.bar.setAttribute("aria-label", say(LIVE.change));
    part.submit.textContent = say(this.running ? this.words.busy : this.words.submit);
    part.keys.textContent = say(this.words.keys);
    part.inside.textContent = this.settings.inside ? say(LIVE.inside) : "";
    part.inside.hidden = !this.settings.inside;
    for (const each of [this.root, element("view")]) each.setAttribute("aria-busy", String(Boolean(this.running)));
    document.body.classList.toggle("stale", this.stale);
    part.error.textContent = this.error;
    part.error.hidden = !this.error;
    this.drawEffect();
    this.drawExamples();
  }

  // The languages that the chosen model can write, or that which a text's letters tell; the choice stays as long as they are the same.
  offerTargets() {
    const { to } = this.part;
    const { targets, by_letters } = this.model;
    this.labels.to.hidden = targets.length < 2;
    const offered = by_letters ? ["", ...targets] : targets;
    if ([...to.options].map((each) => each.value).join() !== offered.join())
      to.replaceChildren(...offered.map((each) => make("option", { value: each })));
    for (const each of to.options) each.textContent = each.value ? languageNamed(each.value) : say(LIVE.byLetters);
  }

  drawEffect() {
    /** @type {(name: "trained" | "now", text: string, other: string) => HTMLElement} */
    const line = (name, text, other) =>
      make(
        "div",
        {},
        make("dt", {}, say(LIVE[name])),
        make("dd", { dir: "auto" }, ...orNothing(text, ...markDifferences(text, other))),
      );
    /** @type {(shown: { trained: string, now: string }) => HTMLElement} */
    const drawn = ({ trained, now }) =>
      trained === now
        ? make("p", { class: "muted" }, say(this.words.same))
        : make("dl", {}, line("trained", trained, now), line("now", now, trained));
    this.part.told.replaceChildren(...(this.shown ? [drawn(this.shown)] : []));
  }

  drawExamples() {
    const examples = page.scene || this.running ? [] : this.model.examples;
    this.part.examples.replaceChildren(
      ...(examples.length === 0
        ? []
        : [
            make("p", { class: "muted" }, say(LIVE.examples)),
            ...examples.map((text) =>
              make(
                "button",
                {
                  type: "button",
                  dir: "auto",
                  onclick: () => {
                    this.part.text.value = text;
                    this.translate();
                  },
                },
                text,
              ),
            ),
          ]),
    );
  }

  /** @type {(name: string, head: number) => boolean} */
  isOff(name, head) {
    return this.off.get(name)?.has(head) ?? false;
  }

  /** @type {(name: string, head: number) => void} */
  toggle(name, head) {
    const heads = this.off.get(name) ?? new Set();
    if (!heads.delete(head)) heads.add(head);
    if (heads.size) this.off.set(name, heads);
    else this.off.delete(name);
    draw();
    this.later();
  }

  reset() {
    this.off.clear();
    this.part.temperature.value = "1";
    this.part.hard.checked = false;
    draw();
    this.later();
  }

  change() {
    this.refresh();
    this.later();
  }

  changeModel() {
    const known = new Set(Object.values(this.model.attentions).flat());
    for (const name of [...this.off.keys()]) if (!known.has(name)) this.off.delete(name);
    draw();
    this.later();
  }

  // After a moment of quiet, translate again what is shown.
  later() {
    clearTimeout(this.timer);
    if (page.scene) this.timer = setTimeout(() => this.translate(), LIVE_PAUSE);
  }

  /** @type {() => LiveRequest} */
  request() {
    return {
      model: this.model.name,
      text: this.part.text.value.trim(),
      beam: this.model.beam === null ? null : this.part.beam.valueAsNumber || null,
      to: (this.model.targets.length > 1 && this.part.to.value) || null,
      off: Object.fromEntries(
        [...this.off].map(([name, heads]) => [name, [...heads].sort((one, other) => one - other)]),
      ),
      temperature: this.canChange ? this.temperature : 1,
      hard: this.canChange && this.part.hard.checked,
      walk: false,
    };
  }

  // All that was asked, for the page's address: `?model=demo&text=…&off=decoder.1.cross_attention:1.4`, heads from 1.
  search() {
    const { asked } = this;
    if (!asked || asked.text.length > MOST_IN_ADDRESS) return "";
    const off = Object.entries(asked.off).map(([name, heads]) => `${name}:${heads.map((head) => head + 1).join(".")}`);
    /** @type {[name: string, value: string | number | false | null][]} */
    const parts = [
      ["model", this.models.length > 1 && asked.model],
      ["text", asked.text],
      ["to", asked.to],
      ["beam", asked.beam],
      ["off", off.join(",")],
      ["temperature", asked.temperature !== 1 && asked.temperature],
      ["hard", asked.hard && "1"],
    ];
    return `?${parts.flatMap(([name, value]) => (value ? [`${name}=${encodeURIComponent(value)}`] : [])).join("&")}`;
  }

  // Ask again what an address tells; whether it tells anything.
  /** @type {(search: string) => boolean} */
  follow(search) {
    const { part } = this;
    const told = new URLSearchParams(search);
    const text = told.get("text");
    if (!text) return false;
    const place = this.models.findIndex(({ name }) => name === told.get("model"));
    part.model.selectedIndex = Math.max(0, place);
    this.offerTargets();
    part.text.value = text;
    const to = told.get("to") ?? "";
    if (this.model.targets.includes(to)) part.to.value = to;
    part.beam.value = told.get("beam") ?? "";
    part.temperature.value = told.get("temperature") ?? "1";
    part.hard.checked = told.has("hard");
    const known = new Set(Object.values(this.model.attentions).flat());
    for (const each of (told.get("off") ?? "").split(",")) {
      const [name, heads = ""] = each.split(":");
      const numbers = heads.split(".").map(numberNamed).filter(isThere);
      if (known.has(name) && numbers.length) this.off.set(name, new Set(numbers));
    }
    return true;
  }

  // What the unchanged model writes; asked for only if it is not known.
  /** @type {(asked: LiveRequest, signal: AbortSignal) => Promise<string>} */
  async unchanged(asked, signal) {
    const key = JSON.stringify([asked.model, asked.to, asked.beam, asked.text]);
    if (this.trained?.key !== key) {
      const body = { ...asked, off: {}, temperature: 1, hard: false, walk: false };
      /** @type {AttentionAnswer} */
      const { scenes } = await this.ask("attention", body, signal);
      this.trained = { key, text: outcomeOf(scenes) };
    }
    return this.trained.text;
  }

  // Let the language model continue the text, then look at all of it.
  async write() {
    const { part } = this;
    const before = part.text.value;
    const { off, temperature, hard } = this.request();
    const most = Math.max(1, Math.min(200, part.most.valueAsNumber || 40));
    /** @type {WriteRequest} */
    const asked = {
      text: before,
      most,
      temperature: Math.max(0, part.sampling.valueAsNumber || 0),
      seed: part.seed.valueAsNumber || 0,
      changes: { off, temperature, hard },
    };
    /** @type {(written: string) => void} */
    const tell = (written) => {
      this.written = written;
      part.text.value = before + written;
    };
    this.error = "";
    tell("");
    await this.run(async (signal) => {
      tell(await this.ask("write", asked, signal, tell));
      return () => {};
    });
    this.written = null;
    if (this.error) draw();
    else await this.translate();
  }

  async translate() {
    clearTimeout(this.timer);
    const asked = this.request();
    const isChanged = this.isChanged;
    const length = [...asked.text].length;
    const most = this.settings.most_characters;
    this.error = !asked.text
      ? say(LIVE.empty)
      : most && length > most
        ? say(
            this.settings.inside ? LIVE.longInside : LIVE.long,
            length.toLocaleString("en"),
            most.toLocaleString("en"),
          )
        : "";
    this.stale = true;
    if (this.error) return this.stop();
    await this.run(async (signal) => {
      /** @type {AttentionAnswer} */
      const { scenes } = await this.ask("attention", asked, signal);
      if (!isChanged)
        this.trained = {
          key: JSON.stringify([asked.model, asked.to, asked.beam, asked.text]),
          text: outcomeOf(scenes),
        };
      const trained = await this.unchanged(asked, signal);
      return () => {
        this.asked = asked;
        this.stale = false;
        this.shown = isChanged ? { trained, now: outcomeOf(scenes) } : null;
        show(scenes);
      };
    });
  }

  // The numbers of the walk are many, and come only when they are looked at.
  async loadWalk() {
    if (this.walked === page.scene) return; // it was asked for already, and is too large to be sent
    const asked = this.asked ?? this.request();
    await this.run(async (signal) => {
      /** @type {AttentionAnswer} */
      const { scenes } = await this.ask("attention", { ...asked, walk: true }, signal);
      return () => {
        const part = Math.max(0, page.scene ? page.scenes.indexOf(page.scene) : 0);
        page.scenes = scenes;
        page.scene = scenes[part];
        this.walked = page.scene;
        draw();
      };
    });
  }

  // Whatever is on its way is no longer wanted.
  stop() {
    this.running?.abort();
    this.running = null;
    draw();
  }

  // Only the latest request may change the page.
  /** @type {(work: (signal: AbortSignal) => Promise<() => void>) => Promise<void>} */
  async run(work) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.refresh();
    let finish = draw;
    try {
      finish = await work(running.signal);
    } catch (error) {
      if (running === this.running) this.error = messageOf(error);
    }
    if (running !== this.running) return;
    this.running = null;
    finish();
  }
}

// What a change may change, in one line.
/** @type {(scenes: Scene[]) => string} */
function outcomeOf(scenes) {
  const surprise = scenes[0]?.surprise;
  return surprise ? `${say(FRAME.perplexity)}: ${perplexityText(surprise.perplexity)}` : (answerText(scenes) ?? "");
}

// Whether there is something to ask from the beginning.
/** @type {(settings: LiveSettings) => boolean} */
function startLive(settings) {
  const { inside } = settings;
  page.live = new Live(settings, inside ? askModelInside(inside) : askServer);
  if (inside?.text) page.live.part.text.value = inside.text;
  return page.live.follow(location.search) || Boolean(inside?.text);
}
