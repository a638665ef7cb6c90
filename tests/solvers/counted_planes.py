"""How many planes a working set holds."""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.planes import Planes

__all__ = ["active_counts"]


def active_counts(planes: Planes) -> tuple[int, int]:
    """Number of planes, and of those with weight in the dual."""
    n = int(planes.counts[0])
    return n, int(np.count_nonzero(planes.alpha[:n]))
