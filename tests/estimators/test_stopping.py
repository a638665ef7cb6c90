"""How a fit ends: limits, callbacks, Ctrl-C at any moment; and how the next one goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM, SVMClassifier
from maxmargin._compiled import compiled, jit_disabled
from maxmargin._estimator import LabelIndex
from maxmargin.solvers.base import Solver, WarmStart
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.deadline import Deadline, OutOfTime, clock
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.solvers.oracle import Work
from maxmargin.solvers.passes import STATE_SIZE
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.status import Status
from maxmargin.structures.attributes import AttributeIndex
from maxmargin.structures.multiclass import Multiclass
from solvers.enumeration import Case, ListedStructure, multiclass_case, named_cases, plain_case

SOLVERS: list[Solver] = [FrankWolfe(), FrankWolfe("plain", "gap", 0), NSlack(max_sweeps=20), OneSlack(), Perceptron()]


def named(solver: Any) -> str:
    return f"{solver.name} {getattr(solver, 'steps', '')}".strip()


@pytest.fixture(scope="module")
def case() -> Case:
    return named_cases()["costs"]


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("max_passes", [1, 2, 5])
def test_max_passes(case: Case, solver: Any, max_passes: int) -> None:
    result = minimize(case.oracle, solver, C=100.0, tol=0.0, max_passes=max_passes, random_state=0)
    assert result.certificate.status is Status.PASS_LIMIT
    # the pass of the certificate is one of them; a single pass would leave none for it
    assert max(max_passes - 1, 2) <= result.certificate.passes <= max(max_passes, 2)
    assert result.history[-1].passes == result.certificate.passes
    assert np.isfinite(result.certificate.primal)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_max_time(case: Case, solver: Any) -> None:
    slow = plain_case(case)
    minimize(slow.oracle, solver, C=100.0, tol=0.0, max_passes=2)  # compiles what is needed
    argmax = slow.structure.argmax

    def sleepy(*args: Any) -> Any:
        time.sleep(0.004)
        return argmax(*args)

    slow.structure.argmax = sleepy
    began = time.perf_counter()
    result = minimize(slow.oracle, solver, C=100.0, tol=0.0, max_passes=10_000, max_time=0.2, random_state=0)
    assert result.certificate.status is Status.TIME_LIMIT
    # a pass takes 0.03 s, the certificate two of them, so only a few passes fit in
    assert 0.2 <= result.certificate.seconds <= time.perf_counter() - began < 2.0


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_max_time_ends_a_pass_in_the_middle(case: Case, solver: Any) -> None:
    """One pass alone would take ten times as long as is allowed."""
    slow = plain_case(case)
    minimize(slow.oracle, solver, C=2.0, tol=0.0, max_passes=2)  # compiles what is needed
    argmax, calls = slow.structure.argmax, 0

    def sleepy(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        time.sleep(0.2 if calls < limit else 0.0)
        return argmax(*args)

    slow.structure.argmax, limit = sleepy, 10**9

    def quick_from_now_on() -> None:
        nonlocal limit
        limit = 0

    threading.Timer(0.9, quick_from_now_on).start()  # the pass of the certificate need not be waited for
    result = minimize(slow.oracle, solver, C=2.0, tol=0.0, max_passes=10_000, max_time=0.3, random_state=0)
    assert result.certificate.status is Status.TIME_LIMIT
    assert result.certificate.passes == 1  # that of the certificate
    assert result.certificate.primal == pytest.approx(case.listed.primal(result.w, np.full(case.n, 2.0)), rel=1e-9)
    assert result.certificate.dual <= case.listed.optimum(np.full(case.n, 2.0))[1] * (1 + 1e-9)
    result.check()  # the deadline is over, but not for this
    assert minimize(slow.oracle, solver, C=2.0, tol=0.0, max_passes=3).certificate.passes >= 2


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_chunks_of_compiled_passes_look_at_the_deadline(n_jobs: int) -> None:
    """Whatever was asked of the oracle ends with OutOfTime once the deadline has passed, and not before."""
    rng = np.random.default_rng(0)
    structure = Multiclass(3)
    plain = CompiledOracle(structure, structure.encode(rng.normal(size=(300, 2)), np.arange(300) % 3))
    examples, deadline = np.arange(300), Deadline()
    oracle = plain.until(deadline)
    work = Work.start(oracle.n_weights, np.ones(300))
    w, state, weight = np.zeros(oracle.n_weights), np.zeros(STATE_SIZE), np.ones(300)
    calls: list[Callable[[Any], Any]] = [
        lambda o: o.evaluate(w, examples, n_jobs=n_jobs),
        lambda o: o.evaluate(w, examples, work=work, n_jobs=n_jobs),
        lambda o: o.frank_wolfe(work, examples),
        lambda o: o.sweep(work, examples),
        lambda o: o.best_cached(w, work.planes, examples),
        lambda o: o.perceptron(w, w[:0], examples, weight, state),
    ]
    for call in calls:
        deadline.at = np.inf
        call(oracle)
        deadline.at = 0.0
        with pytest.raises(OutOfTime):
            call(oracle)
        call(plain)  # has none


def test_a_warm_start_makes_progress_under_any_limit_of_passes(rows: Any) -> None:
    for max_passes in (1, 2, 3):
        model = MulticlassSVM(C=50.0, tol=1e-6, max_passes=max_passes, warm_start=True, random_state=0)
        model.set_params(solver="frank_wolfe")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            gaps = [model.fit(*rows).certificate_.gap for _ in range(25)]
        assert gaps[-1] < 0.5 * gaps[0]
        assert model.n_iter_ <= max(max_passes, 2)


@pytest.mark.parametrize("average", [True, False])
def test_passes_of_the_perceptron_are_counted_one_by_one(average: bool) -> None:
    """Separable data: the pass that finds it out and the one that looks at the mean are two."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    oracle = multiclass_case(X, (X[:, 0] > 0).astype(np.int64)).oracle
    for max_passes in (2, 3, 5, 9, 200):
        result = minimize(oracle, Perceptron(average=average), C=1.0, max_passes=max_passes, random_state=0)
        assert result.certificate.passes <= max_passes
        counts = [record.passes for record in result.history[:-1]]  # the last is the certificate's
        assert counts == list(range(1, len(counts) + 1))
    assert result.certificate.status is Status.SEPARATED


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_callbacks_see_every_pass_and_may_stop(case: Case, solver: Any) -> None:
    seen: list[Any] = []

    def callback(record: Any, w: Any) -> bool:
        assert not w.flags.writeable
        seen.append((record, w.copy()))
        return len(seen) == 3

    result = minimize(case.oracle, solver, C=100.0, tol=0.0, max_passes=1000, random_state=0, callback=callback)
    assert result.certificate.status is Status.STOPPED
    assert len(seen) == 3
    assert [record for record, _ in seen] == result.history[:3]
    for record, w in seen:
        if record.exact:
            assert record.primal == pytest.approx(case.listed.primal(w, np.full(case.n, 100.0)), rel=1e-9)


def test_a_stop_by_the_callback_is_no_warning_and_is_kept_as_status() -> None:
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MulticlassSVM(C=10.0, tol=1e-9, callback=lambda record, w: True, random_state=0).fit(X, y)
    assert model.certificate_.status is Status.STOPPED
    assert model.predict(X).shape == (30,)


def test_a_callback_that_fails_fails_the_fit() -> None:
    def callback(record: Any, w: Any) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        SequenceSVM(callback=callback).fit([[["a"]]], [["A"]])


def test_history_is_one_record_a_pass(case: Case) -> None:
    for solver in SOLVERS:
        result = minimize(case.oracle, solver, C=1.0, tol=1e-5, max_passes=30, random_state=0)
        passes = [record.passes for record in result.history]
        assert passes == sorted(set(passes)), solver.name
        seconds = [record.seconds for record in result.history]
        assert seconds == sorted(seconds)
        last = result.history[-1]
        assert last.exact
        assert last.passes == result.certificate.passes, solver.name


# Ctrl-C


@pytest.fixture
def usual_handler() -> Iterator[None]:
    """An interrupt at the last line of a run may leave the handler of that run behind."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.usefixtures("usual_handler")
def test_a_handler_left_behind_does_not_take_the_next_interrupts() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    left = Deadline()
    run = left.watching()
    run.__enter__()
    left.watched = False  # as after an interrupt before the handler was taken away

    def swallow(record: Any, w: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    for _ in range(2):
        model = SVMClassifier(100.0, tol=0.0, max_passes=100_000, callback=swallow)
        with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
            model.fit(X, y)
        assert model.certificate_.passes <= 3
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("usual_handler")
@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_an_interrupt_at_any_line_leaves_a_true_certificate_or_none(case: Case, solver: Any) -> None:
    """KeyboardInterrupt is raised at lines all over the library; what comes out must be right."""
    plain = plain_case(case)
    folder = str(Path(maxmargin.__file__).parent)
    value = case.listed.optimum(np.full(case.n, 2.0))[1]
    countdown = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal countdown
        if not frame.f_code.co_filename.startswith(folder):
            return None
        if event == "line":
            countdown -= 1
            if countdown == 0:
                raise KeyboardInterrupt
        return trace

    def run(moment: int) -> Any:
        nonlocal countdown
        countdown = moment
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            return minimize(plain.oracle, solver, C=2.0, tol=1e-9, max_passes=4, random_state=0)
        except KeyboardInterrupt:
            return None
        finally:
            sys.settrace(previous)

    whole = 10**9
    run(whole)
    lines = whole - countdown
    assert lines > 300
    for moment in np.unique(np.linspace(1, lines - 1, 45).astype(int)):
        result = run(int(moment))
        if result is None:
            continue
        certificate = result.certificate
        assert certificate.primal == pytest.approx(case.listed.primal(result.w, np.full(case.n, 2.0)), rel=1e-9), moment
        assert 0 <= certificate.dual <= value * (1 + 1e-9), moment
    # and nothing of it stays behind in the problem
    after = minimize(plain.oracle, solver, C=2.0, tol=1e-6, max_passes=3000, random_state=0)
    if solver.name in ("frank_wolfe", "n_slack", "one_slack") and getattr(solver, "steps", "") != "plain":
        assert after.certificate.primal == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "perceptron"])
def test_an_interrupted_model_is_usable_and_goes_on(case: Case, solver: str) -> None:
    class Interrupted(ListedStructure):
        left = 40

        def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return super().argmax(x, w, y_true)

    structure = Interrupted(case.listed)
    model = StructuredSVM(structure, C=5.0, solver=solver, tol=1e-6, max_passes=3000, random_state=0, warm_start=True)
    truth = list(enumerate(case.listed.truth))
    with pytest.raises(KeyboardInterrupt, match=r"StructuredSVM\.fit was interrupted; it keeps the best model so far"):
        model.fit(range(case.n), truth)
    c = np.full(case.n, 5.0)
    assert model.certificate_.status is Status.INTERRUPTED
    assert model.certificate_.primal == pytest.approx(case.listed.primal(model.coef_, c), rel=1e-9)
    assert len(model.predict(range(case.n))) == case.n
    if solver != "perceptron":
        model.fit(range(case.n), truth)
        assert model.certificate_.primal == pytest.approx(case.listed.optimum(c)[1], rel=1e-5)
        assert model.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "perceptron", "subgradient"])
def test_Ctrl_C_in_the_pass_of_the_certificate_keeps_the_model(case: Case, solver: str) -> None:
    slow = plain_case(case)
    argmax, calls, at = slow.structure.argmax, 0, 0

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return argmax(*args)

    slow.structure.argmax = counted
    options: dict[str, Any] = dict(solver=solver, tol=0.0, max_passes=2, random_state=0)
    model, again = StructuredSVM(slow.structure, **options), StructuredSVM(slow.structure, **options)
    truth = list(enumerate(case.listed.truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(range(case.n), truth)
        at, calls = calls, 0  # the last call, which is one for the certificate
        with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
            again.fit(range(case.n), truth)
    assert again.certificate_.status is Status.INTERRUPTED
    assert again.certificate_.primal == pytest.approx(case.listed.primal(again.coef_, np.ones(case.n)), rel=1e-9)
    np.testing.assert_array_equal(again.coef_, model.coef_)


INTERRUPTED_CALLS = """
import signal
import numpy as np
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.oracle import Work
from maxmargin.structures.multiclass import Multiclass

rng = np.random.default_rng(0)
structure = Multiclass(3)
oracle = CompiledOracle(structure, structure.encode(rng.normal(size=(6, 2)), np.arange(6) % 3))
work, examples = Work.start(oracle.n_weights, np.ones(6)), np.arange(6)
oracle.evaluate(work.w, examples, work=work)
oracle.best_cached(work.w, work.planes, examples)

def interrupt(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
raised = set()
for _ in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 1e-3), 0.05)
        while True:
            oracle.best_cached(work.w, work.planes, examples)
    except BaseException as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raised.add(repr(error))
print(sorted(raised))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer to send signals")
def test_an_interrupt_while_entering_compiled_code_stays_an_interrupt(run_python: Callable[..., str]) -> None:
    """Functions among the arguments are looked up by Python code, which a signal may cut short.

    In a process of its own: an interrupt in the middle of a lock of the compiler would stay behind.
    """
    assert run_python(INTERRUPTED_CALLS) == "['KeyboardInterrupt()']\n"


INTERRUPTED_FIT = """
import json, sys, time
import numpy as np
from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM, SVMClassifier
from maxmargin.status import Status

rng = np.random.default_rng(13)
kind = sys.argv[1]
began = []
def callback(record, w):
    if not began:
        began.append(time.time())
        print("started", flush=True)

options = dict(C=1e4, tol=1e-12, max_passes=10**9, callback=callback)
if kind == "classes":
    X = rng.normal(size=(100_000, 50)) * np.logspace(0, 4, 50)
    y = rng.integers(0, 2, 100_000)
    model, few = MulticlassSVM(**options, solver=sys.argv[2]), slice(0, 100)
elif kind == "sequences":
    X = [[["a%d" % k for k in rng.integers(0, 300, 5)] for _ in range(15)] for _ in range(600)]
    y = [rng.integers(0, 5, 15).tolist() for _ in range(600)]
    model, few = SequenceSVM(**options, solver=sys.argv[2], n_jobs=2), slice(0, 20)
else:
    class Classes:
        def joint_features(self, x, y):
            return np.outer(x, np.eye(3)[y]).ravel()
        def loss(self, y_true, y):
            return float(y != y_true)
        def argmax(self, x, w, y_true=None):
            scores = x @ w.reshape(-1, 3)
            return int((scores if y_true is None else scores + (np.arange(3) != y_true)).argmax())
    X, y = rng.normal(size=(4000, 5)), rng.integers(0, 3, 4000)
    model, few = StructuredSVM(Classes(), **options, solver=sys.argv[2]), slice(0, 50)
# what has to be compiled once is not what the test is about
type(model)(**{**model.get_params(), "max_passes": 2, "callback": None, "C": 1.0, "tol": 0.5}).fit(X[few], y[few])
try:
    model.fit(X, y)
except KeyboardInterrupt as error:
    print(json.dumps({"status": model.certificate_.status.name, "said": str(error), "n": len(model.predict(X[few])),
                      "finite": bool(np.isfinite(model.coef_).all())}), flush=True)
    model.set_params(C=1e-3, tol=0.1, max_passes=50, callback=None).fit(X[few], y[few])
    print(json.dumps({"again": model.certificate_.status.name}), flush=True)
else:
    print(json.dumps({"status": "it ended by itself"}), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other ones")
@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        ("classes", "auto"),
        ("plain", "auto"),
        pytest.param("classes", "n_slack", marks=pytest.mark.slow),
        pytest.param("classes", "one_slack", marks=pytest.mark.slow),
        pytest.param("classes", "perceptron", marks=pytest.mark.slow),
        pytest.param("plain", "n_slack", marks=pytest.mark.slow),
        pytest.param("plain", "one_slack", marks=pytest.mark.slow),
        pytest.param("sequences", "auto", marks=pytest.mark.slow),
        pytest.param("sequences", "n_slack", marks=pytest.mark.slow),
        pytest.param("sequences", "one_slack", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_ends_a_long_fit_within_two_seconds(project_root: Path, kind: str, solver: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_FIT, kind, solver],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parents[1])},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        first = json.loads(process.stdout.readline())
        seconds = time.perf_counter() - began
        assert first["status"] == "INTERRUPTED"
        assert "interrupted; it keeps the best model so far" in first["said"]
        assert first["finite"]
        assert first["n"] > 0
        assert seconds < 2.0
        assert json.loads(process.stdout.readline())["again"] in ("CONVERGED", "PASS_LIMIT", "SEPARATED")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


# Warm starts


@pytest.fixture(scope="module")
def rows() -> Any:
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 4)) + 0.7 * y[:, None], y


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "frank_wolfe", "n_slack", "one_slack"])
def test_the_same_data_again_take_few_passes(rows: Any, solver: str) -> None:
    model = MulticlassSVM(solver=solver, warm_start=True, tol=1e-4, random_state=0).fit(*rows)
    first = model.certificate_
    model.fit(*rows)
    assert first.passes > 3
    assert model.certificate_.passes <= (first.passes - 1 if solver == "one_slack" else 3)
    assert model.certificate_.primal <= first.primal * (1 + 1e-4)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "frank_wolfe", "n_slack", "one_slack"])
@pytest.mark.parametrize("change", [{"C": 3.0}, {"C": 1e-3}, {"loss": 2.0 * (1 - np.eye(3))}, {"fit_intercept": False}])
def test_another_problem_from_a_warm_start_has_its_own_optimum(rows: Any, change: dict[str, Any], solver: str) -> None:
    options: dict[str, Any] = dict(solver=solver, tol=1e-6, max_passes=3000, random_state=0)
    model = MulticlassSVM(warm_start=True, C=0.1, **options).fit(*rows).set_params(**change).fit(*rows)
    cold = MulticlassSVM(**options, **{"C": 0.1, **change}).fit(*rows)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-6)
    assert model.certificate_.dual == pytest.approx(cold.certificate_.dual, rel=2e-6)


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack"])
def test_planes_of_another_structure_are_not_taken_over(rows: Any, solver: str) -> None:
    """Of one encoding, but with losses of a tenth: cached planes have those of the fit before."""

    @compiled
    def augment(pack: Any, i: Any, theta: Any) -> Any:
        for k in range(3):
            if k != pack.target[i]:
                theta[k] += 0.1
        return 0.0

    @compiled
    def loss(pack: Any, i: Any, output: Any) -> Any:
        return 0.1 if output[0] != pack.target[i] else 0.0

    smaller = type("Smaller", (Multiclass,), {"augment": staticmethod(augment), "loss": staticmethod(loss)})(3)
    options: dict[str, Any] = dict(solver=solver, tol=1e-6, max_passes=3000, random_state=0)
    for first, second in ((Multiclass(3), smaller), (smaller, Multiclass(3))):
        model = StructuredSVM(first, warm_start=True, **options).fit(*rows).set_params(structure=second).fit(*rows)
        cold = StructuredSVM(second, **options).fit(*rows)
        assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-6)
        assert model.certificate_.dual == pytest.approx(cold.certificate_.dual, rel=2e-6)


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "n_slack", "one_slack"])
def test_other_weights_and_other_rows_from_a_warm_start(rows: Any, solver: str) -> None:
    X, y = rows
    options: dict[str, Any] = dict(solver=solver, tol=1e-6, max_passes=3000, random_state=0)
    model = MulticlassSVM(warm_start=True, **options).fit(X, y, np.arange(60) % 2)
    for args in [(X, y, 1.0 + np.arange(60) % 3), (X[:31], y[:31]), (X[:, :3], y), (X, np.minimum(y, 1))]:
        warm, cold = model.fit(*args), MulticlassSVM(**options).fit(*args)
        assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-6)
        assert warm.coef_.shape == cold.coef_.shape


def test_max_passes_and_callbacks_count_from_a_warm_start_too(rows: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MulticlassSVM(C=50.0, tol=1e-9, max_passes=1, warm_start=True, random_state=0)
        for _ in range(3):
            model.fit(*rows)
            assert model.n_iter_ <= 2
    seen: list[Any] = []
    model.set_params(tol=10.0, callback=lambda record, w: seen.append(record)).fit(*rows)
    assert model.certificate_.status is Status.CONVERGED
    assert seen == model.history_


def test_a_fit_in_pieces_reaches_the_optimum(rows: Any) -> None:
    model = MulticlassSVM(C=2.0, tol=1e-3, warm_start=True, max_passes=3, random_state=0, solver="frank_wolfe")
    primal = []
    for _ in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(*rows)
        primal.append(model.certificate_.primal)
        if model.certificate_.status.ok:
            break
    assert model.certificate_.status is Status.CONVERGED
    assert len(primal) > 1
    whole = MulticlassSVM(C=2.0, tol=1e-3, random_state=0, penalize_intercept=True).fit(*rows)
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-3)


class Watching:
    """A solver that notes the start it is given."""

    name = "watching"

    def __init__(self) -> None:
        self.starts: list[WarmStart | None] = []

    def start(self, task: Any) -> Any:
        self.starts.append(task.warm)
        return FrankWolfe().start(task)


def test_sequences_keep_their_weights_by_name() -> None:
    """New attributes, new labels, some gone, all in another order: each weight is found where its names are."""
    rng = np.random.default_rng(0)
    watching = Watching()
    model = SequenceSVM(solver=watching, warm_start=True, random_state=0)
    X = [([["a", "b"], ["c"], ["a", "c"]], rng.normal(size=(3, 2)))] * 2
    model.fit(X, [["P", "Q", "R"], ["Q", "Q", "P"]])
    old = {
        **{(f"{name}", label): model.emission_[k, m] for k, name in enumerate([*model.attributes_, 0, 1]) for m, label in enumerate(model.classes_)},
        **{("start", label): value for label, value in zip(model.classes_, model.initial_)},
        **{("end", label): value for label, value in zip(model.classes_, model.final_)},
        **{(a, "to", b): model.transition_[i, j] for i, a in enumerate(model.classes_) for j, b in enumerate(model.classes_)},
    }  # fmt: skip
    assert watching.starts == [None]
    X = [([["d", "c"], ["a"], ["d"]], rng.normal(size=(3, 2)))]
    model.fit(X, [["R", "A", "P"]])
    warm = watching.starts[-1]
    assert warm is not None
    emission, initial, final, transition = model._structure_.split(warm.w)
    for k, name in enumerate(["d", "c", "a", 0, 1]):
        for m, label in enumerate(["A", "P", "R"]):
            assert emission[k, m] == old.get((f"{name}", label), 0.0)
    for m, label in enumerate(["A", "P", "R"]):
        assert (initial[m], final[m]) == (old.get(("start", label), 0.0), old.get(("end", label), 0.0))
        for n, other in enumerate(["A", "P", "R"]):
            assert transition[m, n] == old.get((label, "to", other), 0.0)
    assert any(old.values())
    assert model.classes_ == ["A", "P", "R"]


def test_moving_weights_to_new_names_takes_no_second_copy_of_them() -> None:
    names = [f"a{k}" for k in range(20_000)]
    labels = [f"y{k}" for k in range(20)]
    X, y = [[[name] for name in names]], [[labels[k % 20] for k in range(20_000)]]
    model = SequenceSVM(max_passes=2, tol=1.0, warm_start=True, random_state=0).fit(X, y)
    index = AttributeIndex(reversed(names))
    tracemalloc.start()
    try:
        w = model._initial(index, LabelIndex(labels), None, None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert w is not None
    np.testing.assert_array_equal(model._structure_.split(w)[0], model.emission_[::-1])
    assert peak < 1.7 * w.nbytes


@pytest.mark.parametrize("solver", ["auto", "n_slack", "one_slack"])
def test_sequences_with_new_names_have_their_own_optimum(solver: str) -> None:
    options: dict[str, Any] = dict(solver=solver, tol=1e-6, max_passes=3000, random_state=0)
    model = SequenceSVM(warm_start=True, **options).fit([[["a"], ["b"]], [["b"], ["b", "c"]]], [["P", "Q"], ["Q", "P"]])
    X, y = [[["c"], ["d"], ["a"]], [["d", "a"]], [["a"], ["c", "a"]]], [["Q", "N", "P"], ["P"], ["N", "Q"]]
    cold = SequenceSVM(**options).fit(X, y)
    for _ in range(2):
        model.fit(X, y)
        assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-6)
        assert model.attributes_ == cold.attributes_
    assert model.certificate_.passes <= (cold.certificate_.passes if solver == "one_slack" else 3)


@pytest.mark.parametrize("C", [1e101, 1e308])
def test_a_C_too_large_to_compute_with_is_refused(C: float) -> None:
    with pytest.raises(ValueError, match="C times the largest sample weight is .*too large"):
        MulticlassSVM(C=C).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="too large"):
        SequenceSVM(C=C).fit([[["a"]], [["b"]]], [["x"], ["y"]])


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="the system has no signals")
@pytest.mark.parametrize("kind", ["sequence", "linear", "kernel"])
def test_ctrl_c_counts_even_if_its_exception_is_lost(kind: str) -> None:
    """As it is where it comes while the compiler library looks up the functions among the arguments of a kernel."""

    def swallow(record: Any, w: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    limits: dict[str, Any] = dict(C=100.0, tol=0.0, max_passes=100_000, callback=swallow)
    model: Any
    if kind == "sequence":
        model = SequenceSVM(**limits)
        X, y = [[[str(a > 0)] for a in x] for x in X], [["a", "b"] if k else ["b", "a"] for k in y]
    else:
        model = SVMClassifier(kernel="rbf" if kind == "kernel" else "linear", **limits)
    with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
        model.fit(X, y)
    assert model.certificate_.status is Status.INTERRUPTED
    assert model.certificate_.passes <= 3
    assert len(model.predict(X)) == 40
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_users_own_is_left_alone() -> None:
    seen = []

    def mine(number: int, frame: Any) -> None:
        seen.append(number)

    def press(record: Any, w: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, mine)
    try:
        SVMClassifier(callback=press).fit([[0.0], [1.0]], [0, 1])
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen


@pytest.mark.skipif(jit_disabled(), reason="nothing is compiled")
def test_what_is_compiled_meanwhile_takes_no_time_from_the_limit() -> None:
    """As in the first fit after an installation, here by a callback after each pass."""
    seconds, passes = [], []

    def compile_something(record: Any, w: Any) -> None:
        passes.append(record.passes)
        if len(passes) <= 2:
            began = time.perf_counter()
            numba.njit(lambda x: np.sort(x) @ x)(np.ones(3))
            seconds.append(time.perf_counter() - began)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    model = SVMClassifier(C=100.0, tol=0.0, solver="coordinate_ascent", max_passes=1000)
    model.fit(X, y)  # compiles what is needed
    at_most = clock(), time.perf_counter()
    model.set_params(max_time=0.25, callback=compile_something).fit(X, y)
    compiled = sum(seconds)
    assert compiled > 0.25
    assert len(passes) > 2
    assert time.perf_counter() - at_most[1] - (clock() - at_most[0]) == pytest.approx(compiled, rel=0.3)
    assert model.certificate_.seconds > compiled  # what the user has waited


@pytest.mark.slow
@pytest.mark.skipif(jit_disabled(), reason="nothing is compiled")
def test_a_limit_of_a_second_is_one_of_solving_where_nothing_is_compiled_yet(
    tmp_path: Path, run_python: Callable[..., str]
) -> None:
    """Compiling alone takes three seconds and more: the model of a single pass had a gap of 1."""
    code = """
import numpy as np
from maxmargin import SVMClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
found = SVMClassifier(max_time=1.0, random_state=0).fit(X, X[:, 0] > 0).certificate_
print(found.status.name, found.relative_gap <= 1e-3, found.seconds > 1.0)
"""
    assert run_python(code, env={"NUMBA_CACHE_DIR": str(tmp_path)}).split() == ["CONVERGED", "True", "True"]


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack"])
@pytest.mark.parametrize("end", ["passes", "one more", "Ctrl-C", "callback"])
def test_a_warm_start_cut_short_is_no_worse_than_its_start(end: str, solver: str) -> None:
    """Planes of a small ``C`` stand for huge weights under a large one."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(8, 20)), rng.integers(8, size=400)
    X = centres[y] + 1.5 * rng.normal(size=(400, 20))
    model = MulticlassSVM(0.01, solver=solver, warm_start=True, random_state=0).fit(X, y)
    w = model.coef_.copy()

    def stop(*_: Any) -> bool:
        if end == "Ctrl-C":
            raise KeyboardInterrupt
        return end == "callback"

    model.set_params(C=1000.0, max_passes={"passes": 2, "one more": 5}.get(end, 100), callback=stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            assert end == "Ctrl-C"
    scores = X @ w.T + 1.0
    scores[np.arange(400), y] -= 1.0
    start = 0.5 * float((w * w).sum()) + 1000.0 * float((scores.max(axis=1) - (X @ w.T)[np.arange(400), y]).sum())
    assert model.certificate_.primal <= min(2.0 * start, 1000.0 * 400)
    assert model.certificate_.passes <= model.max_passes
