"""Chains against the enumeration of all label sequences, and a plain recursion where those are too many."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest

from maxmargin._compiled import jit_disabled
from maxmargin.decoders.viterbi import (
    k_best_core,
    max_marginals,
    max_marginals_core,
    viterbi,
    viterbi_core,
    viterbi_k_best,
)
from maxmargin.errors import DataError

Chain = dict[str, np.ndarray]


def random_chain(rng: np.random.Generator, n_steps: int, n_labels: int, forbidden: float, whole: bool) -> Chain:
    """Scores with a share of -inf; whole numbers make many ties, and sums without rounding."""
    shapes = dict(unary=(n_steps, n_labels), transition=(n_labels, n_labels), initial=(n_labels,), final=(n_labels,))
    chain = {}
    for name, shape in shapes.items():
        scores = rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)
        scores[rng.random(shape) < forbidden] = -np.inf
        chain[name] = scores
    return chain


def all_sequences(chain: Chain) -> list[tuple[tuple[int, ...], float]]:
    """Every allowed sequence: best first, ties by labels read from the end."""
    n_steps, n_labels = chain["unary"].shape
    found = []
    for labels in product(range(n_labels), repeat=n_steps):
        score = chain["unary"][0, labels[0]] + chain["initial"][labels[0]]
        for t in range(1, n_steps):
            score = score + chain["transition"][labels[t - 1], labels[t]] + chain["unary"][t, labels[t]]
        score = float(score + chain["final"][labels[-1]])
        if score > -np.inf:
            found.append((labels, score))
    return sorted(found, key=lambda pair: (-pair[1], pair[0][::-1]))


def sizes() -> list[tuple[int, int, float, bool]]:
    small = [(1, 1), (1, 5), (2, 3), (3, 4), (4, 2), (3, 5), (2, 9), (5, 3), (7, 1)]
    return [(t, k, share, whole) for t, k in small for share in (0.0, 0.25, 0.6) for whole in (False, True)]


@pytest.mark.parametrize(("n_steps", "n_labels", "forbidden", "whole"), sizes())
def test_equals_enumeration(
    rng: np.random.Generator, n_steps: int, n_labels: int, forbidden: float, whole: bool
) -> None:
    for _ in range(8):
        chain = random_chain(rng, n_steps, n_labels, forbidden, whole)
        expected = all_sequences(chain)
        for k in (1, 3, len(expected) + 2):
            got = viterbi_k_best(k=k, **chain)
            assert [(tuple(labels.tolist()), score) for labels, score in got] == expected[:k]
        through = np.full((n_steps, n_labels), -np.inf)
        for labels, score in expected:
            for t, label in enumerate(labels):
                through[t, label] = max(through[t, label], score)
        np.testing.assert_allclose(max_marginals(**chain), through, rtol=0, atol=1e-12)
        if expected:
            labels, score = viterbi(**chain)
            assert (tuple(labels.tolist()), score) == expected[0]
        else:
            with pytest.raises(DataError, match="every label sequence is forbidden"):
                viterbi(**chain)


@pytest.mark.parametrize(("n_steps", "n_labels"), [(24, 22), (8, 26), (30, 7), (200, 3)])
def test_equals_plain_recursion(rng: np.random.Generator, n_steps: int, n_labels: int) -> None:
    for forbidden, whole in ((0.0, False), (0.1, False), (0.1, True)):
        chain = random_chain(rng, n_steps, n_labels, forbidden, whole)
        value = chain["unary"][0] + chain["initial"]
        back = []
        for t in range(1, n_steps):
            sums = value[:, None] + chain["transition"]
            back.append(sums.argmax(axis=0))
            value = sums.max(axis=0) + chain["unary"][t]
        value = value + chain["final"]
        expected = [int(value.argmax())]
        for sources in reversed(back):
            expected.append(int(sources[expected[-1]]))
        labels, score = viterbi(**chain)
        assert score == value.max()
        assert labels.tolist() == expected[::-1]
        assert labels.dtype == np.int64
        best = viterbi_k_best(k=4, **chain)
        assert best[0][1] == score
        assert best[0][0].tolist() == labels.tolist()
        assert len({tuple(other.tolist()) for other, _ in best}) == 4
        np.testing.assert_allclose(max_marginals(**chain).max(axis=1), score, rtol=1e-13)


def flat_arguments(chain: Chain) -> tuple[Any, ...]:
    """What the cores take: slices of one buffer."""
    n_steps, n_labels = chain["unary"].shape
    parts = [chain[name].ravel() for name in ("unary", "transition", "initial", "final")]
    theta = np.concatenate(parts)
    stops = np.cumsum([part.size for part in parts])
    unary, transition, initial, final, _ = np.split(theta, stops)
    return unary, n_steps, n_labels, initial, final, transition


@pytest.mark.parametrize(
    "plain", [False, pytest.param(True, marks=pytest.mark.skipif(jit_disabled(), reason="no JIT"))]
)
def test_cores_on_slices_of_one_buffer(rng: np.random.Generator, plain: bool) -> None:
    def core(function: Any) -> Callable[..., Any]:
        return function.py_func if plain else function

    for whole in (False, True):
        chain = random_chain(rng, 6, 5, 0.1, whole)
        arguments = flat_arguments(chain)
        before = arguments[0].base.copy()
        out = np.full(8, -7, np.int32)
        labels, score = viterbi(**chain)
        assert core(viterbi_core)(*arguments, out) == score
        assert out.tolist() == [*labels.tolist(), -7, -7]
        many, scores = np.zeros(18, np.int32), np.zeros(3)
        assert core(k_best_core)(*arguments, 3, many, scores) == 3
        expected = viterbi_k_best(k=3, **chain)
        assert scores.tolist() == [s for _, s in expected]
        assert many.reshape(3, 6).tolist() == [y.tolist() for y, _ in expected]
        through = np.zeros(30)
        core(max_marginals_core)(*arguments, through)
        assert through.tolist() == max_marginals(**chain).ravel().tolist()
        np.testing.assert_array_equal(arguments[0].base, before)


def test_core_says_when_nothing_is_allowed_or_there_are_no_steps() -> None:
    zeros, out = np.zeros(2), np.full(3, 9, np.int32)
    assert viterbi_core(np.zeros(0), 0, 2, zeros, zeros, np.zeros(4), out) == 0.0
    assert out.tolist() == [9, 9, 9]
    assert viterbi_core(np.zeros(6), 3, 2, zeros, zeros, np.full(4, -np.inf), out) == -np.inf


def test_no_steps() -> None:
    labels, score = viterbi(np.zeros((0, 3)), np.zeros((3, 3)))
    assert labels.shape == (0,)
    assert score == 0.0
    ((labels, score),) = viterbi_k_best(np.zeros((0, 3)), np.zeros((3, 3)), 5)
    assert labels.shape == (0,)
    assert score == 0.0
    assert max_marginals(np.zeros((0, 3)), np.zeros((3, 3))).shape == (0, 3)


def test_all_ties_give_the_lowest_labels() -> None:
    labels, _ = viterbi(np.zeros((4, 6)), np.zeros((6, 6)))
    assert labels.tolist() == [0, 0, 0, 0]
    second = viterbi_k_best(np.zeros((2, 3)), np.zeros((3, 3)), 9)
    assert [y.tolist() for y, _ in second] == [[a, b] for b in range(3) for a in range(3)]


def test_allowed_restricts_steps(rng: np.random.Generator) -> None:
    chain = random_chain(rng, 4, 3, 0.0, False)
    allowed = np.ones((4, 3), bool)
    allowed[1] = [False, True, False]
    allowed[3, 0] = False
    expected = [pair for pair in all_sequences(chain) if pair[0][1] == 1 and pair[0][3] != 0]
    labels, score = viterbi(**chain, allowed=allowed)
    assert (tuple(labels.tolist()), score) == expected[0]
    assert len(viterbi_k_best(k=100, **chain, allowed=allowed)) == len(expected)
    assert np.isneginf(max_marginals(**chain, allowed=allowed)[~allowed]).all()
    with pytest.raises(DataError, match=r"allowed\[2\] forbids every label"):
        viterbi(**chain, allowed=np.arange(4)[:, None] != np.full((1, 3), 2))
    with pytest.raises(DataError, match="allowed must be an array of booleans, not of int64"):
        viterbi(**chain, allowed=np.ones((4, 3), np.int64))


def variants(array: np.ndarray) -> list[Any]:
    """The same numbers (exact in float32) in other memory layouts and types."""
    frozen = array.copy()
    frozen.setflags(write=False)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    return [
        frozen,
        np.asfortranarray(array),
        wide[..., ::2],
        array.astype(np.float32),
        array.astype(">f8"),
        array.tolist(),
    ]


def test_any_memory_layout_and_type_of_numbers(rng: np.random.Generator) -> None:
    chain = random_chain(rng, 5, 4, 0.2, True)
    labels, score = viterbi(**chain)
    for kind in zip(*(variants(array) for array in chain.values())):
        other = dict(zip(chain, kind))
        copies = [np.array(array) for array in kind]
        got, got_score = viterbi(**other)
        assert got.tolist() == labels.tolist()
        assert got_score == score
        assert len(viterbi_k_best(k=2, **other)) == 2
        np.testing.assert_array_equal(max_marginals(**other), max_marginals(**chain))
        for array, copy in zip(kind, copies):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(unary=np.zeros(3)), r"unary has shape \(3,\); expected \(any, any\)"),
        (dict(unary=np.zeros((2, 0))), "unary has no labels"),
        (dict(transition=np.zeros((3, 2))), r"transition has shape \(3, 2\); expected \(3, 3\)"),
        (dict(initial=np.zeros(2)), r"initial has shape \(2,\); expected \(3,\)"),
        (dict(final=np.zeros((3, 1))), r"final has shape \(3, 1\); expected \(3,\)"),
        (dict(unary=[[0, 0, 0], [0, np.nan, 0]]), r"unary\[1, 1\] is nan: scores must be finite"),
        (dict(transition=np.full((3, 3), np.inf)), r"transition\[0, 0\] is inf"),
        (dict(unary=np.zeros((2, 3), complex)), "unary must be an array of real numbers, not of complex128"),
        (dict(unary=[["a", "b", "c"]]), "unary must be an array of real numbers"),
        (dict(unary=[[1.0], [1.0, 2.0]]), "unary is not an array of real numbers"),
        (dict(allowed=np.ones((3, 2), bool)), r"allowed has shape \(3, 2\); expected \(2, 3\)"),
    ],
)
@pytest.mark.parametrize("function", [viterbi, max_marginals, lambda **chain: viterbi_k_best(k=2, **chain)])
def test_errors_say_what_is_wrong(function: Callable[..., Any], change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        function(**{"unary": np.zeros((2, 3)), "transition": np.zeros((3, 3)), **change})


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_must_be_a_positive_integer(k: Any) -> None:
    with pytest.raises(DataError, match=r"k is .*: it must be an integer of at least 1"):
        viterbi_k_best(np.zeros((2, 3)), np.zeros((3, 3)), k)


def test_two_threads_decode_at_once(rng: np.random.Generator) -> None:
    chains = [random_chain(rng, 5 + i % 7, 2 + i % 9, 0.05, False) for i in range(60)]

    def decode(chain: Chain) -> tuple[Any, ...]:
        best = viterbi_k_best(k=3, **chain)
        return [(y.tolist(), score) for y, score in best], max_marginals(**chain).tolist()

    alone = [decode(chain) for chain in chains]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(decode, chains * 3)) == alone * 3


def test_plain_python_gives_the_same_bits(run_python: Callable[..., str]) -> None:
    code = """
import json
import numpy as np
from maxmargin.decoders import max_marginals, viterbi, viterbi_k_best
rng = np.random.default_rng(3)
results = []
for n_steps, n_labels in ((1, 1), (4, 3), (6, 9), (3, 6)):
    unary, transition = rng.normal(size=(n_steps, n_labels)), rng.normal(size=(n_labels, n_labels))
    unary[rng.random(unary.shape) < 0.1] = -np.inf
    labels, score = viterbi(unary, transition)
    best = [[y.tolist(), s] for y, s in viterbi_k_best(unary, transition, 5)]
    results.append([labels.tolist(), score, best, max_marginals(unary, transition).tolist()])
print(json.dumps(results))
"""
    fast, slow = (json.loads(run_python(code, env={"NUMBA_DISABLE_JIT": flag})) for flag in (None, "1"))
    assert fast == slow
