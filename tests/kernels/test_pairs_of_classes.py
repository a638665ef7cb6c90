"""Coefficients of pairs of classes: kept without their zeros, scored so, and dense when they are asked for."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin import SVMClassifier, load_model, save_model
from maxmargin._products import weighted_sums
from maxmargin.data.container import read_container, write_container
from maxmargin.kernels import Columns, make_kernel
from maxmargin.solvers.kernel.row_cache import KernelValues

K = 6
RNG = np.random.default_rng(0)
Y = np.repeat(np.arange(K), 12)
X = 3.0 * RNG.normal(size=(K, 4))[Y] + RNG.normal(size=(len(Y), 4))
FORMS: list[dict[str, Any]] = [{"kernel": "rbf"}, {"kernel": "linear"}, {"nu": 0.2}]


def by_hand(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Wins, and a part below one half of the margins."""
    wins, margins = np.zeros((2, len(scores), K))
    for k, (first, second) in enumerate(combinations(range(K), 2)):
        for row, score in enumerate(scores[:, k]):
            wins[row, first if score > 0.0 else second] += 1.0
            margins[row, first] += score
            margins[row, second] -= score
    return wins + margins / (3.0 * (np.abs(margins) + 1.0))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_scores_and_votes_are_those_of_the_dense_coefficients(form: dict[str, Any]) -> None:
    model = SVMClassifier(multi_class="ovo", random_state=0, **form).fit(X, Y)
    assert "dual_coef_" not in vars(model)
    dense = model.dual_coef_
    assert dense.shape == (K * (K - 1) // 2, len(model.support_))
    for row, (first, second) in zip(dense, combinations(range(K), 2), strict=True):
        used = np.flatnonzero(row)
        assert set(Y[model.support_[used]].tolist()) == {first, second}
        assert (np.sign(row[used]) == np.where(Y[model.support_[used]] == first, 1.0, -1.0)).all()
    if form == {"kernel": "rbf"}:
        scores = model.kernel_.block(X, model.support_vectors_) @ dense.T
    else:
        scores = X @ model.coef_.T
        np.testing.assert_allclose(dense @ X[model.support_], model.coef_, atol=2.0 * model.tol)
    np.testing.assert_allclose(model.decision_function(X), by_hand(scores + model.intercept_), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        dense[0, 0] = 1.0
    assert copy.deepcopy(model).dual_coef_.tolist() == dense.tolist()
    assert pickle.loads(pickle.dumps(model)).dual_coef_.tolist() == dense.tolist()


def test_other_machines_have_them_as_they_are() -> None:
    assert not hasattr(SVMClassifier(multi_class="ovo"), "dual_coef_")
    for model, y in ((SVMClassifier(kernel="rbf"), Y), (SVMClassifier(kernel="rbf", multi_class="ovo"), Y % 2)):
        assert model.fit(X, y).dual_coef_ is vars(model)["dual_coef_"]
    several = SVMClassifier(kernel="rbf", multi_class="ovo").fit(X, Y)
    assert several.fit(X, Y % 2).dual_coef_.shape == (1, len(several.support_))
    assert several.fit(X, Y).dual_coef_.shape == (K * (K - 1) // 2, len(several.support_))
    linear = SVMClassifier(multi_class="ovo").fit(X, Y)
    assert not hasattr(linear.partial_fit(X, Y), "dual_coef_")


@pytest.mark.parametrize("form", [{"kernel": "rbf"}, {"nu": 0.2}], ids=str)
def test_files_of_either_layout_come_back(form: dict[str, Any], tmp_path: Path) -> None:
    model = SVMClassifier(multi_class="ovo", **form).fit(X, Y)
    save_model(model, tmp_path / "new")
    contents = read_container(tmp_path / "new")
    contents.arrays["dense"] = np.ascontiguousarray(model.dual_coef_)
    contents.values["parts"]["dual_coef"] = {"array": "dense"}
    for name in ("new", "old"):
        if name == "old":  # as earlier versions have written them
            write_container(tmp_path / "old", contents)
        loaded = load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)


def test_weighted_sums_of_sparse_weights() -> None:
    values, weights = RNG.normal(size=(7, 50)), sp.random(50, 30, 0.1, "csr", random_state=0)
    for some in (values, values.astype(np.float32)):
        np.testing.assert_allclose(weighted_sums(some, weights), some @ weights.toarray(), rtol=0, atol=1e-12)


def test_sparse_coefficients_are_combined_as_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.kernels._WIDTH", 16)
    weights = sp.random(len(X), 5, 0.1, "csr", random_state=0)
    for kernel in (make_kernel("rbf", X), make_kernel("precomputed", X @ X.T)):
        A, B = (X @ X.T, np.empty((len(X), 0))) if kernel.name == "precomputed" else (X, X)
        for sizes in (False, True):
            found = kernel.combined(A, B, weights, sizes=sizes)
            np.testing.assert_allclose(found, kernel.combined(A, B, weights.toarray(), sizes=sizes), atol=1e-10)


def test_points_of_a_pair_are_made_ready_once_in_either_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, np.dtype[Any]]] = []
    make = Columns.__init__

    def counting(self: Columns, kernel: Any, B: Any, dtype: Any) -> None:
        make(self, kernel, B, dtype)
        made.append((self.n, self.dtype))

    monkeypatch.setattr(Columns, "__init__", counting)
    SVMClassifier(kernel="rbf", multi_class="ovo").fit(X, Y)
    pairs = [kind for n, kind in made if n == 24]
    assert len(pairs) == K * (K - 1)
    assert pairs.count(np.dtype(np.float32)) == K * (K - 1) // 2
    assert len(made) - len(pairs) <= 3  # of all points: whether float32 will do, and whether the kernel is 0


@pytest.mark.parametrize("name", ["rbf", "poly", "precomputed"])
def test_what_is_known_of_few_points_is_what_the_kernel_says(name: str) -> None:
    kernel, points = make_kernel(name, X @ X.T if name == "precomputed" else X), X
    if name == "precomputed":
        points = X @ X.T
    values, beta, rows = KernelValues(), RNG.normal(size=len(X)), np.array([3, 1, 40])
    whole = points if name == "precomputed" else kernel.block(X, X)
    np.testing.assert_allclose(values.combined(kernel, points, beta), whole @ beta, rtol=1e-9)
    np.testing.assert_allclose(values.between(kernel, points, rows), whole[np.ix_(rows, rows)], rtol=1e-12)
    assert values.between(kernel, points, rows, np.float32).dtype == np.float32
    assert (values.matrix is None) == (name == "precomputed")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_memory_does_not_grow_with_pairs_times_rows(kernel: str) -> None:
    classes, each = 40, 6
    y = np.repeat(np.arange(classes), each)
    rows = 5.0 * RNG.normal(size=(classes, 3))[y] + RNG.normal(size=(len(y), 3))
    dense = 8 * len(y) * classes * (classes - 1) // 2
    model = SVMClassifier(kernel=kernel, multi_class="ovo", tol=0.1).fit(rows[:40], y[:40])
    tracemalloc.start()
    try:
        model.fit(rows, y).predict(rows[:20])
        kept = sum(np.asarray(part).nbytes for part in vars(model).values() if isinstance(part, np.ndarray))
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        model.predict(rows[:20])
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert len(model.support_) > len(y) // 2
    assert model._sparse_dual.data.nbytes + kept < dense / 4
    assert peak < dense / 2


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_coefficients_are_listed_where_they_are(multi_class: str) -> None:
    y = np.repeat(np.arange(3), 6)
    model = SVMClassifier(kernel="rbf", multi_class=multi_class)
    assert "dual_coef_" not in dir(model)
    assert "dual_coef_" in dir(model.fit(5.0 * np.eye(3)[y] + RNG.normal(size=(len(y), 3)), y))
    assert dir(model) == sorted(set(dir(model)))
