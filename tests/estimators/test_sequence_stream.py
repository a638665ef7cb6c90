"""Sequences learn from a stream: attributes that come later, how near to a fit, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin import SequenceSVM, load_model, save_model
from maxmargin.errors import RuledOutError
from maxmargin.solvers.oracle import make_oracle
from maxmargin.structures.attributes import AttributeIndex, encode_tokens

LABELS = ["A", "B", "C"]


def sentences(n: int, seed: int = 0, words: int = 30, dense: int = 0) -> tuple[list[Any], list[Any]]:
    """Words that tell their labels in part, and labels that follow each other."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.cumsum(rng.integers(0, 2, rng.integers(1, 9))) % 3
        tokens: Any = [
            {f"w{(words * k // 3 + rng.integers(0, 6 * words // 10)) % words}": 1.0, "bias": 0.5} for k in labels
        ]
        X.append((tokens, rng.normal(size=(len(tokens), dense)) + np.eye(3)[labels][:, :dense]) if dense else tokens)
        y.append([LABELS[k] for k in labels])
    return X, y


def learn(model: SequenceSVM, X: Any, y: Any, size: int | None = None, weight: Any = None) -> SequenceSVM:
    for at in range(0, len(y), size or len(y)):
        some = slice(at, at + (size or len(y)))
        model.partial_fit(X[some], y[some], LABELS, None if weight is None else weight[some])
    return model


def same(one: SequenceSVM, other: SequenceSVM) -> None:
    assert one.attributes_ == other.attributes_
    assert one.classes_ == other.classes_
    assert one.n_samples_seen_ == other.n_samples_seen_
    np.testing.assert_array_equal(one.coef_, other.coef_)


def objective(model: SequenceSVM, X: Any, y: Any) -> float:
    """``P(w)`` by an oracle of its own."""
    tokens = encode_tokens(X, AttributeIndex(model.attributes_), grow=False, n_dense=model.n_dense_)
    numbers = [np.array([model.classes_.index(label) for label in labels]) for labels in y]
    oracle, _ = make_oracle(model._structure_, tokens, numbers)
    slack = oracle.evaluate(model.coef_, np.arange(len(y))).slack
    return float(0.5 * model.coef_ @ model.coef_ + model.C * slack.sum())


@pytest.mark.parametrize("loss", ["hamming", "normalized_hamming"])
def test_a_long_stream_comes_near_the_optimum_of_a_fit(loss: Any) -> None:
    X, y = sentences(3000)
    for C in (0.01, 1.0):
        excess = []
        for n in (100, 3000):
            model = learn(SequenceSVM(C=C, loss=loss), X[:n], y[:n], 500)
            exact = SequenceSVM(C=C, loss=loss, tol=2e-3, random_state=0, max_passes=300).fit(X[:n], y[:n])
            excess.append(objective(model, X[:n], y[:n]) / exact.certificate_.dual - 1.0)
        if C == 1.0:
            assert 0.0 < excess[1] < excess[0] / 2.5, excess  # the root of 30 is 5.5
            assert excess[1] < 0.15, excess
        else:  # it begins small, and stays so for long
            assert 0.0 < max(excess) < 0.03, excess


@pytest.mark.parametrize("dense", [0, 3])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_pieces_make_no_difference_at_all(size: int, dense: int) -> None:
    """Most attributes come after the first piece: their weights stand before those of dense vectors and transitions."""
    X, y = sentences(120, words=300, dense=dense)
    weight = np.arange(120) % 3 * 0.5 + 0.5
    whole = learn(SequenceSVM(C=50.0), X, y, None, weight)
    model = learn(SequenceSVM(C=50.0), X, y, size, weight)
    same(model, whole)
    assert model.predict(X) == whole.predict(X)
    assert model.emission_.shape == (len(whole.attributes_) + dense, 3)
    assert (model.n_samples_seen_, model.n_dense_, model.completion_rounds_) == (120, dense, 0)


def test_sequences_of_weight_zero_and_empty_ones_are_left_out() -> None:
    X, y = sentences(60)
    weight = (np.arange(60) % 2).astype(float)
    some = learn(SequenceSVM(), X[1::2], y[1::2])
    same(learn(SequenceSVM(), X, y, 15, weight), some)
    X[4], y[4] = [], []
    model = learn(SequenceSVM(), X, y)
    assert model.skipped_ == [4]
    assert model.n_samples_seen_ == 59


def test_matrices_keep_their_columns() -> None:
    rng = np.random.default_rng(0)
    X = [sp.random(4, 6, 0.5, format="csr", random_state=rng) for _ in range(10)]
    y = [list("ABCA")] * 10
    same(learn(SequenceSVM(), X, y, 3), learn(SequenceSVM(), X, y))
    model = learn(SequenceSVM(), X, y)
    with pytest.raises(ValueError, match="the sparse matrices have 4 columns; the model was fitted with 6"):
        model.partial_fit([each[:, :4] for each in X], y)


def test_a_stream_goes_on_after_a_pickle_and_a_file_and_a_fit_forgets_it(tmp_path: Path) -> None:
    X, y = sentences(90, words=200)
    options: dict[str, Any] = dict(forbidden=[("C", "B")], label_weight={"A": 2.0}, C=20.0)
    y = [[b if (a, b) != ("C", "B") else "C" for a, b in zip([None, *labels], labels)] for labels in y]
    keep = [i for i, labels in enumerate(y) if ("C", "B") not in zip(labels, labels[1:])]
    X, y = [X[i] for i in keep], [y[i] for i in keep]
    model = SequenceSVM(random_state=0, **options).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:40], y[:40])  # labels are known from the fit
    for name in ("certificate_", "history_", "notes_"):
        assert not hasattr(model, name)
    assert model.solver_reason_ == "partial_fit sees each example once"
    save_model(model, tmp_path / "model")
    whole = learn(SequenceSVM(**options), X, y)
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model"), model):
        other.partial_fit(X[40:], y[40:])
        same(other, whole)
        assert other.predict(X) == whole.predict(X)
    model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    for name in ("n_samples_seen_", "_streams", "solver_reason_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(solver="one_slack"), "solver must be 'auto' or 'subgradient', not 'one_slack'"),
        (dict(min_count=2), "cannot count the attributes of a whole stream: min_count must be 1, not 2"),
    ],
)
def test_what_rules_a_stream_out_leaves_no_partial_fit(options: Any, message: str) -> None:
    model = SequenceSVM(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(RuledOutError, match=message):
        model.partial_fit([[["a"]]], [["A"]], ["A", "B"])


def test_a_piece_that_fails_changes_nothing() -> None:
    X, y = sentences(30)
    for labels, message in (
        (None, "labels must be passed on the first call to partial_fit"),
        ("AB", "labels is of type str"),
        ([], "labels is empty"),
        (["A", None], r"labels\[1\] is None, which stands for an unknown label"),
        (["A", {1}], r"labels\[1\]: \{1\} cannot be a label"),
        (["A", "B"], r"sequence \d+, token \d+: the label 'C' is not among labels \['A', 'B'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            SequenceSVM().partial_fit(X, y, labels)
    model = learn(SequenceSVM(), X, y)
    before, state = dict(vars(model)), pickle.dumps(model)
    new = [[["never", "seen"]]]
    for arguments, message in (
        ((new, [["D"]]), "sequence 0, token 0: the label 'D' is not among labels"),
        ((new, [[None]]), r"sequence 0, token 0: its label is unknown \(None\); partial_fit learns from labels"),
        ((new, [[{"A", "B"}]]), "sequence 0, token 0: its label may be one of a set; partial_fit"),
        ((new, [["A", "B"]]), "sequence 0 has 1 tokens but 2 labels"),
        ((new, [["A"]], ["A", "B"]), r"labels are \['A', 'B'\]; they cannot change while a stream goes on"),
        ((new, [["A"]], None, [0.0]), "sample_weight is zero for every example"),
        ((new, [["A"]], None, [1e300]), "too large to compute with"),
        (([[{"never": np.inf}]], [["A"]]), "not finite"),
        (([[{"never": 1e101}]], [["A"]]), "too large to compute with"),
        (([np.ones((1, 2))], [["A"]]), "rows of 2 values; 0 are expected; the stream had named attributes before$"),
        (([], []), "X is empty"),
        (([[]], [[]]), "all sequences are empty"),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            model.partial_fit(*arguments)
        assert "\n" not in str(refused.value)
        assert vars(model) == before
        assert pickle.dumps(model) == state
    with pytest.raises(ValueError, match=r"SequenceSVM: forbidden is \[\('A', 'B'\)\] and was None when this stream"):
        model.set_params(forbidden=[("A", "B")]).partial_fit(X, y)
    model.set_params(forbidden=None).partial_fit(X, y, labels=LABELS[::-1])


class Cut:
    """In the place of :func:`chunks`: pieces of ten, of which only so many come."""

    def __init__(self, n_pieces: int) -> None:
        self.left = n_pieces

    def __call__(self, order: NDArray[np.int64]) -> Any:
        for part in np.split(order, range(10, len(order), 10)):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield part


@pytest.mark.parametrize("taken", [0, 2])
def test_after_an_interrupt_names_and_weights_fit_together(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """New attributes of the part that was not learned have weights of 0, and are known."""
    X, y = sentences(80, words=300)
    model = learn(SequenceSVM(), X[:40], y[:40])
    names = model.attributes_
    monkeypatch.setattr("maxmargin.solvers.structured_stream.chunks", Cut(taken))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[40:], y[40:])
    monkeypatch.undo()
    assert model.n_samples_seen_ == 40 + 10 * taken
    assert (model.attributes_ == names) == (not taken)
    learned = learn(SequenceSVM(), X[: 40 + 10 * taken], y[: 40 + 10 * taken])
    assert model.predict(X) == learned.predict(X)
    model.partial_fit(X[40 + 10 * taken :], y[40 + 10 * taken :])
    same(model, learn(SequenceSVM(), X, y))
