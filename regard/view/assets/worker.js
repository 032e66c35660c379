// The thread that computes: it is given a model once, then texts, and answers as a server would.

/** @type {WorkerPort} */
const port = /** @type {any} */ (self);
/** @typedef {{ scenes: (request: LiveRequest) => Scene[], write?: PortableLanguageModel["write"] }} PortableModel */
/** @type {PortableModel | null} */
let portable = null;

/** @type {(given: AnyPortable) => PortableModel} */
function built(given) {
  if (given.kind === "translator") return new PortableTranslator(given);
  return given.kind === "classifier" ? new PortableClassifier(given) : new PortableLanguageModel(given);
}

let known = { key: "", scenes: /** @type {Scene[]} */ ([]) };

// The scenes of a request; those of the last one are kept, because a walk is asked for after the rest.
/** @type {(request: LiveRequest) => Scene[]} */
function answer({ walk, ...request }) {
  if (!portable) throw new Error("there is no model yet");
  const key = JSON.stringify(request);
  if (known.key !== key) known = { key, scenes: portable.scenes({ ...request, walk }) };
  return walk ? known.scenes : known.scenes.map((scene) => ({ ...scene, walk: null, matrices: {} }));
}

// What a language model writes, as it is written.
/** @type {(id: number, request: WriteRequest) => void} */
function write(id, request) {
  if (!portable?.write) throw new Error("this model writes no text");
  const text = portable.write(request, (written) => port.postMessage({ id, written, done: false }));
  port.postMessage({ id, written: text, done: true });
}

port.onmessage = ({ data }) => {
  if ("model" in data) {
    portable = built(data.model);
    return;
  }
  try {
    if ("write" in data) write(data.id, data.write);
    else port.postMessage({ id: data.id, scenes: answer(data.request) });
  } catch (error) {
    port.postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
