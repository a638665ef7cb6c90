"""What is unlike the training data, in svmlight files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..data.svmlight import SvmLightData
from .multiclass import MulticlassTask

if TYPE_CHECKING:
    from argparse import Namespace

    from .messages import Voice

__all__ = ["TASK"]


class OneClassTask(MulticlassTask):
    """Training data may have labels, which play no part; predictions are 1, and -1 for outliers."""

    needs_labels = False

    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> None:
        return None

    def learned(self, targets: Any) -> set[str]:
        return {"1", "-1"}

    def n_scores(self, targets: Any, args: Namespace) -> int:
        return 1

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        return {**super().details(model, settings, top), "offset": model.offset_}


TASK = OneClassTask()
