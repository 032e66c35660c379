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

  get names() {
    return Array.from({ length: this.settings.layers }, (_, layer) => `layers.${layer}.self_attention`);
  }
}
