"""The one place that knows Numba: decorators for compiled functions and for kernels entered from Python.

Two kinds of compiled code exist.

* ``@compiled`` functions: helpers, decoders and the functions of a structure. They are typed by their first call,
  may call each other, and may be handed to a kernel as first-class functions. Where one mentions a field of a tuple of
  arrays, all the arrays are copied (the compiler takes the copies out again, slowly), so fields that are used more than
  once are given names first.
* ``@kernel`` functions: the loops of the solvers, entered from Python. Their signature is explicit, so one machine code
  serves every structure and is found in the disk cache by the next process. They are built at their first call.

Numba's cache looks at the file of the function alone, so an edit in a callee's file would leave a stale caller.
The stamp of every cached function of the package therefore includes a hash of all compiled sources.
Where no cache folder can be written (read-only install without a home, an interactive prompt) the code is compiled in
memory; this is never an error.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import caching, event, sigutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = [
    "array", "BITS", "compiled", "compiling_seconds", "DOT_MATH", "function_type", "is_compiled", "kernel", "larger",
    "list_nonzero", "prefetch", "smaller", "watch_compiler",
]  # fmt: skip

# Reordering sums is allowed in dot products only; full fastmath would break NaN checks.
DOT_MATH = {"contract", "reassoc", "nsz"}

_COMPILED_FOLDERS = ("decoders", "structures", "solvers", "data")


def compiled_sources() -> dict[str, bytes]:
    """Every source file of the package that may hold compiled code, by name; also from inside an archive."""
    package = resources.files(__package__)
    found, pending = {}, [(name, package / name) for name in ("_compiled.py", *_COMPILED_FOLDERS)]
    while pending:
        name, entry = pending.pop()
        if entry.is_dir():
            pending += [(f"{name}/{inner.name}", inner) for inner in entry.iterdir()]
        elif name.endswith(".py") and entry.is_file():
            found[name] = entry.read_bytes()
    return found


@functools.cache
def source_stamp() -> str:
    """Hash of every source file that may hold compiled code, so that an edit anywhere renews the cache."""
    digest = hashlib.sha256()
    for name, text in sorted(compiled_sources().items()):
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()


class _StampedImpl(caching.CompileResultCacheImpl):
    """Numba's way to store a function, whose freshness stamp covers the whole package.

    The stamp and the signature stand with the machine code too: Numba keeps them in an index beside it, and two
    processes that save at once can leave an index that names the code of the other.
    """

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._stamp = (self._locator.get_source_stamp(), source_stamp())
        self._locator.get_source_stamp = lambda: self._stamp

    def reduce(self, cres: Any) -> Any:
        return self._stamp, super().reduce(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        stamp, code = payload
        return super().rebuild(target_context, code) if stamp == self._stamp else None


class _StampedCache(caching.FunctionCache):
    """Numba's cache of one function, made fresh after any edit and made unable to fail."""

    _impl_class = _StampedImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code on disk for ``sig``, or None."""
        args, result = sigutils.normalize_signature(sig)
        # A first-class function is asked for with its result type; its entry may come from a plain call, without it.
        for key in (sig,) if result is None else (sig, tuple(args)):
            try:
                found = super().load_overload(key, target_context)
            except Exception:  # a damaged file, as a crash of the machine leaves it
                self._empty()
                return None
            if found is not None:
                signature = found.signature
                if signature.args == tuple(args) and result in (None, signature.return_type):
                    return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # the folder has gone, is full, or cannot be written any more: the code stays in memory
            pass

    def _empty(self) -> None:
        try:
            self.flush()
        except OSError:
            pass


def _remember_addresses(dispatcher: Any) -> None:
    """Let a function find its machine code at once when it is an argument of a kernel.

    Numba asks for it twice at every call, by a signature that is one object for each kernel, and compares all types
    each time: 50 us for each function, many times the work of a kernel on a few examples.
    """
    search = dispatcher.get_compile_result
    known: dict[int, tuple[Any, Any]] = {}

    def found(signature: Any) -> Any:
        entry = known.get(id(signature))
        if entry is None:
            result = search(signature)
            if not isinstance(result.library.get_pointer_to_function, functools._lru_cache_wrapper):
                result.library.get_pointer_to_function = functools.cache(result.library.get_pointer_to_function)
            # the signature is kept: another in its place would have its number
            entry = known[id(signature)] = signature, result
        return entry[1]

    dispatcher.get_compile_result = found


def _refuse(*_: Any, **__: Any) -> Any:
    raise TypeError("this function is for compiled callers alone: take `inner` from its decorator to call it")


def _jit(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    options = {"nogil": True, "error_model": "numpy", **options}
    dispatcher = njit(**options)(function)
    if isinstance(dispatcher, numba.core.dispatcher.Dispatcher):
        try:
            dispatcher._cache = _StampedCache(function)
        except (RuntimeError, OSError):
            pass  # no writable cache folder: compile in memory
        _remember_addresses(dispatcher)
        if options.get("no_cpython_wrapper"):
            dispatcher._insert = lambda *args, **kinds: None  # there is no entry that Python could call
            dispatcher._compile_for_args = _refuse
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
    return dispatcher


def compiled(function: Callable[..., Any] | None = None, *, dot: bool = False, inner: bool = False) -> Any:
    """Compile ``function`` with Numba at its first use, without the GIL, cached on disk where possible.

    Parameters
    ----------
    dot : bool
        Allow sums to be reordered (for dot products; NaN checks stay right).
    inner : bool
        Called by kernels alone, never from Python, as what a structure's function calls may be when it is checked, and
        never handed to a kernel: the code that takes apart Python's arguments is left out, which for a pack or planes
        can be as long as the function.
    """
    if function is None:
        return functools.partial(compiled, dot=dot, inner=inner)
    return _jit(function, fastmath=DOT_MATH if dot else False, no_cpython_wrapper=inner, no_cfunc_wrapper=inner)


class Kernel:
    """A loop entered from Python: built at its first call for one explicit signature."""

    def __init__(self, function: Callable[..., Any], signature: Callable[[], Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._signature = function, signature
        self._dispatcher: Any = None
        self._entry: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def build(self) -> Any:
        """The compiled dispatcher (from the disk cache if it is there)."""
        with self._lock:
            if self._dispatcher is None:
                self._dispatcher = _jit(self._function, self._signature())
        return self._dispatcher

    def entry(self) -> Any:
        """The machine code as a function that takes the arguments as they are, for many short calls.

        Numba's look at the types of some thirty arrays takes longer than their use; here they must be those of the
        signature, read-only and strided arrays included.
        """
        if self._entry is None:
            dispatcher = self.build()
            built = getattr(dispatcher, "overloads", None)
            self._entry = next(iter(built.values())).entry_point if built else dispatcher
        return self._entry

    def __call__(self, *args: Any) -> Any:
        return self._call(self._dispatcher or self.build(), args)

    def as_they_are(self, *args: Any) -> Any:
        """A call of :meth:`entry`, for arguments with functions among them."""
        return self._call(self.entry(), args)

    @staticmethod
    def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        try:
            return function(*args)
        except TypeError as error:
            # Numba looks up functions among the arguments in Python; Ctrl-C there comes out as a call that lacks one
            if "missing 1 required positional argument: 'sig'" in str(error):
                raise KeyboardInterrupt from None
            raise


def kernel(signature: Callable[[], Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """Mark a kernel; ``signature`` is called when the kernel is first built."""
    return lambda function: Kernel(function, signature)


class _Watch(event.Listener):
    def __init__(self, after: float, tell: Callable[[], Any]) -> None:
        self._left, self._tell = after, tell
        self._depth, self._began = 0, 0.0
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._began = time.perf_counter()
                self._timer = threading.Timer(max(self._left, 0.0), self._speak)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._depth = max(self._depth - 1, 0)  # the watch may have begun in the middle
            if self._depth == 0:
                self.stop()
                self._left -= time.perf_counter() - self._began

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _speak(self) -> None:
        tell, self._tell = self._tell, lambda: None
        tell()


@contextmanager
def watch_compiler(after: float, tell: Callable[[], Any]) -> Iterator[None]:
    """Call ``tell`` once, from another thread, when compiling has taken ``after`` seconds of the block.

    Only time in which machine code is made counts: what comes from the cache on disk is not compiled.
    """
    watch = _Watch(after, tell)
    try:
        with event.install_listener("numba:compile", watch):
            yield
    finally:
        watch.stop()


class _Meter(event.Listener):
    """Adds up the seconds in which code is compiled; a function compiled for the sake of another counts once.

    Numba compiles under one lock, so no two threads tell of a beginning at once.
    """

    def __init__(self) -> None:
        self._depth = 0
        # seconds of the past, and since when there are more; replaced together, for other threads read them
        self._state = 0.0, math.inf

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._state = self._state[0], time.perf_counter()

    def on_end(self, event: Any) -> None:
        self._depth = max(self._depth - 1, 0)  # Ctrl-C may have come before the beginning was counted
        if self._depth == 0:
            self._state = self.seconds, math.inf

    @property
    def seconds(self) -> float:
        past, began = self._state
        return past + max(time.perf_counter() - began, 0.0)


_METER = _Meter()
event.register("numba:compile", _METER)


def compiling_seconds() -> float:
    """Seconds that this process has spent in making machine code so far, in whatever thread; it never falls."""
    return _METER.seconds


def array(dtype: Any, ndim: int = 1, *, readonly: bool = False) -> Any:
    """Numba type of a C-contiguous array."""
    return types.Array(dtype, ndim, "C", readonly=readonly)


def function_type(signature: Any) -> Any:
    """Numba type of a first-class function."""
    return types.FunctionType(signature)


@intrinsic
def _prefetch(typing_context, values, at):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(call, [address, number(0), number(3), number(1)])  # to be read, kept in all caches, data
        return context.get_dummy_value()

    return types.void(values, at), code


@intrinsic
def _list_nonzero(typing_context, values, at, table, out, n):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        def address(k: int, index: Any, kind: Any) -> Any:
            data = make_array(signature.args[k])(context, builder, arguments[k]).data
            return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())

        byte, long = ir.IntType(8), ir.IntType(64)
        reals, ints = ir.VectorType(ir.DoubleType(), 8), ir.VectorType(ir.IntType(32), 8)
        entries = builder.load(address(0, arguments[1], reals), align=8)
        bits = builder.bitcast(builder.fcmp_unordered("!=", entries, ir.Constant(reals, None)), byte)
        row = builder.mul(builder.zext(bits, long), long(8))
        first = builder.insert_element(ir.Constant(ints, None), builder.trunc(arguments[1], ints.element), long(0))
        first = builder.shuffle_vector(first, first, ir.Constant(ints, None))
        numbers = builder.add(builder.load(address(2, row, ints), align=4), first)
        builder.store(numbers, address(3, arguments[4], ints), align=4)
        return builder.add(arguments[4], builder.zext(builder.ctpop(bits), long))

    return types.int64(values, types.int64, table, out, types.int64), code


def _extreme_of(comparison: str) -> Any:
    """The one of two numbers that compares so, neither of which is NaN: two float32, or else as float64.

    Loops that keep the largest of many numbers take several at a time only where comparison and choice both say that
    NaN and the sign of 0 do not matter, which Numba's ``max`` and ``min`` never do: a fifth of the time (measured).
    """

    def extreme(typing_context, a, b):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            flags = ("nnan", "nsz")
            return builder.select(builder.fcmp_ordered(comparison, *arguments, flags=flags), *arguments, flags=flags)

        kind = types.float32 if (a, b) == (types.float32, types.float32) else types.float64
        return kind(kind, kind), code

    return intrinsic(extreme)


def jit_disabled() -> bool:
    """True when NUMBA_DISABLE_JIT asks for plain Python."""
    return bool(numba.config.DISABLE_JIT) or os.environ.get("NUMBA_DISABLE_JIT") == "1"


def is_compiled(function: Any) -> bool:
    """Whether a kernel can take ``function`` as an argument; any one can be where NUMBA_DISABLE_JIT is set."""
    if jit_disabled():
        return True
    try:
        kind = numba.typeof(function)
    except ValueError:  # Numba knows no type of plain functions
        return False
    return isinstance(kind, types.Callable | types.FunctionType)


# Begin to load ``values.flat[at]`` of a C-contiguous array into the caches; for compiled code, which goes on meanwhile.
# An address out of range does nothing.
prefetch: Any = (lambda values, at: None) if jit_disabled() else _prefetch


# ``max`` and ``min`` of two floats that are not NaN, for loops over many.
larger: Any = max if jit_disabled() else _extreme_of(">")
smaller: Any = min if jit_disabled() else _extreme_of("<")


def _list_nonzero_plain(values: Any, at: int, table: Any, out: Any, n: int) -> int:
    for j in range(at, at + 8):
        if values[j] != 0.0:
            out[n] = j
            n += 1
    return n


# Row b: numbers of the bits that are set in the byte b, from the lowest, then the others.
BITS = np.argsort(~np.arange(256)[:, None] >> np.arange(8) & 1, axis=1, kind="stable").astype(np.int32).ravel()

# ``list_nonzero(values, at, BITS, out, n)`` writes to ``out[n:]`` (int32) which of the float64 ``values[at : at + 8]``
# are not 0 (NaN is not) and returns the next ``n``. Without a branch, which would be guessed wrong: eight numbers are
# always written, and the caller sees to their room.
list_nonzero: Any = _list_nonzero_plain if jit_disabled() else _list_nonzero
