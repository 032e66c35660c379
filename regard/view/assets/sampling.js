// What is written next: the most probable, or drawn by a seed.

// The most probable token, or, above temperature 0, one that a number from 0 to 1 draws.
/** @type {(scores: Float64Array, temperature: number, draw: () => number) => number} */
function chosenToken(scores, temperature, draw) {
  const greatest = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  if (temperature === 0) return scores.indexOf(greatest);
  const shares = scores.map((score) => Math.exp((score - greatest) / temperature));
  let left = draw() * shares.reduce((sum, share) => sum + share, 0);
  const place = shares.findIndex((share) => {
    left -= share;
    return share > 0 && left < 0;
  });
  return place < 0 ? scores.indexOf(greatest) : place;
}

// Numbers from 0 to 1 that a seed decides (mulberry32).
/** @type {(seed: number) => () => number} */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
