"""Planted faults: each is found, with the example and the numbers that disagree; good structures pass."""

from __future__ import annotations

import re
import time
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin._compiled import jit_disabled
from maxmargin.errors import DataError, StructureError
from maxmargin.structures import (
    Encoded,
    RowGroup,
    Structure,
    check_structure,
    compiled,
    make_pack,
    n_rows,
    true_output,
)
from maxmargin.structures.attributes import AttributeIndex, encode_tokens
from maxmargin.structures.base import freeze
from maxmargin.structures.features import potentials as library_potentials
from maxmargin.structures.features import potentials_at as library_potentials_at
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.sequence import Sequence

needs_compiler = pytest.mark.skipif(jit_disabled(), reason="NUMBA_DISABLE_JIT is set")

# The structure in which faults are planted: bits for the rows of x, and one weight for every change between neighbours.
rng = np.random.default_rng(5)
X = [rng.normal(size=(n, 2)) for n in (2, 3, 1, 4)]
Y = [rng.integers(0, 2, len(x)) for x in X]
Y[2] = np.array([1])


class Bits:
    """The structure in plain Python."""

    def joint_features(self, x, y):
        return np.append(x.T @ np.eye(2)[y], np.sum(y[1:] != y[:-1]))

    def loss(self, y_true, y):
        return float(np.sum(y != y_true))

    def outputs(self, x):
        return map(np.array, product(range(2), repeat=len(x)))

    def argmax(self, x, w, y_true=None):
        def value(y):
            return w @ self.joint_features(x, y) + (0.0 if y_true is None else self.loss(y_true, y))

        return max(self.outputs(x), key=value)


class MetBits(Bits):
    """Without a list of outputs."""

    outputs = None

    def argmax(self, x, w, y_true=None):
        return Bits().argmax(x, w, y_true)


class FastBits(Structure):
    """The structure with compiled functions, whose decoder tries all outputs."""

    n_output, n_parts = 4, 7

    @compiled
    def decode(pack, i, theta, out):
        n = n_rows(pack, i)
        best, best_code = -np.inf, 0
        for code in range(2**n):
            score = 0.0
            for t in range(n):
                score += theta[2 * t + (code >> t & 1)]
                if t > 0 and (code >> t & 1) != (code >> (t - 1) & 1):
                    score += theta[2 * n]
            if score > best:
                best, best_code = score, code
        for t in range(n):
            out[t] = best_code >> t & 1
        return best

    @compiled
    def parts(pack, i, out, parts):
        n = n_rows(pack, i)
        m = n
        for t in range(n):
            parts[t] = 2 * t + out[t]
            if t > 0 and out[t] != out[t - 1]:
                parts[m] = 2 * n
                m += 1
        return m

    @compiled
    def augment(pack, i, theta):
        for t, bit in enumerate(true_output(pack, i)):
            theta[2 * t + 1 - bit] += 1.0
        return 0.0

    @compiled
    def loss(pack, i, out):
        return np.sum(out[: n_rows(pack, i)] != true_output(pack, i))

    def encode(self, X, Y=None):
        start = np.concatenate([[0], np.cumsum([len(x) for x in X])])
        truth = {} if Y is None else dict(target=np.concatenate(Y), target_start=start)
        pack = make_pack([RowGroup(2, start, dense=np.concatenate(X))], n_shared=1, **truth)
        return Encoded.of(pack, n_output=self.n_output, n_parts=self.n_parts)

    def output(self, encoded, i, out):
        return out[: n_rows(encoded.pack, i)]

    def outputs(self, encoded, i):
        return product(range(2), repeat=int(n_rows(encoded.pack, i)))


def message_of(structure: Any, X: Any = X, Y: Any = Y, **options: Any) -> str:
    with pytest.raises(StructureError) as caught:
        check_structure(structure, X, Y, **options)
    return str(caught.value)


def numbers_in(text: str, pattern: str) -> tuple[float, ...]:
    """The numbers at the groups of a pattern that the message must match."""
    found = re.search(pattern, text)
    assert found, text
    return tuple(map(float, found.groups()))


# --- good structures


@pytest.mark.parametrize(("structure", "against"), [(Bits(), "all outputs"), (MetBits(), "outputs met")])
def test_good_plain_structure_passes(structure: Any, against: str) -> None:
    report = check_structure(structure, X, Y)
    assert report.ok
    assert report.kind == "plain"
    found = {finding.check: finding for finding in report.findings}
    assert f"against {against}" in found["argmax"].note
    # zero and five random weights on four examples
    assert found["argmax"].n_compared == found["loss-augmented argmax"].n_compared == 24
    if isinstance(structure, MetBits):
        assert found["outputs"].result == "not run"
    else:
        assert found["outputs"].n_compared == sum(2 ** len(x) for x in X)
    assert {f.result for f in report.findings} <= {"ok", "not run"}


@pytest.mark.parametrize("options", [{}, {"reference": Bits()}], ids=["alone", "with reference"])
def test_good_compiled_structure_passes(options: dict[str, Any]) -> None:
    report = check_structure(FastBits(), X, Y, **options)
    assert report.ok
    assert report.kind == "compiled"
    found = {finding.check: finding for finding in report.findings}
    assert found["outputs"].n_compared == sum(2 ** len(x) for x in X)
    expected = set() if options else {"reference"}
    expected |= {"compiled = Python"} if jit_disabled() else set()
    assert {f.check for f in report.findings if f.result != "ok"} == expected


def test_library_structures_pass() -> None:
    costs = np.array([[0, 1, 4], [2, 0, 1], [1, 1, 0]])
    points = np.random.default_rng(1).normal(size=(6, 4))
    for structure in (Multiclass(3), Multiclass(3, costs=costs)):
        assert check_structure(structure, points, np.arange(6) % 3, candidates=[range(3)] * 6).ok
    index = AttributeIndex()
    words = [[{"a", f"b{k}"} for k in range(n)] for n in (3, 1, 4, 2)]
    tokens = encode_tokens(words, index, grow=True)
    labels = [np.arange(len(word)) % 3 for word in words]
    ring = np.eye(3, dtype=bool) | np.roll(np.eye(3, dtype=bool), 1, 1)
    for options in ({}, {"costs": costs}, {"normalize": True}, {"allowed_transitions": ring}):
        assert check_structure(Sequence(3, **options), tokens, labels).ok


def test_sparse_and_mapping_features_pass() -> None:
    class Mapped(Bits):
        n_features = 5

        def joint_features(self, x, y):
            return dict(enumerate(super().joint_features(x, y)))

        def argmax(self, x, w, y_true=None):
            return Bits().argmax(x, w, y_true)

    assert check_structure(Mapped(), X, Y).ok


def test_inexact_structures_are_not_asked_for_the_maximum() -> None:
    class Rough(WrongArgmax):
        exact = False

    report = check_structure(Rough(), X, Y)
    assert report.ok
    assert {f.check: f.note for f in report.findings}["argmax"].startswith("exact = False")


# --- faults in plain structures


class WrongArgmax(Bits):
    """Blind to changes between neighbours."""

    def argmax(self, x, w, y_true=None):
        return Bits.argmax(self, x, np.append(w[:4], 0.0), y_true)


class IgnoresTruth(Bits):
    def argmax(self, x, w, y_true=None):
        return Bits.argmax(self, x, w)


def check_maximum(message: str, structure: Any) -> None:
    """The numbers of the message are what its outputs score, whichever example and weights it is about."""
    i, mine, most = numbers_in(
        message, r"example (\d+): the .*argmax is not the maximum.* (\S+), but .* has (\S+); ret"
    )
    assert most > mine
    outputs = re.findall(r"array\(\[([\d, ]*)\]\)", message)
    assert all(len(text.split(",")) == len(X[int(i)]) for text in outputs)
    assert len(outputs) == 2
    assert message.startswith(type(structure).__name__)


@pytest.mark.parametrize("candidates", [None, [list(Bits().outputs(x)) for x in X], Bits().outputs])
def test_argmax_that_is_no_maximum(candidates: Any) -> None:
    message = message_of(WrongArgmax(), candidates=candidates)
    check_maximum(message, WrongArgmax())
    report = check_structure(Bits(), X, Y, candidates=candidates)
    against = "against all outputs" if candidates is None else "against the candidates"
    assert {f.check: f.note for f in report.findings}["argmax"] == against


def test_argmax_is_compared_with_outputs_met() -> None:
    class Wrong(MetBits):
        def argmax(self, x, w, y_true=None):
            return WrongArgmax().argmax(x, w, y_true)

    message = message_of(Wrong())
    check_maximum(message, Wrong())
    assert "under other weights" in message or "the truth" in message


def test_argmax_that_ignores_the_truth() -> None:
    message = message_of(IgnoresTruth())
    assert "the loss-augmented argmax is not the maximum" in message
    assert "with loss + score" in message
    assert message.endswith("(y_true seems to be ignored)")
    check_maximum(message, IgnoresTruth())


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda a, b: np.sum(a != b) + 0.5, r"example 0: the loss of the true output is 0\.5; it must be 0"),
        (
            lambda a, b: -np.sum(a != b),
            r"example 0: the loss of output array\(.*\) is -\d\.0; it must be 0 for the truth",
        ),
        (lambda a, b: np.nan, r"example 0: the loss of output array\(.*\) is nan; it must"),
        (lambda a, b: np.inf * np.any(a != b) if np.any(a != b) else 0.0, r"example 0: .* is inf; it must"),
        (
            lambda a, b: a != b if len(a) > 1 else 0.0,
            r"example 0: the loss of output array.* is array\(.*\); it must be a number",
        ),
        (lambda a, b: a / 0, r"example 0: loss raised"),
    ],
)
def test_losses_that_are_none(loss: Any, expected: str) -> None:
    class Lossy(Bits):
        def argmax(self, x, w, y_true=None):
            return Bits().argmax(x, w, y_true)

    Lossy.loss = lambda self, y_true, y: loss(y_true, y) if expected.count("raised") == 0 else [][0]
    assert re.search("^Lossy: " + expected, message_of(Lossy()))


def test_features_of_changing_length() -> None:
    class Longer(Bits):
        def joint_features(self, x, y):
            return np.append(Bits.joint_features(self, x, y), np.zeros(int(len(x) == 3)))

    assert "example 1: joint_features has length 6 for output" in message_of(Longer())
    assert "but 5 before" in message_of(Longer())


def test_features_that_are_not_finite() -> None:
    class Undefined(Bits):
        def joint_features(self, x, y):
            out = Bits.joint_features(self, x, y)
            out[3] = np.nan if len(x) == 4 else out[3]
            return out

    message = message_of(Undefined())
    assert re.search(r"^Undefined: example 3: output array\(.*\): .*NaN or infinity \(index 3 of 5 is nan\)", message)


@pytest.mark.parametrize("written", ["w", "x", "y_true", "y"])
def test_writing_to_arguments(written: str) -> None:
    class Writer(Bits):
        def argmax(self, x, w, y_true=None):
            if written == "w":
                w += 0.0
            if written == "x":
                x[0] = 1.0
            if written == "y_true" and y_true is not None:
                y_true[0] = 0
            return Bits().argmax(x, w, y_true)

        def loss(self, y_true, y):
            if written == "y":
                y.sort()
            return Bits.loss(self, y_true, y)

    method = "loss" if written == "y" else "argmax"
    assert f"Writer: example 0: {method} writes to its argument {written} (" in message_of(Writer())
    assert "work on a copy" in message_of(Writer())


def test_changing_what_cannot_be_made_read_only() -> None:
    class Diary(Bits):
        """Keeps notes in its input."""

        def joint_features(self, x, y):
            return super().joint_features(x["rows"], y)

        def outputs(self, x):
            return super().outputs(x["rows"])

        def argmax(self, x, w, y_true=None):
            x["notes"].append(len(w))
            return Bits().argmax(x["rows"], w, y_true)

    message = message_of(Diary(), [{"rows": x, "notes": []} for x in X], Y)
    assert message == "Diary: example 0: x was changed by argmax; work on a copy"

    class Forcer(Bits):
        def argmax(self, x, w, y_true=None):
            w.flags.writeable = True
            w[2] += 0.25
            return Bits().argmax(x, w, y_true)

    report = check_structure(Forcer(), X, Y, raise_errors=False)
    note = {f.check: f.note for f in report.faults}["read-only inputs"]
    old, new = numbers_in(note, r"argmax changed w\[2\] from (\S+) to (\S+); work on a copy")
    assert new > old


def test_argmax_outside_of_the_outputs() -> None:
    class Even(Bits):
        """Only outputs with an even number of ones are allowed, which argmax forgets."""

        def outputs(self, x):
            return (y for y in super().outputs(x) if y.sum() % 2 == 0)

        def argmax(self, x, w, y_true=None):
            return Bits().argmax(x, w, y_true)

    truths = [np.zeros(len(x), int) for x in X]
    i, mine, most = numbers_in(
        message_of(Even(), X, truths),
        r"example (\d): argmax.* returned array.* score (\S+), above the best of .* listed, (\S+);",
    )
    assert mine > most
    note = {f.check: f.note for f in check_structure(Even(), X, Y, raise_errors=False).faults}["outputs"]
    i, truth, nearest = numbers_in(
        note, r"^Even: example (\d): the true output scores (\S+); the closest of .* listed has (\S+): list"
    )
    assert truth != nearest
    assert Y[int(i)].sum() % 2 == 1


def test_a_list_that_is_cut_proves_nothing() -> None:
    report = check_structure(Bits(), X, Y, max_outputs=5)
    assert report.ok
    assert "example 3 has more than max_outputs = 5" in {f.check: f.note for f in report.findings}["outputs"]


def test_answers_that_depend_on_other_threads() -> None:
    class Shared(Bits):
        def argmax(self, x, w, y_true=None):
            self.x = x
            time.sleep(1e-4)
            return Bits().argmax(self.x, w, y_true)[: len(x)] if len(self.x) >= len(x) else np.zeros(len(x), int)

    alone, together = numbers_in(
        message_of(Shared()), r"^Shared: example \d: the best score is (\S+) in one thread but (\S+) when two"
    )
    assert alone != together


def test_what_cannot_be_pickled_is_a_warning() -> None:
    class Local(Bits):
        pass

    report = check_structure(Local(), X, Y)
    assert report.ok
    warning = {f.check: f for f in report.findings}["pickle"]
    assert warning.result == "warning"
    assert "Local: cannot be pickled" in warning.note
    assert f"warning: {warning.note}" in str(report)


class Forgetful(Bits):
    """Loses its sign on the way through pickle."""

    def __init__(self) -> None:
        self.sign = 1.0

    def __getstate__(self) -> dict[str, float]:
        return {"sign": -1.0}

    def argmax(self, x, w, y_true=None):
        return super().argmax(x, self.sign * w, y_true)


def test_what_pickle_changes_is_a_warning() -> None:
    report = check_structure(Forgetful(), X, Y)
    assert [f.check for f in report.findings if f.result == "warning"] == ["pickle"]
    assert "answers differently after a round trip" in str(report)


def test_missing_methods() -> None:
    assert message_of(object()).startswith("object: lacks joint_features, loss, argmax; a plain structure defines")


def test_all_faults_are_collected_on_demand() -> None:
    class Both(IgnoresTruth):
        def loss(self, y_true, y):
            return 0.5 + np.sum(y != y_true)

    report = check_structure(Both(), X, Y, raise_errors=False)
    assert not report.ok
    assert [f.check for f in report.faults] == ["loss", "loss-augmented argmax"]
    assert "2 of 9 checks found a fault" in str(report)
    for fault in report.faults:
        assert f"fault: {fault.note}" in str(report)


def test_what_does_not_fit_together() -> None:
    with pytest.raises(DataError, match="X has 3 examples but Y has 4"):
        check_structure(Bits(), X[:3], Y)
    with pytest.raises(DataError, match="no example"):
        check_structure(Bits(), [], [])
    with pytest.raises(DataError, match="X must be a list of examples, not a NoneType"):
        check_structure(Bits(), None, Y)
    with pytest.raises(DataError, match="Y must be a list of examples, not a int"):
        check_structure(Bits(), X, 3)  # type: ignore[arg-type]
    with pytest.raises(StructureError, match="Bits is a class; give an instance of it"):
        check_structure(Bits, X, Y)
    with pytest.raises(DataError, match="candidates has 1 entries for 4 examples"):
        check_structure(Bits(), X, Y, candidates=[[]])
    with pytest.raises(ValueError, match="n_weights and max_outputs must be at least 1"):
        check_structure(Bits(), X, Y, n_weights=0)


class Choose:
    """The best of the words that x offers, without a list of outputs; one word is none of another example."""

    def joint_features(self, x, y):
        return np.array([len(y), y.count("a"), y.count("e")], float)

    def loss(self, y_true, y):
        return float(y != y_true)

    def argmax(self, x, w, y_true=None):
        return max(x, key=lambda y: self.value(y, w, y_true))

    def value(self, y, w, y_true):
        return w @ self.joint_features("", y) + (y_true is not None and y != y_true)


WORDS = [["cat", "sat"], ["hen", "pet"], ["tea", "sea"]], ["cat", "hen", "sea"]


def test_truths_of_other_examples_need_not_be_outputs() -> None:
    report = check_structure(Choose(), *WORDS)
    assert report.ok
    remarks = {f.check: f.note for f in report.findings if f.result == "warning"}
    assert set(remarks) == {"argmax", "loss-augmented argmax"}
    mine, theirs = numbers_in(
        remarks["argmax"],
        r"^Choose: argmax\(x, w\) of example 0 returned 'cat' with score (\S+), and 'hen', the truth of example 1, has "
        r"(\S+): right if that is no output of this example; define outputs\(x\) to compare with all$",
    )
    assert theirs > mine
    given = check_structure(Choose(), *WORDS, candidates=WORDS[0])
    assert {f.result for f in given.findings} <= {"ok", "not run"}

    class Least(Choose):
        def argmax(self, x, w, y_true=None):
            return min(x, key=lambda y: self.value(y, w, y_true))

    # what is surely an output is still better
    found = re.search(
        r"^Least: example (\d): the .*argmax is not the maximum: .*'(\w+)'.*'(\w+)'", message_of(Least(), *WORDS)
    )
    assert found
    assert {found[2], found[3]} == set(WORDS[0][int(found[1])])


def test_what_other_truths_do_to_methods_is_no_fault() -> None:
    class Picky(Choose):
        """Joint features and losses of what is no output are none."""

        def joint_features(self, x, y):
            return np.zeros(4) if x and y not in x else super().joint_features(x, y)

        def loss(self, y_true, y):
            return super().loss(y_true, y) if "e" in y_true or "e" not in y else -1.0

    assert check_structure(Picky(), *WORDS).ok


def test_weights_are_tried_that_favour_the_truths_of_other_examples() -> None:
    class Many:
        """Two hundred outputs, of which random weights favour few."""

        answers: set[tuple[float, int]] = set()  # noqa: RUF012

        def joint_features(self, x, y):
            return x * np.eye(200)[y]

        def loss(self, y_true, y):
            return float(y != y_true)

        def argmax(self, x, w, y_true=None):
            best = int((x * w + (0 if y_true is None else np.arange(200) != y_true)).argmax())
            self.answers.add((x, best))
            return best

    truths = [3, 77, 150, 199]
    assert check_structure(Many(), [1.0, -1.0, 2.0, -2.0], truths).ok
    assert set(product([1.0, -1.0, 2.0, -2.0], truths)) <= Many.answers


@pytest.mark.parametrize("n", [15, 60, 240])
def test_of_many_examples_some_truths_of_others_are_looked_at(n: int) -> None:
    """Twenty at most, each of them once; where there are fewer, all."""
    asked: list[tuple[str, str]] = []

    class Listening(Choose):
        def joint_features(self, x, y):
            if x and y not in x:
                asked.append((x[0], y))
            return super().joint_features(x, y)

    words = ["".join(letters) for letters in islice(product("abcdefgh", repeat=3), 7, 7 + n)]
    report = check_structure(Listening(), [[word, "cat"] for word in words], words)
    assert {"argmax", "loss-augmented argmax"} <= {f.check for f in report.findings if f.result == "warning"}
    assert len(set(asked)) == len(asked) <= n * min(n - 1, 20)
    assert len(asked) >= 15 * n if n > 20 else len(asked) == n * (n - 1)
    assert len({y for _, y in asked}) > 0.9 * n


@pytest.mark.parametrize("structure", [Bits, MetBits])
def test_methods_that_answer_differently_when_called_again(structure: type[Bits]) -> None:
    noise = np.random.default_rng(0)

    class Noisy(structure):
        def joint_features(self, x, y):
            return super().joint_features(x, y) + 1e-6 * noise.normal(size=5)

    first, second = numbers_in(
        message_of(Noisy()),
        r"^Noisy: example 0: feature 0 of output array\(\[.*\]\) is (\S+), and (\S+) when joint_features is called again;",
    )
    assert first != second

    class Unsure(structure):
        def loss(self, y_true, y):
            return super().loss(y_true, y) * (1.0 + 1e-6 * noise.random())

    first, second = numbers_in(
        message_of(Unsure()),
        r"^Unsure: example \d: the loss of output array\(.*\) is (\S+), and (\S+) when loss is called again; it must",
    )
    assert first != second


@pytest.mark.parametrize("form", [list, sp.csr_array, sp.csr_matrix, sp.coo_matrix, set, bytearray])
def test_changing_what_is_no_array(form: Any) -> None:
    """Lists of numbers, sparse rows and sets are looked at after each call of argmax, before its output is."""

    def values(x):
        return x.toarray().ravel() if sp.issparse(x) else np.resize(sorted(x), 2)

    class Writer:
        """Two classes."""

        def joint_features(self, x, y):
            return np.outer(values(x), np.eye(2)[y]).ravel()

        def loss(self, y_true, y):
            return float(y != y_true)

        def outputs(self, x):
            return range(2)

        def argmax(self, x, w, y_true=None):
            scores = values(x) @ w.reshape(2, 2) + (0.0 if y_true is None else np.arange(2) != y_true)
            if sp.issparse(x):
                x.data *= 2
            elif isinstance(x, set):
                x.add(9.0)
            else:
                x[0] += 1
            return int(scores.argmax())

    X = [form([[1.0, 3.0]]) if form.__module__.startswith("scipy") else form([1, 3])] * 2
    assert message_of(Writer(), X, [0, 1]) == "Writer: example 0: x was changed by argmax; work on a copy"


def test_putting_sparse_rows_in_order_changes_nothing() -> None:
    class Sorter(Bits):
        def joint_features(self, x, y):
            x.sum_duplicates()
            return super().joint_features(x.toarray(), y)

        def outputs(self, x):
            return super().outputs(range(x.shape[0]))

        def argmax(self, x, w, y_true=None):
            x.sum_duplicates()
            return Bits().argmax(x.toarray(), w, y_true)

    twice = sp.csr_array((np.array([1.0, 2.0, -1.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert check_structure(Sorter(), [twice], [np.array([1])]).ok


def test_an_argmax_that_adds_half_of_the_loss_does_not_ignore_the_truth() -> None:
    class Half(Bits):
        def argmax(self, x, w, y_true=None):
            return Bits.argmax(self, x, 2.0 * w if y_true is not None else w, y_true)

    for seed in range(4):
        message = message_of(Half(), random_state=seed)
        check_maximum(message, Half())
        assert "loss-augmented" in message
        assert "ignored" not in message


def test_answers_that_depend_on_chance() -> None:
    """One thread is enough for them to differ."""
    chance = np.random.default_rng(0)

    class Random(Bits):
        exact = False

        def argmax(self, x, w, y_true=None):
            return Bits.argmax(self, x, w, y_true) if chance.random() < 0.7 else chance.integers(0, 2, len(x))

    report = check_structure(Random(), X, Y)
    assert report.ok
    for finding in report.findings[-2:]:
        assert finding.result == "not run"
        assert finding.note == "argmax answers differently when asked again, in one thread too"


# --- faults in compiled structures


def planted(**members: Any) -> Structure:
    """The good structure with some members replaced."""
    return type("Planted", (FastBits,), members)()


@compiled
def greedy_decode(pack, i, theta, out):
    total = 0.0
    for t in range(n_rows(pack, i)):
        out[t] = theta[2 * t + 1] > theta[2 * t]
        total += theta[2 * t + out[t]]
        if t > 0 and out[t] != out[t - 1]:
            total += theta[2 * n_rows(pack, i)]
    return total


@pytest.mark.parametrize("outputs", [FastBits.outputs, None], ids=["all outputs", "outputs met"])
def test_decode_that_is_no_maximum(outputs: Any) -> None:
    structure = planted(decode=greedy_decode)
    if outputs is None:
        structure = type("Planted", (Structure,), {**vars(FastBits), "decode": greedy_decode})()
        del type(structure).outputs
    message = message_of(structure)
    mine, most = numbers_in(
        message,
        r"^Planted: example \d: the decode is not the maximum: decode returned .* score (\S+), but .* has (\S+);",
    )
    assert most > mine


def test_decode_outside_of_the_outputs() -> None:
    def zeros(self, encoded, i):
        return [np.zeros(n_rows(encoded.pack, i), int), np.ones(n_rows(encoded.pack, i), int)]

    truths = [np.zeros(len(x), int) for x in X]
    message = message_of(planted(outputs=zeros), X, truths)
    mine, most = numbers_in(
        message, r"decode returned .* with score (\S+), above the best of the 2 outputs listed, (\S+);"
    )
    assert mine > most


@compiled
def zero_decode(pack, i, theta, out):
    total = 0.0
    for t in range(n_rows(pack, i)):
        out[t] = 0
        total += theta[2 * t]
    return total


@compiled
def shifted_decode(pack, i, theta, out):
    return greedy_decode(pack, i, theta, out) + 1.0


@compiled
def writing_decode(pack, i, theta, out):
    theta[0] += 1.0
    return greedy_decode(pack, i, theta, out)


@compiled
def peeking_decode(pack, i, theta, out):
    score = greedy_decode(pack, i, theta, out)
    return score + max(theta[len(theta) - 1] - 1e5, 0.0)


@compiled
def _write(out, k):
    out[k] = 1


@compiled
def overrunning_decode(pack, i, theta, out):
    _write(out, len(out))
    return greedy_decode(pack, i, theta, out)


@compiled
def negative_loss(pack, i, out):
    return -np.sum(out[: n_rows(pack, i)] != true_output(pack, i))


@compiled
def constant_loss(pack, i, out):
    return 0.5


@compiled
def undefined_loss(pack, i, out):
    return np.nan


@compiled
def doubled_loss(pack, i, out):
    return 2 * np.sum(out[: n_rows(pack, i)] != true_output(pack, i))


@compiled
def offset_augment(pack, i, theta):
    return 0.25


@compiled
def setting_augment(pack, i, theta):
    for t, bit in enumerate(true_output(pack, i)):
        theta[2 * t + 1 - bit] = 1.0
    return 0.0


@compiled
def twice_features(pack, i, parts, coef, m, keys, values):
    if len(keys) < 2:
        return -2
    keys[0], keys[1], values[0], values[1] = 0, 0, 1.0, 1.0
    return 2


@compiled
def empty_features(pack, i, parts, coef, m, keys, values):
    return 0


@compiled
def far_features(pack, i, parts, coef, m, keys, values):
    if len(keys) < 1:
        return -1
    keys[0], values[0] = 99, 1.0
    return 1


@compiled
def careless_features(pack, i, parts, coef, m, keys, values):
    keys[0], values[0] = 0, 1.0
    return 1


@compiled
def other_potentials_at(pack, w, i, parts, m, theta):
    library_potentials_at(pack, w, i, parts, m, theta)
    for q in range(m):
        theta[parts[q]] *= 2.0


@compiled
def writing_potentials(pack, w, i, theta):
    w[0] = 1.0


@compiled
def far_parts(pack, i, out, parts):
    parts[0] = 2 * n_rows(pack, i) + 1
    return 1


@compiled
def reading_on_parts(pack, i, out, parts):
    for t in range(len(out)):
        parts[t] = out[t]
    return len(out)


@compiled
def silent_loss(pack, i, out):
    out[0] == 1  # noqa: B015


COMPILED_FAULTS = {
    "score": (
        {"decode": shifted_decode},
        r"example 0: decode returned the score (\S+) but .* sum to (\S+); return that",
    ),
    "theta": (
        {"decode": writing_decode},
        r"example 0: decode changes theta\[0\] from (\S+) to (\S+); solvers still need",
    ),
    "stale": ({"decode": peeking_decode}, r"example 0: decode depends on what stood .* score (\S+) or (\S+), output"),
    "overrun": (
        {"decode": overrunning_decode},
        r"example 0: decode (?:writes entry (4) of out, which has (4);|leaves its)",
    ),
    "negative loss": (
        {"loss": negative_loss},
        r"example \d: the loss of output .* is (-\d\.0); it must be (0) for the truth",
    ),
    "loss of truth": (
        {"loss": constant_loss},
        r"example 0: (?:the loss of the true|augment adds (\S+) to .* loss is (0\.5);)",
    ),
    "NaN loss": ({"loss": undefined_loss}, r"example 0: the loss of output .* is (nan); it must be (0) for"),
    "augment": (
        {"loss": doubled_loss},
        r"example \d: augment adds (\S+) to output .*, its loss is (\S+); constant and",
    ),
    "constant": ({"augment": offset_augment}, r"example 0: augment adds (0\.25) to output .* its loss is (0);"),
    "setting": (
        {"augment": setting_augment},
        r"example 0: augment adds (\S+) to potential \d when it is 0, but (\S+) when",
    ),
    "repeated": ({"features": twice_features}, r"example 0: features lists weight (0) twice among (2) keys"),
    "gradient": (
        {"features": empty_features},
        r"example 0: <w, features> of parts .* is (0) but their .* sum to (\S+);",
    ),
    "far": (
        {"features": far_features},
        r"example 0: features lists weights from (99) to 99; there are n_weights = (5)",
    ),
    "buffers": (
        {"features": careless_features},
        r"example 0: features (?:leaves its arrays \(index (0) .* size (0)|writes)",
    ),
    "some": (
        {"potentials_at": other_potentials_at},
        r"example 0: potentials_at gives (\S+) for .* but potentials gives (\S+);",
    ),
    "parts": ({"parts": far_parts}, r"example 0: parts of output .* has potential (5); the example has (5) potentials"),
    "reading on": (
        {"parts": reading_on_parts},
        r"example 0: parts of the truth are .* zeros follow .*\[.*\] when ones do",
    ),
    "n_parts": (
        {"n_parts": 3},
        r"example 1: parts leaves its arrays \(index (3) is out of bounds for axis 0 with size (3);",
    ),
    "n_output": ({"n_output": 3}, r"example 3: output .* has (4) entries, more than n_output = (3); encode must"),
}


@pytest.mark.parametrize("fault", COMPILED_FAULTS)
def test_faults_of_compiled_functions(fault: str) -> None:
    members, pattern = COMPILED_FAULTS[fault]
    message = message_of(planted(**members))
    assert message.startswith("Planted: ")
    found = re.search(pattern, message)
    assert found, message
    groups = [float(group) for group in found.groups() if group is not None]
    if len(groups) == 2 and not np.isnan(groups).any() and fault not in ("overrun", "buffers", "parts", "n_parts"):
        assert groups[0] != groups[1]


@needs_compiler
@pytest.mark.parametrize(
    ("members", "pattern"),
    [
        (
            {"potentials": writing_potentials},
            r"potentials does not compile to potentials\(pack, w, i, theta\) -> none: it writes",
        ),
        ({"loss": silent_loss}, r"loss does not compile to loss\(pack, i, out\) -> float64: No conversion from none"),
    ],
)
def test_functions_that_do_not_compile(members: dict[str, Any], pattern: str) -> None:
    assert re.search("^Planted: " + pattern, message_of(planted(**members)))


def test_missing_function() -> None:
    class Bare(Structure):
        decode = greedy_decode

    assert message_of(Bare()) == "Bare: lacks the compiled function parts, augment, loss"
    assert message_of(planted(decode=None)) == "Planted: lacks the compiled function decode"


@needs_compiler
def test_compiled_function_that_differs_from_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """A global is a constant of the machine code; changed later, it is another number in the source."""
    structure = planted(loss=scaled_loss, augment=scaled_augment)
    assert check_structure(structure, X, Y).ok
    monkeypatch.setitem(globals(), "COST", 3.0)
    machine, source = numbers_in(
        message_of(structure),
        r"^Planted: example 0: the compiled augment differs .* is (\S+) compiled but (\S+) in Python",
    )
    assert (machine, source) == (1.0, 3.0)


COST = 1.0


@compiled
def scaled_augment(pack, i, theta):
    for t, bit in enumerate(true_output(pack, i)):
        theta[2 * t + 1 - bit] += COST
    return 0.0


@compiled
def scaled_loss(pack, i, out):
    return COST * np.sum(out[: n_rows(pack, i)] != true_output(pack, i))


def test_features_of_examples_that_are_not_finite() -> None:
    bad = [x.copy() for x in X]
    bad[1][2, 1] = np.nan
    message = message_of(FastBits(), bad, Y)
    assert message.startswith("FastBits: encode raised DataError: example 1: a feature of group 0 is nan (row ")

    class Undefined(FastBits):
        """Lets them in after the pack was made."""

        def encode(self, X: Any, Y: Any = None) -> Any:
            encoded = super().encode(X, Y)
            dense = encoded.pack.dense.copy()
            dense[encoded.pack.row_start[0, 1] * X[0].shape[1]] = np.nan
            encoded.pack = encoded.pack._replace(dense=freeze(dense, float))
            return encoded

    message = message_of(Undefined(), X, Y)
    assert re.search(r"^Undefined: example 1: potential \d is nan under finite weights", message)


def test_encode_and_output() -> None:
    whole = planted(output=lambda self, encoded, i, out: out)
    message = message_of(whole)
    assert re.search(
        r"^Planted: example 0: output turns the true vector \[\d, \d\] \(in a buffer of 4\) into array\(\[., ., 1, 1\]",
        message,
    )
    broken = planted(output=lambda self, encoded, i, out: out[99])
    assert message_of(broken).startswith("Planted: example 0: output raised IndexError for")

    def without_truth(self, X, Y=None):
        return FastBits.encode(self, X)

    assert "target_start has 0 entries, the last None, for 4 examples" in message_of(planted(encode=without_truth))

    def fewer(self, X, Y=None):
        return FastBits.encode(self, X[:3], None if Y is None else Y[:3])

    assert message_of(planted(encode=fewer)) == "Planted: encode gives n_examples = 3 for 4 true outputs"

    def writing(self, X, Y=None):
        X[0][0] = 0.0
        return FastBits.encode(self, X, Y)

    assert "encode raised ValueError" in message_of(planted(encode=writing))
    assert "it writes to X or Y" in message_of(planted(encode=writing))

    def nothing(self, X, Y=None):
        return None

    assert "encode returned None; return Encoded.of(" in message_of(planted(encode=nothing))

    def writable(self, X, Y=None):
        encoded = FastBits.encode(self, X, Y)
        encoded.pack = encoded.pack._replace(target=encoded.pack.target.copy())
        return encoded

    assert "pack.target is a writable contiguous 1-D array of int32; it must be a read-only" in message_of(
        planted(encode=writable)
    )


def test_reference_that_disagrees() -> None:
    class Doubled(Bits):
        def loss(self, y_true, y):
            return 2.0 * super().loss(y_true, y)

    mine, wanted = numbers_in(
        message_of(FastBits(), reference=Doubled()),
        r"^FastBits: example 0: loss of output .* is (\S+) but the reference says (\S+)",
    )
    assert wanted == 2.0 * mine

    class Turned(Bits):
        def joint_features(self, x, y):
            return np.append((np.eye(2)[y].T @ x), np.sum(y[1:] != y[:-1]))

    mine, wanted = numbers_in(
        message_of(FastBits(), reference=Turned()),
        r"example 0: joint feature \d of output .* is (\S+) but the reference says (\S+)",
    )
    assert mine != wanted

    class Blind(WrongArgmax):
        pass

    mine, wanted = numbers_in(
        message_of(FastBits(), reference=Blind()),
        r"example \d: the best (?:loss \+ )?score is (\S+) but the reference's is (\S+),",
    )
    assert mine > wanted

    class Longer(Bits):
        def joint_features(self, x, y):
            return np.append(super().joint_features(x, y), 0.0)

    assert "there are 5 weights but the reference has 6 joint features" in message_of(FastBits(), reference=Longer())


def test_outputs_of_the_user_serve_as_candidates() -> None:
    report = check_structure(FastBits(), X, Y, candidates=lambda x: Bits().outputs(x))
    assert {f.check: f.note for f in report.findings}["decode"] == "against the candidates"
    # truths under which greedy decoding and all that it returns miss a better output of the candidates
    message = message_of(planted(decode=zero_decode), X, [np.zeros(len(x), int) for x in X], candidates=Bits().outputs)
    assert "(from candidates)" in message
    tokens = encode_tokens([[{"a"}, {"b"}]], AttributeIndex(), grow=True)
    message = message_of(Sequence(2), tokens, [np.array([0, 1])], candidates=[[np.array([0, 0])]])
    assert "an X of type Tokens cannot be repeated" in message


def test_report_reads_as_a_table() -> None:
    lines = str(check_structure(FastBits(), X, Y)).splitlines()
    assert lines[0] == "FastBits (compiled structure, 4 examples): no fault found"
    assert lines[1].split() == ["check", "examples", "compared", "result"]
    assert len(lines) == 2 + 15
    assert max(map(len, lines)) <= 120


def test_library_potentials_are_the_default() -> None:
    assert FastBits().potentials is library_potentials
