// The Transformer of translation: encoder, decoder step by step or all at once. As regard/models/transformer.py.

class TransformerModel extends Network {
  // Source ids, their end included → memory [K, D].
  /** @type {(source: number[]) => Rows} */
  encode(source) {
    let x = this.embed(source, "source_embedding");
    for (let layer = 0; layer < this.settings.encoder_layers; layer++)
      x = this.think(this.selfLayer(x, `encoder.${layer}`, false), `encoder.${layer}`);
    return this.lastNorm(x, "encoder_norm");
  }

  // The keys and values of the memory, once for all steps; and no past yet.
  /** @type {(source: number[]) => { memory: KeyValue[], past: KeyValue[] }} */
  start(source) {
    const memory = this.encode(source);
    const layers = Array.from({ length: this.settings.decoder_layers }, (_, layer) => layer);
    return {
      memory: layers.map((layer) => this.projectMemory(memory, `decoder.${layer}.cross_attention`)),
      past: layers.map(() => ({ key: [], value: [] })),
    };
  }

  // One position of several hypotheses side by side: their last ids, and what each has behind it, by layer → logits.
  /** @type {(last: number[], pasts: KeyValue[][], memory: KeyValue[]) => { logits: Rows, pasts: KeyValue[][] }} */
  step(last, pasts, memory) {
    const length = pasts[0][0].key.length;
    let x = last.map((id) => this.embed([id], "target_embedding", length)[0]); // [W, D]
    /** @type {KeyValue[][]} */
    const longer = pasts.map(() => []);
    for (let number = 0; number < this.settings.decoder_layers; number++) {
      const layer = `decoder.${number}`;
      x = this.residual(x, `${layer}.after_self`, (rows) => {
        const { query, key, value } = this.project(rows, `${layer}.self_attention`);
        pasts.forEach((past, row) => {
          const before = past[number]; // rows are shared between hypotheses, and never written again
          longer[row].push({ key: [...before.key, key[row]], value: [...before.value, value[row]] });
        });
        return this.attend(
          `${layer}.self_attention`,
          query,
          (row) => longer[row][number],
          () => length + 1,
        );
      });
      x = this.look(x, layer, memory[number]);
      x = this.think(x, layer);
    }
    return { logits: this.logits(this.lastNorm(x, "decoder_norm")), pasts: longer };
  }

  /** @type {(x: Rows, layer: string, memory: KeyValue) => Rows} */
  look(x, layer, memory) {
    const name = `${layer}.cross_attention`;
    return this.residual(x, `${layer}.after_cross`, (rows) =>
      this.attend(
        name,
        this.linear(rows, `${name}.query`),
        () => memory,
        () => memory.key.length,
      ),
    );
  }

  /** @type {(states: Rows) => Rows} */
  logits(states) {
    return linear(states, this.tensor("output.weight"));
  }

  // All positions of a known target at once, one place late as the decoder reads it → logits [T, V].
  /** @type {(source: number[], read: number[]) => Rows} */
  forward(source, read) {
    const memory = this.encode(source);
    let x = this.embed(read, "target_embedding");
    for (let number = 0; number < this.settings.decoder_layers; number++) {
      const layer = `decoder.${number}`;
      x = this.selfLayer(x, layer, true);
      x = this.look(x, layer, this.projectMemory(memory, `${layer}.cross_attention`));
      x = this.think(x, layer);
    }
    const states = this.lastNorm(x, "decoder_norm");
    this.note("model", () => ({ memory: tensorOfRows(memory), states: tensorOfRows(states) }));
    return this.logits(states);
  }

  /** @type {() => Record<Kind, string[]>} */
  attentionNames() {
    const { encoder_layers: read, decoder_layers: written } = this.settings;
    /** @type {(count: number, name: (layer: number) => string) => string[]} */
    const names = (count, name) => Array.from({ length: count }, (_, layer) => name(layer));
    return {
      cross: names(written, (layer) => `decoder.${layer}.cross_attention`),
      encoder: names(read, (layer) => `encoder.${layer}.self_attention`),
      decoder: names(written, (layer) => `decoder.${layer}.self_attention`),
    };
  }
}
