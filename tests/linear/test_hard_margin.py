"""The hard margin: closed forms, a general solver, the limit of the soft one, and the rows that allow none."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import HardMarginSVM, SVMClassifier, compare_solvers
from maxmargin.errors import DataError, InseparableError
from maxmargin.solvers.hard_margin import _with_margins
from maxmargin.solvers.linear import separation
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.separation import Conflict, _irreducible, separate
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.status import Status
from maxmargin.terms import hinge

TIGHT: dict[str, Any] = dict(tol=1e-8, random_state=0)
INTERCEPTS: dict[str, dict[str, bool]] = {
    "free": {},
    "penalized": {"penalize_intercept": True},
    "none": {"fit_intercept": False},
}
EACH = pytest.mark.parametrize("intercept", INTERCEPTS)


def separable(seed: int, n: int = 30, d: int = 4, *, offset: float = 0.4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    f = X @ w - offset
    X += 0.1 * np.sign(f)[:, None] * w
    y = np.where(f > 0, 1, -1)
    assert 0 < (y > 0).sum() < n
    return X, y


def optimum(X: Any, y: Any, intercept: str) -> tuple[float, Any]:
    """Objective and ``[w, b]`` by a general solver of quadratic programs in ``(w, b)``."""
    import piqp

    n, d = X.shape
    scale = np.abs(X).max(0)  # in scaled weights, for features of any size
    A = -y[:, None] * np.column_stack([X / scale, np.ones(n)])
    diagonal = np.append(scale**-2.0, 1.0 if intercept == "penalized" else 0.0)
    if intercept == "none":
        A, diagonal = A[:, :d], diagonal[:d]
    size = diagonal.max()
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-12)
    solver.settings.max_iter = 500
    solver.setup(np.diag(diagonal / size), np.zeros(len(diagonal)), G=A, h_u=-np.ones(n))
    solver.solve()
    x = np.asarray(solver.result.x)
    return 0.5 * float(diagonal @ x**2), np.append(x[:d] / scale, x[d:])


def can_be_separated(X: Any, y: Any, intercept: bool = True) -> bool:
    """Whether ``y_i (<w, x_i> + b) >= 1`` has a solution, by a linear program without an objective."""
    if not len(y):
        return True
    Z = np.column_stack([X, np.ones(len(y))]) if intercept else np.asarray(X)
    return bool(
        linprog(np.zeros(Z.shape[1]), A_ub=-y[:, None] * Z, b_ub=-np.ones(len(y)), bounds=(None, None)).status == 0
    )


def check_conflict(X: Any, y: Any, rows: Any, intercept: bool = True) -> None:
    """Inseparable, separable without any one of them, and few."""
    rows = np.asarray(rows)
    assert len(set(rows.tolist())) == len(rows) <= X.shape[1] + 1 + intercept
    assert not can_be_separated(X[rows], y[rows], intercept)
    for k in range(len(rows)):
        rest = np.delete(rows, k)
        assert can_be_separated(X[rest], y[rest], intercept), (rows, k)


# --- the optimum


def test_two_points_in_closed_form() -> None:
    model = HardMarginSVM(tol=1e-12, random_state=0).fit([[-1.0], [1.0]], [-1, 1])
    assert model.coef_.tolist() == [[1.0]]
    assert model.intercept_.tolist() == [0.0]
    assert model.margin_ == 1.0
    assert sorted(model.support_.tolist()) == [0, 1]
    np.testing.assert_allclose(model.dual_coef_[0][np.argsort(model.support_)], [-0.5, 0.5], rtol=1e-5)
    assert model.certificate_.primal == 0.5
    assert model.certificate_.dual == pytest.approx(0.5, rel=1e-12)
    assert model.certificate_.C == np.inf
    assert model.certificate_.risk_bound == 0.0
    assert model.n_support_.tolist() == [1, 1]


def test_corners_of_a_square_in_closed_form() -> None:
    """The hulls are a point and a segment: the margin is half their distance, and a third row is idle."""
    X = np.array([[0.0, 0.0], [3.0, 1.0], [3.0, -1.0], [7.0, 0.0]])
    model = HardMarginSVM(**TIGHT).fit(X, ["a", "b", "b", "b"])
    np.testing.assert_allclose(model.coef_, [[2 / 3, 0.0]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-6)
    assert model.margin_ == pytest.approx(1.5, rel=1e-8)
    assert 3 not in model.support_
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(model.dual_coef_).sum() == pytest.approx(4 / 9, rel=1e-5)  # sum_i a_i = |w|^2


@EACH
@pytest.mark.parametrize("shape", [(20, 2), (40, 5), (60, 12), (15, 30)])
def test_the_optimum_of_a_general_solver(shape: tuple[int, int], intercept: str) -> None:
    for seed in range(4):
        X, y = separable(seed, *shape, offset=0.0 if intercept == "none" else 0.4)
        best, w = optimum(X, y, intercept)
        model = HardMarginSVM(**INTERCEPTS[intercept], **TIGHT).fit(X, y)
        found, b = model.certificate_, float(model.intercept_[0])
        assert found.status is Status.CONVERGED
        assert found.primal == pytest.approx(best, rel=1e-6)
        assert best * (1 - 1e-6) <= found.dual <= best * (1 + 1e-8)
        # the figures are those of the definition
        assert (y * model.decision_function(X)).min() >= 1.0 - 1e-12
        square = float(model.coef_[0] @ model.coef_[0])
        assert found.primal == pytest.approx(
            0.5 * square + (0.5 * b**2 if intercept == "penalized" else 0.0), rel=1e-12
        )
        assert model.margin_ == pytest.approx(1.0 / np.sqrt(square), rel=1e-10)
        assert found.training_risk == found.risk_bound == 0.0
        np.testing.assert_allclose(model.coef_[0], w[: X.shape[1]], atol=1e-3 * np.sqrt(square))
        # and so are those of the dual
        a = model.dual_coef_[0] * y[model.support_]
        assert (a > 0.0).all()
        v = model.dual_coef_[0] @ X[model.support_]
        total = float(model.dual_coef_.sum())
        if intercept == "free":
            assert total == pytest.approx(0.0, abs=1e-9 * a.sum())
        penalty = 0.5 * float(v @ v) + (0.5 * total**2 if intercept == "penalized" else 0.0)
        assert a.sum() - penalty == pytest.approx(found.dual, rel=1e-9)


@EACH
def test_the_scales_of_the_features_do_not_matter(intercept: str) -> None:
    for seed in range(4):
        X, y = separable(seed, 50, 6, offset=0.0 if intercept == "none" else 0.4)
        X = X * 10.0 ** np.arange(-3, 3)
        best, _ = optimum(X, y, intercept)
        found = HardMarginSVM(**INTERCEPTS[intercept], tol=1e-6, random_state=0).fit(X, y).certificate_
        assert found.status is Status.CONVERGED
        assert found.primal == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize(
    "solver", ["auto", "coordinate_ascent", "interior_point", "active_set", "block_ascent", "projected_gradient"]
)
def test_every_solver_of_the_soft_margin_will_do(solver: str) -> None:
    X, y = separable(1, 12, 3)
    best, _ = optimum(X, y, "free")
    model = HardMarginSVM(solver=solver, tol=1e-6, max_passes=20_000, random_state=0).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert best * (1 - 1e-6) <= model.certificate_.dual <= best * (1 + 1e-8)
    assert best * (1 - 1e-8) <= model.certificate_.primal <= best * (1 + 2e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_solver_claims_more_than_there_is(kernel: str) -> None:
    """All there are, whether they arrive or not, and those that are not for it say so."""
    X, y = separable(1, 12, 3)
    model = HardMarginSVM(kernel=kernel, max_passes=100, random_state=0)
    best = clone(model).set_params(tol=1e-8).fit(X, y).certificate_.primal
    found = compare_solvers(model, X, y, curve=False)
    assert {run.name for run in found.runs if run.refused} == {"newton", "perceptron", "averaged_perceptron"}
    tried = [run.certificate for run in found.runs if run.certificate is not None]
    assert len(tried) >= 4
    for certificate in tried:
        assert certificate.dual <= best * (1 + 1e-7)
        assert certificate.primal >= best * (1 - 1e-7)


def test_the_hard_margin_is_the_limit_of_the_soft_one() -> None:
    """As ``C`` grows the weights come nearer, and from the largest ``a_i`` on they are the same."""
    X, y = separable(7, 40, 3)
    hard = HardMarginSVM(**TIGHT).fit(X, y)
    most = float(np.abs(hard.dual_coef_).max())
    distances = []
    for share in (1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.1, 100.0):
        soft = SVMClassifier(share * most, tol=1e-9, solver="interior_point").fit(X, y)
        distances.append(float(np.linalg.norm(soft.coef_ - hard.coef_)))
        assert soft.certificate_.dual <= hard.certificate_.primal * (1 + 1e-8)
    length = float(np.linalg.norm(hard.coef_))
    assert np.argsort(distances[:5]).tolist() == [4, 3, 2, 1, 0]
    assert distances[4] > 1e-2 * length
    assert max(distances[5:]) < 1e-4 * length


def test_order_copies_and_forms_of_the_rows() -> None:
    X, y = separable(3)
    X = np.round(X, 1).astype(np.float32).astype(float)
    X[np.abs(X) < 0.2] = 0.0
    one = HardMarginSVM(**TIGHT).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    other = HardMarginSVM(**TIGHT).fit(np.repeat(X[order], 2, axis=0), np.repeat(y[order], 2))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    for form in (sp.csr_matrix, sp.csc_array, np.asfortranarray, lambda rows: rows.astype(np.float32)):
        again = HardMarginSVM(**TIGHT).fit(form(X), y)
        assert again.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(again.decision_function(form(X)), one.decision_function(X), atol=1e-3)
    swapped = HardMarginSVM(**TIGHT).fit(X, -y)
    np.testing.assert_allclose(swapped.coef_, -one.coef_, atol=1e-4)


def test_a_fit_cut_short_is_honest() -> None:
    X, y = separable(2, 200, 8)
    best, _ = optimum(X, y, "free")
    with pytest.warns(ConvergenceWarning, match=r"HardMarginSVM stopped by pass limit"):
        model = HardMarginSVM(solver="coordinate_ascent", max_passes=4, random_state=0).fit(X, y)
    assert model.certificate_.dual <= best <= model.certificate_.primal
    assert model.margin_ <= 1.0 / np.sqrt(2.0 * best)
    with pytest.warns(ConvergenceWarning):
        nothing = HardMarginSVM(solver="gradient_descent", max_passes=1).fit(X[:, :1] * 0.0 + y[:, None] * 1e-3, y)
    assert nothing.margin_ <= 1e-3 * (1 + 1e-9)


# --- kernels


def circle(seed: int, n: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    radius = np.sqrt((X**2).sum(1))
    return X * (1 + 0.15 * np.sign(radius - 1.0) / radius)[:, None], np.where(radius > 1.0, 1, -1)


def squares(X: Any) -> Any:
    """The features of the kernel ``(<x, z> + 1)^2`` on two features, the constant one first."""
    a, b = X.T
    root = np.sqrt(2.0)
    return np.column_stack([np.ones(len(X)), root * a, root * b, a * a, b * b, root * a * b])


@EACH
def test_a_kernel_is_its_features(intercept: str) -> None:
    for seed in range(3):
        X, y = circle(seed)
        how = {**INTERCEPTS[intercept], **TIGHT}
        linear = HardMarginSVM(**how).fit(squares(X), y)
        model = HardMarginSVM(kernel="poly", degree=2, coef0=1.0, gamma=1.0, **how).fit(X, y)
        assert model.certificate_.status is Status.CONVERGED
        assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-7)
        assert model.certificate_.dual == pytest.approx(linear.certificate_.primal, rel=1e-7)
        assert model.margin_ == pytest.approx(linear.margin_, rel=1e-7)
        assert (y * model.decision_function(X)).min() >= 1.0 - 1e-9
        size = np.abs(linear.decision_function(squares(X))).max()
        np.testing.assert_allclose(model.decision_function(X), linear.decision_function(squares(X)), atol=1e-3 * size)
        assert (model.dual_coef_[0] * y[model.support_] > 0.0).all()
        assert not hasattr(model, "coef_")


def test_one_kernel_in_three_forms() -> None:
    X, y = circle(4)
    how: dict[str, Any] = dict(gamma=1.0, coef0=1.0, degree=2)
    named = HardMarginSVM(kernel="poly", **how, **TIGHT).fit(X, y)
    called = HardMarginSVM(kernel=lambda A, B: polynomial_kernel(A, B, 2, 1.0, 1.0), **TIGHT).fit(X, y)
    given = HardMarginSVM(kernel="precomputed", **TIGHT).fit(polynomial_kernel(X, X, 2, 1.0, 1.0), y)
    for other, rows in ((called, X), (given, polynomial_kernel(X, X, 2, 1.0, 1.0))):
        assert other.certificate_.primal == pytest.approx(named.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(other.decision_function(rows), named.decision_function(X), atol=1e-2)


def test_a_narrow_kernel_separates_anything() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.5, "no", "yes")
    model = HardMarginSVM(kernel="rbf", gamma=100.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certificate_.status is Status.CONVERGED
    linear = clone(model).set_params(kernel="linear")
    with pytest.raises(InseparableError):
        linear.fit(X, y)


@pytest.mark.parametrize("seed", [0, 2])
def test_a_margin_far_below_the_size_of_the_features(seed: int) -> None:
    """Random classes: there the error of a dual point's margins is far above its gap, and yet the tolerance is met."""
    import piqp

    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(80, 2)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    model = HardMarginSVM(kernel="rbf", gamma=0.5, max_passes=100).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.margin_ < 5e-5
    assert (y * model.decision_function(X)).min() >= 1.0 - 1e-6
    beta, K = np.zeros(80), rbf_kernel(X, X, 0.5)
    beta[model.support_] = model.dual_coef_[0]
    primal = model.certificate_.primal
    assert 0.5 * beta @ K @ beta == pytest.approx(primal, rel=1e-6)
    # a lower bound that owes nothing to the library: a dual point of a general solver, made feasible
    Q = K * np.outer(y, y)
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    solver.settings.max_iter = 500
    solver.setup(Q, np.full(80, -1.0 / primal), A=y[None, :], b=np.zeros(1), x_l=np.zeros(80), x_u=np.full(80, 10.0))
    solver.solve()
    a = np.maximum(np.asarray(solver.result.x), 0.0)
    a[y > 0] *= a[y < 0].sum() / a[y > 0].sum()
    bound = 0.5 * a.sum() ** 2 / float(a @ Q @ a)  # of the best multiple
    assert bound <= primal * (1 + 1e-9)
    assert primal <= bound * (1 + 2e-3)
    assert model.certificate_.dual <= bound * (1 + 1e-3)


def test_conflicts_in_the_space_of_a_kernel() -> None:
    X, y = circle(1)
    y[np.argmin((X**2).sum(1))] *= -1
    with pytest.raises(
        InseparableError, match="no hyperplane in the space of the kernel separates the classes"
    ) as error:
        HardMarginSVM(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
    check_conflict(squares(X)[:, 1:], y, error.value.rows)
    with pytest.raises(DataError, match="not positive semi-definite, so it has no hyperplanes"):
        HardMarginSVM(kernel="sigmoid").fit(X, y)


# --- no solution


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["continuous", "grid"])
def test_conflicts_are_irreducible(kind: str, fit_intercept: bool) -> None:
    refused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 25)), int(rng.integers(1, 6))
        X = rng.normal(size=(n, d)) if kind == "continuous" else rng.integers(-2, 3, (n, d)).astype(float)
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = 1, -1
        possible = can_be_separated(X, y, fit_intercept)
        model = HardMarginSVM(fit_intercept=fit_intercept)
        if possible:
            assert model.fit(X, y).score(X, y) == 1.0
            continue
        refused += 1
        with pytest.raises(InseparableError) as error:
            model.fit(X, y)
        rows = error.value.rows
        assert list(rows) == sorted(rows)
        check_conflict(X, y, rows, fit_intercept)
    assert 20 < refused < 40


def test_a_penalised_intercept_separates_as_much_as_a_free_one() -> None:
    assert HardMarginSVM(penalize_intercept=True).fit([[5.0], [6.0]], [0, 1]).score([[5.0], [6.0]], [0, 1]) == 1.0
    with pytest.raises(InseparableError):
        HardMarginSVM(fit_intercept=False).fit([[5.0], [6.0]], [0, 1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_equal_rows_of_both_classes_are_named(form: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, 1, -1)
    X[[31, 12, 25]] = X[4]
    y[[4, 12, 25, 31]] = 1, 1, -1, -1
    X[20], y[20], y[2] = X[2], 1, -1
    with pytest.raises(InseparableError, match=r"rows 2 \(-1\) and 20 \(1\) contradict each other") as error:
        HardMarginSVM().fit(form(X), y)
    assert error.value.rows == (2, 20)
    y[20] = -1
    with pytest.raises(InseparableError) as error:
        HardMarginSVM(kernel="rbf").fit(form(X), y)
    assert set(error.value.rows) <= {4, 12, 25, 31}
    assert len(error.value.rows) == 2


def test_dependent_rows_are_reduced() -> None:
    """A linear program gives a vertex; from any other weights the way to one is made here."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, d = 30, int(rng.integers(1, 6))
        X, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)
        weights = rng.uniform(0.1, 1.0, n)
        for side in (1.0, -1.0):  # both classes get one mean
            mine = y == side
            weights[mine] /= weights[mine].sum()
            X[mine] -= weights[mine] @ X[mine]
        A = (y[:, None] * np.column_stack([X, np.ones(n)])).T
        rows, left = _irreducible(A, weights, 1e-9)
        assert (left > 0.0).all()
        np.testing.assert_allclose(A[:, rows] @ left, 0.0, atol=1e-10)
        check_conflict(X, y, rows)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_many_rows(form: Any) -> None:
    """More than one linear program can hold: rows are taken in as they are violated."""
    rng = np.random.default_rng(1)
    X = np.round(1e3 * rng.normal(size=(4000, 2)) * [1.0, 100.0])
    f = X @ [100.0, 1.0] - 30_000.0
    X, y = X[f != 0], np.where(f[f != 0] > 0, 1.0, -1.0)
    found = separate(Rows(form(X)), y, True)
    assert isinstance(found, float)
    best, _ = optimum(X, y, "penalized")
    assert found >= 2.0 * best * (1 - 1e-6)  # no weights with all margins are shorter
    y[1234] *= -1.0
    conflict = separate(Rows(form(X)), y, True)
    assert isinstance(conflict, Conflict)
    check_conflict(X / 1e5, y, conflict.rows)
    sums = (conflict.weights * (y[conflict.rows] > 0)).sum(), (conflict.weights * (y[conflict.rows] < 0)).sum()
    np.testing.assert_allclose(sums, [1.0, 1.0], rtol=1e-9)
    np.testing.assert_allclose((conflict.weights * y[conflict.rows]) @ X[conflict.rows], 0.0, atol=1e-4)


def test_rows_are_taken_in_until_all_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any rows to begin with, the first programs know too little."""
    programs: list[int] = []
    whole = separation._largest_margin

    def counting(Z: Any, *more: Any) -> Any:
        programs.append(Z.shape[0])
        return whole(Z, *more)

    monkeypatch.setattr(separation, "_ROWS", 0)
    monkeypatch.setattr(separation, "_PASSES", 2)
    monkeypatch.setattr(separation, "_largest_margin", counting)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 6)) * 10.0 ** np.arange(6)
    f = X @ 10.0 ** -np.arange(6)
    y = np.where(f > 0, 1.0, -1.0)
    found = separate(Rows(X), y, True)
    assert isinstance(found, float)
    assert len(programs) > 2
    assert programs == sorted(set(programs))
    assert programs[-1] < 1000
    best, _ = optimum(X, y, "penalized")
    assert found >= 2.0 * best * (1 - 1e-6)


def test_weights_get_the_best_multiple_and_intercept(rng: np.random.Generator) -> None:
    """Of any weights that separate: no shorter multiple of them has all margins, with whatever intercept."""
    X, y = separable(4)
    f = X @ rng.normal(size=4)
    X = np.column_stack([X, y + 0.1 * f])  # so the last weight separates
    task = LinearTask(Rows(X), hinge(y.astype(float), np.ones(30)), 1.0, np.ones(30), "free", 1e-3, rng)
    w = np.append(0.01 * rng.normal(size=4), [2.0, 3.0])
    scores = X @ w[:5]
    width = 0.5 * (scores[y > 0].min() - scores[y < 0].max())
    assert width > 0.0
    out = _with_margins(task, w, True)
    np.testing.assert_allclose(out[:5], w[:5] / width, rtol=1e-12)
    margins = y * task.scores(out)
    assert margins.min() >= 1.0
    for side in (1, -1):
        assert margins[y == side].min() == pytest.approx(1.0, abs=1e-12)
    wrong = np.append(-w[:5], 0.0)
    np.testing.assert_array_equal(_with_margins(task, wrong, True), wrong)


def test_many_features() -> None:
    """There the rows of a conflict are many; they are counted, and ten of them shown."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 40)), np.where(rng.random(300) < 0.5, 1, -1)
    with pytest.raises(InseparableError, match=r"(\d+ \(-?1\), ){9}\d+ \(-?1\) and 32 more contradict") as error:
        HardMarginSVM().fit(X, y)
    check_conflict(X, y, error.value.rows)
    assert len(error.value.rows) == 42


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-5])
def test_classes_that_rounding_could_tell_apart(scale: float) -> None:
    """Margins of up to 1e-9 of the features' size count as none; of a little more they are found exactly."""
    for gap in (1e-4, 1e-6, 1e-8):
        rows = scale * np.array([[-1.0], [0.0], [gap], [1.0]])
        model = HardMarginSVM().fit(rows, [0, 0, 1, 1])
        assert model.certificate_.status is Status.CONVERGED
        assert model.margin_ == pytest.approx(0.5 * scale * gap, rel=1e-3)
    for gap in (1e-9, 1e-12, 0.0, -1e-12, -0.5):
        rows = scale * np.array([[-1.0], [0.0], [gap], [1.0]])
        with pytest.raises(InseparableError) as error:
            HardMarginSVM().fit(rows, [0, 0, 1, 1])
        assert {1, 2} <= set(error.value.rows)


def test_a_row_of_zeros_without_intercept() -> None:
    with pytest.raises(
        InseparableError, match=r"row 1 \('b'\) is 0, and without an intercept its score is 0 too"
    ) as error:
        HardMarginSVM(fit_intercept=False).fit([[1.0], [0.0], [-1.0]], ["a", "b", "b"])
    assert error.value.rows == (1,)
    assert HardMarginSVM().fit([[1.0], [0.0], [-1.0]], ["a", "b", "b"]).margin_ == 0.5


def test_the_error_goes_through_a_pickle() -> None:
    error = InseparableError("these", (3, 4))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.rows) == ("these", (3, 4))
    assert isinstance(again, DataError)


# --- conventions and refusals


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_checks_of_scikit_learn(kernel: str) -> None:
    """All that fail do so because their data are inseparable, which this machine has to refuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(HardMarginSVM(kernel=kernel), on_fail=None)
    passed = [result for result in results if result["status"] == "passed"]
    failed = [result for result in results if result["status"] == "failed"]
    assert len(passed) >= (35 if kernel == "linear" else 45)
    for result in failed:
        error = result["exception"]
        while error is not None and not isinstance(error, InseparableError):
            error = error.__cause__ or error.__context__
        assert error is not None, (result["check_name"], result["exception"])


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [0, 0, 0], r"HardMarginSVM needs two classes; y has one class only: 0"),
        ({}, [0, 1, 2], r"Only binary classification is supported\. HardMarginSVM has 3 classes"),
        ({"solver": "perceptron"}, [0, 1, 1], r"solver 'perceptron' looks for any hyperplane, not for the margin"),
        ({"solver": "newton"}, [0, 1, 1], r"HardMarginSVM: Newton's method needs a loss with a second derivative"),
        ({"solver": "simplex"}, [0, 1, 1], r"solver must be one of"),
        ({"penalize_intercept": True, "fit_intercept": False}, [0, 1, 1], r"penalize_intercept=True needs fit_inter"),
        ({"tol": -1.0}, [0, 1, 1], r"HardMarginSVM: tol must be"),
        ({}, ["a", 1, 1], r"y mixes text with other labels"),
    ],
)
def test_wrong_inputs(parameters: dict[str, Any], y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HardMarginSVM(**parameters).fit([[0.0], [1.0], [2.0]], y)


def test_numbers_out_of_range() -> None:
    with pytest.raises(ValueError, match="NaN"):
        HardMarginSVM().fit([[0.0], [np.nan]], [0, 1])
    with pytest.raises(DataError, match=r"the weights would be of size 2e\+30; scale X up"):
        HardMarginSVM().fit([[0.0], [1e-30]], [0, 1])
    with pytest.raises(NotFittedError):
        HardMarginSVM().predict([[0.0]])


def test_a_pickle_predicts_the_same() -> None:
    X, y = circle(2)
    model = HardMarginSVM(kernel="rbf").fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_refit_that_was_refused_leaves_the_model(kernel: str) -> None:
    rows = [[0.0], [1.0], [3.0], [4.0]]
    model = HardMarginSVM(kernel=kernel).fit(rows, list("aabb"))
    before = dict(vars(model))
    with pytest.raises(InseparableError):
        model.fit([[0.0, 1.0], [0.0, 1.0]], list("xy"))
    assert all(vars(model)[name] is value for name, value in before.items())
    assert model.predict([[0.0], [4.0]]).tolist() == ["a", "b"]


def test_features_too_small_for_the_kernel() -> None:
    X, y = separable(0)
    with pytest.raises(DataError, match="gamma=inf: .*; scale X up, or give a smaller gamma"):
        HardMarginSVM(kernel="rbf").fit(1e-160 * X, y)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent"])
def test_rows_left_out_of_the_passes_are_looked_at_again(solver):
    """Coordinate ascent leaves rows out; each evaluation is to take those back that the weights violate."""
    X, y = np.array([[0.6, -0.9], [0.3, 0.7], [-0.5, -1.0], [1.2, 0.3]]), [1, 1, -1, 1]
    expected = optimum(X, np.array(y), "free")[0]
    for seed in range(30):
        model = HardMarginSVM(solver=solver, tol=1e-6, random_state=seed).fit(X, y)
        assert model.certificate_.status is Status.CONVERGED, seed
        assert model.certificate_.primal == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "projected_gradient", "block_ascent", "active_set", "gradient_descent"])
def test_the_solver_keeps_to_the_limit_of_passes(solver):
    X, y = separable(3, n=60)
    for most in (3, 5, 9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = HardMarginSVM(solver=solver, tol=1e-12, max_passes=most, random_state=0).fit(X, y)
        assert model.certificate_.passes <= most
