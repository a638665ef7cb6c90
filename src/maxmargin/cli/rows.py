"""What tasks over rows in svmlight files share: reading, scores as lines, what there is to see in weights."""

from __future__ import annotations

import math
import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix

from ..data._mapped_rows import in_pieces, rows_of
from ..data.svmlight import FEATURE, SvmLightData, read_svmlight, svmlight_parts
from ..data.text import Lines, format_number, parse_number
from ..errors import DataError, FileFormatError
from ..structures.values import LARGEST
from .learners import KERNELS_WITH
from .messages import TOO_LARGE, counted, without_place
from .tasks import Examples, Task, joined
from .weights import strongest

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["RowTask", "ValueTask", "conflict"]

_PIECE = 1 << 20  # entries
_ROW = re.compile(r"\brow (\d+)")
_SHOWN = 10


class RowTask(Task):
    """Rows of features with a label each.

    Attributes
    ----------
    label_type : {"text", "number"}
        How labels are read where they matter; where they do not, anything may stand in their place.
    has_queries : bool
        Whether a ``qid`` means something.
    needs_labels : bool
        Whether training data without labels are an error.
    """

    label_type: ClassVar[Literal["text", "number"]] = "text"
    has_queries: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = True

    @abstractmethod
    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> Any:
        """What an estimator learns from training data, of which there is a row at least."""

    @abstractmethod
    def outputs(self, data: SvmLightData) -> Any:
        """The true outputs in labelled data, comparable with predictions."""

    def unsaid(self, data: SvmLightData) -> str:
        """What is assumed of labelled data that do not say it; nothing where there is no such thing."""
        return ""

    def n_scores(self, targets: Any, args: Namespace) -> int:
        """How many weights there are for a feature."""
        return 1

    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        zero_based = settings["zero_based"] = bool(args.zero_based or settings.get("zero_based"))
        bare = not self.needs_labels and _begins_with_a_feature(source)
        opened = source.relabelled(_with_label) if bare else source.open()
        data = read_svmlight(opened, zero_based=zero_based, labels=self.label_type, memory=source.memory)
        if not len(data.y):
            raise FileFormatError("no data in this file", path=source.name)
        if data.qid is not None and not self.has_queries:
            voice.note(f"{source.name}: the qid of its rows means nothing to this task and is left out")
        if not data.X.nnz:
            raise FileFormatError("no row has a feature", path=source.name)
        targets = self.targets(data, source.name, args, voice)
        linear = args.kernel in (None, "linear")
        vectors = self.n_scores(targets, args) if linear else 1  # kernels need means of the features, no weights
        _check_size(data, source.name, 0 if zero_based else 1, vectors)
        X = _as_wide(data.X, max(data.X.shape[1], settings.get("features", 0)))
        settings["features"] = X.shape[1]
        hard = args.C is not None and math.isinf(args.C)  # rows may have to be named
        return Examples(X, targets, data.sample_weight, data.line if hard else None)

    def examples(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Examples:
        opened, labelled, options = self._how_to_read(source, settings, unlabelled, compared)
        data = read_svmlight(opened, memory=source.memory, **options)
        _note_beyond(_beyond(data.X, settings["features"]), source, settings, voice)
        if labelled and (unsaid := self.unsaid(data)):
            voice.note(f"{source.name}: {unsaid}")
        return self._read(data, settings["features"], labelled)

    def parts(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Iterator[Examples]:
        opened, labelled, options = self._how_to_read(source, settings, unlabelled, compared)
        width, beyond, unsaid = settings["features"], 0, ""
        for data in svmlight_parts(opened, **options):
            beyond += _beyond(data.X, width)
            unsaid = unsaid or (self.unsaid(data) if labelled else "")
            yield self._read(data, width, labelled)
        _note_beyond(beyond, source, settings, voice)
        if unsaid:
            voice.note(f"{source.name}: {unsaid}")

    def _read(self, data: SvmLightData, width: int, labelled: bool) -> Examples:
        """Data for a model of this width, with the lines of the rows, for what is refused."""
        X = _as_wide(data.X, width)
        return Examples(X, self.outputs(data) if labelled else None, rows=data.line)

    def _how_to_read(
        self, source: Input, settings: Mapping[str, Any], unlabelled: bool, compared: bool
    ) -> tuple[Any, bool, dict[str, Any]]:
        """What to read, whether its labels matter, and the options of the reader."""
        unlabelled = unlabelled or _begins_with_a_feature(source)
        opened = source.relabelled(_with_label) if unlabelled else source.open()
        labelled = compared and not unlabelled
        labels = self.label_type if labelled else "text"
        return opened, labelled, {"zero_based": bool(settings.get("zero_based", False)), "labels": labels}

    def why_cold(self, model: Any, examples: Examples) -> str:
        if examples.X.shape[1] != model.n_features_in_:
            return f"the data have features beyond the {model.n_features_in_} of the model"
        return ""

    def predict(self, model: Any, examples: Examples) -> list[Any]:
        X, found = examples.X, []
        for part in in_pieces(X, X.shape[0]):
            try:
                found += model.predict(X[part]).tolist()
            except DataError as error:  # which speaks of rows of this part
                raise DataError(_moved(str(error), part.start)) from None
        return found

    def placed(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> FileFormatError | None:
        said, first = str(error), 0 if settings.get("zero_based") else 1
        large = " are too large to compute its score" in said or " and sums of scores above " in said
        if large and examples.rows is not None and (found := _ROW.search(said)):
            row = int(found[1])
            one = examples.X[[row]]
            k = int(np.abs(one.data).argmax())
            what = "values whose score is above 1e300 in size, or none; scale the features as the data of the fit were"
            token = f"{one.indices[k] + first}:{format_number(float(one.data[k]))}"
            return FileFormatError(what, path=source.name, line=int(examples.rows[row]), token=token)
        if TOO_LARGE not in said:
            return None
        opened = source.relabelled(_with_label) if _begins_with_a_feature(source) else source.open()
        for data in svmlight_parts(opened, zero_based=True, labels="text"):  # with the numbers of the file
            large = np.abs(data.X.data) > LARGEST
            if large.any():
                k = int(large.argmax())
                line = int(data.line[np.searchsorted(data.X.indptr, k, side="right") - 1])
                token = f"{data.X.indices[k]}:{format_number(float(data.X.data[k]))}"
                return FileFormatError(without_place(said), path=source.name, line=line, token=token)
        return None

    def truth(self, source: Input, settings: Mapping[str, Any]) -> Examples:
        # the features do not matter here: counted from zero, any index is one
        parts = svmlight_parts(source.open(), zero_based=True, labels=self.label_type)
        outputs, lines = zip(*((self.outputs(data), data.line) for data in parts), strict=True)
        return Examples(None, joined(outputs), rows=joined(lines))

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        facts: dict[str, Any] = {"labels": model.classes_.tolist()} if hasattr(model, "classes_") else {}
        facts["features"] = model.n_features_in_
        if hasattr(model, "coef_"):
            first = 0 if settings.get("zero_based") else 1
            names = getattr(model, "feature_names_in_", None)
            shown = range(first, first + model.n_features_in_) if names is None else names.tolist()
            facts["nonzero_weights"] = int(np.count_nonzero(model.coef_))
            facts["strongest_features"] = strongest(np.atleast_2d(model.coef_).T, shown, _scores_of(model), top)
        if hasattr(model, "kernel_"):
            kernel = model.kernel_
            used = {option: getattr(kernel, option) for option, names in KERNELS_WITH.items() if kernel.name in names}
            facts["kernel"] = {"name": kernel.name, **used}
            counts = model.n_support_.tolist() if hasattr(model, "n_support_") else [len(model.dual_coef_.T)]
            facts["support_vectors"] = dict(zip(facts.get("labels", ["all"]), counts, strict=True))
        if hasattr(model, "intercept_"):
            facts["intercept"] = np.asarray(model.intercept_).tolist()
        return facts


class ValueTask(RowTask):
    """Rows with a number each, as label and as prediction."""

    label_type = "number"

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[float], settings: Mapping[str, Any]
    ) -> None:
        stream.writelines(f"{format_number(value)}\n" for value in predictions)

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[float]:
        lines, values = Lines(source.open()), []
        for line in lines:
            if line.strip():
                try:
                    values.append(parse_number(line.strip()))
                except ValueError as error:
                    raise lines.error(f"a predicted value that is {error}", line) from None
        return values


def _moved(said: str, by: int) -> str:
    """A message about rows of a part that begins at row ``by``."""
    return _ROW.sub(lambda row: f"row {int(row[1]) + by}", said)


def conflict(name: str, what: str, kind: str, alone: str, named: Sequence[str]) -> DataError:
    """What to say of data that have no hard margin.

    Parameters
    ----------
    name : str
        Of the file.
    what : str
        What there is not.
    kind : str
        What contradicts each other.
    alone : str
        How one of them contradicts itself.
    named : sequence of str
        Each of them in words.
    """
    shown = [*named[:_SHOWN], *([f"{len(named) - _SHOWN} more"] if len(named) > _SHOWN else [])]
    if len(shown) == 1:
        why = f"{shown[0]}, but {alone}"
    else:
        why = (
            f"{', '.join(shown[:-1])} and {shown[-1]} contradict each other (without any one of them the others would "
            "not)"
        )
    return DataError(f"{name}: {what}: {why}; remove such {kind}, or give -C a number, which allows errors")


def _scores_of(model: Any) -> list[Any]:
    """What each row of the weights speaks for."""
    if not hasattr(model, "classes_"):
        return ["weights"]
    labels = model.classes_.tolist()
    if len(model.coef_) == 1:
        return [f"{labels[1]} (against {labels[0]})"]
    if getattr(model, "multi_class", "ovr") == "ovo":
        return [f"{one} (against {other})" for one, other in combinations(labels, 2)]
    return list(labels)


def _check_size(data: SvmLightData, name: str, first: int, n_vectors: int) -> None:
    """Refuse a feature whose number is so large that vectors of features would not fit the memory: mostly a slip."""
    if not hasattr(os, "sysconf"):
        return
    needed, there = 3 * 8 * n_vectors * data.X.shape[1], os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        row = int(np.searchsorted(data.X.indptr, int(data.X.indices.argmax()), side="right")) - 1
        problem = (
            f"a feature number so large that learning would take {needed / 2**30:.3g} GiB; "
            f"this machine has {there / 2**30:.3g}"
        )
        token = str(int(data.X.indices.max()) + first)
        raise FileFormatError(problem, path=name, line=int(data.line[row]), token=token)


def _with_label(line: str) -> str:
    return line if line.lstrip().startswith("#") else f"? {line}"


def _beyond(X: csr_matrix, width: int) -> int:
    """How many values there are of features that a model of this width does not have."""
    if X.shape[1] <= width:
        return 0
    return sum(int((X.indices[at : at + _PIECE] >= width).sum()) for at in range(0, X.nnz, _PIECE))


def _note_beyond(count: int, source: Input, settings: Mapping[str, Any], voice: Voice) -> None:
    if count:
        width = settings["features"]
        values, are = counted(count, "value"), "is" if count == 1 else "are"
        voice.note(f"{source.name}: {values} of features beyond the {width} of the model {are} left out")


def _as_wide(X: csr_matrix, width: int) -> csr_matrix:
    """The first ``width`` columns, zeros where there are none."""
    if X.shape[1] > width:
        return rows_of(X, change=lambda part: part[:, :width])
    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _begins_with_a_feature(source: Input) -> bool:
    rows = [line.split() for line in source.head() if not line.lstrip().startswith("#")]
    return bool(rows) and FEATURE.fullmatch(rows[0][0]) is not None
