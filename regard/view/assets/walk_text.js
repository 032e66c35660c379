// The walk's words (of every step its title, its section in the paper, its equation and its explanation) and its map.

const WALK = {
  title: { en: "Walk", ko: "따라가기" },
  introductions: {
    translator: {
      en: "One token on its way through the whole model, with the model's own numbers. Choose a token: those of the source pass the encoder, those of the translation are written by the decoder. Section signs point to Vaswani et al. (2017), “Attention Is All You Need”. Colours run from orange (below zero) to blue (above); point at them to read the numbers.",
      ko: "토큰 하나가 모델 전체를 지나는 길을 이 모델의 실제 값으로 따라갑니다. 토큰을 고르세요. 원문의 토큰은 인코더를 지나고, 번역문의 토큰은 디코더가 씁니다. § 기호는 Vaswani 등(2017)의 논문 “Attention Is All You Need”의 절을 가리킵니다. 색은 주황(음수)에서 파랑(양수)까지이며, 가리키면 값을 읽을 수 있습니다.",
    },
    label: {
      en: "One token on its way through the whole model, with the model's own numbers: through every layer of the encoder, into the one vector that all tokens become, and on to the label. Choose a token. Section signs point to Vaswani et al. (2017), “Attention Is All You Need”. Colours run from orange (below zero) to blue (above); point at them to read the numbers.",
      ko: "토큰 하나가 모델 전체를 지나는 길을 이 모델의 실제 값으로 따라갑니다. 토큰은 인코더의 모든 층을 지나고, 모든 토큰이 벡터 하나로 모인 뒤 라벨이 정해집니다. 토큰을 고르세요. § 기호는 Vaswani 등(2017)의 논문 “Attention Is All You Need”의 절을 가리킵니다. 색은 주황(음수)에서 파랑(양수)까지이며, 가리키면 값을 읽을 수 있습니다.",
    },
    reader: {
      en: "How one token is predicted, with the model's own numbers: the token read last passes every layer, looks back at those before it, and becomes a probability for each token that may come next. Choose the token to predict. Section signs point to Vaswani et al. (2017), “Attention Is All You Need”. Colours run from orange (below zero) to blue (above); point at them to read the numbers.",
      ko: "토큰 하나가 어떻게 예측되는지를 이 모델의 실제 값으로 따라갑니다. 마지막으로 읽은 토큰이 모든 층을 지나며 앞선 토큰을 돌아보고, 다음에 올 수 있는 토큰마다 확률이 됩니다. 예측할 토큰을 고르세요. § 기호는 Vaswani 등(2017)의 논문 “Attention Is All You Need”의 절을 가리킵니다. 색은 주황(음수)에서 파랑(양수)까지이며, 가리키면 값을 읽을 수 있습니다.",
    },
  },
  // A learner should know whether the paper's Add & Norm is before him.
  norms: {
    post: {
      en: "Add & Norm is the paper's: each sub-layer's result is added, then normalised (post-norm).",
      ko: "Add & Norm은 논문과 같습니다. 하위 층의 결과를 더한 뒤 정규화합니다(post-norm).",
    },
    pre: {
      en: "Not the paper's order: the paper adds, then normalises (Add & Norm, post-norm); this model normalises before each sub-layer and only adds after it (pre-norm), because that trains steadily at a high learning rate and without a long warm-up. A model trained with norm = \"post\" shows the paper's.",
      ko: '논문과 순서가 다릅니다. 논문은 더한 뒤 정규화하지만(Add & Norm, post-norm), 이 모델은 하위 층 앞에서 정규화하고 뒤에서는 더하기만 합니다(pre-norm). 학습률이 높고 웜업이 짧아도 안정적으로 학습되기 때문입니다. norm = "post"로 학습한 모델에서는 논문의 순서를 볼 수 있습니다.',
    },
    none: {
      en: "The paper normalises after each sub-layer; this model was told not to (norm = none).",
      ko: "논문은 하위 층 뒤에서 정규화하지만, 이 모델은 정규화하지 않도록 설정되었습니다(norm = none).",
    },
  },
  loading: { en: "Loading the numbers of the walk …", ko: "계산 과정의 수를 불러오는 중입니다 …" },
  absent: {
    en: "This page does not carry the walk of this part: together its numbers would be too many. Look at a shorter text, or at this part alone.",
    ko: "이 페이지에는 이 부분의 계산 과정이 들어 있지 않습니다. 모두 담기에는 수가 너무 많기 때문입니다. 더 짧은 글을 보거나 이 부분만 따로 보세요.",
  },
  unsent: {
    en: "The server sent no numbers for the steps: they would be too many, or the request failed. A shorter text shows the walk.",
    ko: "서버가 단계별 수를 보내지 않았습니다. 수가 너무 많거나 요청이 실패했기 때문입니다. 더 짧은 글이라면 계산 과정을 볼 수 있습니다.",
  },
  source: { en: "Read by the encoder", ko: "인코더가 읽은 토큰" },
  target: { en: "Written by the decoder", ko: "디코더가 쓴 토큰" },
  reader: { en: "Token to predict", ko: "예측할 토큰" },
  layer: { en: "Layer", ko: "층" },
  head: { en: "Head", ko: "헤드" },
  nth: { en: "Layer {0}", ko: "{0}층" },
  nthHead: { en: "head {0}", ko: "헤드 {0}" },
  fold: { en: "Fold all steps", ko: "모든 단계 접기" },
  unfold: { en: "Unfold all steps", ko: "모든 단계 펼치기" },
  flow: { en: "The walk as a picture", ko: "그림으로 보는 과정" },
  back: { en: "Back", ko: "이전" },
  next: { en: "Next", ko: "다음" },
  step: { en: "Step {0} of {1}", ko: "{1}단계 중 {0}단계" },
  read: { en: "All numbers of this step", ko: "이 단계의 모든 값 보기" },
  matrices: {
    en: "The learned matrices, transposed: inputs across, outputs down. Of a large matrix each cell shows the number farthest from zero in its block.",
    ko: "학습된 행렬을 전치한 것입니다. 가로는 입력, 세로는 출력입니다. 큰 행렬에서는 칸마다 그 블록에서 0과 가장 먼 값을 보였습니다.",
  },
  cell: { en: "outputs {0}, inputs {1}: {2}", ko: "출력 {0}, 입력 {1}: {2}" },
  sum: { en: "Sum", ko: "합" },
  lensLayer: { en: "After layer", ko: "지난 층" },
  lensFirst: { en: "Most probable", ko: "확률이 가장 높은 것" },
  lensNext: { en: "Then", ko: "그다음" },
  map: { en: "Where we are in the model", ko: "모델 안에서의 위치" },
  encoder: { en: "Encoder", ko: "인코더" },
  decoder: { en: "Decoder", ko: "디코더" },
  state: { en: "x after layer {0}", ko: "{0}층을 지난 x" },
  looks: { en: "{0} at “{1}”", ko: "‘{1}’에 {0}" },
  others: { en: "the other {0}", ko: "나머지 {0}개" },
  largest: { en: "product by product for “{0}”; together {1}", ko: "‘{0}’의 성분별 곱, 모두 더하면 {1}" },
  mean: { en: "mean μ = {0}, deviation σ = {1}", ko: "평균 μ = {0}, 표준편차 σ = {1}" },
  strongest: { en: "Strongest units:", ko: "가장 강한 유닛:" },
  key: { en: "Key", ko: "키" },
  weight: { en: "weight", ko: "가중치" },
  hidden: { en: "hidden", ko: "가려짐" },
  token: { en: "Token", ko: "토큰" },
  logit: { en: "logit", ko: "로짓" },
  probability: { en: "probability", ko: "확률" },
  written: { en: "written", ko: "선택된 토큰" },
  came: { en: "came", ko: "실제로 나온 토큰" },
  decided: { en: "decided", ko: "판단" },
  ngrams: { en: "n-grams", ko: "n-gram" },
  windows: {
    en: "These are the probabilities of window {0} alone; what was decided joins all {1} windows.",
    ko: "이것은 {0}번째 창만의 확률입니다. 최종 판단은 창 {1}개를 모두 합친 것입니다.",
  },
  rank: { en: "rank {0}", ko: "{0}위" },
  changed: {
    en: "The attention of this model has been changed by hand (temperature or hard attention), so these weights are not the plain softmax of the scores.",
    ko: "이 모델의 어텐션은 사람이 바꾼 상태입니다(온도 또는 하드 어텐션). 그래서 이 가중치는 점수의 소프트맥스와 다릅니다.",
  },
  off: {
    en: "This head has been switched off: its answer is replaced by zeros.",
    ko: "이 헤드는 꺼져 있어서 답이 모두 0으로 바뀌었습니다.",
  },
};

// The Korean particle for a word or number: particle("8", "으로", "로") is "로". After a final consonant comes the first
// form, but "로" even after ㄹ, in which 1, 7 and 8 end, too.
/** @type {(word: string | number, closed: string, open: string) => string} */
function particle(word, closed, open) {
  const last = String(word).at(-1) ?? "";
  const final = last >= "가" && last <= "힣" ? (last.charCodeAt(0) - 0xac00) % 28 : 0;
  const ends = final > 0 || "013678".includes(last);
  const flows = final === 8 || "178".includes(last);
  return ends && !(open === "로" && flows) ? closed : open;
}

/** @type {(number: string | number) => string} */
const percent = (number) => (reader.language === "ko" ? `${number}%` : `${number} %`);

/** @typedef {keyof typeof WALK_PARTS} WalkPart */
const WALK_PARTS = {
  start: { en: "Embedding", ko: "임베딩" },
  self: { en: "Self-attention", ko: "셀프 어텐션" },
  cross: { en: "Cross-attention", ko: "크로스 어텐션" },
  feed: { en: "Feed-forward", ko: "피드포워드" },
  memory: { en: "Memory", ko: "메모리" },
  end: { en: "Next token", ko: "다음 토큰" },
  label: { en: "Label", ko: "라벨" },
};

const WALK_LAYER = /** @type {const} */ (["self", "cross", "feed"]); // the parts of one layer; an encoder has no cross

const SINUSOIDS = ["PE_{(t, 2i)} = sin(t / 10000^{2i/d})", "PE_{(t, 2i+1)} = cos(t / 10000^{2i/d})"];

// Where a step reads differently in the encoder or in a decoder's two attentions, its name goes on after a dot.
/**
 * @typedef {string | number} Value
 * @typedef {{ title: Both, section: string, equation: string | ((...values: Value[]) => string), text: Both }} WalkStep
 * @typedef {keyof typeof WALK_STEPS} WalkStepName
 */
/** @satisfies {Record<string, WalkStep>} */
const WALK_STEPS = {
  "token.encoder": {
    title: { en: "The token", ko: "토큰" },
    section: "5.1",
    equation: (t) => `w_{t},  t = ${t}`,
    text: {
      en: "The encoder reads the sentence as {1} tokens, all at once. We follow “{2}” at position {0}; positions count from 0.",
      ko: "인코더는 문장을 {1}개의 토큰으로 나누어 한꺼번에 읽습니다. 여기서는 위치 {0}에 있는 토큰 ‘{2}’의 길을 따라갑니다. 위치는 0부터 셉니다.",
    },
  },
  "token.decoder": {
    title: { en: "The token read last", ko: "마지막으로 읽은 토큰" },
    section: "3.1",
    equation: (t) => `w_{t},  t = ${t}`,
    text: {
      en: "The decoder writes one token after another and reads its own output. The token read last is “{2}” at position {0}; from there it predicts the next one, and “{3}” is what it wrote.",
      ko: "디코더는 토큰을 하나씩 쓰면서 자신의 출력을 다시 읽습니다. 마지막으로 읽은 토큰은 위치 {0}의 ‘{2}’입니다. 바로 여기서 다음 토큰을 예측하며, 실제로 쓴 토큰은 ‘{3}’입니다.",
    },
  },
  "token.reader": {
    title: { en: "The token read last", ko: "마지막으로 읽은 토큰" },
    section: "3.1",
    equation: (t) => `w_{t},  t = ${t}`,
    text: {
      en: "The model reads the text one token after another and predicts the next. The token read last is “{2}” at position {0}; “{3}” is what came next.",
      ko: "모델은 글을 토큰 하나씩 읽으며 다음 토큰을 예측합니다. 마지막으로 읽은 토큰은 위치 {0}의 ‘{2}’이고, 실제로 나온 다음 토큰은 ‘{3}’입니다.",
    },
  },
  embedding: {
    title: { en: "Embedding", ko: "임베딩" },
    section: "3.4",
    equation: "e = E[w_{t}] · √{d}",
    text: {
      en: "Every token of the vocabulary owns a learned vector of {0} numbers. Multiplied by √{0} = {1}, these numbers are of the order of 1.",
      ko: "어휘의 모든 토큰은 {0}개의 수로 이루어진 학습된 벡터를 가집니다. 이 벡터를 √{0} = {1}배 하면 각 수의 크기가 1 안팎이 됩니다.",
    },
  },
  "position.sinusoidal": {
    title: { en: "Add the position", ko: "위치 더하기" },
    section: "3.5",
    equation: ["x = e + PE_{t}", ...SINUSOIDS].join(",  "),
    text: {
      en: "Attention by itself sees a set, not a sequence. So a fixed pattern of sines and cosines, different at every position, is added; the sum enters the first layer.",
      ko: "어텐션 자체는 순서가 없는 집합만 봅니다. 그래서 위치마다 다른 사인과 코사인 무늬를 더하며, 그 합이 첫 층으로 들어갑니다.",
    },
  },
  "position.learned": {
    title: { en: "Add the position", ko: "위치 더하기" },
    section: "3.5",
    equation: "x = e + P_{t}",
    text: {
      en: "Attention by itself sees a set, not a sequence. So a vector that the model learned for this position is added; the sum enters the first layer.",
      ko: "어텐션 자체는 순서가 없는 집합만 봅니다. 그래서 모델이 이 위치에 대해 학습한 벡터를 더하며, 그 합이 첫 층으로 들어갑니다.",
    },
  },
  "position.none": {
    title: { en: "No position", ko: "위치 없음" },
    section: "3.5",
    equation: "x = e",
    text: {
      en: "The paper adds the position here; this model was told not to (positions = none). To its attention the text is a set: the same tokens in another order give the same vectors.",
      ko: "논문은 여기서 위치를 더하지만, 이 모델은 그렇게 하지 않도록 설정되었습니다(positions = none). 그래서 어텐션에는 문장이 집합일 뿐이며, 같은 토큰을 다른 순서로 놓아도 같은 벡터가 나옵니다.",
    },
  },
  before: {
    title: { en: "The layers before", ko: "앞선 층" },
    section: "3.1",
    equation: "x ← layer(x)",
    text: {
      en: "These layers have already worked on the vector, each as layer {0} does below, with weights of its own. Choose one to walk through it.",
      ko: "이 층들이 이미 벡터를 다듬었습니다. 각 층은 아래의 {0}층과 같은 계산을 자신만의 가중치로 합니다. 층을 고르면 그 안을 따라갈 수 있습니다.",
    },
  },
  norm: {
    title: { en: "Normalise", ko: "정규화" },
    section: "3.1",
    equation: "x′ = LayerNorm(x) = γ (x − μ) / σ + β",
    text: {
      en: "Layer normalisation brings the vector to mean 0 and deviation 1, then applies a learned gain γ and shift β. The paper does this after each sub-layer; this model does it before (pre-norm), which makes training steadier.",
      ko: "층 정규화는 벡터의 평균을 0, 표준편차를 1로 맞춘 뒤 학습된 스케일 γ와 시프트 β를 적용합니다. 논문은 하위 층 뒤에서 정규화하지만, 이 모델은 앞에서 합니다(pre-norm). 그러면 학습이 더 안정됩니다.",
    },
  },
  "norm.again": {
    title: { en: "Normalise", ko: "정규화" },
    section: "3.1",
    equation: "x′ = LayerNorm(x) = γ (x − μ) / σ + β",
    text: {
      en: "Again mean 0 and deviation 1 before the next sub-layer, with a gain γ and a shift β learned for this place.",
      ko: "다음 하위 층에 들어가기 전에 다시 평균을 0, 표준편차를 1로 맞추고, 이 자리를 위해 학습된 스케일 γ와 시프트 β를 적용합니다.",
    },
  },
  "projections.self": {
    title: { en: "Query, key and value", ko: "쿼리, 키, 값" },
    section: "3.2.2",
    equation: (x, all, _head, _aside, q, k, v) =>
      `q = ${x}_{t} W^{Q}${q},  K = ${all} W^{K}${k},  V = ${all} W^{V}${v}`,
    text: {
      en: "Learned matrices give head {2} its own view of each position: a query (what am I looking for?), a key (what can I be found by?) and a value (what do I pass on?). Our position asks, so one query is enough; every position may answer, so all keys and values are needed.{3}",
      ko: "학습된 행렬들이 헤드 {2}에 각 위치를 보는 고유한 시각을 줍니다. 쿼리는 ‘무엇을 찾는가’, 키는 ‘무엇으로 찾아지는가’, 값은 ‘무엇을 건네는가’입니다. 묻는 쪽은 이 위치 하나이므로 쿼리는 하나면 되고, 모든 위치가 답할 수 있으므로 키와 값은 전부 필요합니다.{3}",
    },
  },
  "projections.cross": {
    title: { en: "Query from here, keys and values from the source", ko: "쿼리는 여기서, 키와 값은 원문에서" },
    section: "3.2.3",
    equation: (x, _all, _head, _aside, q, k, v) => `q = ${x}_{t} W^{Q}${q},  K = M W^{K}${k},  V = M W^{V}${v}`,
    text: {
      en: "The query is made by the decoder; keys and values are made of the memory M, the encoder's output. What has been written so far asks what was read: here the two languages meet.{3}",
      ko: "쿼리는 디코더가 만들고, 키와 값은 인코더의 출력인 메모리 M에서 만듭니다. 지금까지 쓴 것이 읽은 것에게 묻는 자리, 곧 두 언어가 만나는 곳입니다.{3}",
    },
  },
  scores: {
    title: { en: "Scores", ko: "점수" },
    section: "3.2.1",
    equation: "s_{j} = q · k_{j} = Σ_{m} q_{m} k_{j,m}",
    text: {
      en: "How well does each key fit the query? Multiply the two vectors number by number and add up the {0} products: the more they point the same way, the larger the sum.",
      ko: "각 키는 쿼리에 얼마나 잘 맞을까요? 두 벡터를 성분끼리 곱하여 얻은 {0}개의 곱을 모두 더합니다. 두 벡터의 방향이 비슷할수록 합이 커집니다.",
    },
  },
  scale: {
    title: { en: "Divide by √dₖ", ko: "√dₖ로 나누기" },
    section: "3.2.1",
    equation: (_size, root) => `s_{j} ← s_{j} / √{d_{k}} = s_{j} / ${root}`,
    text: {
      en: "A sum of {0} products spreads the wider the more there are of them, and where scores lie far apart the softmax has hardly any gradient left. Division by √{0} = {1} undoes that growth.",
      ko: "곱을 {0}개 더하면 그 수가 많을수록 점수가 넓게 퍼지고, 점수가 멀리 떨어지면 소프트맥스의 기울기가 거의 사라집니다. √{0} = {1}{2} 나누면 이렇게 커지는 것을 되돌릴 수 있습니다.",
    },
  },
  "mask.decoder": {
    title: { en: "Mask", ko: "마스크" },
    section: "3.2.3",
    equation: "s_{j} ← −∞  for  j > t",
    text: {
      en: "A token must not look at tokens written after it. Their scores become −∞, so that their weight will be 0: here {0} of {1}. This is what lets training learn from all positions of a sentence at once.",
      ko: "어떤 토큰도 자기보다 뒤에 쓰일 토큰을 보아서는 안 됩니다. 그런 점수는 −∞로 바꾸어 가중치가 0이 되게 하며, 여기서는 {1}개 중 {0}개가 그렇습니다. 덕분에 학습할 때 문장의 모든 위치를 한꺼번에 배울 수 있습니다.",
    },
  },
  "mask.encoder": {
    title: { en: "Mask", ko: "마스크" },
    section: "3.2.3",
    equation: "s_{j} ← s_{j}",
    text: {
      en: "Nothing is hidden here: the whole source may be seen. Only padding would be masked, the filling of shorter sentences in a batch, and this sentence has none.",
      ko: "여기서는 아무것도 가리지 않으며 원문 전체를 볼 수 있습니다. 가려야 하는 것은 한 배치에서 짧은 문장을 메우는 채움 토큰뿐인데, 이 문장에는 없습니다.",
    },
  },
  softmax: {
    title: { en: "Softmax", ko: "소프트맥스" },
    section: "3.2.1",
    equation: "α_{j} = exp(s_{j}) / Σ_{l} exp(s_{l})",
    text: {
      en: "The exponential makes every score positive, the division makes them add up to 1. What comes out are the attention weights: the share of its attention that our position gives to each key.",
      ko: "지수 함수는 모든 점수를 양수로 만들고, 나눗셈은 그 합을 1로 만듭니다. 이렇게 나온 것이 어텐션 가중치, 곧 이 위치가 각 키에 어텐션을 나누어 주는 비율입니다.",
    },
  },
  sum: {
    title: { en: "Weighted sum of the values", ko: "값의 가중합" },
    section: "3.2.1",
    equation: "z = Σ_{j} α_{j} v_{j}",
    text: {
      en: "The head's answer is the mean of all value vectors, each counted by its weight. If one weight is near 1, the answer is nearly a copy of that value.",
      ko: "헤드의 답은 모든 값 벡터를 가중치만큼 세어 평균한 것입니다. 어떤 가중치가 1에 가까우면 답은 그 값 벡터를 거의 그대로 옮긴 것이 됩니다.",
    },
  },
  merge: {
    title: { en: "Merge the heads", ko: "헤드 합치기" },
    section: "3.2.2",
    equation: (heads) => `Z = Concat(z_{1}, …, z_{${heads}})`,
    text: {
      en: "All {0} heads have done the same with matrices of their own, and each may look elsewhere. Their answers, {1} numbers each, are laid side by side: {2} numbers. Choose a head to walk through it.",
      ko: "{0}개의 헤드가 모두 자신만의 행렬로 같은 계산을 했으며, 저마다 다른 곳을 볼 수 있습니다. {1}개씩인 답을 나란히 이으면 {2}개의 수가 됩니다. 헤드를 고르면 그 계산을 따라갈 수 있습니다.",
    },
  },
  output: {
    title: { en: "Output projection", ko: "출력 투영" },
    section: "3.2.2",
    equation: (_width, bias) => `o = Z W^{O}${bias}`,
    text: {
      en: "One more learned matrix mixes what the heads have found, in all {0} dimensions of the model.",
      ko: "학습된 행렬 하나가 여러 헤드가 찾은 것을 모델의 {0}차원 전체에 걸쳐 섞습니다.",
    },
  },
  "add.pre": {
    title: { en: "Add", ko: "더하기" },
    section: "3.1",
    equation: "x ← x + o",
    text: {
      en: "The result is added to what was there (a residual connection): nothing is lost, each sub-layer only writes a correction, and gradients have a straight way back.",
      ko: "결과를 원래 벡터에 더합니다(잔차 연결). 원래의 정보는 사라지지 않고 각 하위 층은 보정만 덧쓰며, 기울기는 곧은 길로 되돌아갑니다.",
    },
  },
  "add.post": {
    title: { en: "Add and normalise", ko: "더하고 정규화하기" },
    section: "3.1",
    equation: "x ← LayerNorm(x + o)",
    text: {
      en: "The result is added to what was there (a residual connection), so that nothing is lost and gradients have a straight way back. The sum is brought to mean 0 and deviation 1, then given a learned gain and shift.",
      ko: "결과를 원래 벡터에 더합니다(잔차 연결). 그래서 원래의 정보가 사라지지 않고 기울기는 곧은 길로 되돌아갑니다. 합은 평균 0, 표준편차 1로 맞춘 뒤 학습된 스케일 γ와 시프트 β를 적용합니다.",
    },
  },
  "add.replaced": {
    title: { en: "Replace", ko: "바꾸기" },
    section: "3.1",
    equation: "x ← o",
    text: {
      en: "The paper adds the result to what was there; this model was told not to (residual = false). What entered the sub-layer is gone, unless the sub-layer passed it on.",
      ko: "논문은 결과를 원래 벡터에 더하지만, 이 모델은 그렇게 하지 않도록 설정되었습니다(residual = false). 하위 층이 건네주지 않은 것은 사라집니다.",
    },
  },
  "add.replaced.post": {
    title: { en: "Replace and normalise", ko: "바꾸고 정규화하기" },
    section: "3.1",
    equation: "x ← LayerNorm(o)",
    text: {
      en: "The paper adds the result to what was there; this model was told not to (residual = false). What entered the sub-layer is gone, unless the sub-layer passed it on; the result alone is normalised.",
      ko: "논문은 결과를 원래 벡터에 더하지만, 이 모델은 그렇게 하지 않도록 설정되었습니다(residual = false). 하위 층이 건네주지 않은 것은 사라지고, 결과만 정규화합니다.",
    },
  },
  skipped: {
    title: { en: "No feed-forward", ko: "피드포워드 없음" },
    section: "3.3",
    equation: "x ← x",
    text: {
      en: "The paper has a small network here, for each position by itself; this model was told to do without (feed_forward = 0). Its layers only mix what is there.",
      ko: "논문은 여기에 위치마다 따로 계산하는 작은 신경망을 두지만, 이 모델에는 없습니다(feed_forward = 0). 이 모델의 층은 있는 것을 섞기만 합니다.",
    },
  },
  widen: {
    title: { en: "Feed-forward: widen", ko: "피드포워드: 넓히기" },
    section: "3.3",
    equation: (_units, _active, _share, inner) => `h = max(0, ${inner})`,
    text: {
      en: "Attention moved information between positions; now each position works on its own. Of {0} hidden units the ReLU lets only the positive ones pass: here {1}, or {2} %.",
      ko: "어텐션이 위치 사이에서 정보를 옮겼다면, 이제는 각 위치가 따로 계산합니다. ReLU는 {0}개의 은닉 유닛 중 양수인 것만 통과시키며, 여기서는 {1}개({2}%)가 켜져 있습니다.",
    },
  },
  "widen.smooth": {
    title: { en: "Feed-forward: widen", ko: "피드포워드: 넓히기" },
    section: "3.3",
    equation: (_units, _active, _share, inner, name) => `h = ${name}(${inner})`,
    text: {
      en: "Attention moved information between positions; now each position works on its own. Where the paper cuts off all below zero (ReLU), this model has {4}, which bends smoothly: of {0} hidden units {1} are positive, or {2} %.",
      ko: "어텐션이 위치 사이에서 정보를 옮겼다면, 이제는 각 위치가 따로 계산합니다. 논문은 0보다 작은 것을 잘라 내지만(ReLU), 이 모델은 부드럽게 굽은 {4} 함수를 씁니다. {0}개의 은닉 유닛 중 {1}개({2}%)가 양수입니다.",
    },
  },
  narrow: {
    title: { en: "Feed-forward: narrow", ko: "피드포워드: 좁히기" },
    section: "3.3",
    equation: (_units, _width, bias) => `o = h W_{2}${bias}`,
    text: {
      en: "A second matrix brings the {0} hidden numbers back to {1}: each active unit adds its own learned vector.",
      ko: "두 번째 행렬이 {0}개의 은닉 값을 다시 {1}개로 줄입니다. 켜진 유닛마다 자신이 학습한 벡터를 더하는 셈입니다.",
    },
  },
  after: {
    title: { en: "The layers after", ko: "다음 층" },
    section: "3.1",
    equation: "x ← layer(x)",
    text: {
      en: "The vector goes on into these layers, which do the same with weights of their own. Choose one to walk through it.",
      ko: "벡터는 다음 층들로 이어지고, 각 층은 자신만의 가중치로 같은 계산을 합니다. 층을 고르면 그 안을 따라갈 수 있습니다.",
    },
  },
  memory: {
    title: { en: "The memory", ko: "메모리" },
    section: "3.2.3",
    equation: (_layer, _head, _aside, _row, k, v) => `K = M W^{K}${k},  V = M W^{V}${v}`,
    text: {
      en: "After the last layer{2} the vector is row {3} of the memory M, computed once per sentence. Every decoder layer makes keys and values of it; these are what head {1} of decoder layer {0} makes of this token.",
      ko: "마지막 층을 지난 벡터는{2} 메모리 M의 {3}번 행이 되며, 문장마다 한 번만 계산합니다. 디코더의 모든 층이 여기서 키와 값을 만듭니다. 아래는 디코더 {0}층의 헤드 {1}에서 이 토큰으로 만든 것입니다.",
    },
  },
  final: {
    title: { en: "Final normalisation", ko: "마지막 정규화" },
    section: "3.1",
    equation: "y = LayerNorm(x)",
    text: {
      en: "With pre-norm the last sum is still unnormalised, so one more normalisation follows the stack.",
      ko: "pre-norm에서는 마지막 합이 아직 정규화되지 않았으므로, 층을 모두 지난 뒤 한 번 더 정규화합니다.",
    },
  },
  logits: {
    title: { en: "Logits", ko: "로짓" },
    section: "3.4",
    equation: (_size, product) => `ℓ = ${product}`,
    text: {
      en: "One dot product for each of the {0} tokens of the vocabulary tells how well it would fit as the next token. {2}",
      ko: "어휘의 {0}개 토큰마다 내적을 하나씩 구하여 다음 토큰으로 얼마나 알맞은지를 나타냅니다. {2}",
    },
  },
  next: {
    title: { en: "The next token", ko: "다음 토큰" },
    section: "3.4",
    equation: "P(w) = exp(ℓ_{w}) / Σ_{v} exp(ℓ_{v})",
    text: {
      en: "A softmax over all {0} logits gives probabilities. These are the ten most probable tokens; the marked one was written. The other {1} share {2}.",
      ko: "{0}개 로짓 전체에 소프트맥스를 적용하면 확률이 됩니다. 확률이 가장 높은 토큰 열 개를 보였으며, 표시된 것이 선택된 토큰입니다. 나머지 {1}개의 확률은 모두 합해 {2}입니다.",
    },
  },
  "next.reader": {
    title: { en: "The next token", ko: "다음 토큰" },
    section: "3.4",
    equation: "P(w) = exp(ℓ_{w}) / Σ_{v} exp(ℓ_{v})",
    text: {
      en: "A softmax over all {0} logits gives probabilities. These are the ten most probable tokens; the marked one is what came. The other {1} share {2}.",
      ko: "{0}개 로짓 전체에 소프트맥스를 적용하면 확률이 됩니다. 확률이 가장 높은 토큰 열 개를 보였으며, 표시된 것이 실제로 나온 토큰입니다. 나머지 {1}개의 확률은 모두 합해 {2}입니다.",
    },
  },
  "pool.max": {
    title: { en: "Pooling: the maximum", ko: "풀링: 최댓값" },
    section: "",
    equation: (_count, _wins, _width, x) => `p_{i} = max_{t} ${x}_{t,i}`,
    text: {
      en: "The paper's encoder passes all vectors on; a classifier needs one for the whole text. Each of the {2} numbers is the largest that any of the {0} positions has there; this token won {1} of them.",
      ko: "논문의 인코더는 모든 벡터를 건네지만, 분류에는 글 전체를 나타내는 벡터 하나가 필요합니다. {2}개의 성분마다 {0}개 위치 가운데 가장 큰 값을 고르며, 이 토큰은 그중 {1}개에서 뽑혔습니다.",
    },
  },
  "pool.mean": {
    title: { en: "Pooling: the mean", ko: "풀링: 평균" },
    section: "",
    equation: (count, _wins, _width, x) => `p = (1 / ${count}) Σ_{t} ${x}_{t}`,
    text: {
      en: "The paper's encoder passes all vectors on; a classifier needs one for the whole text. Here it is the mean over the {0} positions: every token gives the same share.",
      ko: "논문의 인코더는 모든 벡터를 건네지만, 분류에는 글 전체를 나타내는 벡터 하나가 필요합니다. 여기서는 {0}개 위치의 평균이며, 모든 토큰이 같은 몫을 냅니다.",
    },
  },
  "pool.first": {
    title: { en: "Pooling: the first position", ko: "풀링: 첫 위치" },
    section: "",
    equation: (_count, _wins, _width, x) => `p = ${x}_{0}`,
    text: {
      en: "The paper's encoder passes all vectors on; a classifier needs one for the whole text. Here it is that of the first position, which is no word: all that it knows it has gathered by attention from the {0} positions.",
      ko: "논문의 인코더는 모든 벡터를 건네지만, 분류에는 글 전체를 나타내는 벡터 하나가 필요합니다. 여기서는 첫 위치의 벡터를 씁니다. 그 자리는 단어가 아니므로, 아는 것은 모두 {0}개 위치에서 어텐션으로 모은 것입니다.",
    },
  },
  "scores.label": {
    title: { en: "A score for each label", ko: "라벨별 점수" },
    section: "",
    equation: "ℓ = p W + b",
    text: {
      en: "One dot product for each of the {0} labels tells how well it fits the pooled vector.",
      ko: "{0}개 라벨마다 내적을 하나씩 구하여 풀링된 벡터에 얼마나 알맞은지를 나타냅니다.",
    },
  },
  "scores.label.ngrams": {
    title: { en: "A score for each label", ko: "라벨별 점수" },
    section: "",
    equation: "ℓ = p W + b + Σ_{g} n_{g}",
    text: {
      en: "One dot product for each of the {0} labels tells how well it fits the pooled vector. This model also has a bag of n-grams, which is no attention: every n-gram of the text adds a learned score of its own.",
      ko: "{0}개 라벨마다 내적을 하나씩 구하여 풀링된 벡터에 얼마나 알맞은지를 나타냅니다. 이 모델에는 어텐션과 별개로 n-gram 모음도 있어서, 글의 모든 n-gram이 학습된 점수를 더합니다.",
    },
  },
  lens: {
    title: { en: "What each layer would predict", ko: "층마다 무엇을 예측할까" },
    section: "",
    equation: (x, product) => `P_{l} = softmax(${x} ${product})`,
    text: {
      en: "Suppose the model ended after layer l: its vector takes the last steps at once (this is called the logit lens). The table shows where in the stack the prediction is formed. Only the last layer was trained to predict, so earlier rows are a view into the model, not what it says.",
      ko: "모델이 l층에서 끝난다고 가정하고 그 벡터에 마지막 단계를 바로 적용합니다(이를 로짓 렌즈, logit lens라고 합니다). 예측이 어느 층에서 만들어지는지 볼 수 있습니다. 예측하도록 학습된 것은 마지막 층뿐이므로, 앞선 행은 모델의 답이 아니라 모델 속을 들여다보는 창입니다.",
    },
  },
  "decide.plain": {
    title: { en: "The label", ko: "라벨" },
    section: "",
    equation: "P(c) = exp(ℓ_{c}) / Σ_{d} exp(ℓ_{d})",
    text: {
      en: "A softmax over the {0} scores gives probabilities; the most probable label is the answer.",
      ko: "{0}개 점수에 소프트맥스를 적용하면 확률이 되고, 확률이 가장 높은 라벨이 답입니다.",
    },
  },
  "decide.calibrated": {
    title: { en: "The label", ko: "라벨" },
    section: "",
    equation: (_count, temperature) => `P(c) = exp(ℓ_{c} / T) / Σ_{d} exp(ℓ_{d} / T),  T = ${temperature}`,
    text: {
      en: "A softmax over the {0} scores gives probabilities; the most probable label is the answer. The scores are first divided by T = {1}, chosen on the validation text so that the probabilities can be believed (calibration); the table shows them divided.",
      ko: "{0}개 점수에 소프트맥스를 적용하면 확률이 되고, 확률이 가장 높은 라벨이 답입니다. 확률을 믿을 수 있도록 먼저 검증 텍스트에서 고른 T = {1}{2} 점수를 나눕니다(보정). 표의 점수는 나눈 뒤의 값입니다.",
    },
  },
};

const WALK_ASIDES = {
  tied: {
    en: "The matrix is the embedding E itself (tied weights): the state is compared with each token's own vector.",
    ko: "이 행렬은 임베딩 E 자체입니다(가중치 공유). 곧 상태를 각 토큰의 벡터와 비교하는 것입니다.",
  },
  untied: { en: "The matrix W is learned for this alone.", ko: "행렬 W는 이 일만을 위해 학습됩니다." },
  bias: {
    en: " This model also learns a bias b, which the paper's attention does not have.",
    ko: " 이 모델은 편향 b도 학습하는데, 논문의 어텐션에는 없습니다.",
  },
  clusters: {
    en: "Rare tokens are in {0} clusters (adaptive softmax): a rare token has the probability of its cluster times its own within it, and what is shown are log-probabilities.",
    ko: "드문 토큰은 {0}개의 묶음으로 나뉩니다(adaptive softmax). 드문 토큰의 확률은 묶음의 확률에 묶음 안에서의 확률을 곱한 것이며, 여기에는 로그 확률을 보입니다.",
  },
  pointer: {
    en: "This model also has a pointer: a last look back whose weights are probabilities of the tokens read. What is shown are log-probabilities after both were mixed.",
    ko: "이 모델에는 포인터도 있습니다. 마지막으로 앞을 돌아보는 어텐션의 가중치가 읽은 토큰의 확률이 됩니다. 여기에는 둘을 섞은 뒤의 로그 확률을 보입니다.",
  },
  normed: { en: " and a final normalisation", ko: " 마지막 정규화를 거쳐" },
};

// The model in small, read downwards like the walk: encoder on the left, decoder on the right, the layer that is walked
// through opened. Each node has a place to go to.
/** @type {(path: WalkPath) => SVGElement} */
function drawWalkMap(path) {
  /** @type {SVGElement[]} */
  const shapes = [];
  const height = 19;
  const gap = 5;
  const { stacks } = path.scene;
  /** @type {(side: Stack) => number} */
  const columnOf = (side) => 106 * stacks.findIndex((each) => each.kind === side);
  /** @type {number[]} */
  const ends = [];
  /** @type {(side: Stack, top: number, label: string, target: { layer?: number }, part: WalkPart) => number} */
  const node = (side, top, label, target, part) => {
    const here = side === path.side;
    const x = columnOf(side);
    const go = () => jumpInWalk(path, side, target, part);
    const shape = makeShape(
      "g",
      {
        class: here ? "node" : "node other",
        role: "button",
        tabindex: 0,
        id: `walk-map-${side}-${target.layer ?? ""}-${part}`,
        "aria-label": `${say(WALK[side])}: ${label}`,
      },
      makeShape("rect", { x: x + 0.5, y: top + 0.5, width: 93, height, rx: 3 }),
      makeShape("text", { x: x + 47, y: top + 13.5 }, label),
    );
    if (here && (target.layer ?? path.layer) === path.layer) shape.dataset.part = part;
    shape.addEventListener("click", go);
    shape.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go();
    });
    shapes.push(shape);
    return top + height + gap;
  };
  /** @type {(stack: WalkStack) => number} */
  const stack = ({ kind: side, count, cross, end }) => {
    let top = node(side, 18, say(WALK_PARTS.start), {}, "start");
    for (let layer = 0; layer < count; layer++) {
      const open = side === path.side && layer === path.layer;
      const begin = top;
      if (open) {
        top += 15;
        for (const part of WALK_LAYER.filter((each) => cross || each !== "cross")) {
          if (part === "cross") ends.push(top + height / 2);
          top = node(side, top, say(WALK_PARTS[part]), { layer }, part);
        }
        shapes.unshift(
          makeShape("rect", {
            class: "frame",
            x: columnOf(side) - 3.5,
            y: begin - 0.5,
            width: 101,
            height: top - begin,
            rx: 5,
          }),
          makeShape("text", { class: "caption", x: columnOf(side) + 47, y: begin + 10 }, say(WALK.nth, layer + 1)),
        );
        top += gap;
      } else {
        if (cross) ends.push(top + height / 2);
        top = node(side, top, say(WALK.nth, layer + 1), { layer }, "self");
      }
    }
    const last = WALK_ENDS[end].part;
    return node(side, top, say(WALK_PARTS[last]), {}, last) - gap;
  };
  const bottoms = stacks.map(stack);
  const memory = bottoms[0] - height / 2;
  const captions = stacks.map(({ kind }) =>
    makeShape("text", { class: "caption", x: columnOf(kind) + 47, y: 11 }, say(WALK[kind])),
  );
  const links = ends.map((y) => makeShape("path", { class: "link", d: `M 94 ${memory} H 100 V ${y} H 105` }));
  return makeShape(
    "svg",
    {
      class: stacks.length > 1 ? "map" : "map single",
      viewBox: `-4 0 ${106 * stacks.length - 4} ${Math.max(...bottoms) + 2}`,
      role: "group",
      "aria-label": say(WALK.map),
    },
    ...captions,
    ...links,
    ...shapes,
  );
}

// To another layer or side if need be, then to the part.
/** @type {(path: WalkPath, side: Stack, target: { layer?: number }, part: WalkPart) => void} */
function jumpInWalk(path, side, { layer }, part) {
  if (side !== path.side) walkTo(path, { side, layer: layer ?? 0, place: null });
  else if (layer !== undefined && layer !== path.layer) walkTo(path, { layer });
  element(`walk-${part}`).scrollIntoView({ block: "start" });
}
