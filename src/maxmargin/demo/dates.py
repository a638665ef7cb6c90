"""Handwritten dates: scikit-learn's digit images, strung into calendar dates and spoilt on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

__all__ = ["COVERED", "FIRST", "LAST", "NOISE", "SHARES", "SIDE", "DatePart", "make_parts"]

FIRST, LAST = date(1950, 1, 1), date(2029, 12, 31)
SIDE = 8
"""Height and width of an image."""
SHARES = {"fit": 0.2, "held out": 0.1, "test": 0.7}
"""Share of the images of each digit in each part."""
COVERED, NOISE = 1 / 3, 0.1
"""Share of the characters of which one half is covered; standard deviation of what is added to every pixel."""

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class DatePart:
    """Dates and their pictures.

    Attributes
    ----------
    digits : list of lists of int
        The digits of each date as YYYYMMDD.
    vectors : list of float64 arrays of shape (8, 64)
        Pixels of each character, from 0 (paper) to 1 (ink).
    sources : int array of shape (n_images,)
        Numbers of the images in scikit-learn's collection that the characters were drawn from.
    """

    digits: list[list[int]]
    vectors: list[Reals]
    sources: NDArray[np.int64]

    def __add__(self, other: DatePart) -> DatePart:
        """Both parts as one."""
        return DatePart(
            self.digits + other.digits, self.vectors + other.vectors, np.concatenate([self.sources, other.sources])
        )


def make_parts(sizes: Sequence[int], seed: int) -> dict[str, DatePart]:
    """Dates for fitting, for choosing settings, and for the test; the parts share no image.

    Parameters
    ----------
    sizes : three int
        Numbers of dates, in the order of ``SHARES``.
    seed : int
        Decides on images, dates, and what spoils the pictures.
    """
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    images = images / images.max()
    rng = np.random.default_rng(seed)
    numbers = _split(digits, list(SHARES.values()), rng)
    return {
        name: _draw_part(size, images, digits, sources, rng)
        for name, size, sources in zip(SHARES, sizes, numbers, strict=True)
    }


def _split(digits: NDArray[np.int64], shares: list[float], rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Numbers of the images of each part, the same shares of every digit."""
    parts: list[list[NDArray[np.int64]]] = [[] for _ in shares]
    for digit in np.unique(digits):
        own = rng.permutation(np.flatnonzero(digits == digit))
        cuts = np.round(np.cumsum(shares)[:-1] * len(own)).astype(int)
        for part, chosen in zip(parts, np.split(own, cuts), strict=True):
            part.append(chosen)
    return [np.sort(np.concatenate(part)) for part in parts]


def _draw_part(
    size: int, images: Reals, digits: NDArray[np.int64], sources: NDArray[np.int64], rng: np.random.Generator
) -> DatePart:
    """Random dates; an image of its digit for every character; then a cover on some and noise on all."""
    days = rng.integers(0, (LAST - FIRST).days + 1, size).tolist()
    dates = [[int(digit) for digit in (FIRST + timedelta(day)).strftime("%Y%m%d")] for day in days]
    of_digit = {digit: sources[digits[sources] == digit] for digit in range(10)}
    vectors = []
    for one in dates:
        pictures = np.array([images[rng.choice(of_digit[digit])] for digit in one]).reshape(-1, SIDE, SIDE)
        for t in np.flatnonzero(rng.random(len(one)) < COVERED):
            _cover_half(pictures[t], int(rng.integers(4)))
        noisy = pictures + NOISE * rng.standard_normal(pictures.shape)
        vectors.append(np.clip(noisy, 0.0, 1.0).reshape(len(one), -1))
    return DatePart(dates, vectors, sources)


def _cover_half(picture: Reals, which: int) -> None:
    """Set the upper, lower, left or right half to paper."""
    middle = SIDE // 2
    halves = (np.s_[:middle], np.s_[middle:], np.s_[:, :middle], np.s_[:, middle:])
    picture[halves[which]] = 0.0
