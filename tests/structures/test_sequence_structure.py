"""The compiled chain structure against its definition: outputs, parts, losses, decoding under restrictions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from maxmargin import check_structure
from maxmargin.errors import DataError
from maxmargin.structures.attributes import Tokens
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.sequence import Sequence
from solvers.enumeration import random_tokens

LENGTHS = [3, 0, 1, 4, 2]
RESTRICTED: dict[str, Any] = dict(
    allowed_initial=[True, False, True], allowed_final=[True, True, False],
    allowed_transitions=[[True, True, False], [True, False, True], [True, True, True]],
)  # fmt: skip
COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
OPTIONS: list[dict[str, Any]] = [{}, {"normalize": True}, {"costs": COSTS}, RESTRICTED, {**RESTRICTED, "costs": COSTS}]


def outputs(structure: Sequence, length: int, allowed: Any = None) -> list[tuple[int, ...]]:
    initial, final, follows = structure._masks
    return [
        y
        for y in product(range(3), repeat=length)
        if not y
        or (
            initial[y[0]]
            and final[y[-1]]
            and all(follows[a, b] for a, b in zip(y, y[1:]))
            and (allowed is None or all(allowed[t, k] for t, k in enumerate(y)))
        )
    ]


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return random_tokens(np.random.default_rng(0), LENGTHS, "both")[0]


def labels(structure: Sequence) -> list[Any]:
    rng = np.random.default_rng(1)
    return [np.array(every[rng.integers(len(every))], np.int64) for every in (outputs(structure, n) for n in LENGTHS)]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("masked", [None, "known", "candidates", "allowed"])
def test_every_function_against_its_definition(options: dict[str, Any], masked: str | None, tokens: Tokens) -> None:
    structure, rng = Sequence(3, **options), np.random.default_rng(5)
    truth = labels(structure)
    one = np.eye(3, dtype=bool)[np.concatenate(truth)]
    candidates = {
        "known": one | (rng.random((10, 1)) < 0.5), "candidates": one | (rng.random((10, 3)) < 0.4)
    }.get(str(masked))  # fmt: skip
    allowed = np.maximum(rng.random((10, 3)) < 0.7, one) if masked == "allowed" else None
    encoded = structure.encode(tokens, truth, candidates=candidates, allowed=allowed)
    pack, costs = encoded.pack, structure.costs
    assert (encoded.n_output, encoded.n_parts, encoded.n_potentials) == (4, 9, 12 + 15)
    for i, y in enumerate(truth):
        n, lo = len(y), int(tokens.start[i])
        weight = np.ones(n) / (n if structure.normalize else 1)
        may = one[lo : lo + n] if candidates is None else candidates[lo : lo + n]
        theta = rng.normal(size=n * 3 + 15)
        initial, final, follows = (
            theta[n * 3 : n * 3 + 3],
            theta[n * 3 + 3 : n * 3 + 6],
            theta[n * 3 + 6 :].reshape(3, 3),
        )
        augmented = theta.copy()
        constant = structure.augment(pack, i, augmented)
        scores, losses = {}, {}
        for out in outputs(structure, n, None if allowed is None else allowed[lo : lo + n]):
            vector = np.zeros(4, np.int32)
            vector[:n] = out
            parts = np.full(9, -1, np.int32)
            m = structure.parts(pack, i, vector, parts)
            assert m == (2 * n + 1 if n else 0)
            score = sum(theta[3 * t + k] for t, k in enumerate(out)) + sum(follows[a, b] for a, b in zip(out, out[1:]))
            scores[out] = score + (initial[out[0]] + final[out[-1]] if n else 0.0)
            assert theta[parts[:m]].sum() == pytest.approx(scores[out], abs=1e-12)
            losses[out] = sum(weight[t] * costs[may[t], k].min() for t, k in enumerate(out))
            assert structure.loss(pack, i, vector) == pytest.approx(losses[out], abs=1e-12)
            assert augmented[parts[:m]].sum() + constant == pytest.approx(scores[out] + losses[out], abs=1e-12)
            assert structure.output(encoded, i, vector).tolist() == list(out)
        assert losses[tuple(y.tolist())] == 0.0
        for potentials, values in [(theta, scores), (augmented, {k: scores[k] + losses[k] for k in scores})]:
            found = np.zeros(4, np.int32)
            before = potentials.copy()
            best = structure.decode(pack, i, potentials, found)
            np.testing.assert_array_equal(potentials, before)
            assert values[tuple(found[:n].tolist())] == pytest.approx(max(values.values()), abs=1e-12)
            assert best + (constant if potentials is augmented else 0.0) == pytest.approx(
                max(values.values()), abs=1e-12
            )


def test_a_true_label_is_a_candidate(tokens: Tokens) -> None:
    structure = Sequence(3)
    truth = labels(structure)
    candidates = np.eye(3, dtype=bool)[np.concatenate(truth)]
    candidates[4] = ~candidates[4]
    with pytest.raises(DataError, match="sequence 3, position 0: the true label is no candidate: label number"):
        structure.encode(tokens, truth, candidates=candidates)


def test_nothing_allowed_is_minus_infinity(tokens: Tokens) -> None:
    structure = Sequence(3)
    encoded = structure.encode(tokens, allowed=np.zeros((10, 3), bool))
    out = np.zeros(4, np.int32)
    assert structure.decode(encoded.pack, 0, np.zeros(24), out) == -np.inf
    assert structure.decode(encoded.pack, 1, np.zeros(15), out) == 0.0


def test_weights_split_into_named_parts(tokens: Tokens) -> None:
    structure = Sequence(3)
    n = structure.encode(tokens).n_weights
    w = np.arange(float(n))
    emission, initial, final, transition = structure.split(w)
    assert emission.shape == (6, 3)
    np.testing.assert_array_equal(np.concatenate([v.ravel() for v in (emission, initial, final, transition)]), w)
    assert np.shares_memory(emission, w)
    assert transition[1, 2] == w[-9 + 3 + 2]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_public_check_finds_nothing_wrong(options: dict[str, Any], tokens: Tokens) -> None:
    class Packed(Sequence):
        """Takes the sequences one by one, as the check does."""

        def encode(self, X: Any, Y: Any = None, **restrictions: Any) -> Any:
            rows = np.concatenate([np.arange(tokens.start[i], tokens.start[i + 1]) for i in X])
            lengths = [LENGTHS[i] for i in X]
            start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            assert tokens.dense is not None
            return super().encode(Tokens(start, None, None, None, 0, tokens.dense[rows.astype(int)]), Y, **restrictions)

    structure = Packed(3, **options)
    chosen = [0, 2, 3, 4]
    report = check_structure(structure, chosen, [labels(structure)[i] for i in chosen])
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 2, 1], "sequence 0 uses a forbidden transition at position 1: label number 0 to 2"),
        ([0, 1, 1], "sequence 0 uses a forbidden transition at position 2: label number 1 to 1"),
        ([1, 0, 0], "sequence 0 starts with a label that may not stand there"),
        ([0, 1, 2], "sequence 0 ends with a label that may not stand there"),
    ],
)
def test_truths_must_keep_to_the_restrictions(y: list[int], message: str) -> None:
    tokens, _ = random_tokens(np.random.default_rng(0), [3], "dense")
    with pytest.raises(DataError, match=message):
        Sequence(3, **RESTRICTED).encode(tokens, [np.array(y)])


def test_positions_in_the_message_are_those_of_the_right_sequence(tokens: Tokens) -> None:
    structure = Sequence(3, **RESTRICTED)
    truth = labels(structure)
    truth[3] = np.array([0, 0, 2, 0])
    with pytest.raises(DataError, match="sequence 3 uses a forbidden transition at position 2: label number 0 to 2"):
        structure.encode(tokens, truth)
    truth[3] = np.array([0, 0, 0, 0])
    truth[4] = np.array([1, 0])
    with pytest.raises(DataError, match="sequence 4 starts with a label"):
        structure.encode(tokens, truth)


@pytest.mark.parametrize("bad", [3, -1, 2**31])
def test_truths_must_be_labels(tokens: Tokens, bad: int) -> None:
    """Compiled code would read beyond its arrays."""
    with pytest.raises(DataError, match=rf"example 1.*{bad}"):
        Multiclass(3).encode(np.ones((3, 2)), np.array([0, bad, 1]))
    for options in ({}, RESTRICTED):
        truth = labels(Sequence(3, **options))
        truth[3] = np.array([0, 0, bad, 0])
        with pytest.raises(DataError, match=rf"sequence 3.*{bad}"):
            Sequence(3, **options).encode(tokens, truth)


def test_truths_must_have_the_lengths_of_their_sequences(tokens: Tokens) -> None:
    truth = labels(Sequence(3))
    truth[3] = truth[3][:3]
    with pytest.raises(DataError, match="sequence 3 has 4 tokens but 3 labels"):
        Sequence(3).encode(tokens, truth)
    with pytest.raises(DataError, match="3.*2"):
        Multiclass(3).encode(np.ones((3, 2)), np.array([0, 1]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sequence(3, costs=np.ones((2, 2))), r"the cost matrix has shape \(2, 2\); it needs \(3, 3\)"),
        (lambda: Sequence(3, allowed_initial=[True]), r"allowed_initial has shape \(1,\); it needs \(3,\)"),
        (
            lambda: Sequence(3, allowed_transitions=np.ones(3)),
            r"allowed_transitions has shape \(3,\); it needs \(3, 3\)",
        ),
        (lambda: Multiclass(2, [[0, np.nan], [1, 0]]), r"at least 0 everywhere; entry \(0, 1\) is nan"),
        (lambda: Multiclass(2, [[0, 1], [-1, 0]]), r"at least 0 everywhere; entry \(1, 0\) is -1.0"),
        (lambda: Multiclass(2, [[0, 1], [1, 0.5]]), r"entry \(1, 1\) is 0.5"),
    ],
)
def test_bad_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()
