// What the playground says, in both languages.

const PLAY = {
  title: { en: "Attention playground", ko: "어텐션 놀이터" },
  lead: {
    en: "A store that answers softly. A query is compared with every key; the closer a key, the more of its value comes out. Change any number.",
    ko: "부드럽게 답하는 저장소입니다. 쿼리(query)를 모든 키(key)와 비교해서, 더 비슷한 키의 값(value)을 더 많이 꺼냅니다. 어떤 숫자든 바꿔 보세요.",
  },
  presets: { en: "Examples", ko: "예시" },
  query: { en: "Queries", ko: "쿼리" },
  key: { en: "Keys", ko: "키" },
  value: { en: "Values", ko: "값" },
  rowOf: {
    query: { en: "Query {0}: numbers with spaces between", ko: "쿼리 {0}: 숫자를 띄어쓰기로 구분" },
    key: { en: "Key {0}: numbers with spaces between", ko: "키 {0}: 숫자를 띄어쓰기로 구분" },
    value: { en: "Value {0}: numbers with spaces between", ko: "값 {0}: 숫자를 띄어쓰기로 구분" },
  },
  more: {
    query: { en: "Add a query", ko: "쿼리 추가" },
    key: { en: "Add a key and its value", ko: "키와 값 추가" },
  },
  less: {
    query: { en: "Remove query {0}", ko: "쿼리 {0} 삭제" },
    key: { en: "Remove key {0} and its value", ko: "키 {0}과(와) 그 값 삭제" },
  },
  beta: { en: "Sharpness β", ko: "날카로움 β" },
  betaHint: {
    en: "Scores are multiplied by β before softmax. Its inverse 1/β is the temperature. At 0 all keys count alike; the greater β, the harder the choice.",
    ko: "소프트맥스 전에 점수에 β를 곱합니다. 역수 1/β가 온도입니다. 0이면 모든 키가 똑같이 중요하고, β가 클수록 선택이 날카로워집니다.",
  },
  temperature: { en: "temperature {0}", ko: "온도 {0}" },
  soft: { en: "Soft", ko: "소프트" },
  hard: { en: "Hard", ko: "하드" },
  choice: { en: "Attention", ko: "어텐션" },
  hardHint: {
    en: "All weight goes to the best key, the first of equals.",
    ko: "점수가 가장 높은 키 하나에 가중치를 모두 줍니다. 같으면 앞의 키입니다.",
  },
  scale: { en: "divide by √d", ko: "√d로 나누기" },
  positions: { en: "add positions", ko: "위치 더하기" },
  positionsHint: {
    en: "Adds the paper’s sines and cosines to queries and keys: row 1 is position 0. Only with them does the order matter.",
    ko: "논문의 사인·코사인 위치 벡터를 쿼리와 키에 더합니다. 1번 행이 위치 0입니다. 이것이 있어야 순서가 의미를 가집니다.",
  },
  mask: { en: "Mask", ko: "마스크" },
  masks: {
    none: { en: "none", ko: "없음" },
    causal: { en: "causal", ko: "인과" },
    own: { en: "your own", ko: "직접" },
  },
  maskHint: {
    en: "Causal: query i sees keys 1 to i only. Or press any cell of the matrix below to hide it.",
    ko: "인과 마스크에서는 쿼리 i가 키 1~i만 봅니다. 아래 행렬의 칸을 눌러 직접 가릴 수도 있습니다.",
  },
  shuffle: { en: "Shuffle keys with their values", ko: "키와 값의 순서 섞기" },
  shuffled: {
    same: {
      en: "The order changed, the outputs did not: without positions, keys and values are a set.",
      ko: "순서는 바뀌었지만 출력은 그대로입니다. 위치가 없으면 키와 값은 집합일 뿐입니다.",
    },
    other: {
      en: "The order changed, and so did the outputs: positions or a mask tell places apart.",
      ko: "순서가 바뀌자 출력도 달라졌습니다. 위치나 마스크가 자리를 구별하기 때문입니다.",
    },
  },
  matrix: { en: "Weights", ko: "가중치" },
  matrixHint: {
    en: "A row per query, a column per key; each row sums to 1. Press a cell to hide or show it.",
    ko: "쿼리마다 한 행, 키마다 한 열이며 각 행의 합은 1입니다. 칸을 누르면 가리거나 다시 보입니다.",
  },
  cell: { en: "query {0}, key {1}: weight {2}", ko: "쿼리 {0}, 키 {1}: 가중치 {2}" },
  cellHidden: { en: "query {0}, key {1}: hidden", ko: "쿼리 {0}, 키 {1}: 가려짐" },
  steps: { en: "Query {0}, step by step", ko: "쿼리 {0}, 단계별로" },
  whichQuery: { en: "Which query is worked out", ko: "계산을 보여 줄 쿼리" },
  columns: {
    key: { en: "key", ko: "키" },
    product: { en: "q · k", ko: "q · k" },
    score: { en: "score s", ko: "점수 s" },
    power: { en: "exp(s − max)", ko: "exp(s − max)" },
    weight: { en: "weight α", ko: "가중치 α" },
    value: { en: "value", ko: "값" },
  },
  hiddenKey: { en: "hidden", ko: "가려짐" },
  sum: { en: "sum", ko: "합" },
  output: { en: "Output", ko: "출력" },
  outputOf: { en: "output of query {0}", ko: "쿼리 {0}의 출력" },
  nothing: {
    en: "This query may look at nothing: its output is zeros.",
    ko: "이 쿼리는 볼 수 있는 키가 없어서 출력이 0입니다.",
  },
  picture: {
    en: "Values (dots, larger with more weight) and outputs (squares), by their first two numbers. An output lies between the values that it mixes.",
    ko: "값(점, 가중치가 클수록 큼)과 출력(사각형)을 앞의 두 숫자로 그렸습니다. 출력은 섞인 값들 사이에 놓입니다.",
  },
  link: { en: "Copy a link to these numbers", ko: "이 숫자들의 링크 복사" },
  copied: { en: "Copied", ko: "복사했습니다" },
  address: { en: "It is in the address bar", ko: "주소창에 있습니다" },
  wrong: {
    empty: { en: "Type at least one number.", ko: "숫자를 하나 이상 입력하세요." },
    word: { en: "“{0}” is not a number.", ko: "“{0}”은(는) 숫자가 아닙니다." },
    long: { en: "At most {0} numbers fit here.", ko: "여기에는 숫자를 {0}개까지 넣을 수 있습니다." },
    large: {
      en: "“{0}” is too large; stay below a million.",
      ko: "“{0}”은(는) 너무 큽니다. 백만보다 작게 쓰세요.",
    },
    width: {
      en: "Queries and keys need the same number of numbers: here {0}, there {1}.",
      ko: "쿼리와 키는 숫자의 개수가 같아야 합니다. 여기는 {0}개, 저기는 {1}개입니다.",
    },
    values: {
      en: "All values need the same number of numbers: here {0}, there {1}.",
      ko: "모든 값은 숫자의 개수가 같아야 합니다. 여기는 {0}개, 저기는 {1}개입니다.",
    },
  },
  foot: {
    en: "This page computes softmax(β · Q·Kᵀ / √d) · V as regard.attend does, in your browser; nothing is sent anywhere.",
    ko: "이 페이지는 regard.attend와 똑같이 softmax(β · Q·Kᵀ / √d) · V를 브라우저에서 계산하며, 아무것도 보내지 않습니다.",
  },
};

/**
 * @typedef {{ name: Both, query: string[], key: string[], value: string[], beta?: number, hard?: boolean, mask?: "none" | "causal" }} Preset
 * @type {Preset[]}
 */
const PRESETS = [
  {
    name: { en: "a soft answer", ko: "부드러운 답" },
    query: ["1 0", "1 1"],
    key: ["1 0", "0 1", "-1 0"],
    value: ["3 0", "0 3", "-3 -1"],
  },
  {
    name: { en: "a store: keys 10·e₁ … 10·e₃", ko: "저장소: 키 10·e₁ … 10·e₃" },
    query: ["0 10 0", "0 5 5"],
    key: ["10 0 0", "0 10 0", "0 0 10"],
    value: ["1 0", "10 0", "100 5"],
  },
  {
    name: { en: "nothing to prefer: the mean", ko: "차이가 없으면 평균" },
    query: ["0 0"],
    key: ["2 1", "-1 3", "0 -2"],
    value: ["3 0", "0 3", "-3 0"],
  },
  {
    name: { en: "self-attention, causal", ko: "인과 셀프 어텐션" },
    query: ["1 0", "0 1", "1 1"],
    key: ["1 0", "0 1", "1 1"],
    value: ["1 0", "0 1", "1 1"],
    beta: 2,
    mask: "causal",
  },
];
