"""SequenceSVM: the optimum of the documented objective by enumeration, decoding with constraints, partly known labels."""

from __future__ import annotations

import pickle
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SequenceSVM, load_model, save_model
from maxmargin.errors import DataError, ModelFileError
from maxmargin.structures.attributes import Tokens
from solvers.enumeration import sequence_case

X = [
    [["w=the", "low"], ["w=cat", "low"], ["w=sat", "low"]],
    [["w=A", "cap"], ["w=dog", "low"]],
    [],
    [["w=cat", "low"]],
    [["w=dog", "low"], ["w=the", "low"], ["w=dog", "low"], ["w=sat", "low", "last"]],
    [["w=the", "low"], ["w=sat", "low"]],
]
Y = [["D", "N", "V"], ["D", "N"], [], ["N"], ["V", "D", "N", "V"], ["D", "N"]]
LABELS = ["D", "N", "V"]
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0])
COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
FORBIDDEN = [("V", "V"), (None, "D"), ("N", None)]


def matrix(sequences: Any, names: list[Any]) -> Any:
    """One column for each attribute, in the order given."""
    out = np.zeros((sum(map(len, sequences)), len(names)))
    for row, token in zip(out, [token for sequence in sequences for token in sequence]):
        items = token.items() if isinstance(token, dict) else [(name, 1.0) for name in token]
        for name, value in items:
            row[names.index(name)] += value
    return out


def enumerated(sequences: Any, labels: Any, features: Any, known_labels: list[Any] = LABELS, **options: Any) -> Any:
    start = np.concatenate([[0], np.cumsum([len(s) for s in sequences])])
    tokens = Tokens(start, None, None, None, 0, features)
    numbers = [np.array([known_labels.index(label) for label in y], np.int64) for y in labels]
    return sequence_case(tokens, features, numbers, len(known_labels), **options).listed


def masks(forbidden: list[Any]) -> dict[str, Any]:
    out = {
        "allowed_initial": np.ones(3, bool), "allowed_final": np.ones(3, bool), "allowed_transitions": np.ones((3, 3), bool)
    }  # fmt: skip
    for before, after in forbidden:
        if before is None:
            out["allowed_initial"][LABELS.index(after)] = False
        elif after is None:
            out["allowed_final"][LABELS.index(before)] = False
        else:
            out["allowed_transitions"][LABELS.index(before), LABELS.index(after)] = False
    return out


@pytest.mark.parametrize("form", ["names", "values", "dense", "sparse", "both"])
@pytest.mark.parametrize(
    ("options", "reference"),
    [
        ({}, {}),
        ({"loss": "normalized_hamming", "solver": "n_slack"}, {"normalize": True}),
        ({"loss": COSTS, "C": 0.02}, {"costs": COSTS}),
        ({"label_weight": {"N": 3.0}, "C": 10.0}, {"costs": (1 - np.eye(3)) * [[1.0], [3.0], [1.0]]}),
        ({"forbidden": FORBIDDEN[:1], "solver": "one_slack"}, {"masks": masks(FORBIDDEN[:1])}),
    ],
)
def test_the_optimum_of_the_documented_objective(options: Any, reference: Any, form: str) -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(1)
    dense = [rng.normal(size=(len(x), 2)) for x in X]
    given: Any = X
    if form == "values":
        given = [[{name: float(rng.normal()) for name in token} for token in x] for x in X]
    elif form == "dense":
        given = dense
    elif form == "both":
        given = list(zip(X, dense))
    model = SequenceSVM(tol=1e-8, max_passes=3000, random_state=0, **options)
    if form == "sparse":
        names = [f"column {k}" for k in range(7)]
        plain = [sp.random_array((len(x), 7), density=0.5, rng=rng, format="csr") for x in X]
        given, features = plain, np.vstack([m.toarray() for m in plain])
        model.fit(given, Y, WEIGHT)
        assert model.attributes_ == list(range(len(names)))
    else:
        model.fit(given, Y, WEIGHT)
        blocks = []
        if form != "dense":
            seen = dict.fromkeys(name for x in X for token in x for name in token)
            assert model.attributes_ == list(seen)
            blocks.append(matrix(given if form == "values" else X, model.attributes_))
        if form in ("dense", "both"):
            blocks.append(np.vstack(dense))
        features = np.hstack(blocks)
    assert model.classes_ == LABELS
    listed = enumerated(X, Y, features, **reference)
    c = options.get("C", 1.0) * WEIGHT * [1, 1, 0, 1, 1, 1]
    value = listed.optimum(c)[1]
    w = np.concatenate([v.ravel() for v in (model.emission_, model.initial_, model.final_, model.transition_)])
    np.testing.assert_array_equal(w, model.coef_)
    assert listed.primal(w, c) == pytest.approx(value, rel=1e-6)
    assert model.certificate_.primal == pytest.approx(listed.primal(w, c), rel=1e-9)
    assert model.certificate_.dual <= value * (1 + 1e-9)
    assert model.skipped_ == [2]
    # predictions agree with enumeration about which sequences are right
    right = [found == y for found, y in zip(model.predict(given), Y)]
    assert right == (listed.risks(w) == 0).tolist()


@pytest.fixture(scope="module")
def model() -> SequenceSVM:
    return SequenceSVM(C=1.0, forbidden=FORBIDDEN[:1], random_state=0).fit(X, Y)


NEW = [[["w=cat", "low"], ["unheard of"], ["w=sat", "cap"], []], [["w=the"]], [], [["last"], ["low", "low"]]]


def all_scores(model: SequenceSVM, sequence: Any) -> dict[tuple[Any, ...], float]:
    """Score of every allowed label sequence, from the public weights."""
    names = [[name for name in token if name in model.attributes_] for token in sequence]
    rows = matrix([names], model.attributes_) @ model.emission_
    scores = {}
    for out in product(range(3), repeat=len(sequence)):
        if any((LABELS[a], LABELS[b]) == FORBIDDEN[0] for a, b in zip(out, out[1:])):
            continue
        score = sum(rows[t, k] for t, k in enumerate(out)) + sum(model.transition_[a, b] for a, b in zip(out, out[1:]))
        scores[tuple(LABELS[k] for k in out)] = score + (model.initial_[out[0]] + model.final_[out[-1]] if out else 0.0)
    return scores


def test_predictions_k_best_margins_and_potentials_by_enumeration(model: SequenceSVM) -> None:
    best, several, margins = model.predict(NEW), model.predict_k_best(NEW, 5), model.predict_margins(NEW)
    for i, sequence in enumerate(NEW):
        scores = all_scores(model, sequence)
        ranked = sorted(scores.values(), reverse=True)
        assert scores[tuple(best[i])] == pytest.approx(ranked[0], abs=1e-10)
        assert [score for _, score in several[i]] == pytest.approx(ranked[:5], abs=1e-10)
        assert [scores[tuple(labels)] for labels, _ in several[i]] == pytest.approx(ranked[:5], abs=1e-10)
        assert margins[i].shape == (len(sequence),)
        for t in range(len(sequence)):
            through = {label: max(v for k, v in scores.items() if k[t] == label) for label in LABELS}
            first, second = sorted(through.values(), reverse=True)[:2]
            assert margins[i][t] == pytest.approx(first - second, abs=1e-10)
        potentials = model.potentials(NEW)[i]
        assert potentials.shape == (len(sequence), 3)
        for t, token in enumerate(sequence):
            rows = [model.emission_[model.attributes_.index(name)] for name in token if name in model.attributes_]
            np.testing.assert_allclose(potentials[t], np.sum(rows, axis=0) if rows else 0.0, atol=1e-12)
    assert model.predict([]) == model.predict_k_best([], 3) == model.predict_margins([]) == []
    assert model.score(X, Y) == pytest.approx(
        np.mean([a == b for x, y in zip(model.predict(X), Y) for a, b in zip(x, y)])
    )


def test_known_labels_restrict_a_prediction(model: SequenceSVM) -> None:
    known: list[Any] = [[None, {"D", "V"}, "N", ["N", "D"]], ["V"], [], None]
    for i, (sequence, found) in enumerate(zip(NEW, model.predict(NEW, known))):
        scores = all_scores(model, sequence)
        fitting = {
            labels: score
            for labels, score in scores.items()
            if all(
                k is None or (label in k if isinstance(k, set | list) else label == k)
                for label, k in zip(labels, known[i] or [None] * len(labels))
            )
        }
        assert fitting[tuple(found)] == pytest.approx(max(fitting.values()), abs=1e-10)
    for bad, message in [
        ([["D", "X", None, None], None, [], None], "known: sequence 0, token 1: the model has no label 'X'"),
        ([None, ["D", "D"], [], None], "known: sequence 1 has 2 entries for 1 tokens"),
        ([None], "known has 1 sequences and X has 4"),
        ([None, None, [], ["V", "V"]], "sequence 3: no label sequence agrees"),
        ([[set(), None, None, None], None, None, None], "sequence 0: no label sequence agrees"),
        ([None, [[]], None, None], "known: sequence 1: no label sequence agrees with token 0: the set of labels is em"),
        ([[None, frozenset(), None, None], None, [], None], "with token 1: the set of labels is empty; None stands"),
    ]:
        with pytest.raises(DataError, match=message):
            model.predict(NEW, bad)


@pytest.mark.parametrize("labels", [[10, 20, 40], ["B-x", "I-x", "O"], [(1, "a"), (0, "b"), (0, "a")], [True, 3, "x"]])
def test_labels_of_any_type_come_back_as_they_are(labels: list[Any]) -> None:
    names = dict(zip(LABELS, labels))
    mapped = [[names[label] for label in y] for y in Y]
    model = SequenceSVM(C=1.0, random_state=0).fit(X, mapped)
    assert set(model.classes_) == set(labels)
    found = model.predict(X)
    assert all(type(label) in {type(v) for v in labels} for y in found for label in y)
    default = SequenceSVM(C=1.0, random_state=0).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(default.certificate_.primal, rel=2e-2)
    arrays = SequenceSVM(C=1.0, random_state=0).fit(X, [np.array(y, dtype=object) for y in Y])
    np.testing.assert_array_equal(arrays.coef_, default.coef_)


def test_forbidden_by_scheme() -> None:
    y = [["B-a", "I-a", "O"], ["O", "B-b"], [], ["B-a"], ["O", "B-a", "B-b", "I-b"], ["B-b", "I-b"]]
    model = SequenceSVM(C=1.0, forbidden="iob2", random_state=0).fit(X, y)
    for found in model.predict([*X, *NEW, [[]] * 6]):
        for before, after in zip(["O", *found], found):
            assert not after.startswith("I-") or before[2:] == after[2:]


def test_rare_attributes_are_left_out() -> None:
    model = SequenceSVM(min_count=3, random_state=0).fit(X, Y)
    counts = {name: sum(name in token for x in X for token in x) for name in ["w=the", "low", "cap", "w=cat", "last"]}
    assert set(model.attributes_) == {name for name in [*counts, "w=dog", "w=sat"] if counts.get(name, 3) >= 3}
    assert model.attributes_[0] == "w=the"
    with pytest.raises(DataError, match="no attribute occurs in min_count = 100 .*lower min_count"):
        SequenceSVM(min_count=100).fit(X, Y)


@pytest.mark.parametrize("min_count", [1, 2, 3, 5])
@pytest.mark.parametrize("weight", [[2, 1, 1, 1, 1, 1], [3, 0, 2, 1, 0, 2], [0, 1, 0, 4, 0, 0], [2] * 6])
def test_rare_attributes_are_counted_with_the_weights(weight: list[int], min_count: int) -> None:
    copies = [i for i, k in enumerate(weight) for _ in range(k)]
    model = SequenceSVM(min_count=min_count, tol=1e-8, max_passes=2000, random_state=0)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    copied = clone(model).fit([X[i] for i in copies], [Y[i] for i in copies])
    assert weighted.attributes_ == copied.attributes_
    assert weighted.coef_.shape == copied.coef_.shape
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-6)


def test_rare_attributes_are_counted_with_fractional_weights() -> None:
    x, y = [[["a"], ["b"]], [["b"], ["c"]], [["c"]]], [["0", "1"], ["1", "0"], ["0"]]
    for weight, kept in (([1.5, 0.5, 1.0], ["b"]), ([0.5, 1.5, 0.5], ["b", "c"]), ([2.5, 0.1, 9], ["a", "b", "c"])):
        assert SequenceSVM(min_count=2, random_state=0).fit(x, y, sample_weight=weight).attributes_ == kept
    assert SequenceSVM(random_state=0).fit(x, y, sample_weight=[0.1] * 3).attributes_ == ["a", "b", "c"]
    with pytest.raises(DataError, match=r"min_count = 2 tokens or more \(the most frequent one in 0.75\)"):
        SequenceSVM(min_count=2).fit(x, y, sample_weight=[0.25, 0.5, 0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x, y[:-1]), "X has 6 sequences and y has 5; they must be equal"),
        (lambda x, y: (x, [*y[:4], y[4][:3], y[5]]), "sequence 4 has 4 tokens but 3 labels"),
        (lambda x, y: ([], []), "X is empty: there is nothing to learn from"),
        (lambda x, y: ([[], []], [[], []]), "all sequences are empty: there is nothing to learn from"),
        (lambda x, y: (x, [[None] * len(s) for s in y]), "no label is known"),
        (lambda x, y: (x, ["DNV", *y[1:]]), "labels of sequence 0 are a str; give a list with one label a token"),
        (lambda x, y: (x, [*y[:3], None, *y[4:]]), "labels of sequence 3 are a NoneType"),
        (lambda x, y: (x, [y[0], [["D"], "N"], *y[2:]]), r"sequence 1, token 0: \['D'\] cannot be a label"),
        (lambda x, y: (x, [y[0], ["D", float("nan")], *y[2:]]), "sequence 1, token 1: nan cannot be a label"),
    ],
)
def test_data_that_cannot_be_learned_from(change: Any, message: str) -> None:
    model = SequenceSVM()
    with pytest.raises(DataError, match=message):
        model.fit(*change(X, Y))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "SequenceSVM: C must be"),
        ({"min_count": 0}, "SequenceSVM: min_count must be"),
        ({"completion_rounds": -1}, "SequenceSVM: completion_rounds must be"),
        ({"loss": "zero_one"}, "'normalized_hamming', a callable of two labels or a cost matrix, not 'zero_one'"),
        ({"loss": np.eye(2)}, r"the cost matrix has shape \(2, 2\); it needs \(3, 3\)"),
        ({"loss": np.eye(2), "label_weight": {"D": 2.0}}, r"the cost matrix has shape \(2, 2\)"),
        ({"label_weight": {"X": 2.0}}, "label_weight names the label 'X', which is not in y"),
        ({"label_weight": {"D": -2.0}}, "label_weight"),
        ({"label_weight": {"D": np.nan}}, "label_weight"),
        ({"forbidden": [("D", "X")]}, "forbidden names the label 'X', which is not in y"),
        ({"forbidden": ["DNV"]}, "forbidden must hold pairs of labels, not 'DNV'"),
        ({"forbidden": [(None, None)]}, r"\(None, None\) says nothing"),
        ({"forbidden": [("D", "N")]}, "sequence 0 uses a forbidden transition at position 1"),
        ({"forbidden": [(None, "D")]}, "sequence 0 starts with a label that may not stand there"),
        ({"forbidden": [("V", None)]}, "sequence 0 ends with a label that may not stand there"),
        ({"forbidden": "bio"}, "bio"),
        ({"forbidden": 5}, "forbidden must be 'iob2', 'bioes' or a list of pairs of labels, not 5"),
        ({"forbidden": [5]}, "forbidden must hold pairs of labels, not 5"),
        ({"forbidden": ["DN"]}, "forbidden must hold pairs of labels, not 'DN'"),
        ({"forbidden": [(["D"], "N")]}, r"forbidden names the label \['D'\], which is not in y"),
        ({"label_weight": "balanced"}, "label_weight must be a dict of labels and the factors .*, not 'balanced'"),
        ({"label_weight": [1.0, 2.0, 3.0]}, "label_weight must be a dict"),
        ({"label_weight": {"D": 1e308}, "loss": 1e90 * (1 - np.eye(3))}, "loss times label_weight .* too large|finite"),
        ({"loss": [[0, 1], [1]]}, "loss must be an array of real numbers: its rows have different lengths"),
        ({"loss": [["0", "1", "1"]] * 3}, "loss must hold real numbers"),
        ({"loss": 1e200 * (1 - np.eye(3))}, r"loss times label_weight has an entry of 1e\+200: too large"),
        ({"min_count": 100}, r"no attribute occurs in min_count = 100 tokens or more \(.* in \d+\): .*lower min_count"),
        ({"solver": "newtn"}, "unknown solver 'newtn'; solver must be one of"),
        ({"solver": "newton"}, "solver 'newton' is not for structured machines: it is for linear machines, "),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        SequenceSVM(**parameters).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_weights_of_sequences() -> None:
    for weight, message in [
        ([0.0] * 6, "zero for every example"),
        ([0, 0, 1, 0, 0, 0], "zero for every sequence that is not"),
    ]:
        with pytest.raises(DataError, match=f"sample_weight is {message}"):
            SequenceSVM().fit(X, Y, weight)
    options = dict(tol=1e-9, max_passes=2000, random_state=0)
    weighted = SequenceSVM(**options).fit(X, Y, [1, 0, 1, 2, 1, 1])
    copied = SequenceSVM(**options).fit([X[i] for i in (0, 3, 3, 4, 5)], [Y[i] for i in (0, 3, 3, 4, 5)])
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-8)
    assert copied.attributes_ == weighted.attributes_  # those of a sequence of weight 0 are unknown
    for name in weighted.attributes_:
        row = weighted.emission_[weighted.attributes_.index(name)]
        expected = copied.emission_[copied.attributes_.index(name)] if name in copied.attributes_ else 0.0
        np.testing.assert_allclose(row, expected, atol=2e-4)


def test_labels_partly_known() -> None:
    """The unknown ones are completed with those known in place, and do not count in the loss."""
    rng = np.random.default_rng(3)
    hidden = [[label if rng.random() < 0.6 else None for label in y] for y in Y]
    hidden[0][0], hidden[4][0], hidden[3][0] = "D", "V", "N"
    model = SequenceSVM(C=5.0, tol=1e-6, max_passes=1000, random_state=0).fit(X, hidden)
    assert 1 <= model.completion_rounds_ <= 10
    completed = model.predict(X, hidden)
    for y, given in zip(completed, hidden):
        assert all(k is None or k == label for label, k in zip(y, given))
    # the last round's problem: completed labels as truths, losses at known positions only
    listed = enumerated(X, completed, matrix(X, model.attributes_))
    for i, given in enumerate(hidden):
        outputs = [[LABELS[k] for k in out] for out in product(range(3), repeat=len(given))]
        listed.loss[i] = np.array([sum(k is not None and k != a for a, k in zip(out, given)) for out in outputs], float)
    assert model.certificate_.primal == pytest.approx(listed.primal(model.coef_, np.full(6, 5.0)), rel=1e-6)
    everything = SequenceSVM(C=5.0, random_state=0).fit(X, Y)
    assert everything.completion_rounds_ == 0


def test_an_early_end_is_said_aloud() -> None:
    with pytest.warns(ConvergenceWarning, match="SequenceSVM stopped by pass limit"):
        SequenceSVM(C=100.0, tol=1e-9, max_passes=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SequenceSVM(random_state=0).fit(X, Y)


@pytest.mark.parametrize("n_jobs", [2, 4, -1])
def test_threads_make_no_difference(n_jobs: int) -> None:
    one = SequenceSVM(random_state=3).fit(X * 40, Y * 40)
    several = SequenceSVM(random_state=3, n_jobs=n_jobs).fit(X * 40, Y * 40)
    assert one.coef_.tobytes() == several.coef_.tobytes()
    assert one.predict(X * 40) == several.predict(X * 40)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["O", "I-X"], "sequence 0 uses a forbidden transition at position 1: 'O' to 'I-X'"),
        (["I-X", "I-X"], "sequence 0 starts with a label that may not stand there: 'I-X'"),
    ],
)
def test_forbidden_labels_are_named(labels: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        SequenceSVM(forbidden="iob2").fit([[["a"], ["b"]]], [labels])


def test_transitions_forbidden_in_one_prediction(model: SequenceSVM) -> None:
    before = model.predict(NEW)
    for forbidden in ([("D", "N")], [(None, "D"), ("N", "V"), ("V", "V")], {("N", None)}, []):
        several = model.predict_k_best(NEW, 4, forbidden=forbidden)
        for i, (sequence, found) in enumerate(zip(NEW, model.predict(NEW, forbidden=iter(forbidden)))):
            fitting = {
                labels: score
                for labels, score in all_scores(model, sequence).items()  # those of the fit are forbidden there too
                if not any(pair in forbidden for pair in zip([None, *labels], [*labels, None])) or not labels
            }
            ranked = sorted(fitting.values(), reverse=True)[:4]
            assert fitting[tuple(found)] == pytest.approx(ranked[0], abs=1e-10)
            assert [score for _, score in several[i]] == pytest.approx(ranked, abs=1e-10)
            assert [fitting[tuple(labels)] for labels, _ in several[i]] == pytest.approx(ranked, abs=1e-10)
    assert model.predict(NEW) == before  # for those calls only
    with pytest.raises(DataError, match="forbidden names the label 'X', which the model does not know"):
        model.predict(NEW, forbidden=[("D", "X")])
    with pytest.raises(DataError, match="forbidden names the label 'X', which the model does not know"):
        model.predict_k_best(NEW, 2, forbidden=[("X", "D")])
    with pytest.raises(DataError, match="sequence 0: no label sequence agrees"):
        model.predict(NEW, forbidden=[(None, label) for label in LABELS])


def test_known_labels_restrict_the_k_best(model: SequenceSVM) -> None:
    known: list[Any] = [[None, {"D", "V"}, "N", None], None, [], ["V", None]]
    found = model.predict_k_best(NEW, 3, known, [("V", "N")])
    assert [each[0][0] for each in found] == model.predict(NEW, known, [("V", "N")])
    for labels, _ in found[0]:
        assert labels[1:3] == ["D", "N"]
    assert model.predict_k_best(NEW[1:2], 3, [["V"]], [("V", None)]) == [[]]


def test_predictions_keep_to_what_the_fit_forbade(tmp_path: Path) -> None:
    forbidding = SequenceSVM(C=1.0, forbidden=FORBIDDEN[:1], random_state=0).fit(X, Y)
    found = forbidding.predict_k_best(NEW, 200)
    for other in (None, [("D", "N")], [("X", "Y")]):
        forbidding.set_params(forbidden=other)
        save_model(forbidding, tmp_path / "model")
        for same in (forbidding, pickle.loads(pickle.dumps(forbidding)), load_model(tmp_path / "model")):
            assert same.predict_k_best(NEW, 200) == found


def test_what_a_file_allows_is_checked(tmp_path: Path) -> None:
    model = SequenceSVM(C=1.0, forbidden=FORBIDDEN[:1], random_state=0).fit(X, Y)
    assert "allowed" not in model._to_parts()
    parts = model.set_params(forbidden=None)._to_parts()
    assert parts["allowed"].sum() == 14
    for bad in (parts["allowed"][1:], parts["allowed"].astype(float), 3):
        with pytest.raises(ValueError, match="what is allowed must be 15 truth values for 3 labels"):
            SequenceSVM()._from_parts({**parts, "allowed": bad})


def differ(true: str, predicted: str) -> float:
    return {"D": 2.0, "N": 1.0, "V": 0.5}[true] if true != predicted else 0.0


def test_a_loss_of_two_labels_is_the_matrix_of_its_values(tmp_path: Path) -> None:
    costs = np.array([[differ(true, predicted) for predicted in sorted(LABELS)] for true in sorted(LABELS)])
    for label_weight in (None, {"N": 3.0}):
        model = SequenceSVM(loss=differ, label_weight=label_weight, random_state=0).fit(X, Y)
        same = SequenceSVM(loss=costs, label_weight=label_weight, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, same.coef_)
    assert clone(model).loss is differ
    assert pickle.loads(pickle.dumps(model)).predict(NEW) == model.predict(NEW)
    with pytest.raises(ModelFileError, match="the parameter loss <function differ"):
        save_model(model, tmp_path / "model")
    save_model(model.set_params(loss="hamming"), tmp_path / "model")
    assert load_model(tmp_path / "model").predict(NEW) == model.predict(NEW)
    for value, message in [
        (np.nan, r"loss\('D', 'V'\) is nan: it must be 0 for the truth, and finite"),
        (-0.5, r"loss\('D', 'V'\) is -0.5: it must be 0 for the truth, and finite"),
        ("x", r"loss\('D', 'V'\) is 'x': it must be a number"),
    ]:
        with pytest.raises(DataError, match=message):
            SequenceSVM(loss=lambda a, b, value=value: value if (a, b) == ("D", "V") else a != b).fit(X, Y)
    with pytest.raises(DataError, match=r"loss\('D', 'D'\) is 1: it must be 0 for y == y_true"):
        SequenceSVM(loss=lambda a, b: 1).fit(X, Y)


def test_sets_as_labels_are_in_one_order_whoever_asks() -> None:
    """Only some sets are comparable: sorting them would depend on the order that they came in."""
    names = dict(zip(LABELS, [frozenset("ab"), frozenset("c"), frozenset("a")]))
    model = SequenceSVM(random_state=0).fit(X, [[names[label] for label in y] for y in Y])
    assert model.classes_ == list(dict.fromkeys(names[label] for y in Y for label in y))
    assert pickle.loads(pickle.dumps(model)).predict(NEW) == model.predict(NEW)
    for known in (names["D"], {names["D"]}, frozenset({names["D"]})):  # a set that is a label is that label
        assert model.predict(NEW[1:2], [[known]]) == [[names["D"]]]
    with pytest.raises(DataError, match=r"sequence 0, token 0: \(\['D'\],\) cannot be a label"):
        SequenceSVM().fit(X, [[(["D"],), *Y[0][1:]], *Y[1:]])
