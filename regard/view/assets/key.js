// A server may want a key. It is asked for once, when the server first refuses, and kept only as long as this tab is open.

const KEY = {
  wanted: { en: "This server wants a key.", ko: "이 서버는 키가 필요합니다." },
  wrong: { en: "The server does not know this key.", ko: "서버가 이 키를 알지 못합니다." },
  name: { en: "API key", ko: "API 키" },
  send: { en: "Send", ko: "보내기" },
  leave: { en: "Cancel", ko: "취소" },
};
const KEY_PLACE = "regard-key";
const REFUSED = 401;

// The tab's memory, which a browser may forbid; then the page itself remembers.
/** @type {{ key: string | null }} */
const known = { key: null };
try {
  known.key = sessionStorage.getItem(KEY_PLACE);
} catch {}

/** @type {(key: string) => void} */
function rememberKey(key) {
  known.key = key;
  try {
    sessionStorage.setItem(KEY_PLACE, key);
  } catch {}
}

// What the reader types, or null if they would rather not.
/** @type {(why: string) => Promise<string | null>} */
function askForKey(why) {
  const dialog = make("dialog", { "aria-label": why });
  const input = make("input", {
    type: "password",
    id: "key",
    autocomplete: "off",
    required: true,
    "aria-label": say(KEY.name),
  });
  const send = make("button", {}, say(KEY.send));
  const leave = make("button", { type: "button", onclick: () => dialog.close() }, say(KEY.leave));
  const form = make("form", { method: "dialog" }, make("p", {}, why), input, " ", send, " ", leave);
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    /** @type {string | null} */
    let typed = null;
    form.addEventListener("submit", () => {
      typed = input.value.replace(/[^!-~]/g, ""); // nothing else can be in a key, nor in a header
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(typed);
    });
  });
}

// fetch, with the key if the server wants one.
/** @type {(address: string, options: RequestInit) => Promise<Response>} */
async function fetchWithKey(address, options) {
  for (;;) {
    const sent = known.key;
    const headers = { ...options.headers, ...(sent && { Authorization: `Bearer ${sent}` }) };
    const response = await fetch(address, { ...options, headers });
    if (response.status !== REFUSED) return response;
    if (known.key !== sent) continue; // another question was answered meanwhile
    const key = await askForKey(say(sent ? KEY.wrong : KEY.wanted));
    if (!key) return response;
    rememberKey(key);
  }
}
