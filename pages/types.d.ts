// What Python puts into a page as JSON, and what the pages' scripts share. docs/files.md describes a scene in words.

/** A sentence in both languages of the pages. */
type Both = { en: string; ko: string };
type Language = keyof Both;

// Elements: what dom.js makes them of.

/** What may stand in an element; false, null and undefined are left out. */
type Child = Node | string | false | null | undefined;
type Attribute = string | number | boolean | null | undefined;
type Settings = Record<string, string | number>;
type Handlers<Made> = {
  [Name in keyof HTMLElementEventMap as `on${Name}`]?: (
    event: HTMLElementEventMap[Name] & { currentTarget: Made },
  ) => unknown;
};
type Attributes<Made> = Handlers<Made> & { style?: Settings; data?: Settings } & {
  [name: string]: Attribute | Settings | ((event: never) => unknown);
};

// Numbers: regard/view/arrays.py.

type Packed = PackedText | PackedNumbers;

interface PackedText {
  type: "share" | "half";
  shape: number[];
  /** 16 bits each, in base64. */
  data: string;
}

/** What a model inside the page computed needs no packing. */
interface PackedNumbers {
  type: "float";
  shape: number[];
  data: Float32Array;
}

// The page of scenes: regard/view/scenes.py; scenes are made by the page.py of each task below regard/tasks, and attention.py of translation.

type Kind = "cross" | "encoder" | "decoder";
type Stack = "encoder" | "decoder";
/** One head by its number, or how all of them are put together. */
type Head = number | "mean" | "max" | "every";

/** The tokens from `first` up to, not including, `end`. */
interface Word {
  first: number;
  end: number;
  text: string;
}

interface Side {
  text: string;
  tokens: string[];
  words: Word[];
}

interface Weights {
  /** What the model calls its layers; empty if they cannot be switched. */
  names: string[];
  /** The heads of each layer that were switched off. */
  off: number[][];
  /** [layers, heads, queries, keys] */
  weights: Packed;
}

interface Alternatives {
  tokens: string[];
  probabilities: number[];
  logits: number[];
  /** Of the token that was written … */
  probability: number;
  /** … and its place among all tokens; 1 is the most probable. */
  rank: number;
}

interface SearchPath {
  /** Which of the step before's `kept`. */
  parent: number;
  token: string;
  log_probability: number;
  total: number;
  score: number;
  text: string;
}

interface SearchStep {
  kept: SearchPath[];
  finished: SearchPath[];
}

interface Search {
  beam: number;
  sample: boolean;
  nbest: number;
  temperature: number;
  top_k: number;
  top_p: number;
  no_repeat_ngram: number;
  length_penalty: "paper" | "mean" | "none";
  alpha: number;
}

/** The model's sizes and choices. */
interface Shape {
  architecture: string;
  norm: "pre" | "post" | "none";
  positions: "sinusoidal" | "learned" | "none";
  /** What a model can be without; a page of before it could says nothing of it, and has it. */
  residual?: boolean;
  scale?: boolean;
  bias?: boolean;
  activation?: "relu" | "gelu" | "swish";
  width: number;
  heads: number;
  /** Of one head's values; 0: the width divided among the heads. */
  value_width?: number;
  tied: boolean;
  vocabulary: number;
  /** Of a classifier: how states become one vector. */
  pooling?: "max" | "mean" | "first";
  /** Of a language model: whether it may point at what was read, and how many clusters of rare tokens it has. */
  pointer?: boolean;
  clusters?: number;
}

/** Layers that can be walked through: regard/view/inside.py. */
interface WalkStack {
  kind: Stack;
  side: "source" | "target";
  /** What the model calls the modules. */
  embedding: string;
  layers: string;
  count: number;
  /** What follows the layers. */
  end: "memory" | "next" | "label";
  cross: boolean;
}

/** What a classifier decided: regard/tasks/classification/page.py. */
interface Decision {
  label: string;
  /** Of every label, the most probable first. */
  probabilities: [label: string, share: number][];
  window: number;
  /** The token before which a part of the text was left out. */
  gap: number | null;
  /** Whether there is room for the weights, if there are any. */
  mapped: boolean;
  /** Of each word. */
  words: { attention?: number[]; gradient?: number[]; ngrams?: number[] };
  ngrams: [ngram: string, contribution: number][];
  /** In the order of the logits. */
  labels: string[];
  /** Of what attention found, and of n-grams if the model has them; this window alone. */
  logits: number[][];
  temperature: number;
}

/** What a language model found of a text: regard/tasks/language_model/page.py. */
interface Surprise {
  perplexity: number;
  words: number;
  /** [tokens, read + 1], last the vocabulary */
  pointed: Packed | null;
}

interface Warning {
  kind: "unseen" | "spelled" | "repeated";
  side: "source" | "target";
  /** Places among the side's words. */
  words: number[];
}

/** One pass of the model over one part of a text. */
interface Scene {
  title: string;
  facts: Record<string, string>;
  shape: Shape;
  /** How many parts the whole text has. */
  parts: number;
  source: Side;
  target: Side;
  /** What the decoder had before it when it wrote each token. */
  read: Side;
  attention: Partial<Record<Kind, Weights>>;
  alternatives: Alternatives[];
  steps: SearchStep[];
  search: Search | null;
  /** What regard's own search found, where another engine wrote something else. */
  beside?: string | null;
  /** [positions, width] */
  positions: Packed | null;
  warnings: Warning[];
  stacks: WalkStack[];
  decision?: Decision | null;
  surprise?: Surprise | null;
  /** Recorded tensors by module and name; null if there was no room for them. */
  walk: Record<string, Record<string, Packed>> | null;
  /** Of each layer and position, what the model would predict if it ended there; a classifier's of the whole text. */
  lens?: Alternatives[][];
  /** By module and the paper's letter; of a text in parts, the first scene has them. */
  matrices?: Record<string, Record<string, Matrix>>;
}

/** A weight matrix as a strip: regard/view/matrices.py. */
interface Matrix {
  /** [inputs, outputs] */
  shape: [number, number];
  /** [heads, rows, columns]; transposed, so that inputs run along a row */
  strips: Packed;
}

/** regard/tasks/movie_file.py */
interface Movie {
  /** The name of the run that was filmed. */
  run?: string;
  /** Which attention was filmed. */
  kind: Kind | "pooling";
  probes: { source: Side; target: Side }[];
  frames: Frame[];
}

interface Frame {
  update: number;
  metrics: Record<string, number>;
  /** `weights` are [layers, heads, queries, keys]. */
  probes: { weights: Packed; text: string }[];
}

/** What a page knows of the server behind it: `live_page` in regard/serve/attention_route.py. */
interface LiveSettings {
  models: LiveModel[];
  most_characters: number;
  most_beam: number | null;
  /** The model that answers, where no server does. */
  inside?: ModelInside;
}

interface ModelInside {
  /** What its thread runs. */
  program: string;
  model: AnyPortable;
  /** To begin with. */
  text: string;
}

interface LiveModel {
  name: string;
  title: string;
  languages: string;
  /** What its task does with a text. */
  verb: string;
  /** The names of its attentions by kind; none: there is nothing to change. */
  attentions: Record<string, string[]>;
  /** null: it searches nothing. */
  beam: number | null;
  /** The languages that it can write. */
  targets: string[];
  /** Whether the letters of a text may choose one of them. */
  by_letters: boolean;
  examples: string[];
}

interface AttentionPage {
  scenes: Scene[];
  movie: Movie | null;
  live: LiveSettings | null;
}

// The page that asks other models: `asked_of` in the routes.py of each task below regard/tasks.

type AskModel = { name: string; title: string } & (
  | { path: "/classify"; labels: string[]; most_characters: number }
  | { path: "/generate"; most_new_tokens: number; most_characters: number }
  | { path: "/recognize"; labels: string[]; most_bytes: number; most_pixels: number; suffixes: string[]; look: boolean }
  | { path: "/paint"; most_characters: number; most_pictures: number }
);

interface AskPage {
  models: AskModel[];
  /** Whether some of them can be looked into, on another page. */
  look: boolean;
}

// What the server answers: the schemas.py of each task below regard/tasks.

interface AttentionAnswer {
  scenes: Scene[];
}

interface TranslateAnswer {
  translations: { text: string; tokens: string[]; token_log_probabilities: number[] }[];
}

interface ClassifyAnswer {
  classifications: { label: string; probabilities: Record<string, number>; windows: number; cut: boolean }[];
}

interface GenerateAnswer {
  generations: { tokens: string[]; finish_reason: "end" | "length" | "stop"; cut: boolean }[];
}

interface RecognizeAnswer {
  recognitions: { label: string; probabilities: Record<string, number>; animated: boolean }[];
  look: PictureShown | null;
}

interface PaintAnswer {
  paintings: { caption: string; cut: boolean; pictures: { picture: string; seed: number }[] }[];
}

/** A server-sent event, whatever kind: a part of the answer, the whole of it, or what went wrong. */
interface StreamedEvent extends Partial<GenerateAnswer>, Partial<PaintAnswer> {
  text?: string;
  painted?: { number: number; codes: number; of: number; picture: string };
  detail?: string;
}

// The page of a picture: regard/tasks/image_classification/page.py.

interface PictureShown {
  /** Pixels of a side. */
  side: number;
  /** Tokens in a row. */
  grid: number;
  /** Tokens before those of the picture. */
  extra: number;
  label: string;
  probability: number;
  /** Red, green and blue of each pixel, a byte each, in base64. */
  pixels: string;
  /** [layers, heads, tokens, tokens] */
  weights: Packed;
  /** [tokens] */
  pooled: Packed;
  /** [grid × grid] each */
  rollout: Packed;
  gradient: Packed;
  /** [tokens, width] each */
  vectors: Packed;
  states: Packed;
  /** [query key value, layers, heads, tokens, width of a head] */
  projected: Packed;
  /** [grid × grid, grid × grid] */
  positions: Packed | null;
}

// The page of a painted picture: regard/tasks/text_to_image/page.py.

interface PaintingPage {
  title: string;
  facts: Record<string, string>;
  caption: string;
  words: string[];
  /** [height, width, channels], bytes */
  pixels: { shape: number[]; values: number[] };
  grid: number;
  /** [layers, heads, cells, words] */
  weights: Packed;
  /** [words, rows, columns], bits; a page that paints by itself does not compute it. */
  left_out: Packed | null;
}

/** A page whose painter is inside: regard/tasks/text_to_image/live_page.py. */
interface PaintingInside {
  title: string;
  facts: Record<string, string>;
  inside: { program: string; model: PortablePainting; caption: string };
}

/** regard/tasks/text_to_image/live_page.py */
interface PortablePainting {
  settings: NetworkSettings;
  weights: PackedWeights;
  tokenizer: { joint?: string; source?: string };
  stage: PictureStage;
}

/** What turns codes into a picture. */
interface PictureStage {
  grid: number;
  blocks: number;
  halvings: number;
  /** Of each number of a code; none: a codebook is among the weights. */
  levels: number[];
  weights: PackedWeights;
}

interface PaintRequest {
  caption: string;
  guidance: number;
  temperature: number;
  top_p: number;
  seed: number;
}

interface PaintedPicture {
  codes: number[];
  pixels: { shape: number[]; values: number[] };
  words: string[];
  cut: boolean;
  /** [layers, heads, cells, words] */
  weights: PackedNumbers;
}

type PainterAnswer = { id: number; painted: PaintedPicture } | { id: number; error: string };
interface PainterPort {
  onmessage: (event: { data: { model: PortablePainting } | { id: number; paint: PaintRequest } }) => void;
  postMessage: (answer: PainterAnswer) => void;
}

// The page of learning curves: regard/view/curve.py.

/** What a run wrote down at one update: `loss`, `bleu` or whatever was measured, by name. */
interface Measured {
  update: number;
  seconds: number;
  [measure: string]: number;
}

interface Run {
  name: string;
  train: Measured[];
  valid: Measured[];
  update: number;
  seconds: number;
  best: Record<string, Measured | null>;
}

interface CurvePage {
  runs: Run[];
  command: string;
  /** Seconds after which the page reads itself again; 0: never. */
  refresh: number;
}

// The page of a map of vectors: regard/view/map.py.

interface MapPage {
  title: string;
  kind: "words" | "texts";
  facts: Record<string, string>;
  /** How many there were; of too many, only some are drawn. */
  given: number;
  width: number;
  /** Of all variance, on each axis. */
  shares: number[];
  texts: string[];
  labels: string[];
  /** Of each text its label's number; −1 if it has none. */
  label: number[];
  /** [texts, 2], from 0 to 1 */
  places: Packed;
  /** Of each text the nearest others, and their cosines. */
  near: number[][];
  cosines: number[][];
  command: string;
}

// The page of a race: regard/experiments/race/comparison.py.

interface Score {
  name: string;
  value: number;
  low: number;
  high: number;
  signature: string;
}

interface Entrant {
  name: string;
  parameters: number;
  model: { architecture: string; width: number };
  training: { learning_rate: number };
  updates: number;
  seconds: number;
  curve: { update: number; seconds: number; loss: number; score: number }[];
  /** What the speed of training counts: tokens or texts. */
  unit: string;
  trained_per_second: number | null;
  memory: number;
  speed: { texts: number; texts_per_second: number; tokens_per_second: number };
  scores: Score[];
  /** The first score by bucket of lengths. */
  lengths: Score[];
}

interface Bucket {
  low: number;
  high: number;
  texts: number;
}

/** Where an entrant looked, [target, source]. */
interface Looks {
  source: string[];
  target: string[];
  weights: Packed;
}

interface Sample {
  source: string;
  reference: string;
  tokens: number;
  answers: Record<string, string>;
  /** By entrant; null if it has no attention. */
  looks: Record<string, Looks | null>;
}

interface RacePage {
  name: string;
  headline: Both;
  task: string;
  facts: Record<string, string>;
  budget: { parameters: number; minutes: number | null };
  training_examples: number;
  vocabulary: number;
  /** What validations call the score. */
  curve: string;
  /** Whether less is better. */
  lower: boolean;
  meaning: Both;
  work: Both;
  test_set: { name: string; texts: number };
  buckets: Bucket[];
  entrants: Entrant[];
  pairs: { a: string; b: string; metrics: { value: number; p_value: number }[] }[];
  samples: Sample[];
  command: string;
}

// A model inside a page: regard/view/portable.py and the portable.py of each task below regard/tasks.

interface PlainTensor {
  shape: number[];
  values: Float32Array;
}

interface PackedWeights {
  /** All numbers one after the other, in base64. */
  numbers: string;
  /** Where each tensor begins, in bytes; with `group` its scales come first, one for so many numbers of 8 bits. */
  tensors: { name: string; shape: number[]; at: number; group: number }[];
  /** Names of tensors that are another one. */
  same: Record<string, string>;
}

/** The settings of a model's recipe that its computation depends on. */
interface NetworkSettings {
  width: number;
  heads: number;
  key_width: number;
  value_width: number;
  feed_forward: number;
  /** Of a translator … */
  encoder_layers: number;
  decoder_layers: number;
  /** … of a model with one stack … */
  layers: number;
  /** … and of a classifier. */
  pooling: "max" | "mean" | "first";
  ngrams: number;
  max_positions: number;
  norm: "pre" | "post" | "none";
  norm_epsilon: number;
  positions: "sinusoidal" | "learned" | "none";
  activation: "relu" | "gelu" | "swish";
  residual: boolean;
  scale: boolean;
}

interface DecodingSettings {
  beam: number;
  length_penalty: "paper" | "mean" | "none";
  alpha: number;
  max_ratio: number;
  max_extra: number;
  no_repeat_ngram: number;
}

/** What a full stop may stand for: `rules_of` in regard/data/sentences.py. */
interface SentenceRules {
  code: string;
  never: string[];
  maybe: string[];
  closing: string[];
  numbered: string[];
  starters: string[];
  ordinals: boolean;
  before_ordinal: string[];
  after_ordinal: string[];
}

interface Portable {
  title: string;
  shape: Shape;
  stacks: WalkStack[];
  settings: NetworkSettings;
  weights: PackedWeights;
  /** SentencePiece models in base64. */
  tokenizer: { joint?: string; source?: string; target?: string };
}

interface PortableTranslation extends Portable {
  kind: "translator";
  decoding: DecodingSettings;
  /** By the language that is written: how a text is read for it; the usual one first. */
  directions: Record<string, { tags: number[]; rules: SentenceRules; facts: Record<string, string> }>;
  /** Of each direction the letters of its source, as a range of characters, if a text's letters may choose. */
  letters: { target: string; letters: string; weight: number }[];
  /** Tokens and sentences of a part, at most. */
  longest: number;
  sentences: number;
}

interface PortableLanguage extends Portable {
  kind: "language-model";
  facts: Record<string, string>;
  /** Whether lines follow each other, rather than being documents. */
  stream: boolean;
  context: number;
}

interface PortableClassification extends Portable {
  kind: "classifier";
  facts: Record<string, string>;
  labels: string[];
  temperature: number;
  max_tokens: number;
  /** What is read of a text that has more tokens. */
  long: "first" | "ends" | "windows";
  /** What is replaced in a text before it is read. */
  replace: Record<string, string>;
}

type AnyPortable = PortableTranslation | PortableLanguage | PortableClassification;

/** What a reader asks of a live model. */
interface LiveRequest {
  model: string;
  text: string;
  beam: number | null;
  to: string | null;
  /** Heads that are switched off, by the name of their attention. */
  off: Record<string, number[]>;
  temperature: number;
  hard: boolean;
  walk: boolean;
}

/** How a language model inside the page is to continue a text. */
interface WriteRequest {
  text: string;
  /** New tokens, at most. */
  most: number;
  /** Of sampling; 0 takes the most probable token. */
  temperature: number;
  seed: number;
  changes: { off: Record<string, number[]>; temperature: number; hard: boolean };
}

type WorkerQuestion =
  | { model: AnyPortable }
  | { id: number; request: LiveRequest }
  | { id: number; write: WriteRequest };
type WorkerAnswer =
  | { id: number; scenes: Scene[] }
  | { id: number; written: string; done: boolean }
  | { id: number; error: string };
interface WorkerPort {
  onmessage: (event: { data: WorkerQuestion }) => void;
  postMessage: (answer: WorkerAnswer) => void;
}
