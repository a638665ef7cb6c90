"""One problem in all its parametrisations, and what a certificate and a status say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from maxmargin.problem import Certificate, Scaling, relative_gap
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import Result, minimize
from maxmargin.status import Status
from solvers.enumeration import Case, Listed, multiclass_case, random_tokens, sequence_case

C = 0.7


@pytest.fixture(scope="module")
def case() -> Case:
    rng = np.random.default_rng(4)
    return multiclass_case(rng.normal(size=(6, 2)), np.array([0, 1, 2, 0, 1, 2]))


def solved(case: Case, scaling: Scaling) -> Result:
    return minimize(case.oracle, FrankWolfe(), C=scaling.to_C(), tol=1e-9, max_passes=500, random_state=0)


def forms(n: int) -> dict[str, tuple[Scaling, float, float]]:
    """Scaling of a form, and what the form multiplies ``1/2 |w|^2`` and each slack with, as its users write it."""
    return {
        "C": (Scaling.C(C), 1.0, C),
        "C over n": (Scaling.C_over_n(C, n), 1.0, C / n),
        "lambda": (Scaling.lam(0.3, n), 0.3, 1.0 / n),
        "percent": (Scaling.percent(C, n), 1.0, 100.0 * C / n),
    }


@pytest.mark.parametrize("form", forms(1))
def test_every_form_has_the_optimum_of_its_own_objective(case: Case, form: str) -> None:
    scaling, ridge, slack = forms(case.n)[form]
    w, value = case.listed.optimum(np.full(case.n, slack), ridge)
    result = solved(case, scaling)
    assert result.certificate.primal * ridge == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(result.w, w, atol=1e-4)


@pytest.mark.parametrize("n", [1, 7, 40_000, 2.7, 0.5, np.float64(1e-3)])
@pytest.mark.parametrize("value", [1e-7, 0.3, 1.0, 2e5])
def test_conversions_are_inverse_to_each_other(value: float, n: int) -> None:
    scaling = Scaling(value)
    assert Scaling.C(scaling.to_C()).value == value
    assert Scaling.C_over_n(scaling.to_C_over_n(n), n).value == pytest.approx(value, rel=1e-15)
    assert Scaling.lam(scaling.to_lam(n), n).value == pytest.approx(value, rel=1e-15)
    assert Scaling.percent(value, n).value == pytest.approx(100 * Scaling.C_over_n(value, n).value, rel=1e-15)
    assert scaling.to_lam(n) * scaling.to_C_over_n(n) == pytest.approx(1.0, rel=1e-15)


def test_a_loss_divided_by_the_length_is_the_same_problem_where_all_lengths_are_equal() -> None:
    rng = np.random.default_rng(8)
    tokens, features = random_tokens(rng, [3, 3, 3, 3], "both")
    labels = [rng.integers(0, 2, 3) for _ in range(4)]
    whole, divided = (sequence_case(tokens, features, labels, 2, normalize=flag) for flag in (False, True))
    scaling, factor = Scaling(C).loss_divided_by(3)
    assert (scaling.value, factor) == (C / 3, 1 / 3)
    large, small = solved(whole, Scaling(C)), solved(divided, scaling)
    assert small.certificate.primal == pytest.approx(large.certificate.primal / 9, rel=1e-7)
    np.testing.assert_allclose(small.w, large.w * factor, atol=1e-4)
    # the same from the definition alone
    listed = Listed(whole.listed.phi, [loss / 3 for loss in whole.listed.loss], whole.listed.truth)
    assert listed.optimum(np.full(4, scaling.value))[1] == pytest.approx(small.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, -math.inf, 10**400, True, "1", None])
def test_scalings_refuse_what_is_no_positive_number(bad: Any) -> None:
    for make in (Scaling, Scaling.C, lambda x: Scaling.C_over_n(x, 3), lambda x: Scaling.percent(x, 3)):
        with pytest.raises(ValueError, match="C must be a positive finite number, not"):
            make(bad)
    with pytest.raises(ValueError, match="lam must be a positive finite number"):
        Scaling.lam(bad, 3)
    with pytest.raises(ValueError, match="length must be a positive finite number"):
        Scaling(1.0).loss_divided_by(bad)


def test_the_number_of_examples_may_be_a_sum_of_weights() -> None:
    assert Scaling.lam(0.1, 2.7).to_C() == pytest.approx(1.0 / (0.1 * 2.7), rel=1e-15)
    assert Scaling.C_over_n(3.0, 0.5).to_C() == 6.0
    assert Scaling.percent(3.0, 2.5).to_C() == 120.0
    assert Scaling(2.0).to_C_over_n(2.7) == pytest.approx(5.4, rel=1e-15)
    assert Scaling(2.0).to_lam(2.5) == pytest.approx(0.2, rel=1e-15)


@pytest.mark.parametrize("n", [0, -2, "3", True, math.inf, math.nan, -0.5, 10**400, None])
def test_scalings_refuse_what_is_no_number_of_examples(n: Any) -> None:
    for convert in (Scaling(1.0).to_C_over_n, Scaling(1.0).to_lam, lambda n: Scaling.lam(1.0, n)):
        with pytest.raises(
            ValueError, match=f"number of examples, or .* must be a positive finite number, not {n!r:.80}"
        ):
            convert(n)


CERTIFICATE = Certificate(
    primal=4.0, dual=3.0, risk_bound=0.5, training_risk=0.25, passes=7, oracle_calls=70, seconds=0.1, C=2.0,
    n_examples=10, solver="frank_wolfe", status=Status.PASS_LIMIT,
)  # fmt: skip


def test_gap_of_a_certificate() -> None:
    assert (CERTIFICATE.gap, CERTIFICATE.relative_gap) == (1.0, 0.25)
    for primal, dual, expected in [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (1.0, 1.5, 0.0),
        (2.0, 0.0, 1.0),
        (1.0, -3.0, 4 / 3),
    ]:
        assert replace(CERTIFICATE, primal=primal, dual=dual).relative_gap == expected == relative_gap(primal, dual)


def test_a_certificate_as_text_and_as_plain_values() -> None:
    values = CERTIFICATE.as_dict()
    assert values == {**vars(CERTIFICATE), "status": "pass limit", "gap": 1.0, "relative_gap": 0.25}
    assert all(type(value) in (int, float, str) for value in values.values())
    text = str(CERTIFICATE)
    for word in ("primal 4", "dual 3", "gap 1 (25 %)", "passes 7", "pass limit", "training risk 0.25 <= bound 0.5"):
        assert word in text
    with pytest.raises(AttributeError):
        CERTIFICATE.primal = 1.0  # type: ignore[misc]


def test_a_certificate_without_bounds_claims_none() -> None:
    found = replace(CERTIFICATE, dual=7.0, training_risk=0.75, no_bound="the argmax is not exact")
    for status, said in ((Status.CONVERGED, "converged as far as seen"), (Status.PASS_LIMIT, "pass limit")):
        assert str(replace(found, status=status)) == (
            f"primal at least 4  no lower bound, for the argmax is not exact  passes 7  {said}\n"
            "training risk 0.75, without a bound"
        )
    assert all(type(value) in (int, float, str) for value in found.as_dict().values())


def test_what_is_bounded() -> None:
    assert CERTIFICATE.bounded
    assert CERTIFICATE.advice == CERTIFICATE.status.advice
    for found in (replace(CERTIFICATE, no_bound="the argmax is not exact"), replace(CERTIFICATE, dual=-math.inf)):
        assert not found.bounded
        assert found.gap == found.relative_gap == math.inf
        assert found.advice == "Raise max_passes, raise tol, or lower C."
        standstill = replace(found, status=Status.STANDSTILL)
        assert standstill.advice == "The objective no longer moves under this method."
        assert replace(found, status=Status.STALLED).advice == Status.STALLED.advice


def test_every_status_has_a_name_and_one_piece_of_advice() -> None:
    assert len({str(status) for status in Status}) == len(Status)
    for status in Status:
        assert status.advice.endswith(".")
        assert "\n" not in status.advice
        assert str(status) == status.label == status.name.replace("_", " ").lower()
    assert {status for status in Status if status.ok} == {
        Status.CONVERGED, Status.ZERO_OPTIMUM, Status.SEPARATED, Status.STATIONARY
    }  # fmt: skip
