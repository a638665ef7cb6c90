"""Pictures of fits and predictions, as scikit-learn's ``Display`` classes.

Every display keeps its data as attributes; ``plot`` draws it on given axes, or on a figure of its own that no global
state of matplotlib knows; ``save`` writes that figure. Needs matplotlib, which is loaded at the first plot.
Colour-blind readers can tell the colours apart, and no meaning rests on colour alone.
"""

from __future__ import annotations

from ._base import Display
from ._base import check_matplotlib as check_matplotlib
from .compare import CompareDisplay
from .convergence import GapDisplay, ObjectiveDisplay
from .curves import CurveDisplay
from .cutting_planes import CuttingPlaneDisplay
from .kkt import KKTDisplay
from .losses import LossDisplay
from .path import PathDisplay
from .perceptron import PerceptronDisplay
from .sequences import SequenceDisplay
from .strengths import StrengthDisplay
from .transitions import TransitionDisplay

__all__ = [
    "CompareDisplay",
    "CurveDisplay",
    "CuttingPlaneDisplay",
    "Display",
    "GapDisplay",
    "KKTDisplay",
    "LossDisplay",
    "ObjectiveDisplay",
    "PathDisplay",
    "PerceptronDisplay",
    "SequenceDisplay",
    "StrengthDisplay",
    "TransitionDisplay",
]
