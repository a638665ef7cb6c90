"""Two classes of rows in svmlight files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..data._mapped_rows import rows_of
from ..data.svmlight import SvmLightData
from ..errors import DataError, InseparableError
from .multiclass import MulticlassTask, as_number
from .rows import conflict
from .tasks import Examples

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
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

    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> Any:
        targets = super().targets(data, name, args, voice)
        left_out = _without_weight(targets, args.class_weight)
        used = ~np.isin(targets, left_out)
        if data.sample_weight is not None:
            used &= data.sample_weight > 0
        labels = [str(label) for label in np.unique(targets[used]).tolist()]
        if len(labels) > 2:
            shown = ", ".join(labels[:_SHOWN]) + (", ..." if len(labels) > _SHOWN else "")
            raise DataError(
                f"{name}: {len(labels)} labels ({shown}), but --task {self.name} learns two; try multiclass"
            )
        if len(labels) == 1:
            others = "" if not left_out else " has any weight"
            raise DataError(f"{name}: one label only ({labels[0]}){others}, but --task {self.name} learns two")
        return targets

    def n_scores(self, targets: Any, args: Namespace) -> int:
        return 1

    def fit(self, model: Any, examples: Examples) -> None:
        """Learn; weights of rows mean nothing to a hard margin, but that what has the weight 0 is left out."""
        if type(model).__name__ != "HardMarginSVM":
            super().fit(model, examples)
            return
        X, y, weights = examples.X, examples.y, examples.weights
        used = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        try:
            model.fit(X if len(used) == len(y) else rows_of(X, used), y[used])
        except InseparableError as error:
            raise InseparableError(str(error), used[list(error.rows)].tolist()) from None

    def explained(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> DataError:
        if not isinstance(error, InseparableError):
            return super().explained(error, model, examples, source, settings)
        named = [f"line {examples.rows[row]} ({examples.y[row]})" for row in error.rows]
        space = "" if model.kernel == "linear" else " in the space of the kernel"
        alone = "that row is 0, and without an intercept its score is 0 too"
        return conflict(source.name, f"no hyperplane{space} separates the labels", "rows", alone, named)

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        facts = super().details(model, settings, top)
        return {**facts, "margin": model.margin_} if hasattr(model, "margin_") else facts


def _without_weight(targets: Any, class_weight: Any) -> list[Any]:
    """The labels of factor 0, as they are in the targets."""
    if not isinstance(class_weight, dict):
        return []
    labels = [label for label, factor in class_weight.items() if factor == 0]
    if targets.dtype.kind != "i":
        return labels
    numbers = map(as_number, labels)
    return [number for number in numbers if isinstance(number, int)]


TASK = BinaryTask()
