"""The map of vectors: its axes are the principal components, its neighbours the nearest, its page needs nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import UsageError
from regard.view.arrays import unpack
from regard.view.map import VectorMap, nearest, principal_components


def cloud(count: int, width: int = 6) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    spread = np.array([5, 3, *[0.3] * (width - 2)])
    return np.random.default_rng(1).normal(size=(count, width)) * spread + 7


def test_the_axes_are_those_of_greatest_variance() -> None:
    vectors = cloud(400)
    places, shares = principal_components(vectors)
    centred = vectors - vectors.mean(0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)  # another way
    wanted = centred @ axes[:2].T
    scale = np.abs(wanted).max()
    assert np.allclose(np.abs(places), np.abs(wanted) / scale, atol=1e-9)
    assert np.allclose(shares, (singular**2)[:2] / (singular**2).sum())
    assert np.abs(places).max() == pytest.approx(1)
    again, _ = principal_components(vectors.copy())
    assert np.array_equal(places, again)


def test_neighbours_are_the_nearest_by_cosine() -> None:
    vectors = cloud(700)  # more than a block
    near, cosines = nearest(vectors, 3)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = directions @ directions.T
    np.fill_diagonal(whole, -2)
    assert np.allclose(cosines, np.sort(whole, axis=1)[:, ::-1][:, :3])
    assert np.allclose(np.take_along_axis(whole, near, 1), cosines)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("same", [False, True])
def test_few_points_or_all_the_same(count: int, same: bool) -> None:
    drawn = VectorMap("few", "texts")
    for number in range(count):
        drawn.add(str(number), np.full(3, 1.0 if same else number, dtype=np.float32))
    data = drawn.to_dict()
    assert len(data["near"]) == count
    assert all(len(each) == count - 1 for each in data["near"])
    assert np.isfinite(unpack(data["places"])).all()


def test_of_too_many_some_are_drawn_by_lot_in_their_order() -> None:
    drawn = VectorMap("many", "texts", most=50)
    for number, vector in enumerate(cloud(1_000).astype(np.float32)):
        drawn.add(str(number), vector, "even" if number % 2 == 0 else "odd")
    data = drawn.to_dict()
    numbers = list(map(int, data["texts"]))
    assert (len(numbers), data["given"]) == (50, 1_000)
    assert numbers == sorted(numbers)
    assert max(numbers) > 500
    assert [data["labels"][label] for label in data["label"]] == ["odd" if number % 2 else "even" for number in numbers]


def test_the_page_holds_any_text() -> None:
    drawn = VectorMap("</script><b>", "texts")
    for text in ("<script>alert(1)</script>", "고래 " * 200, "half \ud800"):
        drawn.add(text, np.random.default_rng(len(text)).normal(size=4).astype(np.float32), "<i>")
    page = drawn.render("regard embed 'x'").encode("utf-8", "replace").decode()
    assert "<script>alert" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(UsageError, match="nothing to draw"):
        VectorMap("empty", "texts").render()
