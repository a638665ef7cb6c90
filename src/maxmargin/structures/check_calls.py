"""Guarded calls of a structure's compiled functions: their Python source first, then the machine code, compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import is_compiled
from .base import FUNCTIONS, Encoded, Structure, signatures
from .check_report import Ledger
from .plain import plain_pack

__all__ = ["Calls", "check_are_compiled", "check_functions", "check_pack"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

_ARGUMENTS = {
    "potentials": "(pack, w, i, theta)", "potentials_at": "(pack, w, i, parts, m, theta)",
    "features": "(pack, i, parts, coef, m, keys, values)", "decode": "(pack, i, theta, out)",
    "parts": "(pack, i, out, parts)", "augment": "(pack, i, theta)", "loss": "(pack, i, out)",
}  # fmt: skip
_GUARD = 1024
_READ_ONLY = "writes to w or to the pack, which are read-only; it may write to its buffers only"
_MARKS = {"f": np.nan, "i": -87654321}
_SIZES = {
    "theta": "n_potentials", "out": "n_output", "parts": "n_parts", "keys": "the length it asks for",
    "values": "the length it asks for",
}  # fmt: skip


@dataclass
class _Buffer:
    """An array between guards that a function may not touch."""

    name: str
    whole: NDArray[Any]
    keep: bool
    """Whether the function must leave the contents alone."""

    @classmethod
    def of(cls, name: str, values: Any, dtype: Any, *, keep: bool = False) -> _Buffer:
        whole = np.full(len(values) + 2 * _GUARD, _MARKS[np.dtype(dtype).kind], dtype)
        whole[_GUARD:-_GUARD] = values
        return cls(name, whole, keep)

    def fresh(self) -> _Buffer:
        return _Buffer(self.name, self.whole.copy(), self.keep)

    @property
    def view(self) -> NDArray[Any]:
        return self.whole[_GUARD:-_GUARD]

    @property
    def overrun(self) -> int | None:
        """The entry next to the array that was written outside of it, or None."""
        mark, size = _MARKS[self.whole.dtype.kind], len(self.view)
        written = np.flatnonzero(~np.isnan(self.whole) if np.isnan(mark) else self.whole != mark) - _GUARD
        written = written[(written < 0) | (written >= size)]
        if len(written) and not size:
            return 0  # NumPy does not say where an empty array stands
        return int(written[np.argmin(np.abs(written - size / 2))]) if len(written) else None


class Calls:
    """The functions of one structure over its encoded examples, in terms of plain arrays.

    Every call goes through the Python source first, where an index outside an array is an error, then through the
    compiled function with guards around its buffers; ``twin=False`` and ``twins=False`` leave the former out.
    """

    latest = ""
    """Name of the function called last."""

    def __init__(self, structure: Structure, encoded: Encoded, ledger: Ledger, *, twins: bool = True) -> None:
        self.encoded, self.ledger, self._twins = encoded, ledger, twins
        self._fast = {name: getattr(structure, name) for name in FUNCTIONS}
        self._source = {name: getattr(function, "py_func", None) for name, function in self._fast.items()}
        if not any(self._source.values()):
            ledger.note("compiled = Python", "nothing is compiled")

    def potentials(self, i: int, w: Reals, fill: float = 0.0) -> Reals:
        """All potentials; entries that the function leaves alone hold ``fill``."""
        theta = _Buffer.of("theta", np.full(self.encoded.n_potentials, fill), np.float64)
        _, after = self._run("potentials", i, True, w, i, theta)
        return after["theta"]

    def potentials_at(self, i: int, w: Reals, parts: Ints) -> Reals:
        """The potentials of these parts."""
        theta = _Buffer.of("theta", np.zeros(self.encoded.n_potentials), np.float64)
        asked = _Buffer.of("parts", parts, np.int32, keep=True)
        _, after = self._run("potentials_at", i, True, w, i, asked, len(parts), theta)
        return after["theta"][parts]

    def decode(self, i: int, theta: Reals, fill: int = 0, *, twin: bool = False) -> tuple[float, Ints]:
        """Score and output vector; entries that the function leaves alone hold ``fill``."""
        given = _Buffer.of("theta", theta, np.float64, keep=True)
        out = _Buffer.of("out", np.full(self.encoded.n_output, fill), np.int32)
        score, after = self._run("decode", i, twin, i, given, out)
        return float(score), after["out"]

    def parts(self, i: int, out: Ints, *, twin: bool = False) -> Ints:
        """The parts of an output vector."""
        given = _Buffer.of("out", out, np.int32, keep=True)
        parts = _Buffer.of("parts", np.zeros(self.encoded.n_parts), np.int32)
        n, after = self._run("parts", i, twin, i, given, parts)
        if not 0 <= n <= self.encoded.n_parts:
            self.ledger.abandon(
                "buffers", i, f"parts returned {n} with n_parts = {self.encoded.n_parts}; encode must give more"
            )
        return after["parts"][:n]

    def augment(self, i: int, theta: Reals) -> tuple[float, Reals]:
        """The constant, and what the function made of ``theta``."""
        constant, after = self._run("augment", i, True, i, _Buffer.of("theta", theta, np.float64))
        return float(constant), after["theta"]

    def loss(self, i: int, out: Ints, *, twin: bool = False) -> float:
        """Task loss of an output vector."""
        value, _ = self._run("loss", i, twin, i, _Buffer.of("out", out, np.int32, keep=True))
        return float(value)

    def features(self, i: int, parts: Ints, coef: Reals) -> tuple[NDArray[np.int64], Reals]:
        """Sparse feature vector, with buffers that are first empty and then exactly as long as asked for."""
        room = 0
        n, keys, values = self._features(i, parts, coef, room)
        if n < 0:
            room = -n
            n, keys, values = self._features(i, parts, coef, room)
        if not 0 <= n <= room:
            self.ledger.abandon(
                "features", i, f"features returned {n} with buffers of {room}; return the number of entries written, "
                "or minus the length needed when the buffers are shorter"
            )  # fmt: skip
        return keys[:n], values[:n]

    def _features(self, i: int, parts: Ints, coef: Reals, room: int) -> tuple[int, NDArray[np.int64], Reals]:
        n, after = self._run(
            "features", i, True, i, _Buffer.of("parts", parts, np.int32, keep=True),
            _Buffer.of("coef", coef, np.float64, keep=True), len(parts), _Buffer.of("keys", np.zeros(room), np.int64),
            _Buffer.of("values", np.zeros(room), np.float64),
        )  # fmt: skip
        return int(n), after["keys"], after["values"]

    # --- one call

    def _run(self, name: str, i: int, twin: bool, *args: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
        self.latest, fast = name, self._fast[name]
        source = self._source[name] if twin and self._twins else None
        if source is None:
            return self._guarded(fast, name, i, args)
        expected, wanted = self._guarded(source, name, i, args)
        result, after = self._guarded(fast, name, i, args)
        self._same(name, i, "its result", result, expected)
        if name != "decode":  # outputs with equal scores are equally good
            for key, values in after.items():
                n = max(int(result), 0) if name in ("parts", "features") else len(values)
                bad = np.flatnonzero(~np.isclose(values[:n], wanted[key][:n], rtol=1e-8, atol=1e-8, equal_nan=True))
                for k in bad[:1]:
                    self._same(name, i, f"{key}[{k}]", values[k], wanted[key][k])
        self.ledger.passed("compiled = Python", i)
        return result, after

    def _same(self, name: str, i: int, what: str, compiled: Any, python: Any) -> None:
        if compiled is not None and not np.isclose(compiled, python, rtol=1e-8, atol=1e-8, equal_nan=True):
            self.ledger.fault(
                "compiled = Python", i, f"the compiled {name} differs from its Python source: {what} is "
                f"{compiled:.10g} compiled but {python:.10g} in Python; look for globals changed since, overflow and "
                "division by zero"
            )  # fmt: skip

    def _guarded(self, function: Any, name: str, i: int, args: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
        mine = [arg.fresh() if isinstance(arg, _Buffer) else arg for arg in args]
        try:
            with np.errstate(all="ignore"):
                result = function(self.encoded.pack, *(arg.view if isinstance(arg, _Buffer) else arg for arg in mine))
        except IndexError as error:
            sizes = ", ".join(f"{arg.name} {len(arg.view)}" for arg in mine if isinstance(arg, _Buffer))
            self.ledger.abandon(
                "buffers", i, f"{name} leaves its arrays ({error}; lengths: {sizes}); mend the index, or let encode "
                "give larger n_output and n_parts", error
            )  # fmt: skip
        except ValueError as error:
            if "read-only" not in str(error):
                self.ledger.abandon("functions", i, f"{name} raised ValueError: {error}", error)
            self.ledger.abandon("functions", i, f"{name} {_READ_ONLY} ({error})", error)
        except Exception as error:
            self.ledger.abandon("functions", i, f"{name} raised {type(error).__name__}: {error}", error)
        if result is None and not name.startswith("potentials"):
            self.ledger.abandon("functions", i, f"{name} returned None; it must return a number")
        buffers = [(before, after) for before, after in zip(args, mine) if isinstance(before, _Buffer)]
        for before, after in buffers:
            size = len(after.view)
            if after.overrun is not None:
                self.ledger.abandon(
                    "buffers", i, f"{name} writes entry {after.overrun} of {after.name}, which has {size}; mend the "
                    f"index, or let encode give a larger size ({_SIZES.get(after.name, after.name)})"
                )  # fmt: skip
            for k in np.flatnonzero(after.view != before.view)[:1] if after.keep else ():
                self.ledger.abandon(
                    "buffers", i, f"{name} changes {after.name}[{k}] from {before.view[k]:.10g} to "
                    f"{after.view[k]:.10g}; solvers still need it, work on a copy"
                )  # fmt: skip
        self.ledger.passed("buffers", i)
        return result, {after.name: after.view for _, after in buffers if not after.keep}


def check_pack(encoded: Encoded, ledger: Ledger) -> None:
    """Whether the pack has the types and the flags that solvers were compiled for."""
    for name, wanted in plain_pack()._asdict().items():
        found = getattr(encoded.pack, name)
        if _described(found) != _described(wanted):
            ledger.abandon(
                "functions", None, f"pack.{name} is {_described(found)}; it must be {_described(wanted)}: make the "
                "pack with make_pack"
            )  # fmt: skip
        ledger.passed("functions", None)


def _described(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return f"a {type(array).__name__}"
    flags = "writable" if array.flags.writeable else "read-only"
    return f"a {flags}{' contiguous' if array.flags.c_contiguous else ''} {array.ndim}-D array of {array.dtype}"


def check_are_compiled(structure: Structure, ledger: Ledger) -> None:
    """Whether every function is there, and none of them in Python alone."""
    missing = [name for name in FUNCTIONS if not callable(getattr(structure, name, None))]
    if missing:
        ledger.abandon("functions", None, f"lacks the compiled function {', '.join(missing)}")
    plain = [name for name in FUNCTIONS if not is_compiled(getattr(structure, name))]
    if plain:
        are, them = ("is", "it") if len(plain) == 1 else ("are", "each of them")
        said = f"{', '.join(plain)} {are} not compiled: put @compiled before {them}"
        ledger.abandon("functions", None, said)


def check_functions(structure: Structure, ledger: Ledger) -> None:
    """The same, and whether every function compiles to the signature that solvers call."""
    check_are_compiled(structure, ledger)
    for name in FUNCTIONS:
        function, wanted = getattr(structure, name), getattr(signatures(), name).signature
        if hasattr(function, "compile"):
            try:
                function.compile(wanted)
            except Exception as error:
                signature = f"{name}{_ARGUMENTS[name]} -> {wanted.return_type}"
                ledger.fault("functions", None, f"{name} does not compile to {signature}: {_reason(str(error))}", error)
        ledger.passed("functions", None)


def _reason(message: str) -> str:
    """The telling line of the compiler's message, and the line of the source it points to."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    telling = [line for line in lines if "Cannot modify readonly" in line]
    if telling:
        reason = f"it {_READ_ONLY}"
    else:
        skipped = ("Failed in nopython", "During:", "File ", ">>>", "There are")
        reason = next((line for line in lines if not line.startswith(skipped)), "unknown reason")
    places = [line.removeprefix("During: ") for line in lines if line.startswith("During: typing of")]
    text = reason if len(reason) <= 160 else reason[:157] + "..."
    return f"{text} ({places[0]})" if places else text
