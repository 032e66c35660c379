// The part of the page that asks models about pictures: one is dropped, chosen or pasted, or painted while one watches.

const SAY_PICTURES = {
  drop: { en: "Drop a picture here, or choose one", ko: "그림을 여기에 놓거나 골라 주세요" },
  other: { en: "Drop another picture, or choose one", ko: "다른 그림을 놓거나 골라 주세요" },
  kinds: { en: "PNG, JPEG or WebP. Pasting works, too.", ko: "PNG, JPEG, WebP. 붙여 넣어도 됩니다." },
  none: {
    en: "There is nothing to recognize: choose a picture first.",
    ko: "인식할 그림이 없습니다. 먼저 그림을 골라 주세요.",
  },
  unreadable: { en: "This file cannot be read.", ko: "이 파일은 읽을 수 없습니다." },
  large: {
    en: "The file has {0} bytes; this server takes at most {1}, and no picture was found in it to make smaller.",
    ko: "파일이 {0}바이트입니다. 이 서버는 {1}바이트까지 받으며, 줄여서 보낼 그림을 찾지 못했습니다.",
  },
  shrunk: { en: "The picture was made smaller before it was sent.", ko: "그림을 줄여서 보냈습니다." },
  animated: { en: "The picture moves; only its first one was read.", ko: "움직이는 그림이어서 첫 장면만 읽었습니다." },
  forming: { en: "{0} of {1} codes", ko: "코드 {1}개 중 {0}개" },
  seed: { en: "seed {0}", ko: "시드 {0}" },
  save: { en: "Save this picture: {0}", ko: "이 그림 저장하기: {0}" },
  cut: {
    en: "The caption is longer than the model reads; its end was not read.",
    ko: "설명이 모델이 읽을 수 있는 길이보다 길어 뒷부분은 읽지 않았습니다.",
  },
};
const SENT_SIDE = 1024; // pixels of a picture that is made smaller

/** @type {{ file: File | null }} */
const taken = { file: null };
const dropPart = {
  input: make("input", {
    type: "file",
    id: "ask-file",
    accept: "image/png,image/jpeg,image/webp",
    onchange: ({ currentTarget }) => take(currentTarget.files?.[0]),
  }),
  image: make("img", { alt: "", hidden: true }),
  name: make("strong"),
  kinds: make("span", { class: "muted" }),
};
/** @type {HTMLLabelElement} */
const drop = make(
  "label",
  {
    class: "drop",
    hidden: true,
    ondragover: (event) => {
      event.preventDefault();
      drop.classList.add("over");
    },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      take(event.dataTransfer?.files[0]);
    },
  },
  dropPart.input,
  dropPart.image,
  make("span", { class: "words" }, dropPart.name, dropPart.kinds),
);
document.addEventListener("paste", (event) => {
  const file = event.clipboardData?.files[0];
  if (file && !drop.hidden) take(file);
});

// A picture was given: ask at once.
/** @type {(file: File | undefined) => Promise<void>} */
async function take(file) {
  dropPart.input.value = ""; // the same one may be chosen again
  if (!file) return;
  taken.file = file;
  dropPart.image.src = await addressOf(file).catch(() => "");
  dropPart.image.hidden = !dropPart.image.src;
  running?.abort();
  running = null;
  submit();
}

function drawDrop() {
  dropPart.name.textContent = say(taken.file ? SAY_PICTURES.other : SAY_PICTURES.drop);
  dropPart.kinds.textContent = say(SAY_PICTURES.kinds);
}

// A file as a `data:` address, which is base64.
/** @type {(file: Blob) => Promise<string>} */
const addressOf = (file) =>
  new Promise((resolve, reject) => {
    const reading = new FileReader();
    reading.onload = () => resolve(String(reading.result));
    reading.onerror = () => reject(new Error(say(SAY_PICTURES.unreadable)));
    reading.readAsDataURL(file);
  });

// What the browser makes of a file that is too large for the server.
/** @type {(file: File, most: number) => Promise<Blob>} */
async function smaller(file, most) {
  const count = (/** @type {number} */ bytes) => bytes.toLocaleString("en");
  const image = await createImageBitmap(file).catch(() => {
    throw new Error(say(SAY_PICTURES.large, count(file.size), count(most)));
  });
  const scale = Math.min(1, SENT_SIDE / Math.max(image.width, image.height));
  const canvas = make("canvas");
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  penOf(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
  if (!blob || blob.size > most) throw new Error(say(SAY_PICTURES.large, count(file.size), count(most)));
  return blob;
}

/** @type {(asked: AskModel & { path: "/recognize" }, signal: AbortSignal) => Promise<void>} */
async function recognize(asked, signal) {
  if (!taken.file) throw new Error(say(SAY_PICTURES.none));
  const shrunk = taken.file.size > asked.most_bytes;
  const file = shrunk ? await smaller(taken.file, asked.most_bytes) : taken.file;
  const response = await ask({ picture: await addressOf(file), look: asked.look }, signal);
  /** @type {RecognizeAnswer} */
  const {
    recognitions: [found],
    look,
  } = await response.json();
  const root = make("section", { class: "picture-page" });
  if (look) drawPicture(root, look);
  shown = () => [
    make("p", { class: "sentence written" }, found.label),
    labelBars(found.probabilities),
    ...[shrunk && say(SAY_PICTURES.shrunk), found.animated && say(SAY_PICTURES.animated)]
      .filter(isThere)
      .map((remark) => make("p", { class: "muted" }, remark)),
    root,
  ];
}

/** @type {(picture: string) => string} */
const pngAddress = (picture) => `data:image/png;base64,${picture}`;

/** @type {(caption: string, count: number | undefined, more: object, signal: AbortSignal) => Promise<void>} */
async function paintCaption(caption, count, more, signal) {
  const response = await ask({ caption, count, stream: true, ...more }, signal);
  const images = Array.from({ length: count ?? 1 }, () => make("img", { alt: caption }));
  const forming = make("p", { class: "muted" });
  /** @type {PaintAnswer["paintings"][number] | null} */
  let whole = null;
  shown = () => [
    make(
      "div",
      { class: "paintings" },
      ...images.map((image, number) => {
        const seed = whole ? String(whole.pictures[number].seed) : "";
        const link = make("a", { download: `${seed || "picture"}.png`, href: image.src || null }, image);
        if (whole) link.title = say(SAY_PICTURES.save, caption);
        return make("figure", {}, link, make("figcaption", {}, whole ? say(SAY_PICTURES.seed, seed) : ""));
      }),
    ),
    whole?.cut ? make("p", { class: "muted" }, say(SAY_PICTURES.cut)) : forming,
  ];
  draw();
  await eachEvent(response, (event) => {
    if (event.painted) {
      images[event.painted.number].src = pngAddress(event.painted.picture);
      forming.textContent = say(SAY_PICTURES.forming, event.painted.codes, event.painted.of);
    }
    whole = event.paintings?.[0] ?? null;
  });
  if (!whole) throw new Error(say(SAY.broken));
  const found = /** @type {PaintAnswer["paintings"][number]} */ (whole);
  found.pictures.forEach((each, number) => {
    images[number].src = pngAddress(each.picture);
  });
  forming.textContent = "";
}
