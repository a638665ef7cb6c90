"""What is not there, and what it says instead: streams, infinite costs, conditions of the hard margin; lazy names."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxmargin
from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    StructuredSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
    TreeSVM,
    kkt_report,
)
from maxmargin.errors import DataError, RuledOutError
from maxmargin.solvers import Newton, Pegasos, Subgradient

WITHOUT_STREAMS = [AUCClassifier, HardMarginSVM, OneClassSVM, TreeSVM]
WITH_STREAMS = [SVMClassifier, MulticlassSVM, SVMRegressor, SVMRanker, SequenceSVM, StructuredSVM]


def test_the_classical_sequence_model_is_a_name_of_the_package() -> None:
    from maxmargin.hmm import GenerativeHMM

    assert maxmargin.GenerativeHMM is GenerativeHMM
    assert "GenerativeHMM" in dir(maxmargin)


@pytest.mark.parametrize("kind", WITHOUT_STREAMS)
def test_without_a_stream_the_error_says_who_has_one(kind: Any) -> None:
    model = kind()
    assert not hasattr(model, "partial_fit")
    assert not hasattr(kind, "partial_fit")
    with pytest.raises(AttributeError, match=f"^{kind.__name__} has no partial_fit: .* learn from a stream$") as e:
        model.partial_fit([[0.0], [1.0]], [0, 1])
    for other in WITH_STREAMS:
        assert other.__name__ in str(e.value)
    assert ("its grammar is read off all trees at once" in str(e.value)) is (kind is TreeSVM)


def test_other_attributes_that_are_missing_keep_their_own_errors() -> None:
    with pytest.raises(AttributeError, match="^'MulticlassSVM' object has no attribute 'partial_fits'$"):
        _ = MulticlassSVM().partial_fits
    with pytest.raises(
        RuledOutError, match="^SVMClassifier: partial_fit is for kernel='linear', not for kernel='rbf'$"
    ):
        _ = SVMClassifier(kernel="rbf").partial_fit
    for model in (MulticlassSVM(), SVMClassifier().fit([[0.0], [1.0]], [0, 1])):
        for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert same.get_params() == model.get_params()


def test_those_that_are_said_to_have_streams_have_them() -> None:
    named = {kind.__name__ for kind in WITHOUT_STREAMS + WITH_STREAMS}
    ours = [getattr(maxmargin, name) for name in maxmargin.__all__]
    fitted = {each.__name__ for each in ours if isinstance(each, type) and hasattr(each, "fit")}
    assert fitted - named == {"GenerativeHMM", "SVMClassifierCV", "SVMRegressorCV"}
    assert all(hasattr(kind, "partial_fit") for kind in WITH_STREAMS)
    models = [kind(structure=None) if kind is StructuredSVM else kind() for kind in WITH_STREAMS]
    assert all(hasattr(model, "partial_fit") for model in models)


@pytest.mark.parametrize("machine", [SVMClassifier, SVMRegressor])
@pytest.mark.parametrize(
    ("solver", "stream", "pegasos"),
    [
        ("pegasos", True, True),
        (Pegasos(batch=3), True, True),
        (Subgradient(averaging="suffix"), True, False),
        ("bundle", False, False),
        (Newton(), False, False),
    ],
    ids=repr,
)
def test_what_a_stream_does_is_said_where_options_were_wanted(
    machine: Any, solver: Any, stream: bool, pegasos: bool
) -> None:
    with pytest.raises(RuledOutError, match="solver must be 'auto' or 'subgradient', not") as e:
        machine(solver=solver).partial_fit([[0.0], [1.0]], [0, 1])
    assert ("steps by the rows seen so far and a polynomial mean" in str(e.value)) is stream
    assert ("a step of Pegasos needs the number of all rows" in str(e.value)) is pegasos
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("C", [np.inf, np.float32(np.inf)])
def test_an_infinite_cost_is_for_hard_margins(C: Any) -> None:
    for name in ("fit", "partial_fit"):
        with pytest.raises(
            ValueError, match=r"SVMClassifier: C must .* \(HardMarginSVM is for an infinite one, .*, not .*inf"
        ):
            getattr(SVMClassifier(C=C), name)([[0.0], [1.0]], [0, 1])
    for kind in (SVMRegressor, MulticlassSVM, AUCClassifier, TreeSVM):  # which have no hard margin
        with pytest.raises(ValueError, match=f"{kind.__name__}: C must be a finite number > 0, not .*inf"):
            kind(C=C).fit([[0.0], [1.0]], [0, 1])
    for none in (np.nan, -np.inf):
        with pytest.raises(ValueError, match="SVMClassifier: C must be a finite number > 0, not"):
            SVMClassifier(C=none).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "options", [{}, {"penalize_intercept": True}, {"fit_intercept": False}, {"kernel": "rbf", "gamma": 0.5}], ids=str
)
def test_the_conditions_of_a_hard_margin_are_those_of_the_machine_that_the_message_names(options: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    X += 2.0 * np.sign(X.sum(1, keepdims=True))
    y = X.sum(1) > 0.0
    hard = HardMarginSVM(tol=1e-8, **options).fit(X, y)
    with pytest.raises(
        DataError, match=r"not for HardMarginSVM; an SVMClassifier with a C above abs\(dual_coef_\).sum\(\)"
    ):
        kkt_report(hard, X, y)
    soft = SVMClassifier(1.1 * float(abs(hard.dual_coef_).sum()), tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(soft.decision_function(X), hard.decision_function(X), atol=1e-4)
    report = kkt_report(soft, X, y)
    assert report.a.max() < soft.C
    assert report.xi.max() < 1e-4


def test_other_models_have_no_such_advice() -> None:
    with pytest.raises(DataError, match="^kkt_report is for SVMClassifier, not for SVMRegressor$"):
        kkt_report(SVMRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), [[0.0], [1.0]], [0, 1])


def test_names_are_loaded_at_their_first_use(run_python: Callable[..., Any], tmp_path: Path) -> None:
    code = (
        "import sys, maxmargin.solvers as solvers\n"
        "late = lambda: [name for name in sys.modules if name.startswith('maxmargin.solvers.')]\n"
        "assert not late(), late()\n"
        "assert {'Subgradient', 'Newton', 'by_name'} <= set(dir(solvers)), dir(solvers)\n"
        "assert not late() and 'sklearn' not in sys.modules and 'numba' not in sys.modules\n"
        "from maxmargin.solvers import Subgradient\n"
        "assert late()\n"
    )
    run_python(code)
