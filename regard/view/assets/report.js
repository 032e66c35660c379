// One language of two.

const buttons = document.querySelectorAll(".languages button");
function speak(language) {
  document.documentElement.lang = language;
  buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.lang === language)));
}
buttons.forEach((each) => each.addEventListener("click", () => speak(each.lang)));
speak(/^ko\b/.test(navigator.language) ? "ko" : "en");
