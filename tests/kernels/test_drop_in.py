"""``docs/drop_in.md``: the page is complete and true, by objectives written out here, on both sides."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import linear_model, svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC

import maxmargin
from maxmargin import MulticlassSVM, OneClassSVM, SVMClassifier, SVMRegressor, load_model
from maxmargin.cli import main
from maxmargin.data import read_svmlight

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "drop_in.md").read_text("utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")}
LINEAR = ("LinearSVC", "LinearSVR")
LOGISTIC = ("LogisticRegression",)
KERNEL = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
SECTION = {name: SECTIONS[", ".join(group)] for group in (LINEAR, LOGISTIC, KERNEL) for name in group}
OURS = (SVMClassifier, SVMRegressor, OneClassSVM, MulticlassSVM)

RNG = np.random.default_rng(8)
N = 61  # odd, so that nu n / 2 is no whole number: the optimum of the nu forms is unique
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + 0.3
VALUES = X @ [1.0, -0.5, 0.8] + RNG.normal(size=N)
THREE = np.digitize(VALUES, [-0.8, 0.9])
TWO = np.where(VALUES > 0.2, 1, -1)
TWO[0], X[0] = 1, X[np.argmax(VALUES)] + 0.1  # the label that comes first is the positive one of LIBLINEAR
WEIGHT = RNG.uniform(0.2, 2.0, N)
NEW = RNG.normal(size=(200, 3)) * [1.0, 2.0, 0.5] + 0.3
SQUARED = dict(loss="squared_hinge", penalize_intercept=True)


def rows(section: str, after: str) -> list[list[str]]:
    """Cells of the table whose header begins with ``after``."""
    lines = section[section.index(f"| {after} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(cell: str) -> list[str]:
    """What a cell has between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def built(code: str, **more: Any) -> Any:
    """The estimator that the page writes, of ours or scikit-learn's."""
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return kind_of(call.func.id, *more.pop("modules", (maxmargin,)))(**given | more)


def kind_of(name: str, *modules: Any) -> Any:
    """The class of that name in the first module that has it; by default scikit-learn's."""
    return next(getattr(module, name) for module in modules or (svm, linear_model) if hasattr(module, name))


def tight(model: Any) -> Any:
    """The same estimator, to be solved as far as it can."""
    limits = {"max_passes": 20000, "tol": 1e-10} if "max_passes" in model.get_params() else {"tol": 1e-9}
    if isinstance(model, LinearSVC | LinearSVR | LogisticRegression):
        limits |= {"max_iter": 10**6}
    return model.set_params(**limits)


def target(model: Any) -> Any:
    """Data for the kind of the model: values, or three classes where several are solved as in the objective."""
    if isinstance(model, SVMRegressor):
        return VALUES
    if getattr(model, "loss", None) == "logistic":
        return TWO
    kernel = getattr(model, "kernel", "linear") != "linear" or getattr(model, "nu", None) is not None
    return TWO if kernel else THREE


def gram(model: Any, other: Any, A: Any) -> Any:
    """Kernel values that the objective of ``model`` (ours) is about, from the definitions."""
    if model.kernel == "linear":
        return linear_kernel(A)
    gamma = {"scale": 1.0 / (A.shape[1] * A.var()), "auto": 1.0 / A.shape[1]}.get(model.gamma, model.gamma)
    if model.kernel == "rbf":
        return rbf_kernel(A, gamma=gamma)
    return polynomial_kernel(A, degree=model.degree, gamma=gamma, coef0=model.coef0)


def norms_and_scores(model: Any, K: Any, A: Any) -> tuple[Any, Any]:
    """``|w|^2`` of every problem and its scores without intercept, shapes (k,) and (n, k)."""
    if hasattr(model, "coef_"):
        W = np.atleast_2d(model.coef_)
        return (W * W).sum(1), A @ W.T
    beta = np.zeros((len(A), len(model.dual_coef_)))
    beta[model.support_] = model.dual_coef_.T
    return np.einsum("ik,ij,jk->k", beta, K, beta), K @ beta


def objective(model: Any, like: Any, y: Any, s: Any = None, A: Any = X) -> float:
    """The objective of ``like``, one of our estimators, at the solution of ``model``, ours or theirs."""
    s = np.ones(len(A)) if s is None else s
    if isinstance(like, MulticlassSVM):
        penalty = (model.coef_**2).sum()
        if like.fit_intercept:
            penalty += ((model.intercept_ / like.intercept_scaling) ** 2).sum()
        f = A @ model.coef_.T + model.intercept_
        costs = f + (np.arange(f.shape[1]) != y[:, None]) - f[np.arange(len(A)), y][:, None]
        return float(0.5 * penalty + like.C * (s * costs.max(1)).sum())
    norms, scores = norms_and_scores(model, gram(like, model, A), A)
    if isinstance(like, OneClassSVM):
        rho = np.ravel(model.offset_)[0]
        return float(0.5 * norms[0] + (s * np.maximum(rho - scores[:, 0], 0)).sum() - like.nu * rho * s.sum())
    b = np.broadcast_to(np.ravel(model.intercept_), len(norms))
    penalty = 0.5 * norms.sum() + (0.5 * (b * b).sum() if like.penalize_intercept else 0.0)
    if isinstance(like, SVMRegressor):
        off = np.abs(y - scores[:, 0] - b[0])
        if like.nu is not None:  # the width is a variable too, of a convex function with its kinks at the errors
            widths = np.append(off, 0.0)
            return float(penalty + min(like.C * (s * (like.nu * e + np.maximum(off - e, 0))).sum() for e in widths))
        slack = np.maximum(off - like.epsilon, 0)
        return float(penalty + like.C * (s * (slack**2 if "squared" in like.loss else slack)).sum())
    classes = np.unique(y)
    total = penalty
    for k in range(len(norms)):
        sign = np.where(y == classes[1 if len(classes) == 2 else k], 1.0, -1.0)
        if like.loss == "logistic":
            total += like.C * (s * np.logaddexp(0.0, -sign * (scores[:, k] + b[k]))).sum()
            continue
        slack = np.maximum(1.0 - sign * (scores[:, k] + b[k]), 0)
        if like.nu is not None:  # the best multiple of these scores: a parabola in rho
            room = like.nu * s.sum() - (s * slack).sum()
            return float(-(room**2) / (2.0 * norms[0])) if room > 0 else 0.0
        total += like.C * (s * (slack**2 if "squared" in like.loss else slack)).sum()
    return float(total)


def same(ours: Any, theirs: Any, y: Any, s: Any = None, A: Any = X, new: Any = NEW) -> None:
    """Fit both: our objective is not above theirs, theirs is as near as it gets, and so are the predictions."""
    tight(ours).fit(A, y, sample_weight=s)
    tight(theirs).fit(A, y, sample_weight=s)
    assert ours.certificate_.status.ok
    mine, other = objective(ours, ours, y, s, A), objective(theirs, ours, y, s, A)
    assert mine == pytest.approx(ours.certificate_.primal, rel=1e-6)
    assert mine <= other + 1e-9 * abs(other)
    assert other <= mine + 1e-5 * abs(mine)
    score = "decision_function" if hasattr(ours, "decision_function") else "predict"
    f, g = getattr(ours, score)(new), getattr(theirs, score)(new)
    assert f == pytest.approx(g, rel=1e-3, abs=2e-3 * np.abs(g).max())
    if score == "decision_function":
        sure = np.abs(g if g.ndim == 1 else np.diff(np.sort(g, axis=1)[:, -2:])[:, 0]) > 1e-2
        assert sure.sum() > 150
        assert np.array_equal(ours.predict(new)[sure], theirs.predict(new)[sure])


# the page itself


@pytest.mark.parametrize("name", LINEAR + LOGISTIC + KERNEL)
def test_every_parameter_and_attribute_is_in_the_table(name: str) -> None:
    kind = kind_of(name)
    cells = [word for row in rows(SECTION[name], "there") for word in named(row[0])]
    on_page = {word.split("=")[0] for word in cells}
    parameters = inspect.signature(kind).parameters
    assert set(parameters) - on_page == set()
    fitted = kind().set_params(**{"nu": 0.4} if "nu" in parameters else {}).fit(X, TWO)
    attributes = {a for a in dir(kind) + list(vars(fitted)) if re.fullmatch(r"[a-zA-Z].*[a-z]_|prob[AB]_", a)}
    assert attributes - on_page == set()
    assert set(re.findall(r"`(\w+)`", SECTION[name])) >= {a for a in dir(kind) if a in ("densify", "sparsify")}
    for parameter, given in parameters.items():
        defaults = [ast.literal_eval(w.split("=", 1)[1]) for w in cells if w.startswith(f"{parameter}=")]
        assert given.default in defaults or (parameter == "probability" and not defaults)


def test_our_side_of_the_tables_names_what_there_is() -> None:
    defaults: dict[str, list[Any]] = {}
    for kind in OURS:
        for name, parameter in inspect.signature(kind).parameters.items():
            defaults.setdefault(name, []).append(parameter.default)
    attributes = {"coef_", "support_", "support_vectors_", "dual_coef_", "n_support_", "certificate_", "classes_"}
    attributes |= {"intercept_", "offset_", "n_features_in_", "n_iter_"}
    for section in dict.fromkeys(SECTION.values()):
        for row in rows(section, "there"):
            for word in named(row[1]):
                name, _, value = word.partition("=")
                assert name in attributes or ast.literal_eval(value or "None") in defaults[name]
    for section in ("LIBLINEAR", "LIBSVM"):
        for row in rows(SECTIONS[section], "option"):
            assert all(word.partition("=")[0] in defaults for word in named(row[1]))
    have = vars(SVMClassifier(kernel="rbf").fit(X, TWO)) | vars(OneClassSVM(kernel="linear").fit(X))
    assert attributes <= set(have)


def test_lines_are_short() -> None:
    assert max(map(len, PAGE.splitlines())) <= 120


# scikit-learn


@pytest.mark.parametrize(("there", "here"), [[named(c)[0] for c in r] for r in rows(PAGE, "scikit-learn")])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_table(there: str, here: str, weighted: bool) -> None:
    """With its defaults; where gamma would differ by the weights it is given."""
    ours, theirs = built(here), built(there, modules=(svm, linear_model))
    y = target(ours)
    if weighted and "gamma" in theirs.get_params():
        ours.set_params(gamma=0.4), theirs.set_params(gamma=0.4)
    same(ours, theirs, y, WEIGHT if weighted else None)


@pytest.mark.parametrize("penalized", [True, False])
def test_intercepts_scaled_or_left_out(penalized: bool) -> None:
    if penalized:
        A, B = np.column_stack([X, np.full(N, 4.0)]), np.column_stack([NEW, np.full(200, 4.0)])
        ours = SVMClassifier(loss="squared_hinge", fit_intercept=False)
        theirs = LinearSVC(intercept_scaling=4.0)
        tight(ours).fit(A, TWO), tight(theirs).fit(X, TWO)
        assert 4.0 * ours.coef_[0, 3] == pytest.approx(theirs.intercept_[0], rel=1e-4)
        assert ours.decision_function(B) == pytest.approx(theirs.decision_function(NEW), rel=1e-4, abs=1e-4)
        scaled = LinearSVC(multi_class="crammer_singer", intercept_scaling=4.0)
        same(MulticlassSVM(penalize_intercept=True, intercept_scaling=4.0), scaled, THREE)
    else:
        same(SVMClassifier(fit_intercept=False), LinearSVC(loss="hinge", fit_intercept=False), THREE)
        same(MulticlassSVM(fit_intercept=False), LinearSVC(multi_class="crammer_singer", fit_intercept=False), THREE)


@pytest.mark.parametrize("dual", [True, False])
def test_dual_or_primal_is_the_same_optimum(dual: bool) -> None:
    same(SVMClassifier(C=0.3, **SQUARED), LinearSVC(C=0.3, dual=dual), THREE)
    regression = SVMRegressor(C=0.3, epsilon=0.2, loss="squared_epsilon_insensitive", penalize_intercept=True)
    same(regression, LinearSVR(C=0.3, epsilon=0.2, loss="squared_epsilon_insensitive", dual=dual), VALUES)


def test_crammer_singer_of_two_classes_has_a_row_for_each() -> None:
    ours = tight(MulticlassSVM(penalize_intercept=True)).fit(X, TWO)
    theirs = tight(LinearSVC(multi_class="crammer_singer")).fit(X, TWO)
    assert np.diff(ours.coef_, axis=0) == pytest.approx(theirs.coef_, rel=1e-3)
    assert np.diff(ours.intercept_) == pytest.approx(theirs.intercept_, rel=1e-3)


def test_logistic_regression_of_several_classes() -> None:
    ours = tight(SVMClassifier(loss="logistic")).fit(X, THREE)
    theirs = OneVsRestClassifier(tight(LogisticRegression())).fit(X, THREE)
    assert ours.predict_proba(NEW) == pytest.approx(theirs.predict_proba(NEW), abs=1e-5)
    multinomial = tight(LogisticRegression()).fit(X, THREE)
    assert np.abs(ours.predict_proba(NEW) - multinomial.predict_proba(NEW)).max() > 1e-2
    with_kernel = SVMClassifier(loss="logistic", kernel="rbf")
    assert with_kernel.fit(X, THREE).predict_proba(NEW).sum(1) == pytest.approx(1.0)
    assert not hasattr(with_kernel.set_params(multi_class="ovo").fit(X, THREE), "predict_proba")
    assert hasattr(with_kernel.fit(X, TWO), "predict_proba")
    assert not hasattr(with_kernel, "predict_log_proba")
    scaled = tight(LogisticRegression(solver="liblinear", intercept_scaling=4.0)).fit(X, TWO)
    column = tight(SVMClassifier(loss="logistic", fit_intercept=False)).fit(np.column_stack([X, np.full(N, 4.0)]), TWO)
    assert 4.0 * column.coef_[0, 3] == pytest.approx(scaled.intercept_[0], rel=1e-4)


def test_class_weights_of_the_linear_classes() -> None:
    two, three = {-1: 3.0, 1: 0.5}, {0: 3.0, 1: 0.5, 2: 2.0}
    factors = np.vectorize(three.get)(THREE)
    ours = tight(SVMClassifier(class_weight=two, **SQUARED)).fit(X, TWO)
    assert ours.coef_ == pytest.approx(tight(LinearSVC(class_weight=two)).fit(X, TWO).coef_, rel=1e-4, abs=1e-4)
    ours = tight(SVMClassifier(class_weight=three, **SQUARED)).fit(X, THREE)
    assert ours.coef_ == pytest.approx(tight(LinearSVC()).fit(X, THREE, factors).coef_, rel=1e-4, abs=1e-4)
    theirs = tight(LinearSVC(class_weight=three)).fit(X, THREE)
    assert np.abs(ours.coef_ - theirs.coef_).max() > 1e-2
    for k in range(3):
        own = np.where(k == THREE, three[k], 1.0)
        one = tight(SVMClassifier(**SQUARED)).fit(X, k == THREE, own)
        assert one.coef_[0] == pytest.approx(theirs.coef_[k], rel=1e-4, abs=1e-4)
    crammer = LinearSVC(multi_class="crammer_singer", class_weight=three)
    ours = tight(MulticlassSVM(class_weight=three, penalize_intercept=True)).fit(X, THREE)
    assert ours.coef_ == pytest.approx(tight(crammer).fit(X, THREE).coef_, rel=1e-3, abs=1e-3)


def test_balanced_classes_are_counted_without_weights() -> None:
    weight = np.where(TWO > 0, WEIGHT, 3.0 * WEIGHT)
    ours = tight(SVMClassifier(class_weight="balanced")).fit(X, TWO, weight)
    theirs = tight(SVC(kernel="linear", class_weight="balanced"))
    assert ours.coef_ == pytest.approx(theirs.fit(X, TWO, weight).coef_, rel=1e-3)
    ours = tight(SVMClassifier(class_weight="balanced", **SQUARED)).fit(X, TWO, weight)
    other = tight(LinearSVC(class_weight="balanced")).fit(X, TWO, weight)
    assert np.abs(ours.coef_ - other.coef_).max() > 1e-3
    some = np.where(np.cumsum(TWO > 0) <= 15, 0.0, 1.0)
    fewer = tight(SVMClassifier(class_weight="balanced")).fit(X[some > 0], TWO[some > 0])
    assert tight(SVMClassifier(class_weight="balanced")).fit(X, TWO, some).coef_ == pytest.approx(fewer.coef_)
    assert np.abs(theirs.fit(X, TWO, some).coef_ - fewer.coef_).max() > 1e-3


def test_class_weight_is_ignored_by_their_nu_form_only() -> None:
    factor = {-1: 2.0, 1: 1.0}
    ours, theirs = (tight(m) for m in (SVMClassifier(nu=0.7), NuSVC(nu=0.7, kernel="linear")))
    plain = theirs.fit(X, TWO).coef_
    assert np.array_equal(theirs.set_params(class_weight=factor).fit(X, TWO).coef_, plain)
    weighted = ours.fit(X, TWO, np.vectorize(factor.get)(TWO)).coef_
    assert ours.set_params(class_weight=factor).fit(X, TWO).coef_ == pytest.approx(weighted)
    assert np.abs(weighted - plain).max() > 1e-2


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "precomputed", rbf_kernel])
def test_kernels_have_the_same_values(kernel: Any) -> None:
    """The sigmoid kernel, which is not definite, has one optimum no more: its decisions are compared."""
    shape = dict(kernel=kernel, gamma=0.1, coef0=-1.0 if kernel == "sigmoid" else 0.7, degree=2)
    A, B = (rbf_kernel(X), rbf_kernel(NEW, X)) if kernel == "precomputed" else (X, NEW)
    if kernel in ("linear", "poly", "rbf"):
        same(SVMClassifier(C=0.5, **shape), SVC(C=0.5, **shape), TWO)
        same(SVMRegressor(C=0.5, epsilon=0.3, **shape), SVR(C=0.5, epsilon=0.3, **shape), VALUES)
    else:
        ours, theirs = SVMClassifier(tol=1e-6, **shape).fit(A, TWO), SVC(tol=1e-6, **shape).fit(A, TWO)
        assert ours.decision_function(B) == pytest.approx(theirs.decision_function(B), abs=2e-3)
    if kernel == "sigmoid":
        assert ours.kernel_.block(NEW, X) == pytest.approx(sigmoid_kernel(NEW, X, gamma=0.1, coef0=-1.0))


@pytest.mark.parametrize(("kernel", "nu"), [("rbf", None), ("rbf", 0.35), ("linear", None), ("linear", 0.61)])
def test_pairs_of_classes(kernel: str, nu: float | None) -> None:
    ours = tight(SVMClassifier(kernel=kernel, multi_class="ovo", nu=nu)).fit(X, THREE)
    ties = dict(kernel=kernel, break_ties=True)
    theirs = tight(SVC(**ties) if nu is None else NuSVC(nu=nu, **ties)).fit(X, THREE)
    if "support_vectors_" in vars(ours):
        pairs = ours.kernel_.combined(NEW, ours.support_vectors_, ours.dual_coef_.T) + ours.intercept_
    else:
        pairs = NEW @ ours.coef_.T + ours.intercept_
        assert X[ours.support_].T @ ours.dual_coef_.T == pytest.approx(ours.coef_.T, rel=1e-3, abs=1e-3)
        assert "kernel_" not in vars(ours)
    assert ours.decision_function(NEW) == pytest.approx(theirs.decision_function(NEW), abs=2e-3)
    assert np.mean(ours.predict(NEW) == theirs.predict(NEW)) > 0.99
    expected = theirs.set_params(break_ties=False, decision_function_shape="ovo").decision_function(NEW)
    assert pairs == pytest.approx(expected, rel=1e-3, abs=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("ours", "theirs"), [(SVMClassifier(), SVC(kernel="linear")), (SVMRegressor(), SVR(kernel="linear"))]
)
def test_a_linear_kernel_has_the_dual_point_too(ours: Any, theirs: Any, tmp_path: Path) -> None:
    y = VALUES if isinstance(ours, SVMRegressor) else TWO
    tight(ours).fit(X, y, WEIGHT), tight(theirs).fit(X, y, WEIGHT)
    mine, other = np.zeros((2, N))
    mine[ours.support_], other[theirs.support_] = ours.dual_coef_[0], theirs.dual_coef_[0]
    assert mine == pytest.approx(other, abs=1e-3)
    assert np.linalg.norm(mine @ X - ours.coef_) == pytest.approx(ours.dual_residual_[0], abs=1e-9)
    assert "support_vectors_" not in vars(ours)
    maxmargin.save_model(ours, tmp_path / "m")
    assert not {"support_", "dual_coef_", "dual_residual_", "n_support_"} & set(vars(load_model(tmp_path / "m")))


def test_equal_rows_are_one_support_vector() -> None:
    A, y = np.vstack([X, X]), np.append(TWO, TWO)
    ours, theirs = (tight(m).fit(A, y) for m in (SVMClassifier(kernel="rbf"), SVC()))
    assert len(ours.support_) == len(np.unique(A[ours.support_], axis=0)) < len(theirs.support_)
    assert np.array_equal(A[ours.support_], ours.support_vectors_)
    assert ours.n_support_.sum() == len(ours.support_)
    assert not hasattr(SVMRegressor(kernel="rbf").fit(X, VALUES), "n_support_")


def test_the_scale_of_gamma_counts_weights() -> None:
    twice = 1 + (np.arange(N) < 20)
    ours = SVMClassifier(kernel="rbf").fit(X, TWO, twice)
    assert ours.kernel_.gamma == pytest.approx(1.0 / (3 * np.repeat(X, twice, axis=0).var()))
    assert SVC().fit(X, TWO, twice)._gamma == pytest.approx(1.0 / (3 * X.var()))
    assert SVMClassifier(kernel="rbf").fit(X, TWO).kernel_.gamma == pytest.approx(SVC().fit(X, TWO)._gamma)


def test_the_margin_of_a_nu_form_may_not_be_unique() -> None:
    """Three rows a class and nu n / 2 = 1: of each class the row in front alone, at its bound."""
    A, y = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, -1, 1, 1, 1])
    A = A * 10.0
    ours = tight(SVMClassifier(nu=1 / 3)).fit(A, y)
    theirs = tight(NuSVC(nu=1 / 3, kernel="linear")).fit(A, y)
    assert objective(theirs, ours, y, A=A) == pytest.approx(objective(ours, ours, y, A=A))
    assert not np.allclose(ours.coef_, theirs.coef_, rtol=1e-2)


def test_one_class_scores_have_the_same_scale() -> None:
    ours, theirs = tight(OneClassSVM(nu=0.3)).fit(X), tight(svm.OneClassSVM(nu=0.3)).fit(X)
    assert ours.offset_ == pytest.approx(theirs.offset_[0], rel=1e-4)
    assert -ours.offset_ == pytest.approx(theirs.intercept_[0], rel=1e-4)
    assert ours.score_samples(NEW) == pytest.approx(theirs.score_samples(NEW), rel=1e-3, abs=1e-3)


def test_what_ends_a_fit_and_what_is_refused() -> None:
    for model in (SVMClassifier(), SVMRegressor(), MulticlassSVM(), OneClassSVM()):
        y = VALUES if isinstance(model, SVMRegressor) else TWO
        certificate = model.fit(X, y).certificate_
        assert certificate.primal - certificate.dual <= 1e-3 * abs(certificate.primal)
        with pytest.raises(ValueError, match=r"sample_weight\[3\] is -1.0; weights must be finite and at least 0"):
            model.fit(X, y, sample_weight=np.where(np.arange(N) == 3, -1.0, 1.0))
    with pytest.warns(ConvergenceWarning):
        unfinished = SVMClassifier(C=1000.0, penalize_intercept=True, max_passes=1).fit(X, TWO)
    assert not unfinished.certificate_.status.ok
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure = CalibratedClassifierCV(SVMClassifier(kernel="rbf"), cv=3).fit(X, TWO).predict_proba(NEW)
    assert sure.sum(1) == pytest.approx(1.0)
    assert not hasattr(SVMClassifier(), "predict_proba")


# LIBLINEAR and LIBSVM

PEERS: dict[tuple[str, int], Any] = {
    ("LIBLINEAR", 0): LogisticRegression(solver="liblinear"),
    ("LIBLINEAR", 7): LogisticRegression(solver="liblinear", dual=True),
    ("LIBLINEAR", 1): LinearSVC(dual=True),
    ("LIBLINEAR", 2): LinearSVC(dual=False),
    ("LIBLINEAR", 3): LinearSVC(loss="hinge"),
    ("LIBLINEAR", 4): LinearSVC(multi_class="crammer_singer"),
    ("LIBLINEAR", 11): LinearSVR(loss="squared_epsilon_insensitive", dual=False, epsilon=0.1),
    ("LIBLINEAR", 12): LinearSVR(loss="squared_epsilon_insensitive", dual=True, epsilon=0.1),
    ("LIBLINEAR", 13): LinearSVR(epsilon=0.1),
    ("LIBLINEAR", 21): svm.OneClassSVM(kernel="linear"),
    ("LIBSVM", 0): SVC(gamma="auto"),
    ("LIBSVM", 1): NuSVC(gamma="auto"),
    ("LIBSVM", 2): svm.OneClassSVM(gamma="auto"),
    ("LIBSVM", 3): SVR(gamma="auto"),
    ("LIBSVM", 4): svm.NuSVR(gamma="auto"),
}
NUMBERS = {
    (name, int(number)): (named(row[1])[0], "".join(named(row[2])).split())
    for name in ("LIBLINEAR", "LIBSVM")
    for row in rows(SECTIONS[name], "`-s`")
    for number in row[0].split(",")
}
SWITCHES: dict[str, Any] = {
    "-B -1": dict(fit_intercept=False),
    "-B 1": dict(penalize_intercept=True),
    "-B 1 -R": dict(fit_intercept=True),
}


def numbered(key: tuple[str, int], switch: str = "-B -1") -> Any:
    """Our estimator for a number, with what the page says of the intercept and of gamma."""
    model = built(NUMBERS[key][0])
    if key[0] == "LIBSVM":
        return model.set_params(gamma="auto")
    given = {k: v for k, v in SWITCHES[switch].items() if k in model.get_params()}
    return model if isinstance(model, OneClassSVM) else model.set_params(**given)


def test_every_number_is_on_the_page() -> None:
    assert set(NUMBERS) == set(PEERS)
    absent = re.search(r"Not here: (\d) and (\d) ", SECTIONS["LIBLINEAR"])
    assert absent is not None
    liblinear = {number for name, number in NUMBERS if name == "LIBLINEAR"}
    assert liblinear | set(map(int, absent.groups())) == {*range(8), 11, 12, 13, 21}
    kernels = [named(row[1])[0] for row in rows(SECTIONS["LIBSVM"], "`-t`")]
    assert kernels == [f'kernel="{name}"' for name in ("linear", "poly", "rbf", "sigmoid", "precomputed")]
    table = {named(row[0])[0]: row for row in rows(SECTIONS["LIBLINEAR"], "option")}
    assert {switch: named(table[switch][1]) for switch in SWITCHES} == {
        switch: [f"{k}={v}" for k, v in given.items()] for switch, given in SWITCHES.items()
    }


@pytest.mark.parametrize("key", PEERS, ids=str)
@pytest.mark.parametrize("switch", ["-B -1", "-B 1"])
def test_a_number_is_its_class_of_scikit_learn(key: tuple[str, int], switch: str) -> None:
    theirs = PEERS[key]
    if "intercept_scaling" in theirs.get_params():
        theirs.set_params(fit_intercept=switch == "-B 1")
    ours = numbered(key, switch)
    away = 3.0 if key == ("LIBLINEAR", 21) else 0.0  # around the origin the best hyperplane goes through it: all is 0
    same(ours, theirs, target(ours), A=X + away, new=NEW + away)


@pytest.mark.parametrize("key", PEERS, ids=str)
@pytest.mark.parametrize("intercept", ["none", "penalized", "free"])
def test_the_command_line_of_a_number(key: tuple[str, int], intercept: str, tmp_path: Path) -> None:
    switch = {"none": "-B -1", "penalized": "-B 1", "free": "-B 1 -R"}[intercept]
    ours = numbered(key, switch)
    plain = key[0] == "LIBSVM" or isinstance(ours, OneClassSVM)
    if intercept == "free" and (plain or isinstance(ours, MulticlassSVM)):
        return
    y = VALUES if isinstance(ours, SVMRegressor) else THREE
    data, out = tmp_path / "data.svm", tmp_path / "model"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    more = ["--gamma", "auto"] if key[0] == "LIBSVM" else [] if plain else ["--intercept", intercept]
    assert main(["train", "-q", str(data), "-o", str(out), *NUMBERS[key][1], *more]) == 0
    found, expected = (
        load_model(out),
        ours.set_params(**{} if plain and "random_state" not in ours.get_params() else {"random_state": 0}),
    )
    assert type(found) is type(ours)
    assert found.get_params() == expected.get_params()
    read = read_svmlight(data)
    f, g = (m.predict(sp.csr_matrix(NEW)) for m in (found, expected.fit(read.X, read.y if y is VALUES else THREE)))
    assert np.array_equal(f, g) if y is THREE else np.allclose(f, g, rtol=1e-9)


@pytest.mark.parametrize(("number", "switch"), [(n, s) for name, n in PEERS if name == "LIBLINEAR" for s in SWITCHES])
def test_liblinear_itself(number: int, switch: str) -> None:
    tool = pytest.importorskip("liblinear.liblinearutil", reason="LIBLINEAR's own package is not installed")
    if (switch == "-B 1 -R" and number not in (0, 2, 11)) or (number == 21 and switch != "-B -1"):
        return
    ours = tight(numbered(("LIBLINEAR", number), switch))
    y = VALUES if number in (11, 12, 13) else THREE if number == 4 else TWO
    ours.fit(X, y)
    given = "" if switch == "-B -1" else switch
    model = tool.train(y.astype(float), sp.csr_matrix(X), f"-s {number} -e 1e-9 -p 0.1 -n 0.5 -q {given}")
    if number == 4:
        order = [model.get_labels().index(k) for k in range(3)]
        parts = [model.get_decfun(k) for k in order]
        w, b = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    else:
        w, b = (np.asarray(part) for part in model.get_decfun())
    if y is TWO and number != 21:  # positive for the label that comes first
        assert model.get_labels()[0] == y[0] == ours.classes_[1]
    # the solvers of 3 and 13 end after 1000 passes, where they are still a little off
    near = 5e-2 if number in (3, 13) else 1e-3
    assert ours.coef_ == pytest.approx(w.reshape(ours.coef_.shape), rel=near, abs=near)
    intercept = -ours.offset_ if number == 21 else ours.intercept_
    assert intercept == pytest.approx(b.reshape(np.shape(intercept)), rel=near, abs=near)


def test_what_the_command_line_does_not_have(tmp_path: Path) -> None:
    data = tmp_path / "data.svm"
    dump_svmlight_file(X, TWO, str(data), zero_based=False)
    train = ["train", "-q", str(data), "-o", str(tmp_path / "m"), "--task", "binary"]
    assert main([*train, "--kernel", "precomputed"]) == 2
    assert main([*train, "--class-weight", "1:2"]) == 0  # which it has
    factors = tight(SVMClassifier(class_weight={1: 2.0})).fit(X, TWO)
    assert load_model(tmp_path / "m").coef_ == pytest.approx(factors.coef_, rel=0.1, abs=0.05)


def test_the_center_of_svdd() -> None:
    """``min R^2 + C sum_i (|phi(x_i) - c|^2 - R^2)_+`` by its dual: ``max sum_i a_i k_ii - a'Ka``, sum 1, at most C."""
    A, C = X[:20], 0.15
    K = rbf_kernel(A, gamma=0.5)
    answer = minimize(
        lambda a: a @ K @ a - a @ K.diagonal(), np.full(20, 0.05), jac=lambda a: 2.0 * K @ a - K.diagonal(),
        bounds=[(0.0, C)] * 20, constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    nu = 1.0 / (C * 20)
    ours = tight(OneClassSVM(nu=nu, gamma=0.5)).fit(A)
    a = np.zeros(20)
    a[ours.support_] = ours.dual_coef_[0] / (nu * 20)
    assert answer.success
    assert a == pytest.approx(answer.x, abs=1e-4)
