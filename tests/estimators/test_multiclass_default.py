"""MulticlassSVM as it is by default: free intercepts, honest on any small problem, and warm starts by rows."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SVMClassifier, compare_solvers, load_model, save_model

BY_ROWS = ["auto", "coordinate_ascent", "interior_point"]
RNG = np.random.default_rng(5)
Y = np.r_[np.arange(3), RNG.integers(0, 3, 57)]
X = RNG.normal(size=(60, 4)) + 0.7 * Y[:, None] + 2.0


@pytest.mark.parametrize("solver", BY_ROWS)
def test_free_intercepts_are_the_default(solver: str) -> None:
    options: dict[str, Any] = dict(solver=solver, tol=1e-6, max_passes=20_000, random_state=0)
    one, free = (MulticlassSVM(0.1, penalize_intercept=each, **options).fit(X, Y) for each in (None, False))
    assert one.coef_.tobytes() == free.coef_.tobytes()
    assert one.notes_ == free.notes_ == ()
    assert abs(one.intercept_.sum()) <= 1e-12
    two = MulticlassSVM(0.1, **options).fit(X, Y > 0)
    plain = SVMClassifier(0.2, tol=1e-8).fit(X, Y > 0)
    assert two.certificate_.primal == pytest.approx(0.5 * plain.certificate_.primal, rel=2e-6)


def test_structured_solvers_penalise_them_and_say_so() -> None:
    options: dict[str, Any] = dict(solver="n_slack", random_state=0)
    told = MulticlassSVM(0.1, **options).fit(X, Y)
    asked = MulticlassSVM(0.1, penalize_intercept=True, **options).fit(X, Y)
    none = MulticlassSVM(0.1, fit_intercept=False, **options).fit(X, Y)
    (note,) = set(told.notes_) - set(asked.notes_)
    assert note.startswith("the intercepts are penalised, as n_slack penalises all weights: take auto, ")
    assert not any("the intercepts are penalised" in note for note in asked.notes_ + none.notes_)
    assert told.coef_.tobytes() == asked.coef_.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"intercept_scaling": 2.0}, r"intercept_scaling=2\.0 needs penalize_intercept=True"),
        ({"intercept_scaling": 2.0, "penalize_intercept": False}, r"intercept_scaling=2\.0 needs penalize_intercept"),
        ({"fit_intercept": False, "penalize_intercept": True}, "penalize_intercept=True needs fit_intercept=True"),
        ({"penalize_intercept": "free"}, "penalize_intercept must be True, False or None, not 'free'"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MulticlassSVM(**options).fit(X, Y)


def test_solvers_are_compared_on_one_problem() -> None:
    model = MulticlassSVM(0.1, tol=1e-4, max_passes=5000, random_state=0)
    mixed = compare_solvers(model, X, Y, ["coordinate_ascent", "interior_point", "n_slack"])
    values = [run.certificate.primal for run in mixed.runs if run.certificate is not None]
    assert len(values) == 3
    assert values == pytest.approx(3 * values[:1], rel=2e-4)
    assert str(mixed).endswith("note: the intercepts are penalised: not all of these solvers have free ones")
    able = compare_solvers(model, X, Y, ["coordinate_ascent", "interior_point"])
    assert able.note == ""
    assert able.runs[0].certificate is not None
    assert able.runs[0].certificate.primal < 0.999 * values[0]
    asked = compare_solvers(model.set_params(penalize_intercept=False), X, Y, ["auto", "n_slack"])
    assert "has no free intercept" in asked.runs[1].refused
    assert model.penalize_intercept is False


# Warm starts


def other_problems() -> list[tuple[str, dict[str, Any], tuple[Any, ...]]]:
    label = Y.copy()
    label[10:20] = (label[10:20] + 1) % 3
    return [
        ("C grows", {"C": 3.0}, (X, Y)), ("C falls", {"C": 1e-3}, (X, Y)), ("little", {"C": 0.11}, (X, Y)),
        ("weights", {}, (X, Y, 1.0 + np.arange(60) % 3)), ("absent", {}, (X, Y, np.arange(60) % 2)),
        ("labels", {}, (X, label)), ("features", {}, (X[:, ::-1] * 3.0, Y)), ("rows", {}, (X[:41], Y[:41])),
        ("width", {}, (X[:, :3], Y)), ("classes", {}, (X, np.minimum(Y, 1))), ("names", {}, (X, Y + 1)),
        ("sparse", {}, (sp.csr_matrix(X), Y)), ("costs", {"loss": 2.0 - 2.0 * np.eye(3)}, (X, Y)),
        ("none", {"fit_intercept": False}, (X, Y)), ("penalised", {"penalize_intercept": True}, (X, Y)),
        ("margins", {}, (X, Y, None, 0.5 + np.arange(60) % 2)), ("solver", {"solver": "frank_wolfe"}, (X, Y)),
    ]  # fmt: skip


@pytest.mark.parametrize("solver", BY_ROWS)
@pytest.mark.parametrize(
    ("change", "data"), [each[1:] for each in other_problems()], ids=[p[0] for p in other_problems()]
)
def test_a_warm_start_ends_with_the_optimum_of_its_own_problem(
    change: dict[str, Any], data: tuple[Any, ...], solver: str
) -> None:
    options: dict[str, Any] = dict(C=0.1, solver=solver, tol=1e-5, max_passes=20_000, random_state=0)
    warm = MulticlassSVM(warm_start=True, **options).fit(X, Y).set_params(**change).fit(*data)
    cold = MulticlassSVM(**(options | change)).fit(*data)
    assert warm.certificate_.status.ok
    assert warm.certificate_.dual <= cold.certificate_.primal * (1 + 1e-9)
    assert cold.certificate_.dual <= warm.certificate_.primal * (1 + 1e-9)
    assert warm.certificate_.relative_gap <= 1e-5
    back = warm.set_params(**options | {"fit_intercept": True, "penalize_intercept": None, "loss": "zero_one"})
    assert back.fit(X, Y).certificate_.status.ok


@pytest.mark.parametrize("solver", BY_ROWS)
def test_a_warm_start_from_weights_a_hundred_times_too_large(solver: str) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(80, 4))
    y = np.clip(np.round(rows @ [1.0, 2.0, 0.0, 1.0]), -2, 2).astype(int)
    model = MulticlassSVM(1e4, warm_start=True, random_state=0, solver=solver).fit(rows / 100.0, y)
    found = model.set_params(C=1.0).fit(rows[:70], y[:70]).certificate_
    cold = MulticlassSVM(1.0, random_state=0, solver=solver).fit(rows[:70], y[:70]).certificate_
    assert found.status.ok
    assert found.primal == pytest.approx(cold.primal, rel=2e-3)


@pytest.mark.parametrize("solver", BY_ROWS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("penalized", [None, True])
def test_the_same_problem_again_is_known(penalized: bool | None, form: Any, solver: str) -> None:
    model = MulticlassSVM(0.3, solver=solver, penalize_intercept=penalized, warm_start=True, random_state=0, tol=1e-4)
    first = model.set_params(max_passes=20_000).fit(form(X), Y).certificate_
    again = model.fit(form(X), Y).certificate_
    assert first.passes > 6
    assert again.passes <= 3
    assert again.primal <= first.primal * (1 + 1e-12)


def test_a_path_over_C_takes_fewer_passes() -> None:
    rows, y = load_digits(return_X_y=True)
    rows = rows[:600] / 16.0
    path = np.geomspace(0.003, 0.1, 10)
    passes = [0, 0]
    for values in (path, path[::-1]):
        warm = MulticlassSVM(warm_start=True, solver="coordinate_ascent", random_state=0)
        for C in values:
            passes[0] += warm.set_params(C=C).fit(rows, y[:600]).n_iter_
            cold = MulticlassSVM(C, solver="coordinate_ascent", random_state=0).fit(rows, y[:600])
            passes[1] += cold.n_iter_
            assert warm.certificate_.status.ok
            assert warm.certificate_.primal <= cold.certificate_.primal * (1 + 1e-3)
    assert passes[0] < 0.9 * passes[1]


def test_fits_in_pieces_raise_the_bound() -> None:
    model = MulticlassSVM(0.1, solver="coordinate_ascent", warm_start=True, max_passes=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(300):
            if model.fit(X, Y).certificate_.status.ok:
                break
    assert model.certificate_.status.ok


def test_what_was_loaded_starts_from_its_weights(tmp_path: Any) -> None:
    model = MulticlassSVM(0.1, warm_start=True, random_state=0).fit(X, Y)
    assert "_warm" in vars(model)
    save_model(model, tmp_path / "m")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "m")):
        assert "_warm" not in vars(other)
        assert other.set_params(warm_start=True).fit(X, Y).certificate_.status.ok
    assert "_warm" not in vars(model.set_params(warm_start=False).fit(X, Y))


# Any small problem


def some_problem(seed: int, most: int) -> tuple[Any, Any, dict[str, Any], Any, Any]:
    """Rows, classes, parameters, weights and margins."""
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 9)), int(rng.integers(1, most + 1))
    n = max(K, round(float(np.exp(rng.uniform(np.log(4), np.log(5 * most))))))
    y = np.r_[np.arange(K), rng.integers(0, K, n - K) if seed % 5 else np.zeros(n - K, int)]
    rows = rng.normal(size=(n, d)) + (rng.normal(size=(K, d)) * rng.choice([0.0, 0.5, 3.0, 20.0]))[y]
    kind = seed % 7
    if kind == 0:
        rows *= 10.0 ** rng.uniform(-4, 4, d)
    elif kind == 1:
        rows = rows[rng.integers(0, n, n)]
    elif kind == 2:
        rows[:, 0] = 10.0 * rng.normal()
    elif kind == 3:
        rows *= 10.0 ** rng.uniform(-4, 4)
    elif kind == 4:
        rows = sp.csr_matrix(rows * (rng.random((n, d)) < 0.3))
    # C times the square of the features up to 1e10: at 1e12 one set in a few hundred ends in rounding, and says so
    options: dict[str, Any] = {"C": 10.0 ** rng.uniform(-6, 2 if kind in (0, 3) else 6)}
    if rng.random() < 0.3:
        options["loss"] = rng.uniform(0.1, 3.0, (K, K)) * (1.0 - np.eye(K))
    weight = np.r_[np.ones(K), rng.integers(0, 4, n - K) / 2.0] if rng.random() < 0.3 else np.ones(n)
    margin = 10.0 ** rng.uniform(-1, 1, n) if rng.random() < 0.3 else np.ones(n)
    return rows, y, options, weight, margin


def check(seed: int, most: int = 30) -> None:
    rows, y, options, weight, margin = some_problem(seed, most)
    tol, K = 10.0 ** -(3 + seed % 3), len(np.unique(y))
    costs, found = options.get("loss", 1.0 - np.eye(K)), []
    for solver in BY_ROWS:
        model = MulticlassSVM(solver=solver, tol=tol, random_state=0, **options)
        if solver == "coordinate_ascent":  # slow where C is large: its bounds hold all the same
            model.set_params(max_passes=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            certificate = model.fit(rows, y, weight, margin).certificate_
        scores = rows @ model.coef_.T + model.intercept_
        slack = (margin[:, None] * costs[y] + scores - scores[np.arange(len(y)), y][:, None]).max(1)
        primal = 0.5 * float((model.coef_**2).sum()) + options["C"] * float(weight @ np.maximum(slack, 0.0))
        rounding = 1e-13 * options["C"] * float(weight @ (np.abs(scores).max(1) + margin * costs.max()))
        assert certificate.primal == pytest.approx(primal, rel=1e-8, abs=rounding), solver
        assert 0.0 <= certificate.dual <= certificate.primal, solver
        assert certificate.status.ok or solver == "coordinate_ascent", (solver, certificate)
        found.append(certificate)
    assert max(each.dual for each in found) <= min(each.primal for each in found) * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(35))
def test_any_small_problem(seed: int) -> None:
    check(seed, most=8)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_small_problems(part: int) -> None:
    for seed in range(100 + 60 * part, 160 + 60 * part):
        check(seed)
