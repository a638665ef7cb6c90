"""Faults of one's own structure, met in a fit: one clear line with the example, whichever solver is at work."""

from __future__ import annotations

import decimal
import fractions
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import StructuredSVM, check_structure
from maxmargin._compiled import jit_disabled
from maxmargin.errors import DataError, StructureError
from maxmargin.solvers.buffers import Astray
from maxmargin.solvers.compiled_oracle import decode_all
from maxmargin.solvers.oracle import make_oracle
from maxmargin.structures import compiled
from maxmargin.structures.base import FUNCTIONS
from maxmargin.structures.multiclass import Multiclass

SOLVERS = (
    "frank_wolfe", "n_slack", "one_slack", "averaged_perceptron", "perceptron", "bundle", "gradient_descent",
    "subgradient", "pegasos",
)  # fmt: skip
RNG = np.random.default_rng(0)
X = RNG.integers(-3, 4, (12, 3)).astype(float)
Y = (np.arange(12) % 3).tolist()
each_solver = pytest.mark.parametrize("solver", SOLVERS)


class Classes:
    """Multiclass in plain Python."""

    def joint_features(self, x: Any, y: int) -> Any:
        return np.outer(x, np.eye(3)[y]).ravel()

    def loss(self, y_true: int, y: int) -> Any:
        return float(y != y_true)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> Any:
        scores = x @ w.reshape(-1, 3)
        return int((scores if y_true is None else scores + (np.arange(3) != y_true)).argmax())


def right(x: Any, y: int) -> Any:
    return Classes().joint_features(x, y)


def own(**methods: Any) -> Any:
    """A structure called Own that differs from the right one in some methods."""
    return type("Own", (Classes,), methods)()


def fitted(structure: Any, solver: str, Y: Any = Y) -> StructuredSVM:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StructuredSVM(structure, C=1.0, solver=solver, random_state=0).fit(X, Y)


def message_of(structure: Any, solver: str, kind: type[Exception] | tuple[type[Exception], ...]) -> str:
    with pytest.raises(kind) as caught:
        fitted(structure, solver)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("Own")
    assert "check_structure" in message
    return message


# --- losses


@each_solver
@pytest.mark.parametrize("loss", [0.5, -0.5, np.nan, np.inf, 1e-16, None, "0", 1j])
def test_a_loss_of_the_truth_that_is_not_0(loss: Any, solver: str) -> None:
    structure = own(loss=lambda self, y_true, y: loss if y_true == y == 1 else float(y != y_true))
    message = message_of(structure, solver, StructureError)
    assert message.startswith(f"Own: example 1: the loss of the true output is {loss!r}; it must be ")
    with pytest.raises(StructureError, match="^Own: example 1: the loss of "):
        check_structure(structure, X, Y)


@each_solver
@pytest.mark.parametrize("loss", [-1.0, np.nan, np.inf, 1e101, None, np.ones(2)])
def test_a_loss_that_is_none(loss: Any, solver: str) -> None:
    structure = own(loss=lambda self, y_true, y: 0.0 if y == y_true else loss)
    message = message_of(structure, solver, StructureError)
    assert message.startswith("Own: loss of example ")
    assert repr(loss) in message


@compiled
def _loss_of_truth(pack, i, out):
    if i == 7:
        return 0.25
    return 1.0 if out[0] != pack.target[i] else 0.0


@compiled
def _negative_loss(pack, i, out):
    return -1.0 if out[0] != pack.target[i] else 0.0


@compiled
def _undefined_loss(pack, i, out):
    return np.nan if out[0] != pack.target[i] else 0.0


class OwnLossOfTruth(Multiclass):
    loss = staticmethod(_loss_of_truth)


class OwnNegative(Multiclass):
    loss = staticmethod(_negative_loss)


class OwnUndefined(Multiclass):
    loss = staticmethod(_undefined_loss)


@each_solver
def test_compiled_losses_that_are_none(solver: str) -> None:
    message = message_of(OwnLossOfTruth(3), solver, StructureError)
    assert message.startswith("OwnLossOfTruth: example 7: the loss of the true output is 0.25; it must be 0")
    message = message_of(OwnNegative(3), solver, StructureError)
    assert message.startswith("OwnNegative: loss of example ")
    assert " is -1.0; " in message
    assert " is nan; " in message_of(OwnUndefined(3), solver, StructureError)


class OwnEncoding(Multiclass):
    """Forgets the true outputs, or the room that they need."""

    def __init__(self, forgotten: str) -> None:
        super().__init__(3)
        self.forgotten = forgotten

    def encode(self, X: Any, Y: Any = None) -> Any:
        encoded = super().encode(X, None if self.forgotten == "target" else Y)
        if self.forgotten == "room":
            encoded.pack = encoded.pack._replace(target_start=2 * encoded.pack.target_start)
            encoded.pack = encoded.pack._replace(target=np.repeat(encoded.pack.target, 2))
        if self.forgotten == "end":
            encoded.pack = encoded.pack._replace(target=encoded.pack.target[:5])
        return encoded


@pytest.mark.parametrize(
    ("forgotten", "expected"),
    [
        ("target", "OwnEncoding: encode gave true outputs for 0 of 12 examples"),
        ("room", "OwnEncoding: example 0: the true output has 2 entries, but encode gives n_output = 1"),
        ("end", "OwnEncoding: target_start must rise from 0 to the length of target"),
    ],
)
def test_true_outputs_that_compiled_code_would_read_astray(forgotten: str, expected: str) -> None:
    with pytest.raises(StructureError, match=expected):
        make_oracle(OwnEncoding(forgotten), X, Y)


# --- features


def wrong_on_2(bad: Callable[[Any], Any]) -> Any:
    """The features of output 2 are bad; among equal outputs the decoder takes the last, so that all solvers meet it."""

    def argmax(self: Any, x: Any, w: Any, y_true: Any = None) -> int:
        scores = x @ w.reshape(-1, 3) + (0.0 if y_true is None else np.arange(3) != y_true)
        return 2 - int(scores[::-1].argmax())

    return own(joint_features=lambda self, x, y: bad(right(x, y)) if y == 2 else right(x, y), argmax=argmax)


@each_solver
@pytest.mark.parametrize("where", ["truth", "other"])
@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (lambda v: v * np.nan, "joint_features returned NaN or infinity"),
        (lambda v: v + np.inf, "joint_features returned NaN or infinity"),
        (lambda v: v[:-1], "joint_features has length 8 on example "),
        (lambda v: np.append(v, 0.0), "joint_features has length 10 on example "),
        (lambda v: v[:0], "joint_features has length 0 on example "),
        (lambda v: None, "joint_features must hold real numbers, not None"),
        (lambda v: v[None], r"joint_features returned shape (1, 9); it must be one vector"),
        (lambda v: v.astype(str), "joint_features must hold real numbers"),
        (lambda v: v + 1j, "joint_features must hold real numbers"),
        (lambda v: 1e200 * (v + 1), "too large to compute with"),
    ],
)
def test_features_that_are_none(bad: Any, expected: str, where: str, solver: str) -> None:
    truths = Y if where == "truth" else [y % 2 for y in Y]
    with pytest.raises((DataError, StructureError)) as caught:
        fitted(wrong_on_2(bad), solver, truths)
    message = str(caught.value)
    assert expected in message
    assert message.startswith("Own")
    assert "example " in message
    assert "check_structure" in message
    assert "\n" not in message


@each_solver
def test_compiled_features_that_are_none(solver: str) -> None:
    for value in (np.nan, np.inf):
        bad = X.copy()
        bad[4, 1] = value
        with pytest.raises(DataError, match=rf"example 4: a feature of group 0 is {value} \(row 4 of the group\)"):
            StructuredSVM(Multiclass(3), solver=solver).fit(bad, np.array(Y))
        with pytest.raises(DataError, match=rf"example 4: a feature of group 0 is {value} \(row 4 of the group\)"):
            StructuredSVM(Multiclass(3), solver=solver).fit(sp.csr_matrix(bad), np.array(Y))


def converted(convert: Callable[[Any], Any]) -> Any:
    """A structure whose decoder works with the very features that it returns."""

    def argmax(self: Any, x: Any, w: Any, y_true: Any = None) -> int:
        wrong = np.zeros(3) if y_true is None else np.arange(3) != y_true
        vectors = [convert(right(x, y)) for y in range(3)]
        if hasattr(vectors[0], "tocsr"):
            vectors = [np.asarray(v.todense()).ravel() if v.ndim == 2 else v.toarray() for v in vectors]
        elif isinstance(vectors[0], dict):
            vectors = [[v.get(k, 0.0) for k in range(9)] for v in vectors]
        return int(np.argmax([w @ np.array(v, dtype=float) + d for v, d in zip(vectors, wrong, strict=True)]))

    return own(joint_features=lambda self, x, y: convert(right(x, y)), argmax=argmax, n_features=9)


@pytest.mark.parametrize("solver", ["frank_wolfe", "one_slack"])
@pytest.mark.parametrize(
    "convert",
    [
        *(lambda v, kind=kind: v.astype(kind) for kind in ("i1", "i8", "f2", "f4", "f8", "g", ">f8", ">i4", "O")),
        lambda v: v.tolist(),
        lambda v: [int(a) for a in v],
        lambda v: [decimal.Decimal(a) for a in v],
        lambda v: [fractions.Fraction(a) for a in v],
        lambda v: np.repeat(v, 2)[::2],
        lambda v: {k: a for k, a in enumerate(v) if a},
        lambda v: {np.int32(k): np.float32(a) for k, a in enumerate(v)},
        *(lambda v, form=form: getattr(sp, form)(v[None]) for form in (
            "csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix", "dia_matrix", "csr_array", "dok_array",
        )),
        lambda v: sp.coo_array(v),
        lambda v: sp.csr_matrix(v[None].astype(int)),
        lambda v: sp.coo_matrix((np.r_[v, v] / 2, (np.zeros(18, int), np.r_[:9, :9])), shape=(1, 9)),
    ],
)  # fmt: skip
def test_features_of_every_kind_give_the_model(convert: Any, solver: str) -> None:
    model, expected = fitted(converted(convert), solver), fitted(Classes(), solver)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.certificate_.primal == expected.certificate_.primal
    assert check_structure(converted(convert), X[:3], Y[:3]).ok


@pytest.mark.parametrize("solver", ["frank_wolfe", "one_slack"])
@pytest.mark.parametrize(
    "convert", [lambda v: v != 0, lambda v: np.abs(v).astype(np.uint8), lambda v: sp.csr_matrix(v != 0)]
)
def test_truth_values_and_unsigned_numbers_are_numbers(convert: Any, solver: str) -> None:
    def real(v: Any) -> Any:
        found = convert(v)
        return np.asarray(found.todense() if sp.issparse(found) else found, float).ravel()

    np.testing.assert_array_equal(fitted(converted(convert), solver).coef_, fitted(converted(real), solver).coef_)


@each_solver
@pytest.mark.parametrize(
    ("convert", "expected"),
    [
        (lambda v: [str(a) for a in v], "joint_features must hold real numbers, not ['"),
        (lambda v: v.astype("m8[s]"), "joint_features must hold real numbers, not array("),
        (lambda v: {True: 1.0, False: 2.0}, "feature index that is no integer in [True, False]"),
        (lambda v: {0.0: 1.0}, "feature index that is no integer in [0.0]"),
        (lambda v: {10**30: 1.0}, "feature index that is no integer in [1000"),
        (lambda v: {k: str(a) for k, a in enumerate(v)}, "values of joint_features must hold real numbers"),
        (lambda v: sp.csr_matrix(v[:, None]), "joint_features returned a matrix of shape (9, 1); it must be one row"),
        (lambda v: sp.csr_matrix(v[None] + 1j), "joint_features must hold real numbers"),
        (lambda v: iter(v.tolist()), "joint_features must hold real numbers, not <list_iterator"),
        (lambda v: set(v.tolist()), "joint_features must hold real numbers, not {"),
    ],
)
def test_features_of_other_kinds_are_refused(convert: Any, expected: str, solver: str) -> None:
    structure = own(joint_features=lambda self, x, y: convert(right(x, y)), n_features=9)
    message = message_of(structure, solver, DataError)
    assert message.startswith("Own, example 0: ")
    assert expected in message


def test_damaged_sparse_features_are_refused_before_anything_follows_their_indices() -> None:
    def joint_features(self: Any, x: Any, y: int) -> Any:
        row = sp.csr_matrix(right(x, y))
        row.indices[-1:] = 1_000_000
        return row

    with pytest.raises(DataError, match=r"Own, example 0: joint_features is a damaged sparse matrix: row 0 .* 1000000"):
        fitted(own(joint_features=joint_features), "frank_wolfe")


@pytest.mark.parametrize("solver", ["frank_wolfe", "one_slack"])
def test_a_decoder_misled_by_the_type_of_its_features_hears_of_it(solver: str) -> None:
    """Differences of unsigned numbers wrap: the decoder's own scores are wrong, the features are not."""

    def joint_features(self: Any, x: Any, y: int) -> Any:
        return np.abs(right(x, y)).astype(np.uint8)

    def argmax(self: Any, x: Any, w: Any, y_true: Any = None) -> int:
        vectors = [self.joint_features(x, y) for y in range(3)]
        wrong = np.zeros(3) if y_true is None else np.arange(3) != y_true
        return int(np.argmax([w @ (v - vectors[2]) + d for v, d in zip(vectors, wrong, strict=True)]))

    message = message_of(own(joint_features=joint_features, argmax=argmax), solver, StructureError)
    assert "is not the maximum" in message
    assert "(joint_features returns uint8, in which differences wrap or sums round: take float64)" in message


# --- outputs


@each_solver
def test_an_argmax_that_returns_nothing(solver: str) -> None:
    for structure in (
        own(argmax=lambda self, x, w, y_true=None: None),
        own(argmax=lambda self, x, w, y_true=None: Classes.argmax(self, x, w) if y_true is None else None),
        own(argmax=lambda self, x, w, y_true=None: None if w.any() else Classes.argmax(self, x, w, y_true)),
    ):
        message = message_of(structure, solver, StructureError)
        assert message.startswith("Own: argmax returned None for example ")
    with pytest.raises(StructureError, match=r"Own: example 0: argmax returned None; it must return an output"):
        check_structure(own(argmax=lambda self, x, w, y_true=None: None), X, Y)


def test_predictions_that_are_nothing() -> None:
    model = fitted(Classes(), "frank_wolfe")
    model.structure = own(argmax=lambda self, x, w, y_true=None: None if x[0] == X[2, 0] else 0)
    first = int(np.flatnonzero(X[:, 0] == X[2, 0])[0])
    with pytest.raises(StructureError, match=f"Own: argmax returned None for example {first}; it must return"):
        model.predict(X)


def test_a_truth_that_is_none() -> None:
    with pytest.raises(DataError, match=r"Own: y\[3\] is None, which tells argmax that there is no true output"):
        fitted(own(), "auto", [0, 1, 2, None, *Y[4:]])


@each_solver
@pytest.mark.parametrize(
    ("output", "kind"), [("a", IndexError), (7, IndexError), ([0, 1], ValueError), ({}, IndexError)]
)
def test_an_argmax_that_returns_something_else(output: Any, kind: type[Exception], solver: str) -> None:
    """Whatever the other methods make of it: the note names the example and the output."""
    structure = own(argmax=lambda self, x, w, y_true=None: output)
    with pytest.raises((kind, StructureError)) as caught:
        fitted(structure, solver)
    said = " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "example " in said
    assert "run check_structure" in said
    if not isinstance(caught.value, StructureError):
        assert f"on the output {output!r} that argmax returned" in said


@each_solver
def test_two_decoders_that_contradict_each_other(solver: str) -> None:
    """The plain argmax finds the worst: its loss is above the slack, which is no fault of arithmetic."""
    structure = own(
        argmax=lambda self, x, w, y_true=None: (
            Classes.argmax(self, x, w, y_true) if y_true is not None else int((x @ w.reshape(-1, 3)).argmin())
        )
    )
    message = message_of(structure, solver, StructureError)
    assert " example " in message
    assert "is not the maximum" in message


@compiled
def _worst_unless_augmented(pack, i, theta, out):
    n, flat = pack.ints[0], True
    best = 0
    for label in range(1, n):
        flat = flat and theta[label] == theta[0]
        if theta[label] < theta[best]:
            best = label
    out[0] = best
    return theta[best]


class OwnDecoder(Multiclass):
    decode = staticmethod(_worst_unless_augmented)


@each_solver
def test_a_compiled_decoder_that_finds_no_maximum(solver: str) -> None:
    message = message_of(OwnDecoder(3), solver, StructureError)
    assert "is not the maximum" in message or "lower bound" in message


# --- errors of compiled functions


def _compiled_structure(**functions: Any) -> Any:
    return type("Own", (Multiclass,), {name: staticmethod(function) for name, function in functions.items()})(3)


_RIGHT = Multiclass(3)
_potentials, _features, _augment, _decode = _RIGHT.potentials, _RIGHT.features, _RIGHT.augment, _RIGHT.decode


@compiled
def _loss_that_raises(pack, i, out):
    if i == 7 and out[0] != pack.target[i]:
        raise ValueError("in the middle")
    return 1.0 if out[0] != pack.target[i] else 0.0


@compiled
def _loss_of_truth_that_raises(pack, i, out):
    if i == 7:
        raise ValueError("in the middle")
    return 1.0 if out[0] != pack.target[i] else 0.0


@compiled
def _loss_divided_by_zero(pack, i, out):
    return 1.0 / (i - 7) ** 2 if out[0] != pack.target[i] else 0.0


@compiled
def _decode_that_raises(pack, i, theta, out):
    if i == 7 and theta[pack.target[i]] < theta[(pack.target[i] + 1) % 3]:
        raise ValueError("in the middle")
    return _decode(pack, i, theta, out)


@compiled
def _augment_that_raises(pack, i, theta):
    if i == 7:
        raise ValueError("in the middle")
    return _augment(pack, i, theta)


@compiled
def _augment_to_nan(pack, i, theta):
    return _augment(pack, i, theta) + (np.nan if i == 7 else 0.0)


@compiled
def _potentials_to_nan(pack, w, i, theta):
    _potentials(pack, w, i, theta)
    if i == 7:
        theta[1] = np.nan


@compiled
def _features_to_nan(pack, i, parts, coef, m, keys, values):
    n = _features(pack, i, parts, coef, m, keys, values)
    if i == 7 and n > 0:
        values[0] = np.nan
    return n


# the steps of these are one call of a kernel, which begins before anything else has looked at the examples
_LOOKED_AT_FIRST = tuple(solver for solver in SOLVERS if "perceptron" not in solver and solver != "subgradient")


@pytest.mark.parametrize("solver", [*_LOOKED_AT_FIRST, "subgradient"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("loss", _loss_that_raises),
        ("loss", _loss_of_truth_that_raises),
        ("decode", _decode_that_raises),
        ("augment", _augment_that_raises),
    ],
)
def test_an_error_of_a_compiled_function_names_it_and_the_example(name: str, function: Any, solver: str) -> None:
    with pytest.raises(ValueError, match="^in the middle") as caught:
        fitted(_compiled_structure(**{name: function}), solver)
    (note,) = caught.value.__notes__
    assert note == f"Own.{name}: this happened at example 7 (the first is 0); run check_structure to find out why"


def test_a_prediction_names_them_too() -> None:
    model = fitted(Multiclass(3), "auto", np.array(Y))
    model.structure = _compiled_structure(decode=_decode_that_raises)
    model.coef_ = -np.abs(model.coef_)
    encoded = model.structure.encode(X, np.array(Y))
    assert len(encoded.pack.target)
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="^in the middle") as caught:
            decode_all(
                model.structure, encoded, RNG.normal(size=encoded.n_weights), np.arange(encoded.n_examples + 1),
                n_jobs=n_jobs,
            )  # fmt: skip
        assert caught.value.__notes__[0].startswith("Own.decode: this happened at example 7 (the first is 0)")


@pytest.mark.parametrize("solver", _LOOKED_AT_FIRST)
def test_a_compiled_loss_that_divides_by_zero(solver: str) -> None:
    with pytest.raises(StructureError, match=r"^Own: loss of example 7 is inf; it must be 0 for the truth"):
        fitted(_compiled_structure(loss=_loss_divided_by_zero), solver)


@each_solver
@pytest.mark.parametrize(("name", "function"), [("augment", _augment_to_nan), ("potentials", _potentials_to_nan)])
def test_a_compiled_function_that_gives_nan_is_named(name: str, function: Any, solver: str) -> None:
    with pytest.raises((DataError, StructureError), match=rf"^Own: .*{name} has returned NaN at example 7 "):
        fitted(_compiled_structure(**{name: function}), solver)


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "perceptron", "subgradient", "pegasos"])
def test_features_that_are_nan_are_named(solver: str) -> None:
    with pytest.raises((DataError, StructureError), match=r"^Own: .*features has returned NaN at example 7 "):
        fitted(_compiled_structure(features=_features_to_nan), solver)


# --- compiled functions that would write, or make the solvers write, into foreign memory


@compiled
def _features_elsewhere(pack, i, parts, coef, m, keys, values):
    n = _features(pack, i, parts, coef, m, keys, values)
    if i == 7 and n > 0:
        keys[0] = 205
    return n


@compiled
def _features_before(pack, i, parts, coef, m, keys, values):
    n = _features(pack, i, parts, coef, m, keys, values)
    if i == 7 and n > 0:
        keys[n - 1] = -1
    return n


@compiled
def _features_too_many(pack, i, parts, coef, m, keys, values):
    n = _features(pack, i, parts, coef, m, keys, values)
    return len(keys) + 1 if i == 7 and n > 0 else n


@compiled
def _features_insatiable(pack, i, parts, coef, m, keys, values):
    return -5000 if i == 7 else _features(pack, i, parts, coef, m, keys, values)


@compiled
def _features_to_infinity(pack, i, parts, coef, m, keys, values):
    n = _features(pack, i, parts, coef, m, keys, values)
    if i == 7 and n > 0:
        values[0] = np.inf
    return n


@compiled
def _parts_elsewhere(pack, i, out, parts):
    parts[0] = 2_000_000_000 if i == 7 else out[0]
    return 1


@compiled
def _parts_too_many(pack, i, out, parts):
    parts[0] = out[0]
    return 1000 if i == 7 else 1


@compiled
def _parts_beyond(pack, i, out, parts):
    parts[0] = out[0]
    if i == 7:
        parts[len(parts) + 4] = 0
    return 1


@compiled
def _decode_beyond(pack, i, theta, out):
    if i == 7:
        out[len(out) + 2] = 1
    return _decode(pack, i, theta, out)


@compiled
def _decode_before(pack, i, theta, out):
    if i == 7:
        out[-5] = 1
    return _decode(pack, i, theta, out)


@compiled
def _decode_no_label(pack, i, theta, out):
    score = _decode(pack, i, theta, out)
    if i == 7:
        out[0] = -1
    return score


@compiled
def _decode_to_nan(pack, i, theta, out):
    score = _decode(pack, i, theta, out)
    return np.nan if i == 7 else score


@compiled
def _augment_beyond(pack, i, theta):
    if i == 7:
        theta[len(theta)] = 1.0
    return _augment(pack, i, theta)


@compiled
def _augment_divided_by_zero(pack, i, theta):
    if i == 7:
        theta[(pack.target[i] + 1) % 3] += (i - 7.0) / (i - 7)  # of an output that no decoder then takes
    return _augment(pack, i, theta)


@compiled
def _augment_to_infinity(pack, i, theta):
    if i == 7:
        theta[(pack.target[i] + 1) % 3] += 1.0 / (i - 7)
    return _augment(pack, i, theta)


@compiled
def _augment_to_minus_infinity(pack, i, theta):
    return -np.inf if i == 7 else _augment(pack, i, theta)


@compiled
def _potentials_of_two(pack, w, i, theta):
    last = theta[2]
    _potentials(pack, w, i, theta)
    if i == 7:
        theta[2] = last


@compiled
def _parts_of_others(pack, i, out, parts):
    parts[0] = 2 if i == 7 else out[0]
    return 1


@compiled
def _potentials_beyond(pack, w, i, theta):
    _potentials(pack, w, i, theta)
    if i == 7:
        theta[len(theta)] = 1.0


@compiled
def _loss_beyond(pack, i, out):
    if i == 7:
        out[len(out) + 2] = 1
    return 1.0 if out[0] != pack.target[i] else 0.0


_ASTRAY = (
    ("features", _features_elsewhere, "features of example 7: feature index 205 is outside 0..8 ("),
    ("features", _features_before, "features of example 7: feature index -1 is outside 0..8 ("),
    ("features", _features_too_many, "example 7: features returned 4 with buffers of 3; "),
    ("features", _features_insatiable, "example 7: features returned -5000 with buffers of 5000; "),
    ("features", _features_to_infinity, "features has returned infinity at example 7 ("),
    ("parts", _parts_elsewhere, "parts of example 7: potential 2000000000 is outside 0..2, of the output [1] ("),
    ("parts", _parts_too_many, "example 7: parts returned 1000 with n_parts = 1; "),
    ("parts", _parts_beyond, "example 7: parts writes entry 5 of parts, which has 1; "),
    ("decode", _decode_beyond, "example 7: decode writes entry 3 of out, which has 1; "),
    ("decode", _decode_before, "example 7: decode writes entry -4 of out, which has 1; "),
    ("decode", _decode_no_label, "parts of example 7: potential -1 is outside 0..2, of the output [-1] ("),
    ("decode", _decode_to_nan, "decode has returned NaN at example 7 ("),
    ("augment", _augment_beyond, "example 7: augment writes entry 3 of theta, which has 3; "),
    ("augment", _augment_divided_by_zero, "augment has returned NaN at example 7 ("),
    ("augment", _augment_to_infinity, "augment has returned infinity at example 7 ("),
    ("augment", _augment_to_minus_infinity, "augment has returned infinity at example 7 ("),
    ("potentials", _potentials_beyond, "example 7: potentials writes entry 3 of theta, which has 3; "),
    ("loss", _loss_beyond, "example 7: loss writes entry 3 of out, which has 1; "),
)


@each_solver
@pytest.mark.parametrize(("name", "function", "expected"), _ASTRAY)
def test_a_compiled_function_that_goes_astray_is_named(name: str, function: Any, expected: str, solver: str) -> None:
    message = message_of(_compiled_structure(**{name: function}), solver, StructureError)
    assert message.startswith(f"Own: {expected}")


@each_solver
def test_a_part_that_only_other_examples_have(solver: str) -> None:
    """In a buffer as long as the largest example needs it is an entry that nobody wrote."""
    structure = _compiled_structure(potentials=_potentials_of_two, parts=_parts_of_others)
    message = message_of(structure, solver, StructureError)
    assert message.startswith("Own: parts of example 7: potential 2 is none of the example's, of the output [1]; ")


@pytest.mark.parametrize(
    ("name", "function", "expected"),
    [case for case in _ASTRAY if case[1] in (_decode_beyond, _decode_before, _decode_to_nan, _potentials_beyond)],
)
def test_a_prediction_names_it_too(name: str, function: Any, expected: str) -> None:
    model = fitted(Multiclass(3), "auto", np.array(Y))
    model.structure = _compiled_structure(**{name: function})
    with pytest.raises(StructureError) as caught:
        model.predict(X)
    assert str(caught.value).startswith(f"Own: {expected}")


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack"])
def test_cached_planes_whose_potentials_are_nan(solver: str) -> None:
    message = message_of(_compiled_structure(potentials_at=_potentials_at_to_nan), solver, StructureError)
    assert message.startswith("Own: potentials_at has returned NaN at example 7 (")


@compiled
def _potentials_at_to_nan(pack, w, i, parts, m, theta):
    for q in range(m):
        theta[parts[q]] = np.nan if i == 7 else w[3 * (parts[q] // 3) + parts[q] % 3]


def test_a_function_that_goes_astray_once_hears_that_it_must_keep_nothing() -> None:
    oracle, _ = make_oracle(Multiclass(3), X, np.array(Y))
    expected = pytest.raises(StructureError, match="but not when called again; it must keep nothing from call to call")
    with expected, oracle.telling(np.zeros(oracle.n_weights), np.arange(12)):
        raise Astray


class OwnForm(Multiclass):
    def __init__(self, change: Any) -> None:
        super().__init__(3)
        self.change = change

    def encode(self, X: Any, Y: Any = None) -> Any:
        return self.change(super().encode(X, Y))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda e: None, "encode returned an object of type NoneType; it must return an Encoded"),
        (lambda e: e.pack, "encode returned an object of type Pack; it must return an Encoded"),
        (lambda e: replace(e, n_output=None), "encode gives n_output = None; it must be an integer"),
        (lambda e: replace(e, n_weights=-1), "encode gives n_weights = -1; it must be an integer, at least 0"),
        (lambda e: replace(e, n_parts=1.0), r"encode gives n_parts = 1\.0; it must be an integer"),
        (lambda e: replace(e, n_examples=20), "encode gives n_examples = 20, but rows of 12"),
        (
            lambda e: replace(e, pack=e.pack._replace(dense=e.pack.dense.astype(np.float32))),
            "pack.dense is a writable contiguous 1-D array of float32; it must be a read-only contiguous 1-D array of f",
        ),
        (lambda e: replace(e, pack=e.pack._replace(ints=[3])), "pack.ints is a list; it must be a read-only"),
    ],
)  # fmt: skip
def test_an_encoding_that_kernels_cannot_take(change: Any, expected: str) -> None:
    with pytest.raises(StructureError, match=f"^OwnForm: {expected}"):
        fitted(OwnForm(change), "auto")
    model = fitted(Multiclass(3), "auto", np.array(Y))
    model.structure = OwnForm(change)
    with pytest.raises(StructureError, match=f"^OwnForm: {expected}"):
        model.predict(X)


@pytest.mark.parametrize(("size", "expected"), [("n_output", "out"), ("n_parts", "parts"), ("n_potentials", "theta")])
def test_room_that_is_too_small(size: str, expected: str) -> None:
    with pytest.raises(StructureError, match=rf"^OwnForm: example \d+: .* of {expected}, which has|{size} = 0"):
        fitted(OwnForm(lambda e: replace(e, **{size: 0})), "auto")


# --- errors of the user's own


class Trouble(Exception):
    pass


@each_solver
@pytest.mark.parametrize("method", ["argmax", "loss", "joint_features"])
def test_the_users_errors_say_where_they_happened(method: str, solver: str) -> None:
    calls = [0]

    def broken(self: Any, *args: Any) -> Any:
        calls[0] += 1
        if calls[0] > 14:  # later than the first look at the truths
            raise Trouble("in the middle")
        return getattr(Classes, method)(self, *args)

    with pytest.raises(Trouble) as caught:
        fitted(own(**{method: broken}), solver)
    assert str(caught.value) == "in the middle"
    assert type(caught.value) is Trouble
    assert [line.name for line in traceback.extract_tb(caught.value.__traceback__)][-1] == "broken"
    (note,) = caught.value.__notes__
    assert note.startswith("Own: this happened at example ")
    assert ("that argmax returned" in note) == (method != "argmax")
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.endswith(f"Trouble: in the middle\n{note}\n")


def test_the_example_of_a_users_error_is_the_right_one() -> None:
    def broken(self: Any, x: Any, w: Any, y_true: Any = None) -> Any:
        return 1 / 0 if np.array_equal(x, X[5]) else Classes.argmax(self, x, w, y_true)

    first = next(i for i, x in enumerate(X) if np.array_equal(x, X[5]))
    for solver in SOLVERS:
        with pytest.raises(ZeroDivisionError) as caught:
            fitted(own(argmax=broken), solver)
        (note,) = caught.value.__notes__
        assert any(f"at example {i} (" in note for i in range(first, 12) if np.array_equal(X[i], X[5]))
    model = fitted(Classes(), "auto")
    model.structure = own(argmax=broken)
    with pytest.raises(ZeroDivisionError) as caught:
        model.predict(X[5:])
    assert "Own: this happened at example 0 (the first is 0)" in caught.value.__notes__[0]
    model.structure = own(loss=lambda self, y_true, y: {}[y])
    with pytest.raises(KeyError) as caught:
        model.score(X, Y)
    assert "at example 0 (the first is 0), on the output" in caught.value.__notes__[0]


def test_an_error_object_raised_again_gets_its_note_once() -> None:
    same = Trouble("kept")

    def broken(self: Any, *args: Any) -> Any:
        raise same

    for _ in range(3):
        with pytest.raises(Trouble):
            fitted(own(loss=broken), "auto")
    assert len(same.__notes__) == 1


@each_solver
def test_ctrl_c_in_the_users_code_is_no_error_of_an_example(solver: str) -> None:
    def interrupted(self: Any, x: Any, w: Any, y_true: Any = None) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        fitted(own(joint_features=interrupted, argmax=interrupted), solver)
    assert not hasattr(caught.value, "__notes__")


def test_a_function_that_does_not_compile_is_named() -> None:
    class Broken(Multiclass):
        @compiled
        def decode(pack, i, theta, out):
            return not_defined(theta)  # noqa: F821

    for learn in (lambda: StructuredSVM(Broken(3)).fit(X, Y), lambda: check_structure(Broken(3), X, Y)):
        with pytest.raises(StructureError, match="^Broken: decode does not compile to .*'not_defined' is not defined$"):
            learn()


@pytest.mark.skipif(jit_disabled(), reason="NUMBA_DISABLE_JIT is set")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_without_its_decorator_is_named(name: str) -> None:
    """By the check, by a fit and by a prediction, in one line."""
    member = staticmethod(getattr(Multiclass(3), name).py_func)
    plain = type("Plain", (Multiclass,), {name: member})(3)
    model = StructuredSVM(Multiclass(3)).fit(X, Y).set_params(structure=plain)
    for ask in (
        lambda: StructuredSVM(plain).fit(X, Y), lambda: check_structure(plain, X, Y), lambda: model.predict(X)
    ):  # fmt: skip
        with pytest.raises(StructureError, match=f"^Plain: {name} is not compiled: put @compiled before it$"):
            ask()
    with pytest.raises(StructureError, match="^Two: parts, loss are not compiled: put @compiled before each of them$"):
        check_structure(type("Two", (Multiclass,), {"parts": lambda *_: 0, "loss": lambda *_: 0.0})(3), X, Y)
