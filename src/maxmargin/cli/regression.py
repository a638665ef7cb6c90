"""Values of rows in svmlight files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.svmlight import SvmLightData
from ..errors import DataError
from .messages import counted
from .rows import ValueTask

if TYPE_CHECKING:
    from argparse import Namespace

    from .messages import Voice

__all__ = ["TASK"]

Reals = NDArray[np.float64]


class RegressionTask(ValueTask):
    """Labels are the values to be learned."""

    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> Reals:
        return self.outputs(data)

    def outputs(self, data: SvmLightData) -> Reals:
        return np.asarray(data.y, np.float64)

    def report(self, true: Reals, predicted: Sequence[float], width: int, model: Any = None) -> str:
        """Errors of the values; the share inside the tube only where a model says how wide that is."""
        if len(true) != len(predicted):
            raise DataError(f"y_true has {counted(len(true), 'value')}, y_pred {len(predicted)}")
        if not len(true):
            raise DataError("y_true and y_pred hold no values: nothing to score")
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(np.asarray(predicted) - true)
            mean, root, spread = error.mean(), _root_mean_square(error), _root_mean_square(true - true.mean())
            explained = f"{1 - (root / spread) ** 2:.6g}" if spread > 0 else "not defined: all true values are equal"
        lines = [
            f"mean absolute error     {mean:.6g}",
            f"root mean square error  {root:.6g}",
            f"R^2                     {explained}",
        ]
        if model is not None:
            epsilon = getattr(model, "epsilon_", model.epsilon)  # found in the fit, with nu
            inside = float((error <= epsilon).mean())
            lines.append(f"inside the tube         {inside:.4f} (errors of at most {epsilon:g})")
        return "\n".join([*lines, f"of {counted(len(true), 'value')}"])


def _root_mean_square(values: Reals) -> float:
    """Without squares that overflow or vanish."""
    scale = float(np.abs(values).max())
    return scale * float(np.sqrt(np.mean((values / scale) ** 2))) if 0 < scale < np.inf else scale


TASK = RegressionTask()
