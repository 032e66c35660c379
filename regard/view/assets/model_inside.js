// A model inside the page: a thread of its own computes with it, and is asked as a server would be.

// Ask a thread that is made of the program and the numbers in the page. It answers one question at a time: of those that wait, only
// the last is asked; the others are given up, as what somebody stopped waiting for.
/** @type {(inside: ModelInside) => Ask} */
function askModelInside({ program, model }) {
  const worker = new Worker(URL.createObjectURL(new Blob([program], { type: "text/javascript" })));
  worker.postMessage({ model });
  /** @typedef {{ id: number, question: { request: LiveRequest } | { write: WriteRequest }, tell?: (written: string) => void, resolve: (answer: any) => void, reject: (error: Error) => void }} Asked */
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
    worker.postMessage({ id: running.id, ...running.question });
  };
  /** @type {(event: MessageEvent<WorkerAnswer>) => void} */
  worker.onmessage = ({ data }) => {
    const asked = running;
    if ("written" in data && !data.done) {
      asked?.tell?.(data.written);
      return;
    }
    running = null;
    if ("error" in data) asked?.reject(new Error(data.error));
    else asked?.resolve("written" in data ? data.written : { scenes: data.scenes });
    next();
  };
  worker.onerror = (event) => {
    running?.reject(new Error(event.message));
    running = null;
    next();
  };
  return (path, body, signal, tell) =>
    new Promise((resolve, reject) => {
      waiting?.reject(abandon());
      const question =
        path === "write"
          ? { write: /** @type {WriteRequest} */ (body) }
          : { request: /** @type {LiveRequest} */ (body) };
      waiting = { id: count++, question, tell, resolve, reject };
      signal?.addEventListener("abort", () => reject(abandon()));
      next();
    });
}
