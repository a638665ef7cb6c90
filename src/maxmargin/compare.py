"""Several solvers on one problem, side by side: a table, and the data of a picture."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from ._estimator import MarginEstimator, purposes
from .errors import DataError, InseparableError
from .problem import Certificate
from .solvers import is_solver
from .solvers.deadline import clock
from .solvers.loop import Record

__all__ = ["Comparison", "SolverRun", "compare_fits", "compare_solvers", "solver_names"]

_COMPILED = 0.02  # of the seconds of a fit: more than that says nothing about the solver


@dataclass(frozen=True)
class SolverRun:
    """What one solver did.

    Attributes
    ----------
    name : str
        Of the solver, and its options where several have that name; or as given.
    refused : str
        Why it was not tried; empty when it was.
    certificate : Certificate or None
    seconds : float
        CPU time of the fit, all threads together, validation and encoding of the data included.
    test_loss : float or None
    history : list of Record
        Of the hardest problem where there are several.
    test_curve : list of (passes, seconds, test loss)
        Of fits stopped after 2, 4, 8, ... passes: the same runs, where the estimator has a seed. The seconds are those
        of the clock of ``history``, from the start of the solver: when the whole run had made so many passes.
    """

    name: str
    refused: str = ""
    certificate: Certificate | None = None
    seconds: float = 0.0
    test_loss: float | None = None
    history: list[Record] = field(default_factory=list, repr=False)
    test_curve: list[tuple[int, float, float]] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Comparison:
    """Answer of :func:`~maxmargin.compare_solvers`; ``print`` shows the table.

    Attributes
    ----------
    runs : list of SolverRun
        In the order asked for.
    measure : str
        What the test loss is; empty without test data.
    note : str
        What was changed so that all solvers have the same problem, and which of them have another one all the same;
        empty where all is as asked for.
    """

    runs: list[SolverRun]
    measure: str = ""
    note: str = ""

    @property
    def best(self) -> SolverRun:
        """The fastest one that reached the tolerance; where none did, the one of the smallest gap.

        Raises
        ------
        DataError
            When every solver refused the problem.
        """
        tried = [run for run in self.runs if run.certificate is not None]
        if not tried:
            raise DataError("every solver refused the problem: " + "; ".join(run.refused for run in self.runs))
        done = [run for run in tried if run.certificate is not None and run.certificate.status.ok]
        if done:
            return min(done, key=lambda run: run.seconds)
        return min(tried, key=lambda run: run.certificate.relative_gap if run.certificate else 0.0)

    def __str__(self) -> str:
        with_test = any(run.test_loss is not None for run in self.runs)
        header = ["solver", "passes", "calls", "CPU s", "primal", "dual", "gap", *(["test"] if with_test else []), ""]
        rows = [header]
        for run in self.runs:
            found = run.certificate
            if found is None:
                continue
            rows.append([
                run.name, str(found.passes), _short(found.oracle_calls), f"{run.seconds:.3g}", f"{found.primal:.6g}",
                *((f"{found.dual:.6g}", f"{found.relative_gap:.1e}") if found.bounded else "--"),
                *([f"{run.test_loss:.4g}" if run.test_loss is not None else ""] if with_test else []),
                str(found.status),
            ])  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if k in (0, len(header) - 1) else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines += [f"{run.name}: {run.refused}" for run in self.runs if run.refused]
        why = [run.certificate.no_bound for run in self.runs if run.certificate is not None]
        lines += [f"no lower bound, and primal at least so much: {each}" for each in dict.fromkeys(why) if each]
        if self.measure and with_test:
            lines.append(f"test: {self.measure}")
        if self.note:
            lines.append(f"note: {self.note}")
        return "\n".join(lines)


def compare_solvers(
    estimator: Any,
    X: Any,
    y: Any = None,
    solvers: Iterable[Any] | None = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    curve: bool = True,
    score_parameters: Mapping[str, Any] | None = None,
    **fit_parameters: Any,
) -> Comparison:
    """Fit copies of an estimator by several solvers.

    Parameters
    ----------
    estimator : estimator
        Of this library, with a parameter ``solver``; its ``C``, ``tol`` and so on are set, and it is not changed. All
        solvers get the same problem: where some of them have no free intercepts, those of a
        :class:`~maxmargin.MulticlassSVM` that does not ask for free ones are penalised for all.
    X, y : data
        As its ``fit`` takes them; ``fit_parameters`` too, such as ``sample_weight``.
    solvers : iterable of str or solver objects, mapping of names to these, or one of them, optional
        All that the estimator knows by default. A solver that is not for the problem is noted with its own message. The
        keys of a mapping name the rows of the table; else solvers of one name are told apart by their options.
    X_test, y_test : data, optional
        For the test loss: the share of errors of a classifier, the mean absolute error of a regressor, and 1 minus the
        estimator's ``score`` of any other.
    curve : bool, default=True
        Follow the test loss along the passes; this about doubles the time.
    score_parameters : mapping of str to data, optional
        What the estimator's ``score`` needs beside the test data, such as ``{"qid": qid_test}`` of a ranking.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        When the data are not such as the estimator takes: every solver would refuse them; what is wrong with the test
        data is said to be theirs. For an unknown solver, or what is none; where no solver is for the estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SVMClassifier, compare_solvers
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = compare_solvers(SVMClassifier(max_passes=200), X, y, ["coordinate_ascent", "interior_point"])
    >>> [run.certificate.status.ok for run in found.runs]
    [False, True]
    """
    if not isinstance(estimator, MarginEstimator):
        raise ValueError(f"compare_solvers needs an estimator of this library, not {estimator!r}")
    if (X_test is None) != (y_test is None):
        raise ValueError("compare_solvers: give both X_test and y_test, or neither")

    def fit(model: Any) -> None:
        model.fit(*((X,) if y is None else (X, y)), **fit_parameters)

    def test(model: Any) -> float:
        try:
            return _test_loss(model, X_test, y_test, score_parameters or {})
        except ValueError as error:
            raise DataError(f"the test data: {error}") from error

    measure = "mean absolute error" if is_regressor(estimator) else "1 - score"
    return compare_fits(estimator, fit, solvers, None if X_test is None else test, measure, curve=curve)


def compare_fits(
    estimator: Any,
    fit: Callable[[Any], None],
    solvers: Iterable[Any] | None = None,
    test: Callable[[Any], float] | None = None,
    measure: str = "",
    *,
    curve: bool = True,
    after: Callable[[SolverRun], None] | None = None,
) -> Comparison:
    """The same for any way to fit a copy, and any test loss of a fitted one; ``after`` sees each run at once."""
    named, runs = _named(estimator, solvers), []
    notes = [
        f"{name} has another problem, that of weights of at most a given length: its values are not those of the others"
        for name, solver in named
        if getattr(solver, "radius", None) is not None
    ]
    if hasattr(estimator, "_for_all"):
        estimator, note = estimator._for_all([solver for _, solver in named])
        notes[:0] = [note] if note else []
    for name, solver in named:
        runs.append(_run(estimator, name, solver, fit, test, curve))
        if after is not None:
            after(runs[-1])
    refused = {run.refused for run, (_, solver) in zip(runs, named, strict=True) if _is_of(estimator, solver)}
    if len(refused) == 1 and all(refused):
        raise DataError(refused.pop())
    return Comparison(runs, "" if test is None else measure, "; ".join(notes))


def solver_names(estimator: Any) -> list[str]:
    """Names of all solvers that an estimator knows, without ``"auto"``."""
    names: list[str] = [name for name in estimator._solver_names() if name != "auto"]
    return names


def no_solver_of(estimator: Any, names: Iterable[str]) -> list[str]:
    """Names that cannot be compared: unknown ones, and, where none is for this estimator, those that are for others."""
    names = list(names)
    strange = [name for name in names if not _is_of(estimator, name)]
    if len(strange) == len(names):
        return strange
    return [name for name in strange if not purposes(name)]


def _is_of(estimator: Any, solver: Any) -> bool:
    return not isinstance(solver, str) or solver in estimator._solver_names()


def _named(estimator: Any, solvers: Any) -> list[tuple[str, Any]]:
    """The solvers asked for, each with a name of its own.

    Raises
    ------
    ValueError
        For an unknown name, for what is no solver, and when there is none.
    """
    if solvers is None:
        return [(name, name) for name in solver_names(estimator)]
    if isinstance(solvers, str) or is_solver(solvers):
        solvers = [solvers]
    if not isinstance(solvers, Iterable):
        raise ValueError(f"compare_solvers: solvers must be a list of names or of solvers, not {solvers!r}")
    if isinstance(solvers, Mapping):
        given = [(" ".join(str(name).split()), solver) for name, solver in solvers.items()]
    else:
        given = [("", solver) for solver in solvers]
    if not given:
        raise ValueError("compare_solvers: no solver to compare")
    there = ", ".join(solver_names(estimator))
    strings = [solver for _, solver in given if isinstance(solver, str)]
    unknown = no_solver_of(estimator, strings)
    if len(strings) < len(given):  # objects are told apart by the fit
        unknown = [name for name in unknown if not purposes(name)]
    for k, (key, solver) in enumerate(given):
        if isinstance(solver, str) and solver in unknown:
            raise ValueError(f"compare_solvers: no solver {solver!r} here; there are {there}")
        if not isinstance(solver, str) and not is_solver(solver):
            raise ValueError(
                f"compare_solvers: solver {key or f'{k} of the list'} is {solver!r:.60}; give names ({there}) or "
                "objects of maxmargin.solvers"
            )
    plain = [name or _name_of(solver) for name, solver in given]
    names = [name if plain.count(name) == 1 else name + _options_of(solver) for name, (_, solver) in zip(plain, given)]
    seen: Counter[str] = Counter()
    for k, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[k] = f"{name} ({seen[name]})"
    return [(name, solver) for name, (_, solver) in zip(names, given)]


def _name_of(solver: Any) -> str:
    return solver if isinstance(solver, str) else str(solver.name)


def _options_of(solver: Any) -> str:
    """The options of a solver object that are not the usual ones, after a space."""
    if not is_dataclass(solver):
        return ""
    told = [(each.name, getattr(solver, each.name), each.default) for each in fields(solver)]
    shown = [f"{name}={value}" for name, value, usual in told if not _same(value, usual)]
    return f" {', '.join(shown)}" if shown else ""


def _same(value: Any, usual: Any) -> bool:
    return value is usual or (type(value) is type(usual) and bool(value == usual))


def _run(
    estimator: Any,
    name: str,
    solver: Any,
    fit: Callable[[Any], None],
    test: Callable[[Any], float] | None,
    curve: bool,
) -> SolverRun:
    model = clone(estimator).set_params(solver=solver)
    try:
        short = clone(model).set_params(max_passes=2)  # which loads most of the compiled code
        short._quiet = True
        fit(short)
        model, seconds = _timed(model, fit)
    except InseparableError:  # the data have no answer, whatever the solver
        raise
    except ValueError as error:
        return SolverRun(name, refused=str(error))
    certificate, points = model.certificate_, []
    at = _times(model.history_)
    if test is None:
        return SolverRun(name, "", certificate, seconds, None, list(model.history_))
    if curve:
        passes = 2
        while passes < certificate.passes:
            partial = clone(estimator).set_params(solver=solver, max_passes=passes)
            partial._quiet = True
            fit(partial)
            reached = int(partial.certificate_.passes)
            points.append((reached, at(reached), test(partial)))
            passes *= 2
    loss = test(model)
    points.append((int(certificate.passes), at(certificate.passes), loss))
    return SolverRun(name, "", certificate, seconds, loss, list(model.history_), points)


def _times(history: list[Record]) -> Callable[[int], float]:
    """When a run had made so many passes, by the clock of its history."""
    passes, seconds = ([0, *(getattr(record, name) for record in history)] for name in ("passes", "seconds"))
    return lambda count: float(np.interp(count, passes, seconds))


def _timed(model: Any, fit: Callable[[Any], None]) -> tuple[Any, float]:
    """The fit of a copy, whose early end is no surprise here, and its CPU seconds; once more where it compiled code."""
    seconds = 0.0
    for _ in range(2):
        model = clone(model)
        model._quiet = True
        wall, worked, began = time.perf_counter(), clock(), time.process_time()
        fit(model)
        seconds = time.process_time() - began
        compiled = (time.perf_counter() - wall) - (clock() - worked)
        if compiled <= _COMPILED * seconds:
            break
    return model, seconds


def _test_loss(model: Any, X: Any, y: Any, more: Mapping[str, Any]) -> float:
    return float(abs(model.predict(X) - y).mean()) if is_regressor(model) else 1.0 - float(model.score(X, y, **more))


def _short(count: int) -> str:
    """Of large numbers three digits."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if count >= unit:
            return f"{count / (1e3 if name == 'k' else unit):.3g}{name}"
    return str(count)
