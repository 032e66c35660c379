// The address of what the page shows: `#look/cross/2/3/yesterday` is the view, the kind of attention, layer, head and token;
// behind a `?` stand whole words, the part of the text and the language, if they are not what they usually are.

// What each token is called in an address: words by their first token, and the second of a name is `name~2`.
/** @type {(side: Side) => string[]} */
function addressNames({ tokens, words }) {
  const begun = new Map(words.map(({ first, text }) => [first, text]));
  /** @type {Map<string, number>} */
  const seen = new Map();
  return tokens.map((token, place) => {
    const plain = isSpecial(token) ? SPECIAL[token].en : (begun.get(place) ?? token).replaceAll("▁", "") || "␣";
    const count = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, count);
    return count > 1 ? `${plain}~${count}` : plain;
  });
}
/** @type {(side: Side, place: number | null) => string[]} */
const placeParts = (side, place) => (place === null ? [] : [addressNames(side)[place]].filter(isThere));
/** @type {(side: Side, name: string | undefined) => number | null} */
function placeNamed(side, name) {
  const place = name === undefined ? -1 : addressNames(side).indexOf(name);
  return place < 0 ? null : place;
}

// Layers and heads are counted from 1, as the page does.
/** @type {(part: string | undefined) => number | null} */
const numberNamed = (part) => (/^[1-9]\d{0,3}$/.test(part ?? "") ? Number(part) - 1 : null);

// Of the views that show one kind of attention, one layer, one head and one token.
/** @type {AddressParts} */
const choiceParts = {
  write(scene) {
    const { kind, layer, head, query } = page.choice;
    const side = scene.attention[kind] ? sidesOf(scene, kind).queries : scene.target;
    return [kind, String(layer + 1), String(typeof head === "number" ? head + 1 : head), ...placeParts(side, query)];
  },
  read(scene, [kind, layer, head, token]) {
    const { choice } = page;
    const named = namesOf(scene.attention).find((each) => each === kind);
    if (!named) return;
    const merged = [...MERGED, OVERLAID].find((each) => each === head);
    choice.kind = named;
    choice.layer = numberNamed(layer) ?? choice.layer; // too great a number is settled by the view
    choice.head = merged ?? numberNamed(head) ?? choice.head;
    choice.query = placeNamed(sidesOf(scene, named).queries, token);
  },
};

// A part of an address as it was before it was put there; what is damaged names nothing.
/** @type {(text: string) => string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// What the address names.
function readAddress() {
  const [path, options = ""] = location.hash.slice(1).split("?", 2);
  const [name, ...parts] = path.split("/").map(decoded);
  return {
    view: views.find((each) => each.id === name || addressOf(each) === name),
    parts,
    options: new URLSearchParams(options),
  };
}

// Choose what the address names. What belongs to a text waits until there is one.
function followAddress() {
  const { view: named, parts, options } = readAddress();
  page.wanted = named?.id;
  reader.language = namesOf(LANGUAGES).find((each) => each === options.get("lang")) ?? reader.language;
  page.followed = page.scene !== null || !location.hash;
  if (!page.scene || !location.hash) return;
  page.choice.words = options.has("words");
  page.scene = page.scenes[numberNamed(options.get("part") ?? "1") ?? 0] ?? page.scene;
  named?.parts?.read(page.scene, parts);
}

// The address of a view as it would be shown now.
/** @type {(shown: View) => string} */
function addressFor(shown) {
  const { scene, scenes, choice } = page;
  const parts = (scene && shown.parts?.write(scene)) ?? [];
  const part = scene ? scenes.indexOf(scene) : 0;
  const options = [
    choice.words && "words",
    part > 0 && `part=${part + 1}`,
    reader.language !== BROWSER_LANGUAGE && `lang=${reader.language}`,
  ].filter(isThere);
  const path = [addressOf(shown), ...parts].map(encodeURIComponent).join("/");
  return `#${path}${options.length ? `?${options.join("&")}` : ""}`;
}

// Let the address tell what is shown, so that a reload or a copied link shows it again. A page inside another has none.
function writeAddress() {
  const shown = views.find((each) => each.id === page.view);
  if (!shown || !page.followed || location.protocol === "about:") return;
  if (page.wanted && page.wanted !== page.view) return; // it is still to come
  const search = page.live ? page.live.search() : location.search;
  const address = `${search}${addressFor(shown)}`;
  if (`${location.search}${location.hash}` !== address) history.replaceState(null, "", address || location.pathname);
}
