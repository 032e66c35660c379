// Attention of a few small vectors, line by line as regard/attention/scaled_dot.py defines it, with every number on the way.

/**
 * @typedef {{
 *   products: number[][], // q·k
 *   scores: number[][], // times β, over √d; before the mask
 *   powers: number[][], // e to the power of the score less the row's greatest; 0 where hidden
 *   sums: number[], // of each row's powers
 *   weights: number[][],
 *   outputs: number[][],
 * }} Attended
 */

/** @type {(one: number[], other: number[]) => number} */
const dot = (one, other) => one.reduce((sum, value, place) => sum + value * other[place], 0);

// Each query looks at every key that `mayLook` shows it, and takes a weighted mix of the values.
// query [Q][E], key [K][E], value [K][F], mayLook [Q][K]; a query that may look at nothing gets zeros.
/** @type {(query: number[][], key: number[][], value: number[][], mayLook: boolean[][], options: { beta: number, scale: boolean, hard: boolean }) => Attended} */
function attend(query, key, value, mayLook, { beta, scale, hard }) {
  const root = scale ? Math.sqrt(key[0].length) : 1;
  const products = query.map((q) => key.map((k) => dot(q, k))); //                                     [Q][K]
  const scores = products.map((row) => row.map((product) => (beta * product) / root)); //              [Q][K]
  const greatest = scores.map((row, q) => Math.max(...row.filter((_, k) => mayLook[q][k]))); //        [Q]
  const powers = scores.map((row, q) => row.map((score, k) => (mayLook[q][k] ? Math.exp(score - greatest[q]) : 0)));
  const sums = powers.map((row) => row.reduce((sum, power) => sum + power, 0)); //                     [Q]
  const weights = powers.map((row, q) => {
    if (!hard) return row.map((power) => (sums[q] > 0 ? power / sums[q] : 0));
    const best = scores[q].findIndex((score, k) => mayLook[q][k] && score === greatest[q]); // the first of equals
    return row.map((_, k) => (k === best ? 1 : 0));
  });
  const outputs = weights.map((row) =>
    value[0].map((_, f) => row.reduce((sum, weight, k) => sum + weight * value[k][f], 0)),
  );
  return { products, scores, powers, sums, weights, outputs };
}

// What the paper adds to mark a position: sine and cosine in turn (section 3.5).
/** @type {(position: number, width: number) => number[]} */
const positionVector = (position, width) =>
  Array.from({ length: width }, (_, place) => {
    const angle = position * 10_000 ** (-(place - (place % 2)) / width);
    return place % 2 ? Math.cos(angle) : Math.sin(angle);
  });
