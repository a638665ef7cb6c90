"""Planes that are level in the direction of a free intercept, against the definition of a subgradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.losses import CustomLoss, Exponential, Logistic, MarginLoss, Perceptron
from maxmargin.solvers.linear.intercept import balanced
from maxmargin.terms import LossTerms, Terms, hinge, insensitive, squared_hinge, squared_insensitive

BENT = CustomLoss(
    lambda t: np.maximum(np.maximum(1.0 - t, 2.0 - 4.0 * t), 0.5 * (t - 1.0)),
    lambda t: np.where(t <= 1.0 / 3.0, -4.0, np.where(t <= 1.0, -1.0, 0.5)),
    name="bent",
)
KINDS = (
    "hinge",
    "squared_hinge",
    "insensitive",
    "squared_insensitive",
    "logistic",
    "exponential",
    "perceptron",
    "bent",
)
KINKED = ("hinge", "insensitive", "perceptron", "bent")
OF_LOSS: dict[str, MarginLoss] = {
    "logistic": Logistic(),
    "exponential": Exponential(),
    "perceptron": Perceptron(),
    "bent": BENT,
}


def random_terms(rng: np.random.Generator, kind: str, *, ties: bool) -> tuple[Terms | LossTerms, Any]:
    """Terms and scores; with ties there are few values of each, so that several rows are at one kink."""
    n = int(rng.integers(2, 12))
    sign = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    sign[:2] = -1.0, 1.0
    c = rng.integers(1, 4, n) / 2.0 if ties else rng.uniform(0.1, 2.0, n)
    scores = rng.integers(-3, 4, n) / 2.0 if ties else 3.0 * rng.normal(size=n)
    target = scores + rng.integers(-2, 3, n) if ties else scores + rng.normal(size=n)
    terms: Terms | LossTerms
    if kind in OF_LOSS:
        terms = LossTerms(sign[:, None], OF_LOSS[kind], c)
    elif kind in ("hinge", "squared_hinge"):
        terms = (hinge if kind == "hinge" else squared_hinge)(sign, c)
    else:
        terms = (insensitive if kind == "insensitive" else squared_insensitive)(target, c, 0.25)
    return terms, scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_level_plane_touches_the_loss_with_the_best_intercept(kind: str, ties: bool) -> None:
    rng = np.random.default_rng(3)
    partly = 0
    for _ in range(40):
        terms, scores = random_terms(rng, kind, ties=ties)
        b, a, offset = balanced(terms, scores)
        beta = terms.beta(a)
        size = np.abs(beta).sum() + 1.0
        assert abs(beta.sum()) <= 1e-12 * size
        least = terms.cost(scores + b).sum()
        assert offset - beta @ scores == pytest.approx(least, rel=1e-12, abs=1e-12)
        for f in scores + rng.normal(size=(20, len(scores))) * rng.choice([0.01, 1.0, 10.0], (20, 1)):
            for shift in rng.normal(size=3) * 3.0:
                assert terms.cost(f + shift).sum() >= offset - beta @ f - 1e-9 * size
        assert terms.gain(a) == pytest.approx(offset, rel=1e-9, abs=1e-9)  # a dual point: its gain is that offset
        near = 1e-9 * (1.0 + abs(b))
        sides = [terms.multipliers(scores + b + side) for side in (-near, near)]
        low, high = np.minimum(*sides), np.maximum(*sides)
        wiggle = 1e-6 * (1.0 + np.abs(a))
        assert ((a >= low - wiggle) & (a <= high + wiggle)).all()
        partly += int(((a > low + wiggle) & (a < high - wiggle)).any())
    if kind in KINKED:
        assert partly > 3, "no row was in part at a kink: the test says nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_one_sign_only_have_a_level_plane_too(kind: str) -> None:
    rng = np.random.default_rng(1)
    terms, scores = random_terms(rng, kind, ties=False)
    if isinstance(terms, LossTerms):
        terms = LossTerms(np.ones_like(terms.sign), terms.loss, terms.c)
    else:
        terms = terms._replace(sign=np.ones_like(terms.sign))
    b, a, offset = balanced(terms, scores)
    beta = terms.beta(a)
    assert np.isfinite(b)
    assert abs(beta.sum()) <= 1e-9
    for f in scores + rng.normal(size=(20, len(scores))):
        for shift in rng.normal(size=3):
            assert terms.cost(f + shift).sum() >= offset - beta @ f - 1e-9


def test_far_from_the_origin_the_kink_is_still_met() -> None:
    """Scores of a million: neighbours in float64 are 1e-10 apart."""
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(9) < 0.4, -1.0, 1.0)
    terms = hinge(sign, rng.uniform(0.5, 1.5, 9))
    scores = 1e6 + rng.normal(size=9)
    b, a, offset = balanced(terms, scores)
    beta = terms.beta(a)
    assert abs(beta.sum()) <= 1e-12
    assert offset - beta @ scores == pytest.approx(terms.cost(scores + b).sum(), abs=1e-8)
