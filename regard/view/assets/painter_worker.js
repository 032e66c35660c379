// The thread that paints: it is given a painter once, then captions, and tells of every code.

/** @type {PainterPort} */
const port = /** @type {any} */ (self);
/** @type {PortablePainter | null} */
let painter = null;

port.onmessage = ({ data }) => {
  if ("model" in data) {
    painter = new PortablePainter(data.model);
    return;
  }
  const known = painter;
  if (!known) return;
  try {
    known.paint(data.paint, (painted) => port.postMessage({ id: data.id, painted }));
  } catch (error) {
    port.postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
