"""Two classes of rows in svmlight files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..data.svmlight import SvmLightData
from ..errors import DataError
from .multiclass import MulticlassTask

if TYPE_CHECKING:
    from argparse import Namespace

    from .messages import Voice

__all__ = ["TASK"]

_SHOWN = 5


class BinaryTask(MulticlassTask):
    """As classes, of which there are two; a positive score speaks for the second of them.

    Attributes
    ----------
    name : str
        That of the task.
    """

    name: ClassVar[str] = "binary"

    def targets(self, data: SvmLightData, name: str, voice: Voice) -> Any:
        targets = super().targets(data, name, voice)
        used = targets if data.sample_weight is None else targets[data.sample_weight > 0]
        labels = [str(label) for label in np.unique(used).tolist()]
        if len(labels) > 2:
            shown = ", ".join(labels[:_SHOWN]) + (", ..." if len(labels) > _SHOWN else "")
            raise DataError(
                f"{name}: {len(labels)} labels ({shown}), but --task {self.name} learns two; try multiclass"
            )
        if len(labels) == 1:
            raise DataError(f"{name}: one label only ({labels[0]}), but --task {self.name} learns two")
        return targets

    def n_scores(self, targets: Any, args: Namespace) -> int:
        return 1


TASK = BinaryTask()
