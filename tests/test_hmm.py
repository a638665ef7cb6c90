"""The generative HMM: its probabilities, and that its most probable sequence is that of a linear decoder."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from maxmargin import SequenceSVM
from maxmargin.decoders import viterbi
from maxmargin.errors import DataError
from maxmargin.hmm import GenerativeHMM
from maxmargin.solvers.base import Run, Step

LABELS = ["a", "b", "c"]
EMISSIONS = ["bernoulli", "multinomial", "gaussian"]


def sample(rng: np.random.Generator, n: int, n_features: int = 3) -> tuple[list[Any], list[Any]]:
    """Random sequences of 1 to 4 tokens whose features depend on the labels; every label occurs."""
    y = [LABELS, *(rng.choice(LABELS, size=rng.integers(1, 5)).tolist() for _ in range(n))]
    means = dict(zip(LABELS, rng.uniform(0.5, 3.0, (3, n_features))))
    X = [np.array([rng.poisson(means[label]) for label in labels], float) for labels in y]
    return X, y


def log_joint(model: GenerativeHMM, X: list[Any], y: list[Any], x: np.ndarray, labels: tuple[str, ...]) -> float:
    """``log p(x, labels)`` from counts of the training data ``X, y``, by the definition, in plain Python."""
    a = model.smoothing
    rows = [(row, label) for xs, ys in zip(X, y) for row, label in zip(xs, ys)]
    total = math.log((sum(ys[0] == labels[0] for ys in y) + a) / (len(y) + 3 * a))
    for before, after in itertools.pairwise(labels):
        pairs = [pair for ys in y for pair in itertools.pairwise(ys) if pair[0] == before]
        total += math.log((pairs.count((before, after)) + a) / (len(pairs) + 3 * a))
    for t, label in enumerate(labels):
        own = np.array([row for row, name in rows if name == label])
        if model.emission == "bernoulli":
            share = ((own > model.threshold).sum(0) + a) / (len(own) + 2 * a)
            total += stats.bernoulli.logpmf(x[t] > model.threshold, share).sum()
        elif model.emission == "multinomial":
            share = (own.sum(0) + a) / (own.sum() + a * own.shape[1])
            total += stats.multinomial.logpmf(x[t], x[t].sum(), share)
        else:
            centre = {name: np.mean([row for row, other in rows if other == name], 0) for name in LABELS}
            spread = np.mean([(row - centre[name]) ** 2 for row, name in rows], 0)
            total += stats.norm.logpdf(x[t], centre[label], np.sqrt(spread)).sum()
    return float(total)


def linear_score(model: GenerativeHMM, x: np.ndarray, labels: tuple[str, ...]) -> float:
    """The score of labels under the model's linear weights."""
    k = [model.classes_.index(label) for label in labels]
    unary = model.potentials([x])[0]
    return float(
        model.initial_[k[0]]
        + sum(model.transition_[i, j] for i, j in itertools.pairwise(k))
        + sum(unary[t, label] for t, label in enumerate(k))
    )


@pytest.mark.parametrize("emission", EMISSIONS)
@pytest.mark.parametrize("smoothing", [0.3, 2.0])
def test_the_prediction_is_the_most_probable_sequence(
    emission: Any, smoothing: float, rng: np.random.Generator
) -> None:
    X, y = sample(rng, 12)
    model = GenerativeHMM(emission=emission, smoothing=smoothing, threshold=1.0).fit(X, y)
    news, _ = sample(rng, 8)
    for x, predicted in zip(news, model.predict(news)):
        every = list(itertools.product(LABELS, repeat=len(x)))
        log_p = np.array([log_joint(model, X, y, x, labels) for labels in every])
        assert log_p[every.index(tuple(predicted))] >= log_p.max() - 1e-9
        # the linear score is the logarithm of the probability, up to what is the same for all labels
        difference = log_p - [linear_score(model, x, labels) for labels in every]
        np.testing.assert_allclose(difference, difference[0], atol=1e-9)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_map_sequence_is_that_of_the_sequence_svms_decoder(emission: Any, rng: np.random.Generator) -> None:
    """The weights of the HMM, put into a SequenceSVM that sees a constant, predict the same."""
    X, y = sample(rng, 12)
    news, _ = sample(rng, 50)
    if emission == "bernoulli":  # the linear decoder sees the features that the model counts
        X, news = ([np.where(x > 1.0, 1.0, 0.0) for x in part] for part in (X, news))
    model = GenerativeHMM(emission=emission).fit(X, y)

    def with_constant(part: list[Any]) -> list[Any]:
        return [np.column_stack([x, np.ones(len(x))]) for x in part]

    svm = SequenceSVM(max_passes=1, tol=1.0).fit(with_constant(X), y)
    weights = (model.emission_, model.bias_, model.initial_, np.zeros(3), model.transition_)
    svm.__setstate__({**svm.__getstate__(), "coef_": np.concatenate([part.ravel() for part in weights])})
    assert svm.predict(with_constant(news)) == model.predict(news)
    for x, predicted in zip(news, model.predict(news)):
        labels, _ = viterbi(x @ model.emission_ + model.bias_, model.transition_, model.initial_)
        assert [model.classes_[k] for k in labels] == predicted


def test_probabilities_by_hand() -> None:
    X = [np.array([[1.0], [0.0], [1.0]]), np.array([[1.0]])]
    model = GenerativeHMM(smoothing=1.0).fit(X, [["a", "b", "a"], ["a"]])
    np.testing.assert_allclose(np.exp(model.initial_), [3 / 4, 1 / 4])
    np.testing.assert_allclose(np.exp(model.transition_), [[1 / 3, 2 / 3], [2 / 3, 1 / 3]])
    present = np.array([4 / 5, 1 / 3])  # (3 + 1) / (3 + 2) and (0 + 1) / (1 + 2)
    np.testing.assert_allclose(model.emission_, np.log(present / (1 - present))[None])
    np.testing.assert_allclose(model.bias_, np.log(1 - present))


@pytest.mark.parametrize(("emission", "reference"), [("bernoulli", BernoulliNB), ("multinomial", MultinomialNB)])
def test_sequences_of_one_token_are_naive_bayes(emission: Any, reference: Any, rng: np.random.Generator) -> None:
    features = rng.poisson(1.0, (60, 5)).astype(float)
    labels = rng.choice(LABELS, 60)
    model = GenerativeHMM(emission=emission, smoothing=0.7).fit(list(features[:, None]), [[label] for label in labels])
    prior = np.exp(model.initial_)  # scikit-learn does not smooth the prior
    settings = {"binarize": 0.5} if emission == "bernoulli" else {}
    bayes = reference(alpha=0.7, class_prior=prior, **settings).fit(features, labels)
    ours = np.array(model.potentials(list(features[:, None])))[:, 0] + model.initial_
    ours -= np.logaddexp.reduce(ours, axis=1)[:, None]
    np.testing.assert_allclose(ours, bayes.predict_log_proba(features), atol=1e-9)


def test_one_gaussian_feature_is_linear_discriminant_analysis(rng: np.random.Generator) -> None:
    """With one feature the pooled variance is the covariance of linear discriminant analysis."""
    labels = np.repeat(LABELS, [30, 20, 10])
    features = rng.standard_normal((60, 1)) + 2.0 * (labels == "b")[:, None]
    model = GenerativeHMM(emission="gaussian", smoothing=1e-9).fit(list(features[:, None]), [[k] for k in labels])
    reference = LinearDiscriminantAnalysis(solver="lsqr").fit(features, labels)
    ours = np.array(model.potentials(list(features[:, None])))[:, 0] + model.initial_
    ours -= np.logaddexp.reduce(ours, axis=1)[:, None]
    np.testing.assert_allclose(ours, reference.predict_log_proba(features), atol=1e-6)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_a_weight_is_a_number_of_copies(emission: Any, rng: np.random.Generator) -> None:
    X, y = sample(rng, 6)
    times = rng.integers(1, 4, len(X))
    weighted = GenerativeHMM(emission=emission).fit(X, y, sample_weight=times)
    copies = [i for i, n in enumerate(times) for _ in range(n)]
    copied = GenerativeHMM(emission=emission).fit([X[i] for i in copies], [y[i] for i in copies])
    for name in ("initial_", "transition_", "emission_", "bias_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copied, name), atol=1e-10, err_msg=name)


def test_weight_0_leaves_a_sequence_out_with_its_labels() -> None:
    X = [[["x"]], [["y"]], [["z"]]]
    model = GenerativeHMM().fit(X, [["a"], ["b"], ["c"]], sample_weight=[1, 1, 0])
    assert model.classes_ == ["a", "b"]
    assert model.attributes_ == ["x", "y"]


@pytest.mark.parametrize("emission", ["bernoulli", "multinomial"])
def test_attributes_vectors_and_sparse_matrices_give_the_same_model(emission: Any, rng: np.random.Generator) -> None:
    X, y = sample(rng, 10)
    names = ["p", "q", "r"]
    # the first token lists all attributes, so that they are numbered as the columns
    X[0][0] = [1.0, 2.0, 3.0]
    attributes = [[{name: value for name, value in zip(names, row) if value} for row in x] for x in X]
    both = [(tokens, x[:, :0]) for tokens, x in zip(attributes, X)]
    models = [
        GenerativeHMM(emission=emission, threshold=0.5).fit(form, y)
        for form in (X, attributes, [sp.csr_matrix(x) for x in X], both)
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.emission_, models[0].emission_)
        np.testing.assert_allclose(model.bias_, models[0].bias_)
    assert models[1].attributes_ == names
    assert models[1].predict(attributes) == models[0].predict(X)


def test_attributes_and_vectors_together(rng: np.random.Generator) -> None:
    """Features of both kinds are independent given the label, so their scores add up."""
    X, y = sample(rng, 10)
    words = [[[f"w{rng.integers(4)}"] for _ in labels] for labels in y]
    models = [GenerativeHMM().fit(form, y) for form in (list(zip(words, X)), words, X)]
    assert models[0].emission_.shape == (len(models[1].attributes_) + 3, 3)
    together, first, second = (
        model.potentials(form)[3] for model, form in zip(models, (list(zip(words, X)), words, X))
    )
    np.testing.assert_allclose(together, first + second)


def test_unknown_attributes_say_nothing_and_empty_sequences_are_empty() -> None:
    X = [[["x"], ["y"]], [["x"], ["y"]], []]
    model = GenerativeHMM(emission="multinomial").fit(X, [["a", "b"], ["a", "b"], []])
    assert model.predict([[["never"], ["y"]], [], [["x", "never"]]]) == [["a", "b"], [], ["a"]]
    assert model.predict([]) == []
    assert model.score(X, [["a", "a"], ["a", "b"], []]) == 0.75


def test_it_is_an_estimator_like_others(rng: np.random.Generator) -> None:
    X, y = sample(rng, 5)
    model = GenerativeHMM(emission="gaussian", smoothing=0.5)
    assert clone(model).get_params() == {"emission": "gaussian", "smoothing": 0.5, "threshold": 0.5}
    predicted = model.fit(X, [np.array(labels) for labels in y]).predict(X)
    assert isinstance(predicted[0][0], str)
    assert pickle.loads(pickle.dumps(model)).predict(X) == predicted


def test_a_feature_that_never_varies_does_no_harm() -> None:
    X = [np.array([[0.0, 5.0], [1.0, 5.0], [0.2, 5.0], [1.1, 5.0]])]
    model = GenerativeHMM(emission="gaussian").fit(X, [["a", "b", "a", "b"]])
    assert np.isfinite(model.emission_).all()
    assert model.predict(X) == [["a", "b", "a", "b"]]


@pytest.mark.parametrize("value", [0.1, 1e4, 1e5, -1e9, 1e15])
def test_a_constant_column_has_no_effect(value: float, rng: np.random.Generator) -> None:
    X, y = sample(rng, 20)
    weight = rng.uniform(0.5, 2.0, len(X))
    plain = GenerativeHMM(emission="gaussian").fit(X, y, weight)
    wide = [np.column_stack([x, np.full(len(x), value)]) for x in X]
    model = GenerativeHMM(emission="gaussian").fit(wide, y, weight)
    assert not model.emission_[-1].any()
    np.testing.assert_allclose(model.emission_[:-1], plain.emission_, rtol=1e-12, atol=1e-12)
    for with_it, without in zip(model.potentials(wide), plain.potentials(X)):
        np.testing.assert_allclose(with_it, without, rtol=0, atol=1e-12)


def test_features_far_from_0_are_as_those_around_it(rng: np.random.Generator) -> None:
    X, y = sample(rng, 20)
    plain, far = (GenerativeHMM(emission="gaussian").fit([x + by for x in X], y) for by in (0.0, 2.0**30))
    assert far.predict([x + 2.0**30 for x in X]) == plain.predict(X)
    np.testing.assert_allclose(far.emission_, plain.emission_, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("columns", [[0.0, 0.0], [5.0, 1e5], [0.1, 0.3]])
def test_constant_columns_alone_say_nothing(columns: list[float]) -> None:
    X = [np.tile(columns, (7, 1))]
    model = GenerativeHMM(emission="gaussian").fit(X, [["a", "b", "b", "a", "a", "a", "b"]])
    assert not model.emission_.any()
    assert not model.bias_.any()
    assert len(model.predict(X)[0]) == 7


@pytest.mark.filterwarnings("error")
def test_features_that_vary_between_labels_alone_have_finite_weights() -> None:
    X, y = [np.array([[0.0, 7.0], [1e12, 7.0], [0.0, 7.0], [1e12, 7.0]])], [["a", "b", "a", "b"]]
    model = GenerativeHMM(emission="gaussian").fit(X, y)
    assert np.isfinite(model.emission_).all()
    assert model.predict(X) == y


GOOD = ([np.eye(2), np.eye(2)], [["a", "b"], ["b", "a"]])


@pytest.mark.parametrize(
    ("settings", "X", "y", "message"),
    [
        ({"emission": "poisson"}, *GOOD, "emission must be 'bernoulli', 'multinomial' or 'gaussian', not 'poisson'"),
        ({"smoothing": 0.0}, *GOOD, "smoothing must be a finite number above 0"),
        ({"smoothing": math.nan}, *GOOD, "smoothing must be a finite number above 0"),
        ({"emission": ["gaussian"]}, *GOOD, "emission must be 'bernoulli', 'multinomial' or 'gaussian', not ['gauss"),
        ({"smoothing": "a"}, *GOOD, "smoothing must be a finite number above 0, not 'a'"),
        ({"smoothing": None}, *GOOD, "smoothing must be a finite number above 0, not None"),
        ({"smoothing": 10**400}, *GOOD, "smoothing must be a finite number above 0, not 1000"),
        ({"threshold": "a"}, *GOOD, "threshold must be a finite number, not 'a'"),
        ({"threshold": math.inf}, *GOOD, "threshold must be a finite number"),
        ({}, [np.eye(2)], GOOD[1], "X has 1 sequences and y has 2"),
        ({}, GOOD[0], [["a", "b"], ["b"]], "sequence 1 has 2 tokens but 1 labels"),
        ({}, GOOD[0], [["a", "b"], ["b", None]], "sequence 1, token 1: the label is unknown"),
        ({}, GOOD[0], [["a", "b"], "ba"], "labels of sequence 1 are a str"),
        ({}, [[], []], [[], []], "all sequences are empty"),
        ({}, [[[], []]], [["a", "b"]], "no token has any feature"),
        ({"emission": "gaussian"}, [[["x"], ["y"]]], [["a", "b"]], "needs dense vectors"),
        ({"emission": "multinomial"}, [-np.eye(2)], [["a", "b"]], "counts occurrences, but a feature has the value -1"),
        ({"threshold": -1.0}, [[["x"], ["y"]]], [["a", "b"]], "a threshold below 0 makes absent attributes present"),
    ],
)
def test_what_is_wrong_is_said(settings: dict[str, Any], X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        GenerativeHMM(**settings).fit(X, y)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_vectors_of_another_length_are_refused() -> None:
    model = GenerativeHMM().fit(*GOOD)
    with pytest.raises(DataError, match="rows of 3 values; 2 are expected"):
        model.predict([np.eye(3)])


class Still:
    """A solver that stays where it begins."""

    name = "still"

    def start(self, task: Any) -> Run:
        return _StillRun(task)


class _StillRun(Run):
    def __init__(self, task: Any) -> None:
        self.task = task
        self.w = task.warm.w.copy()

    def advance(self) -> Step:
        return Step(1, np.inf, 0.0)

    def weights(self) -> np.ndarray:
        return self.w

    def dual(self) -> float:
        return 0.0


def with_names(X: list[Any]) -> list[Any]:
    """Numbers of occurrences as attributes."""
    return [[{f"f{j}": value for j, value in enumerate(row) if value} for row in x] for x in X]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("emission", "form"), [*((emission, list) for emission in EMISSIONS), *((e, with_names) for e in EMISSIONS[:2])]
)
def test_a_sequence_svm_begins_at_the_most_probable_labels(emission: Any, form: Any, rng: np.random.Generator) -> None:
    X, y = sample(rng, 20)
    news, _ = sample(rng, 60)
    if emission == "bernoulli":
        X, news = ([np.where(x > 1.0, 1.0, 0.0) for x in part] for part in (X, news))
    hmm = GenerativeHMM(emission=emission).fit(form(X), y)
    # in another order, so that attributes have other numbers
    svm = SequenceSVM(solver=Still(), max_passes=1).fit(form(X[::-1]), y[::-1], start=hmm)
    assert svm.predict(form(news)) == hmm.predict(form(news))
    assert any(labels != [LABELS[0]] * len(labels) for labels in svm.predict(form(news)))
    emission_, initial, final, transition = hmm.chain_weights()
    for x, labels in zip(form(news), hmm.predict(form(news))):
        unary = svm.potentials([x])[0]
        if form is list:
            np.testing.assert_allclose(unary, x @ emission_)
        best, _ = viterbi(unary, transition, initial, final)
        assert [LABELS[k] for k in best] == labels


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "bundle"])
def test_the_optimum_does_not_depend_on_the_start(solver: str, rng: np.random.Generator) -> None:
    X, y = sample(rng, 25)
    hmm = GenerativeHMM(emission="multinomial").fit(X, y)
    first: list[float] = []
    settings: dict[str, Any] = dict(C=0.1, solver=solver, tol=1e-4, max_passes=1000, random_state=0)
    settings["callback"] = lambda record, w: first.append(record.primal)
    began = SequenceSVM(**settings).fit(X, y, start=hmm)
    warm = list(first)
    first.clear()
    plain = SequenceSVM(**settings).fit(X, y)
    assert began.certificate_.status.ok
    assert plain.certificate_.status.ok
    assert began.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-4)
    np.testing.assert_allclose(began.coef_, plain.coef_, atol=0.03 * np.abs(plain.coef_).max())
    assert warm[0] != first[0], "the start made no difference"


def test_a_start_replaces_the_last_fit(rng: np.random.Generator) -> None:
    """Of a warm start its planes too: the run is that of a new model."""
    X, y = sample(rng, 15)
    hmm = GenerativeHMM(emission="multinomial").fit(X, y)
    settings: dict[str, Any] = dict(C=0.1, tol=1e-3, random_state=0)
    fresh = SequenceSVM(**settings).fit(X, y, start=hmm)
    again = SequenceSVM(**settings, warm_start=True).fit(X, y).fit(X, y, start=hmm)
    np.testing.assert_array_equal(again.coef_, fresh.coef_)
    assert again.n_iter_ == fresh.n_iter_


def test_a_start_that_knows_other_names_is_refused() -> None:
    X, y = [[["x"], ["y"]], [["x"], ["x"]]], [["a", "b"], ["a", "a"]]
    hmm = GenerativeHMM().fit(X, y)
    cases: list[tuple[Any, list[Any], list[Any], dict[str, Any], str]] = [
        (hmm, X, [["a", "c"], ["b", "a"]], {}, "start does not know the label 'c' of the training data"),
        (hmm, X, [["a", "a"], ["a", "a"]], {}, "start knows the label 'b', which the training data lack"),
        (hmm, [[["x"], ["z"]], [["y"], ["x"]]], y, {}, "start does not know the attribute 'z' of the training data"),
        (hmm, X, y, {"min_count": 2}, "start knows the attribute 'y', which .* min_count leaves out"),
        (hmm, [(x, np.eye(2)) for x in X], y, {}, "start was fitted to vectors of length 0, the training data have"),
        (GenerativeHMM(), X, y, {}, "not fitted yet"),
        (np.zeros(3), X, y, {}, "start must be a fitted GenerativeHMM, not array"),
        (GenerativeHMM().fit([np.eye(2) * 3.0], y[:1]), [np.eye(2)], y[:1], {}, "counted as above 0.5 or not"),
    ]
    for start, inputs, labels, settings, message in cases:
        with pytest.raises(ValueError, match=message):
            SequenceSVM(**settings).fit(inputs, labels, start=start)


@pytest.mark.parametrize("emission", ["multinomial", "gaussian"])
@pytest.mark.parametrize("size", [1.01e100, 1.7e308])
@pytest.mark.parametrize("form", ["dense", "matrix", "attributes"])
def test_values_that_are_too_large_are_refused(emission: Any, size: float, form: str) -> None:
    """By fit and predict, with their place; as counts of 0 and 1 they are as good as others."""
    if emission == "gaussian" and form != "dense":
        pytest.skip("of dense vectors only")

    def given(x: np.ndarray) -> Any:
        if form == "attributes":
            return [{f"a{k}": value for k, value in enumerate(row)} for row in x.tolist()]
        return sp.csr_matrix(x) if form == "matrix" else x

    X, y = (
        [np.ones((2, 2)), np.zeros((0, 2)), np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]])],
        [["a", "b"], [], [*"abb"]],
    )
    large = [x.copy() for x in X]
    large[2][1, 1] = size
    model = GenerativeHMM(emission=emission).fit([given(x) for x in X], y)
    problem = f"features of up to {size:.3g} in size are too large to compute with; .* is in sequence 2, token 1"
    for use in (
        lambda: clone(model).fit([given(x) for x in large], y),
        lambda: model.predict([given(x) for x in large]),
    ):
        with pytest.raises(DataError, match=problem.replace("+", r"\+")):
            use()
    large[2][1, 1] = 1e100
    clone(model).fit([given(x) for x in large], y).predict([given(x) for x in large])
    large[2][1, 1] = size
    GenerativeHMM().fit([given(x) for x in large], y).predict([given(x) for x in large])
