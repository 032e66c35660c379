// A model inside the page: a thread of its own computes with it, and is asked as a server would be.

// Ask a thread that is made of the program and the numbers in the page. It answers one question at a time: of those that wait, only
// the last is asked; the others are given up, as what somebody stopped waiting for.
/** @type {(inside: ModelInside) => Ask} */
function askModelInside({ program, model }) {
  const worker = new Worker(URL.createObjectURL(new Blob([program], { type: "text/javascript" })));
  worker.postMessage({ model });
  /** @typedef {{ id: number, request: LiveRequest, resolve: (answer: any) => void, reject: (error: Error) => void }} Asked */
  /** @type {Asked | null} */
  let running = null;
  /** @type {Asked | null} */
  let waiting = null;
  let count = 0;
  const abandon = () => new DOMException("another question came", "AbortError");

  const next = () => {
    if (running || !waiting) return;
    running = waiting;
    waiting = null;
    worker.postMessage({ id: running.id, request: running.request });
  };
  /** @type {(event: MessageEvent<WorkerAnswer>) => void} */
  worker.onmessage = ({ data }) => {
    const asked = running;
    running = null;
    if ("error" in data) asked?.reject(new Error(data.error));
    else asked?.resolve({ scenes: data.scenes });
    next();
  };
  worker.onerror = (event) => {
    running?.reject(new Error(event.message));
    running = null;
    next();
  };
  return (_, body, signal) =>
    new Promise((resolve, reject) => {
      waiting?.reject(abandon());
      waiting = { id: count++, request: /** @type {LiveRequest} */ (body), resolve, reject };
      signal?.addEventListener("abort", () => reject(abandon()));
      next();
    });
}
