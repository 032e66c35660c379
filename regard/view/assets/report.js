// One language of two.

/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll(".languages button");
/** @type {(language: string) => void} */
function speak(language) {
  document.documentElement.lang = language;
  for (const each of buttons) each.setAttribute("aria-pressed", String(each.lang === language));
}
for (const each of buttons) each.addEventListener("click", () => speak(each.lang));
speak(/^ko\b/.test(navigator.language) ? "ko" : "en");
