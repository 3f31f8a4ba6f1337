"""Decision trees: those of ID3 on exact answers, the same ones under tolerance, and no deeper than noise allows."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from localdp.algorithms.learners.decision_tree import ROUNDS, DecisionTree
from localdp.algorithms.learners.splits import information
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.adversarial import STRATEGIES, AdversarialOracle, Strategy
from localdp.oracles.exact import ExactOracle
from localdp.oracles.recording import CountingOracle
from tests.support.bit_tables import (
    Bits,
    all_rows,
    bit_records,
    curator_oracle,
    flipped,
    local_oracle,
    random_rows,
)

SCHEMA = Schema(
    {
        "bit": BitDomain(),
        "colour": CategoryDomain(("red", "green", "blue")),
        "age": IntegerDomain(0, 99),
        "mass": RealDomain(0, 1),
        "kind": CategoryDomain(("a", "b", "c")),
    }
)


def three_levels(rows: Bits) -> Bits:
    """A tree of depth three over five of the bits, which greedy splits find."""
    x = rows.T
    found: Bits = (x[0] & (x[1] | x[2])) | (~x[0] & x[3] & x[4])
    return found


def mixed_people() -> Records:
    rng = np.random.default_rng(8)
    bit, colour = rng.integers(0, 2, 800), rng.integers(0, 3, 800)
    age, mass = rng.integers(0, 100, 800), rng.random(800)
    kind = np.where(age <= 40, np.where(bit == 1, 0, colour), np.where(mass <= 0.6, 1, 2))
    return Records(SCHEMA, {"bit": bit, "colour": colour, "age": age, "mass": mass, "kind": kind})


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_exact_answers_about_bits_give_the_tree_of_scikit_learn(depth: int) -> None:
    rows = random_rows(3000, 8, 1)
    labels = flipped(three_levels(rows), 0.1, 1)
    ours = DecisionTree("y", depth=depth).fit(ExactOracle(bit_records(rows, labels)))
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0).fit(rows, labels)
    everybody = all_rows(8)
    assert np.allclose(ours.predict_proba(everybody), theirs.predict_proba(everybody))


def best_first_split(people: Records) -> tuple[str, float]:
    """By hand: the condition on numbers, the bit or the category that gains most, with edges 40 and 0.3, 0.6."""
    kinds = people.column("kind")
    groups: dict[str, NDArray[np.int64]] = {
        "not bit": people.column("bit").astype(np.int64),
        'colour == "red"': people.column("colour").astype(np.int64),
        "age <= 40": (people.column("age") > 40).astype(np.int64),
        "mass <= 0.3": (people.column("mass") > 0.3).astype(np.int64),
        "mass <= 0.6": (people.column("mass") > 0.6).astype(np.int64),
    }
    gains = {}
    for name, group in groups.items():
        table = np.zeros((int(group.max()) + 1, 3))
        np.add.at(table, (group, kinds), 1 / people.people)
        gains[name] = information(table)
    best = max(gains, key=lambda name: gains[name])
    return best, gains[best]


def test_columns_of_every_kind_are_split_and_the_tree_can_be_read() -> None:
    people = mixed_people()
    learner = DecisionTree("kind", depth=3, edges={"age": [40], "mass": [0.3, 0.6]})
    learner.fit(ExactOracle(people))
    assert learner.tree_.splitlines()[0] == f"{best_first_split(people)[0]}:"
    assert learner.score(people, np.array(["a", "b", "c"])[people.column("kind")]) == 1.0
    for condition in ("age <= 40", "age > 40", 'colour == "green"', "mass > 0.6", "not bit"):
        assert f"{condition}:" in learner.tree_


def test_a_pure_leaf_is_not_asked_about_again() -> None:
    rows = all_rows(6)
    oracle = CountingOracle(ExactOracle(bit_records(rows, rows[:, 2])))
    learner = DecisionTree("y", depth=4).fit(oracle)
    assert learner.tree_ == "not x2:\n  False (100% of 50.0%)\nx2:\n  True (100% of 50.0%)"
    assert oracle.counts.rounds == 2
    assert learner.score(rows, rows[:, 2]) == 1.0


def test_a_target_that_nothing_says_anything_about_is_one_leaf() -> None:
    rows = all_rows(4)
    learner = DecisionTree("y", depth=2).fit(ExactOracle(bit_records(rows, np.ones(16, np.bool_))))
    assert learner.tree_ == "True (100% of 100.0%)"
    assert learner.predict(rows).all()


def noisily_labelled() -> tuple[Records, Bits, Bits]:
    """Exactly 5 % of the labels are wrong in every part of the people; also the rows, and the right labels."""
    rows = all_rows(8, times=20)
    truth = three_levels(rows)
    return bit_records(rows, truth ^ (np.arange(len(rows)) % 20 == 0)), rows, truth


def random_signs(seed: int) -> Strategy:
    rng = np.random.default_rng(seed)
    return lambda truth, tolerance: truth + tolerance * rng.choice([-1.0, 1.0], len(truth))


@pytest.mark.parametrize("strategy", [*STRATEGIES, *map(random_signs, range(5))])
def test_three_levels_are_found_at_the_stated_tolerance(strategy: str | Strategy) -> None:
    people, rows, truth = noisily_labelled()
    learner = DecisionTree("y", depth=3).fit(AdversarialOracle(people, 0.02, strategy))
    assert learner.score(rows, truth) == 1.0


@pytest.mark.parametrize("strategy", ["towards", "down", "alternate"])
def test_three_levels_are_lost_at_five_times_the_stated_tolerance(strategy: str) -> None:
    people, rows, truth = noisily_labelled()
    told = AdversarialOracle(people, 0.1, strategy)
    assert DecisionTree("y", depth=3).fit(told).score(rows, truth) < 0.8


def test_a_tolerance_that_hides_the_first_split_is_refused() -> None:
    people, _, _ = noisily_labelled()
    with pytest.raises(SignalTooWeak, match=r"a split of 0\.125"):
        DecisionTree("y").fit(AdversarialOracle(people, 0.25))


def test_where_rounds_divide_epsilon_the_depth_is_the_largest_one_that_noise_leaves_a_signal_for() -> None:
    rows = random_rows(3000, 10, 2)
    people = bit_records(rows, three_levels(rows))
    exact, curator = (CountingOracle(one) for one in (ExactOracle(people), curator_oracle(people, 1)))
    DecisionTree("y").fit(exact)
    DecisionTree("y").fit(curator)
    assert exact.counts.rounds_announced[-1] == 4
    assert curator.counts.rounds_announced[-1] == 2


def test_a_population_in_which_the_first_split_would_drown_is_not_asked() -> None:
    rows = random_rows(3000, 10, 2)
    few = CountingOracle(local_oracle(bit_records(rows, three_levels(rows)), 1))
    with pytest.raises(SignalTooWeak):
        DecisionTree("y").fit(few)
    assert few.counts.rounds == 0
    assert DecisionTree("y", check_signal=False).fit(few).depth_ >= 0


def test_where_rounds_divide_people_the_levels_share_them() -> None:
    rows = random_rows(20_000, 6, 3)
    oracle = CountingOracle(local_oracle(bit_records(rows, rows[:, 4]), 3))
    learner = DecisionTree("y").fit(oracle)
    assert oracle.counts.rounds_announced[-1] == ROUNDS
    assert learner.tree_.splitlines()[0] == "not x4:"
    assert learner.score(rows, rows[:, 4]) == 1.0


def test_a_round_asks_only_about_features_that_may_still_be_the_best() -> None:
    """Two of eight are as good as each other, and are told from the others long before they are from each other."""
    rows = random_rows(60_000, 8, 4)
    oracle = CountingOracle(local_oracle(bit_records(rows, rows[:, 4] | rows[:, 5]), 4))
    DecisionTree("y", depth=1).fit(oracle)
    assert oracle.counts.queries <= 8 * oracle.counts.rounds - 6


def test_leaves_that_cover_everybody_take_no_cells_for_anybody_else() -> None:
    rows = all_rows(5)
    oracle = CountingOracle(ExactOracle(bit_records(rows, three_levels(rows))))
    DecisionTree("y", depth=2).fit(oracle)
    assert oracle.counts.entries == 5 * 4 + 5 * 8


@pytest.mark.parametrize("parameters", [{"depth": 0}, {"depth": 9}, {"contrast": 0.0}, {"caution": -1.0}])
def test_nonsense_is_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        DecisionTree("kind").set_params(**parameters).fit(ExactOracle(mixed_people()))
