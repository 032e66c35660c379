// The page of attention: what it shows, what its reader chose, and the registry of views.

// What the page shows, and what its reader chose. Views read it; `choose` changes it and draws again.
/**
 * @typedef {{ kind: Kind, layer: number, head: Head, words: boolean, query: number | null }} Choice
 * @type {{
 *   scenes: Scene[], // one per part of the text
 *   scene: Scene | null, // the one shown
 *   movie: Movie | null,
 *   live: Live | null, // set by live.js when a server answers behind the page
 *   wanted: string | undefined, // the view that the reader asked for; none: the first …
 *   view: string | undefined, // … and the one that is shown, because the other may have nothing to show yet
 *   kept: boolean, // whether what the reader chose stays when other scenes come
 *   followed: boolean, // whether all that the address names was chosen
 *   choice: Choice,
 * }}
 */
const page = {
  scenes: [],
  scene: null,
  movie: null,
  live: null,
  wanted: undefined,
  view: undefined,
  kept: false,
  followed: false,
  choice: { kind: "cross", layer: 0, head: "mean", words: false, query: null },
};

// In the order of registration; `address` stands behind the page's own if it is not the id, and `parts` of what the reader
// chose behind that. Only what is available is drawn.
/**
 * @typedef {{ write: (scene: Scene) => string[], read: (scene: Scene, parts: string[]) => void }} AddressParts
 * @typedef {{
 *   id: string,
 *   address?: string,
 *   parts?: AddressParts,
 *   title: Both,
 *   available: (scene: Scene | null) => boolean,
 *   draw: (root: HTMLElement, scene: Scene) => void,
 * }} View
 * @type {View[]}
 */
const views = [];
/** @type {(definition: View) => void} */
const view = (definition) => {
  views.push(definition);
};
/** @type {(view: View) => string} */
const addressOf = ({ id, address = id }) => address;

/** @type {(change: Partial<Choice>) => void} */
function choose(change) {
  Object.assign(page.choice, change);
  draw();
}
