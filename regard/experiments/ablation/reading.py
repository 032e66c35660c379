"""What a row of an ablation says, in a sentence: what the part is for, and what came out without it."""

from __future__ import annotations

from statistics import fmean

from regard.experiments.ablation.rows import BASE
from regard.experiments.ablation.table import Line, Table
from regard.view.report import Both

LOST = 0.5  # of the base's score, or twice its perplexity: then a model has not learned what the base has

PARTS: dict[str, Both] = {
    "positions-none": (
        "Without positions attention sees a set, and word order must be guessed from the words.",
        "위치 정보가 없으면 어텐션은 집합을 볼 뿐이라, 어순을 단어만으로 짐작해야 합니다.",
    ),
    "residual-false": (
        "Without the residual each sub-layer must hand on all that later ones need, positions too, and gradients have no straight way "
        "back.",
        "잔차 연결이 없으면 하위 층마다 위치를 포함해 뒤에 필요한 모든 것을 스스로 건네야 하고, 기울기가 곧장 돌아갈 길도 없습니다.",
    ),
    "norm-none": (
        "Without normalisation sizes add up from layer to layer, and a learning rate that suits one layer is too much for another.",
        "정규화가 없으면 층을 지날수록 값이 커져, 한 층에 맞는 학습률이 다른 층에는 지나칩니다.",
    ),
    "norm-pre": (
        "Normalising before each sub-layer leaves a straight path from end to end: steadier, and less in need of warm-up.",
        "하위 층 앞에서 정규화하면 처음부터 끝까지 곧은 길이 남아, 더 안정되고 워밍업이 덜 필요합니다.",
    ),
    "norm-post": (
        "Normalising after adding is the paper's way: it wants warm-up, and the deeper the model the more of it.",
        "더한 뒤에 정규화하는 것이 논문의 방식입니다. 워밍업이 필요하고, 모델이 깊을수록 더 그렇습니다.",
    ),
    "scale-false": (
        "Without 1/√d_k scores are larger and softmax saturates; narrow heads hardly feel it, and the model can learn smaller queries.",
        "1/√d_k가 없으면 점수가 커져 소프트맥스가 포화됩니다. 헤드가 좁으면 거의 느끼지 못하며, 모델이 더 작은 쿼리를 배울 수도 있습니다.",
    ),
    "feed_forward-0": (
        "Without feed-forward layers only mix what is there; what nothing but softmax bends is nearly linear.",
        "피드포워드가 없으면 층은 있는 것을 섞을 뿐이고, 소프트맥스 말고는 비선형이 없습니다.",
    ),
    "bias-false": (
        "Biases are few, and norms have shifts of their own: they are rarely missed.",
        "편향은 수가 적고 정규화에도 시프트 β가 있어, 없어도 거의 티가 나지 않습니다.",
    ),
    "activation-relu": ("ReLU, the paper's, cuts off all below zero.", "논문의 ReLU는 0보다 작은 것을 잘라 냅니다."),
    "activation-gelu": ("GELU bends smoothly where ReLU cuts.", "GELU는 ReLU가 자르는 곳에서 부드럽게 굽습니다."),
    "activation-swish": ("Swish bends smoothly where ReLU cuts.", "Swish는 ReLU가 자르는 곳에서 부드럽게 굽습니다."),
    "norm_epsilon-0.1": (
        "A large epsilon keeps small vectors small: normalisation acts the less the less they vary.",
        "엡실론이 크면 작은 벡터는 작은 채로 남아, 변동이 적을수록 정규화의 효과가 줄어듭니다.",
    ),
}


def reading(table: Table, line: Line) -> Both:
    """What a row is about, if it is known, and what it came to."""
    about = PARTS.get(line.row, ("", ""))
    outcome = _outcome(table, line)
    english, korean = (" ".join(filter(None, each)) for each in zip(about, outcome, strict=True))
    return english, korean


def _outcome(table: Table, line: Line) -> Both:
    if not line.scores:
        return ("It could not be trained to the end.", "끝까지 학습할 수 없었습니다.") if line.failures else ("", "")
    base = table.lines[0]
    if line.row == BASE or line.difference is None or not base.scores:
        return "", ""
    value, before = fmean(line.scores), fmean(base.scores)
    better = (line.difference > 0) != table.lower
    told = f"{table.metric} {before:.2f} → {value:.2f}"
    if not line.beyond_chance:
        return f"Here: {told}, within chance.", f"여기서는 {told}, 우연의 범위 안입니다."
    if not better and _lost(table, value, before):
        return f"Here: {told}; it has hardly learned the task.", f"여기서는 {told}, 과제를 거의 배우지 못했습니다."
    word = ("better", "더 좋습니다") if better else ("worse", "더 나쁩니다")
    return f"Here: {told}, {word[0]} beyond chance.", f"여기서는 {told}, 우연이라 보기 어렵게 {word[1]}."


def _lost(table: Table, value: float, before: float) -> bool:
    return value > before / LOST if table.lower else value < LOST * before
