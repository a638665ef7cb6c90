"""StructuredSVM over plain and compiled structures: one optimum, predictions in the user's form, clear refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import NotFittedError

from maxmargin import MulticlassSVM, StructuredSVM, compare_solvers, load_model, save_model
from maxmargin.compare import Comparison, SolverRun
from maxmargin.errors import DataError, StructureError
from maxmargin.structures import PlainStructure, Structure, check_structure
from maxmargin.structures.multiclass import Multiclass
from solvers.enumeration import ListedStructure, multiclass_case, plain_case

RNG = np.random.default_rng(8)
X = RNG.normal(size=(15, 3))
Y = np.arange(15) % 3
WEIGHT = 0.5 + np.arange(15) % 4
TIGHT: dict[str, Any] = dict(tol=1e-8, max_passes=3000, random_state=0)


class Classes(PlainStructure):
    """Multiclass in plain Python."""

    def joint_features(self, x: Any, y: int) -> Any:
        return np.outer(x, np.eye(3)[y]).ravel()

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        assert not w.flags.writeable
        scores = x @ w.reshape(-1, 3)
        return int((scores if y_true is None else scores + (np.arange(3) != y_true)).argmax())


class Mappings(Classes):
    n_features = 9

    def joint_features(self, x: Any, y: int) -> Any:
        return {3 * k + y: value for k, value in enumerate(x)}


@pytest.mark.parametrize("solver", ["auto", "n_slack", "one_slack"])
@pytest.mark.parametrize("structure", [Multiclass(3), Classes(), Mappings()], ids=["compiled", "vectors", "mappings"])
def test_every_kind_of_structure_has_the_optimum(structure: Any, solver: str) -> None:
    model = StructuredSVM(structure, C=0.7, solver=solver, **TIGHT).fit(X, Y, WEIGHT)
    case = multiclass_case(X, Y)
    value = case.listed.optimum(0.7 * WEIGHT)[1]
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert case.listed.primal(model.coef_, 0.7 * WEIGHT) == pytest.approx(value, rel=1e-6)
    assert model.certificate_.dual <= value * (1 + 1e-9)
    special = MulticlassSVM(C=0.7, fit_intercept=False, **TIGHT).fit(X, Y, WEIGHT)
    np.testing.assert_allclose(model.coef_.reshape(3, 3).T, special.coef_, atol=1e-3)
    assert model.predict(X) == special.predict(X).tolist()
    errors = np.array(model.predict(X)) != Y
    expected = -errors.mean() if isinstance(structure, PlainStructure) else 1 - errors.mean()
    assert model.score(X, Y) == pytest.approx(expected)
    assert model.certificate_.training_risk == pytest.approx(WEIGHT @ errors / WEIGHT.sum())


def test_plain_structures_see_only_what_is_needed() -> None:
    """Examples of weight 0 are never decoded."""
    case = plain_case(multiclass_case(X, Y))

    class Watching(ListedStructure):
        seen: set[int] = set()  # noqa: RUF012

        def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
            self.seen.add(x)
            return super().argmax(x, w, y_true)

    weight = np.where(np.arange(15) % 2, 1.0, 0.0)
    StructuredSVM(Watching(case.listed), **TIGHT).fit(range(15), list(enumerate(case.listed.truth)), weight)
    assert Watching.seen == set(range(1, 15, 2))


def test_predictions_before_a_fit_and_of_nothing() -> None:
    model = StructuredSVM(Classes())
    with pytest.raises(NotFittedError):
        model.predict(X)
    for structure in (Classes(), Multiclass(3)):
        fitted = StructuredSVM(structure, random_state=0).fit(X, Y)
        assert fitted.predict(X[:0]) == []
        with pytest.raises(DataError, match="X has 15 examples and y has 14"):
            fitted.score(X, Y[:14])


def test_an_empty_list_is_not_encoded() -> None:
    class Joining(Multiclass):
        """As most write encode."""

        def encode(self, X: Any, Y: Any = None) -> Any:
            return super().encode(np.concatenate([x[None] for x in X]), Y)

    model = StructuredSVM(Joining(3), random_state=0).fit(X, Y)
    assert model.predict([]) == model.predict(X[:0]) == model.predict(()) == []


class Unfinished(Structure):
    decode, parts, augment = (getattr(Multiclass, name) for name in ("decode", "parts", "augment"))

    def encode(self, X: Any, Y: Any = None) -> Any:
        return Multiclass(3).encode(X, Y)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (object(), "object is no structure: it lacks joint_features, loss, argmax"),
        (None, "NoneType is no structure"),
        (Unfinished(), "Unfinished lacks the compiled function 'loss'"),
        (PlainStructure(), r"PlainStructure must define joint_features\(x, y\)"),
        (Structure(), r"Structure must define encode\(X, Y=None\)"),
    ],
)
def test_what_is_no_structure_is_refused(structure: Any, message: str) -> None:
    with pytest.raises(StructureError, match=message):
        StructuredSVM(structure).fit(X, Y)


def test_data_that_do_not_fit_together() -> None:
    with pytest.raises(DataError, match="X has 15 examples and y has 3"):
        StructuredSVM(Classes()).fit(X, Y[:3])
    with pytest.raises(DataError, match="X is empty"):
        StructuredSVM(Classes()).fit([], [])
    for structure in (Classes(), Multiclass(3)):
        with pytest.raises(DataError, match=r"sample_weight\[2\] is -1.0"):
            StructuredSVM(structure).fit(X, Y, [1, 1, -1] + [1] * 12)
        with pytest.raises(DataError, match="sample_weight is zero for every example"):
            StructuredSVM(structure).fit(X, Y, np.zeros(15))


@pytest.mark.parametrize("method", ["joint_features", "loss", "argmax"])
def test_errors_in_the_users_code_come_through(method: str) -> None:
    structure = Classes()

    def broken(*args: Any) -> Any:
        raise ZeroDivisionError("in the user's own code")

    setattr(structure, method, broken)
    model = StructuredSVM(structure)
    with pytest.raises(ZeroDivisionError, match="in the user's own code"):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_weights_are_read_only_for_the_users_code() -> None:
    class Writing(Classes):
        def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
            w[0] = 1.0
            return 0

    with pytest.raises(ValueError, match="read-only"):
        StructuredSVM(Writing()).fit(X, Y)
    model = StructuredSVM(Classes(), random_state=0).fit(X, Y)
    model.structure = Writing()
    with pytest.raises(ValueError, match="read-only"):
        model.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_threads_make_no_difference(n_jobs: int) -> None:
    one, several = (StructuredSVM(Multiclass(3), n_jobs=k, random_state=1).fit(X, Y) for k in (None, n_jobs))
    assert one.coef_.tobytes() == several.coef_.tobytes()
    assert several.predict(X) == one.predict(X)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("loss", None, r"Broken: example \d: the loss of the true output is None; it must be a number"),
        ("loss", "0.5", r"Broken: example \d: the loss of the true output is '0.5'; it must be a number"),
        ("loss", [1.0], r"Broken: example \d: the loss of the true output is \[1.0\]; it must be a number"),
        (
            "loss",
            -1.0,
            r"Broken: example \d: the loss of the true output is -1.0; it must be 0 for the truth, and finite, at least 0",
        ),
        (
            "loss",
            1e200,
            r"Broken: example \d: the loss of the true output is 1e\+200; .* finite, at least 0 and at most 1e\+100",
        ),
        ("joint_features", "abc", "Broken, example 0: joint_features must hold real numbers, not 'abc'"),
        ("joint_features", ["1", "2"], "Broken, example 0: joint_features must hold real numbers"),
        ("joint_features", None, "Broken, example 0: joint_features must hold real numbers, not None"),
        ("joint_features", [[1.0], [1.0, 2.0]], "Broken, example 0: joint_features .* rows have different lengths"),
        ("joint_features", 3.0, r"Broken, example 0: joint_features returned shape \(\)"),
        ("joint_features", {0: "a"}, "Broken, example 0: values of joint_features must hold real numbers"),
        ("joint_features", {0: None}, "Broken, example 0: values of joint_features must hold real numbers"),
        ("joint_features", {"a": 1.0}, "Broken, example 0: feature index that is no integer"),
    ],
)
@pytest.mark.parametrize("solver", ["auto", "one_slack"])
def test_answers_of_the_wrong_kind_name_structure_and_example(
    method: str, answer: Any, message: str, solver: str
) -> None:
    class Broken(Mappings):
        pass

    setattr(Broken, method, lambda self, *args: answer)
    with pytest.raises((DataError, StructureError), match=message):
        StructuredSVM(Broken(), solver=solver, random_state=0).fit(X[:3] + 0.1, [0, 1, 0])


def test_losses_may_be_any_kind_of_number() -> None:
    class Losses(Classes):
        def __init__(self, kind: Any) -> None:
            self.kind = kind

        def loss(self, y_true: int, y: int) -> Any:
            return self.kind(y != y_true)

    expected = StructuredSVM(Classes(), random_state=0).fit(X, Y)
    for kind in (int, bool, np.bool_, np.float32, np.array):
        model = StructuredSVM(Losses(kind), random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.score(X, Y) == expected.score(X, Y)
    expected.structure = Losses(lambda wrong: None)
    with pytest.raises(StructureError, match="Losses: loss of example 0 is None"):
        expected.score(X, Y)


@pytest.mark.parametrize("structure", [Classes, Multiclass])
def test_a_class_is_no_structure(structure: Any) -> None:
    name = structure.__name__
    with pytest.raises(StructureError, match=rf"{name} is a class; give an instance of it, such as {name}\(\)"):
        StructuredSVM(structure).fit(X, Y)
    with pytest.raises(StructureError, match=f"{name} is a class; give an instance"):
        check_structure(structure, X, Y)
    model = StructuredSVM(Classes(), random_state=0).fit(X, Y)
    model.structure = structure
    with pytest.raises(StructureError, match=f"{name} is a class; give an instance"):
        model.predict(X)


@pytest.mark.parametrize("nothing", [None, 3, "abc", iter([1]), np.float64(1.0)])
def test_what_is_no_list_of_examples(nothing: Any) -> None:
    kind = type(nothing).__name__
    with pytest.raises(DataError, match=f"y must be a list with an entry for each of the examples, not a {kind}"):
        StructuredSVM(Classes()).fit(X, nothing)
    with pytest.raises(DataError, match=f"X must be a list with an entry for each of the examples, not a {kind}"):
        StructuredSVM(Classes()).fit(nothing, Y)


class Blind(Classes):
    """Takes the second best output without the loss."""

    exact = False

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        return int((x @ w.reshape(-1, 3)).argsort()[1]) if y_true is None else super().argmax(x, w, y_true)


def test_a_warning_of_a_fit_without_bounds_names_no_gap() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        model = StructuredSVM(Blind(), solver="subgradient", max_passes=5, random_state=0).fit(X, Y)
    assert "no lower bound" in str(model.certificate_)
    assert str(caught[0].message).endswith("by pass limit after 5 passes. Raise max_passes, raise tol, or lower C.")


def test_a_fit_without_bounds_claims_none_anywhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    duals = []
    model = StructuredSVM(
        Blind(), verbose=2, random_state=0, max_passes=20, callback=lambda record, w: duals.append(record.dual)
    )
    model.fit(X, Y)
    assert set(duals) == {-math.inf} == {record.dual for record in model.history_}
    assert math.isfinite(model.certificate_.primal)
    assert model.certificate_.relative_gap == math.inf
    lines = capsys.readouterr().err.splitlines()
    rows = [line.replace("~", " ").split() for line in lines if line[:5].strip().isdigit()]
    assert rows
    assert all(row[2:4] == ["-", "-"] for row in rows)
    assert "the certificate says" not in "".join(lines)

    found = compare_solvers(StructuredSVM(Blind(), random_state=0, max_passes=20), X, Y, ["frank_wolfe", "n_slack"])
    table = str(found).splitlines()
    assert [line.split()[5:7] for line in table[1:3]] == [["-", "-"]] * 2
    assert table[3] == "no lower bound, and primal at least so much: the argmax is not exact"

    model.set_params(callback=None)
    model.history_ = [replace(record, dual=0.0) for record in model.history_]  # as earlier versions have it
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m", structure=Blind())
    assert {record.dual for record in loaded.history_} == {-math.inf}


def test_pictures_of_a_fit_without_bounds_draw_none() -> None:
    pytest.importorskip("matplotlib")
    from maxmargin.plots import CompareDisplay, GapDisplay, ObjectiveDisplay

    model = StructuredSVM(Blind(), random_state=0, max_passes=20).fit(X, Y)
    model.history_ = [replace(record, dual=0.5 * record.primal) for record in model.history_]  # as older files have it
    with pytest.raises(DataError, match="no gap to draw: its certificate has no lower bound, for the argmax is not"):
        GapDisplay.from_estimator(model)
    assert ObjectiveDisplay.from_estimator(model).ax_.get_title() == "StructuredSVM: no lower bound of the optimum"
    run = SolverRun("as found", certificate=model.certificate_, history=model.history_)
    for above in CompareDisplay(Comparison([run])).plot().axes_[0]:
        assert not any(len(line.get_xdata()) for line in above.get_lines())
