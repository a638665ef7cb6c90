"""The cutting-plane method on a single weight, where risk and planes are lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..losses import MarginLoss, margin_loss
from ..solvers.cutting_planes import CuttingPlanes
from ._base import BLUE, GREY, INK, OCHRE, VERMILLION, Display, Reals, frame, legend, parted, two_signs

__all__ = ["CuttingPlaneDisplay"]


class CuttingPlaneDisplay(Display):
    """Planes that approach the risk of a single weight from below, after several numbers of rounds.

    Minimises ``R(w) = 1/n sum_i loss(y_i w x_i)`` over ``|w| <= radius``. Every round adds the tangent ``R(v) + R'(v)
    (w - v)``, which lies below the risk everywhere; the model is the largest of them and of 0, and where it is least is
    the ``v`` of the next round.

    Parameters
    ----------
    x : array of shape (n,)
        One feature.
    y : array of shape (n,)
        Two classes; the second one in order is +1.
    radius : float, default=3.0
    loss : str or MarginLoss, default="hinge"
        Convex and nowhere negative, see :data:`maxmargin.losses.MARGIN_LOSSES`.
    start : float, default=0.0
        The ``v`` of the first round.
    rounds : sequence of int, default=(1, 2, 4)
        Numbers of planes, each a picture of its own.

    Attributes
    ----------
    grid, risk : arrays of shape (k,)
        Weights from ``-radius`` to ``radius``, and their risk.
    points, slopes, offsets : arrays of shape (t,)
        ``v`` of each round and its tangent ``slope w + offset``.
    lowest : array of shape (t,)
        The weight at which the model of each round is least.
    bounds : array of shape (t, 2)
        Lower and upper bound of the smallest risk after each round: the least value of the model, and the least risk at
        the points so far.
    axes_ : array of matplotlib Axes
        Where the last ``plot`` drew, one for each of ``rounds``.

    Raises
    ------
    DataError
        For data of another shape, other than two classes, or rounds and radii that are not positive.
    ValueError
        For an unknown loss, or one that is not convex.

    Examples
    --------
    >>> from maxmargin.plots import CuttingPlaneDisplay
    >>> display = CuttingPlaneDisplay([-2.0, -1.0, 1.0, 2.0], [1, -1, 1, 1], radius=2.0)
    >>> display.bounds.round(3).tolist()[-1]
    [0.75, 0.75]
    """

    _STEPS = 601

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        radius: float = 3.0,
        loss: str | MarginLoss = "hinge",
        start: float = 0.0,
        rounds: Sequence[int] = (1, 2, 4),
    ) -> None:
        feature = np.asarray(x, np.float64)
        if feature.ndim != 1:
            raise DataError(f"x must hold one finite number for each row, not an array of shape {feature.shape}")
        if len(bad := np.flatnonzero(~np.isfinite(feature))):
            raise DataError(f"x must hold one finite number for each row; x[{bad[0]}] is {feature[bad[0]]}")
        signed = two_signs(y, len(feature)) * feature
        if not (math.isfinite(radius) and radius > 0.0):
            raise DataError(f"radius must be a finite number above 0, not {radius!r}")
        if not abs(start) <= radius:
            raise DataError(f"start must be a number of at most the radius {radius:g}, not {start!r}")
        counts = np.asarray(rounds)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or not len(counts) or counts.min() < 1:
            raise DataError(f"rounds must be numbers of at least 1, in a list, not {rounds!r}")
        self.rounds = tuple(counts.tolist())
        self.loss, self.radius = margin_loss(loss), float(radius)
        self.grid = np.linspace(-self.radius, self.radius, self._STEPS)
        with np.errstate(over="ignore"):  # said below
            self.risk = self.loss.value(np.outer(self.grid, signed)).mean(1)
        if not np.isfinite(self.risk).all():
            raise DataError(f"the risk overflows at weights of size {radius:g}: take a smaller radius, or scale x down")
        self._run(signed, float(start))

    def _run(self, signed: Reals, v: float) -> None:
        """The rounds of the method."""
        rounds = max(self.rounds)
        cuts = CuttingPlanes(1, keep_rounds=rounds + 1)
        planes, bounds, best = [], [], math.inf
        for _ in range(rounds):
            slope = float((self.loss.derivative(v * signed) * signed).mean())
            value = float(self.loss.value(v * signed).mean())
            cuts.add(np.array([slope]), value - slope * v)
            best = min(best, value)
            lower = cuts.minimise_in_ball(self.radius, 1e-9 * max(best, 1e-300))
            planes.append((v, slope, value - slope * v, float(cuts.v[0])))
            bounds.append((lower, best))
            v = float(cuts.v[0])
        self.points, self.slopes, self.offsets, self.lowest = np.array(planes).T
        self.bounds = np.array(bounds)

    def model(self, w: ArrayLike, planes: int) -> Reals:
        """The largest of the first planes and of 0 at weights of any shape."""
        lines = np.multiply.outer(np.asarray(w, np.float64), self.slopes[:planes]) + self.offsets[:planes]
        return np.asarray(np.maximum(lines.max(-1), 0.0))

    def _size(self) -> tuple[float, float]:
        return 3.3 * len(self.rounds) + 0.4, 4.0

    def _draw(self, ax: Any) -> None:
        axes, below = parted(ax, 1, len(self.rounds), type(self).__name__, share=True)
        self.axes_ = axes[0]
        for each, count in zip(self.axes_, self.rounds):
            self._draw_round(each, count)
        self.axes_[0].set_ylabel("risk R(w)")
        handles = self.axes_[0].get_legend_handles_labels()
        legend(below, *handles, fontsize="small", ncols=5 if len(self.rounds) > 2 else 2, loc="center")

    def _draw_round(self, ax: Any, count: int) -> None:
        """The risk, the planes so far, and their largest."""
        ax.plot(self.grid, self.risk, color=INK, linewidth=3.0, label="risk")
        for k in range(count):
            line = self.slopes[k] * self.grid + self.offsets[k]
            ax.plot(self.grid, line, color=GREY, linewidth=0.9, label="planes" if k == 0 else None)
        ax.plot(self.grid, self.model(self.grid, count), "--", color=BLUE, linewidth=1.8, label="model: the largest")
        touched = self.points[:count]
        heights = self.slopes[:count] * touched + self.offsets[:count]
        ax.plot(touched, heights, "o", color=VERMILLION, markersize=6, label="they touch", zorder=4, clip_on=False)
        low = self.lowest[count - 1]
        ax.plot(
            [low],
            self.model([low], count),
            "v",
            color=OCHRE,
            markersize=9,
            label="model is least",
            zorder=4,
            clip_on=False,
        )
        lower, upper = self.bounds[count - 1]
        ax.set_title(f"{count} plane{'s' * (count > 1)}: {lower:.3g} ≤ least risk ≤ {upper:.3g}", fontsize=10)
        top = float(self.risk.max()) or 1.0
        ax.set(xlabel="w", xlim=(-self.radius, self.radius), ylim=(-0.06 * top, 1.05 * top))
        frame(ax)
