"""SequenceSVM trained with sets of labels that a token may have, against every sequence written out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM, load_model, save_model
from maxmargin._completion import Completion
from maxmargin.errors import DataError
from maxmargin.status import Status

X = [
    [["w=the", "low"], ["w=cat", "low"], ["w=sat", "low"]],
    [["w=A", "cap"], ["w=dog", "low"]],
    [],
    [["w=cat", "low"]],
    [["w=dog", "low"], ["w=the", "low"], ["w=dog", "low"], ["w=sat", "low", "last"]],
    [["w=the", "low"], ["w=sat", "low"]],
]
Y = [["D", "N", "V"], ["D", "N"], [], ["N"], ["V", "D", "N", "V"], ["D", "N"]]
SETS: list[Any] = [
    ["D", {"N", "V"}, None], [{"D"}, "N"], [], [{"N", "V", "D"}], ["V", {"D", "N"}, {"N", "V"}, "V"], ["D", None]
]  # fmt: skip
LABELS = ["D", "N", "V"]
COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
TIGHT: dict[str, Any] = dict(tol=1e-7, max_passes=3000, random_state=0)


def options_of(given: Any) -> list[str]:
    return LABELS if given is None else sorted(given) if isinstance(given, set) else [given]


def scores(model: SequenceSVM, sequence: Any) -> dict[tuple[str, ...], float]:
    """Of every sequence of labels that no transition forbids, from the weights by their names."""
    forbidden = set(model.forbidden or ())
    out = {}
    for labels in product(LABELS, repeat=len(sequence)):
        if any(pair in forbidden for pair in zip([None, *labels], [*labels, None])):
            continue
        k = [LABELS.index(label) for label in labels]
        rows = [[model.attributes_.index(name) for name in token] for token in sequence]
        total = sum(model.emission_[row, label].sum() for row, label in zip(rows, k))
        total += sum(model.transition_[a, b] for a, b in zip(k, k[1:]))
        out[labels] = float(total + (model.initial_[k[0]] + model.final_[k[-1]] if k else 0.0))
    return out


def loss(given: Any, labels: Any, costs: Any) -> float:
    """The least loss within what is given, token by token."""
    number = LABELS.index
    return float(
        sum(min(costs[number(true), number(k)] for true in options_of(each)) for each, k in zip(given, labels))
    )


def agrees(given: Any, labels: Any) -> bool:
    return all(label in options_of(each) for each, label in zip(given, labels))


@pytest.mark.parametrize(
    ("parameters", "costs"),
    [
        ({}, 1 - np.eye(3)),
        ({"loss": COSTS, "solver": "n_slack"}, COSTS),
        ({"label_weight": {"N": 3.0}}, (1 - np.eye(3)) * [[1.0], [3.0], [1.0]]),
        ({"forbidden": [("V", "V"), ("D", "V")]}, 1 - np.eye(3)),
    ],
)
def test_the_documented_objective_and_a_completion_that_is_its_own(parameters: Any, costs: Any) -> None:
    given = SETS if "forbidden" not in parameters else [*SETS[:5], ["D", "N"]]
    model = SequenceSVM(C=2.0, completion_rounds=50, **parameters, **TIGHT).fit(X, given)
    assert 1 <= model.completion_rounds_ < 50
    w, slacks = model.coef_, 0.0
    for sequence, each in zip(X, given):
        every = scores(model, sequence)
        best = max(score for labels, score in every.items() if agrees(each, labels))
        # at a fixed point the completion is the best under the final weights, so this is the certificate's primal
        slacks += max(score + loss(each, labels, costs) for labels, score in every.items()) - best
    assert model.certificate_.primal == pytest.approx(0.5 * w @ w + 2.0 * slacks, rel=1e-6)
    completed = model.predict(X, given)
    assert all(agrees(each, labels) for each, labels in zip(given, completed))


def test_every_round_is_no_worse_than_the_one_before() -> None:
    """The objective of the concave-convex procedure, written out, falls from round to round."""

    def objective(model: SequenceSVM) -> float:
        total = 0.5 * model.coef_ @ model.coef_
        for sequence, each in zip(X, SETS):
            every = scores(model, sequence)
            total += 2.0 * max(score + loss(each, labels, 1 - np.eye(3)) for labels, score in every.items())
            total -= 2.0 * max(score for labels, score in every.items() if agrees(each, labels))
        return float(total)

    values = [
        objective(SequenceSVM(C=2.0, completion_rounds=rounds, **TIGHT).fit(X, SETS)) for rounds in (0, 1, 2, 3, 8)
    ]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in zip(values, values[1:]))


def test_sets_of_one_label_and_of_all_are_known_and_unknown_ones() -> None:
    one = [[{label} for label in y] for y in Y]
    known, same = (SequenceSVM(**TIGHT).fit(X, y) for y in (Y, one))
    assert same.coef_.tobytes() == known.coef_.tobytes()
    assert same.completion_rounds_ == 0
    hidden: list[Any] = [["D", None, "V"], *Y[1:]]
    every: list[Any] = [["D", set(LABELS), "V"], *Y[1:]]
    unknown, same = (SequenceSVM(**TIGHT).fit(X, y) for y in (hidden, every))
    assert same.coef_.tobytes() == unknown.coef_.tobytes()


def test_labels_named_within_sets_alone(tmp_path: Any) -> None:
    dictionary = {"w=the": {"D"}, "w=A": {"D"}, "w=cat": {"N"}, "w=dog": {"N", "V"}, "w=sat": {"V", "N"}}
    y = [[set(dictionary[token[0]]) for token in sequence] for sequence in X]
    model = SequenceSVM(**TIGHT).fit(X, y)
    assert model.classes_ == LABELS
    assert model.predict(X[:1])[0][:2] == ["D", "N"]
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").predict(X) == model.predict(X)
    nowhere_alone = [[{"D", "N"} if label == "D" else {label, "V"} for label in y] for y in Y]
    nowhere_alone[3], nowhere_alone[4][0] = [{"N", "V"}], {"V", "D"}
    nowhere_alone[0][2] = nowhere_alone[4][3] = {"V", "N"}
    model = SequenceSVM(**TIGHT).fit(X, nowhere_alone)
    assert model.predict(X[:1], [[{"D", "N"}, None, None]])[0][0] in ("D", "N")


def test_a_frozenset_is_a_label_unless_its_members_are() -> None:
    a, b, both = frozenset("a"), frozenset("b"), frozenset("ab")
    tokens = [[["1"], ["2"], ["3"]]]
    assert SequenceSVM(random_state=0).fit(tokens, [[a, b, both]]).classes_ == [a, b, both]
    for given in (both, {"a", "b"}, np.array([both, "a", "b"], object)[0]):
        model = SequenceSVM(random_state=0).fit(tokens, [[given, "a", "b"]])
        assert model.classes_ == ["a", "b"]
        assert model.completion_rounds_ >= 1
    assert SequenceSVM(random_state=0).fit(tokens, [[both, {"a", "c"}, "b"]]).classes_ == ["a", "b", "c"]
    assert SequenceSVM(random_state=0).fit(tokens, [[both, "a", frozenset()]]).classes_ == [both, "a", frozenset()]
    nested = SequenceSVM(random_state=0).fit(tokens, [[frozenset({a, b}), a, b]])
    assert nested.classes_ == [a, b]


@pytest.mark.parametrize(
    ("y", "message", "parameters"),
    [
        ([["D", set()], ["N"]], "sequence 0, token 1: the set of labels is empty; None stands for", {}),
        ([["D", "N"], [{None}]], "sequence 1, token 0: None is in a set of labels; None alone stands for", {}),
        ([["D", {"N", float("nan")}], ["N"]], "sequence 0, token 1: nan cannot be a label", {}),
        ([["D", ["N", "V"]], ["N"]], r"sequence 0, token 1: \['N', 'V'\] cannot be a label", {}),
        ([["D", {"N", "V"}], ["N"]], "sequence 0, token 1: none of the labels that it may have can stand there: "
         "forbidden transitions", {"forbidden": [("D", "N"), ("D", "V")]}),
        ([["D", "N"], [{"N", "V"}]], "sequence 1, token 0: none of the labels", {"forbidden": [(None, "N"), ("V", None)]}),
        ([["D", "V"], [{"D", "V"}]], "sequence 1, token 0: none of the labels", {"forbidden": [(None, "V"), ("D", None)]}),
        ([[{"D", "N"}, None], [{"D", "N"}]], "no label is known", {}),
    ],
)  # fmt: skip
def test_sets_that_say_nothing_or_contradict(y: Any, message: str, parameters: Any) -> None:
    with pytest.raises(DataError, match=message) as caught:
        SequenceSVM(random_state=0, **parameters).fit([[["x"], ["z"]], [["u"]]], y)
    assert "\n" not in str(caught.value)


def test_one_label_that_is_known_in_places_is_enough() -> None:
    for y in ([["P", None]], [[{"P"}, None]]):
        assert SequenceSVM(random_state=0).fit([[["a"], ["b"]]], y).predict([[["b"]], []]) == [["P"], []]
    with pytest.raises(DataError, match="no label is known"):  # two labels, and every token may have both
        SequenceSVM().fit([[["a"], ["b"]]], [[{"P", "Q"}, None]])


def test_weights_of_sequences_with_sets_are_copies() -> None:
    weight = [1, 0, 1, 2, 1, 1]
    weighted = SequenceSVM(**TIGHT).fit(X, SETS, weight)
    copies = [i for i, times in enumerate(weight) for _ in range(times)]
    copied = SequenceSVM(**TIGHT).fit([X[i] for i in copies], [SETS[i] for i in copies])
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-6)


def small_sequences() -> tuple[list[Any], SequenceSVM]:
    X = [[["a"], ["b"]], [["b"], ["a"]]]
    return X, SequenceSVM(C=10.0, random_state=0).fit(X, [["A", "B"], ["B", "A"]])


def test_score_leaves_out_what_is_unknown_and_takes_any_of_a_set() -> None:
    X, model = small_sequences()
    assert model.score(X, [[None, "B"], ["B", {"A", "B"}]]) == 1.0
    assert model.score(X, [[None, frozenset({"A"})], ["B", None]]) == 0.5
    assert model.score(X, [["A", "B"], ["A", "A"]]) == 0.75
    with pytest.raises(ValueError, match="no label in y is known"):
        model.score(X, [[None, None], [None, None]])
    with pytest.raises(ValueError, match="sequence 1 has 2 tokens but 1 labels"):
        model.score(X, [[None, "B"], ["B"]])


def test_a_label_of_one_set_alone_is_noted() -> None:
    X, model = small_sequences()
    assert model.notes_ == ()
    y: list[list[Any]] = [["A", "A"], ["A", "B"], ["B", {"A", "BB"}]]
    noted = SequenceSVM(random_state=0).fit([X[0], *X], y, sample_weight=[0.0, 1.0, 1.0])
    assert len(noted.notes_) == 1
    assert "'BB'" in noted.notes_[0]
    assert "sequence 2, token 1" in noted.notes_[0]
    y[1][0] = {"A", "BB"}
    assert SequenceSVM(random_state=0).fit(X, y[1:]).notes_ == ()


def fits_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Fills with the result of every single fit."""
    results: list[Any] = []
    optimize = SequenceSVM._optimize

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        results.append(optimize(self, *args, **options))
        return results[-1]

    monkeypatch.setattr(SequenceSVM, "_optimize", counted)
    return results


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("how", ["ctrl-c", "callback"])
def test_an_end_that_is_asked_for_ends_all_rounds(how: str, stage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = fits_of(monkeypatch)

    def callback(record: Any, w: Any) -> bool:
        if len(results) == stage - 1 and how == "ctrl-c":
            raise KeyboardInterrupt
        return len(results) == stage - 1

    model = SequenceSVM(C=1.0, tol=1e-9, callback=callback, random_state=0)
    if how == "ctrl-c":
        with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
            model.fit(X, SETS)
    else:
        model.fit(X, SETS)
    assert len(results) == stage
    assert model.certificate_.status is (Status.INTERRUPTED if how == "ctrl-c" else Status.STOPPED)
    assert model.completion_rounds_ == max(stage - 2, 0)
    assert np.array_equal(model.coef_, results[-1].w)
    assert [len(labels) for labels in model.predict(X)] == list(map(len, X))


@pytest.mark.parametrize("stage", [1, 2])
def test_ctrl_c_between_two_rounds_keeps_the_model_of_the_last(stage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = fits_of(monkeypatch)
    complete = Completion.complete

    def interrupted(self: Any, w: Any) -> Any:
        if len(results) == stage:
            raise KeyboardInterrupt
        return complete(self, w)

    monkeypatch.setattr(Completion, "complete", interrupted)
    model = SequenceSVM(C=1.0, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
        model.fit(X, SETS)
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.array_equal(model.coef_, results[-1].w)
