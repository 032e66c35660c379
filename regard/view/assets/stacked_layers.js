// Layers of one kind, one upon the other: the encoder alone of a classifier, or the decoder alone of a language model.

class StackedLayers extends Network {
  // Embedded tokens → states [T, D], each position seeing all others or only its past.
  /** @type {(embedded: Rows, causal: boolean) => Rows} */
  layers(embedded, causal) {
    let x = embedded;
    for (let layer = 0; layer < this.settings.layers; layer++)
      x = this.think(this.selfLayer(x, `layers.${layer}`, causal), `layers.${layer}`);
    const states = this.lastNorm(x, "norm");
    this.note("model", () => ({ states: tensorOfRows(states) }));
    return states;
  }

  // One more position of a causal stack: its id, and the keys and values of all before it by layer, to which its own are added
  // → its state [D].
  /** @type {(id: number, past: KeyValue[]) => Float32Array} */
  step(id, past) {
    return this.advance(this.embed([id], "embedding", past[0].key.length), past);
  }

  // The same of a position that is embedded already [1, D].
  /** @type {(embedded: Rows, past: KeyValue[]) => Float32Array} */
  advance(embedded, past) {
    const length = past[0].key.length;
    let x = embedded;
    for (let number = 0; number < this.settings.layers; number++) {
      const layer = `layers.${number}`;
      const name = `${layer}.self_attention`;
      const own = past[number];
      x = this.residual(x, `${layer}.after_self`, (rows) => {
        const { query, key, value } = this.project(rows, name);
        own.key.push(key[0]);
        own.value.push(value[0]);
        return this.attend(
          name,
          query,
          () => own,
          () => length + 1,
        );
      });
      x = this.think(x, layer);
    }
    return this.lastNorm(x, "norm")[0];
  }

  get names() {
    return Array.from({ length: this.settings.layers }, (_, layer) => `layers.${layer}.self_attention`);
  }
}
