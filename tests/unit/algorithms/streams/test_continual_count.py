"""The running count: what is asked after which step, of whom and at which price, and what the counts are off by."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.streams.continual_count import ContinualCount
from localdp.algorithms.streams.running_count import RunningCount, SummedInterval
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter, TooFewReports
from localdp.mechanisms.intervals import Intervals
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.recording import CountingOracle
from localdp.oracles.shared import InProcessShareServers, SharedOracle
from localdp.party.party import Party
from localdp.randomness.source import Integers
from localdp.sharing.noise_plans import NoisePlan
from tests.support.people import KEYRING, ONE, parties_of, servers_of

SCHEMA = Schema({"ill": BitDomain(), "old": BitDomain()})
generator = np.random.default_rng(4)
PEOPLE = 1600
RECORDS = Records(SCHEMA, {"ill": generator.random(PEOPLE) < 0.3, "old": generator.random(PEOPLE) < 0.5})


def shared(
    records: Records, plan: NoisePlan, servers: int = 2, *, parties: list[Party] | None = None
) -> SharedOracle:
    behind = InProcessShareServers(parties or parties_of(records, 2, ONE), servers_of(servers))
    return SharedOracle(
        behind, ONE, KEYRING.source("stream", plan.value), plan=plan, tier="additive", minimum_batch=2
    )


def truth(steps: int) -> Integers:
    ends = [PEOPLE * step // steps for step in range(1, steps + 1)]
    counts: Integers = np.cumsum(RECORDS.column("ill"))[np.array(ends) - 1]
    return counts


@pytest.mark.parametrize("layout", ["tree", "steps", "best"])
def test_without_noise_the_counts_are_the_truth(layout: str) -> None:
    fitted = ContinualCount("ill", 32, layout=layout).fit(ExactOracle(RECORDS))  # type: ignore[arg-type]
    assert fitted.counts_.tolist() == pytest.approx(truth(32))
    assert fitted.people_.tolist() == [50 * step for step in range(1, 33)]
    assert fitted.standard_errors_.tolist() == [0.0] * 32


def test_a_query_of_several_entries_has_a_count_for_each() -> None:
    both = ContinualCount("vector(ill, old)", 16, layout="tree").fit(ExactOracle(RECORDS))
    assert both.counts_.shape == (16, 2)
    assert both.counts_[:, 0] == pytest.approx(truth(16))


@pytest.mark.parametrize("layout", ["tree", "steps"])
def test_nobody_pays_more_than_epsilon_and_whoever_is_asked_most_pays_all_of_it(layout: str) -> None:
    ledger = MemoryLedger(PEOPLE, ONE)
    oracle = CuratorOracle(RECORDS, ONE, KEYRING.source("stream", layout), ledger=ledger)
    fitted = ContinualCount("ill", 16, layout=layout).fit(oracle)  # type: ignore[arg-type]
    parts = 5 if layout == "tree" else 1
    spent, each = ledger.spent(), ONE.divided_by(parts).nanonats
    lies_in = np.zeros(16, int)
    for step in range(1, 17):
        one = Intervals(16, fitted.layout_).ending_at(step)  # type: ignore[arg-type]
        lies_in[one.start - 1 : one.stop - 1] += 1
    assert spent.tolist() == np.repeat(lies_in * each, 100).tolist()
    assert spent.max() == fitted.cost_.epsilon_promised.nanonats == each * parts <= ONE.nanonats
    assert fitted.cost_.rounds == 16


def test_parties_in_other_processes_or_not_pay_the_same() -> None:
    """Of the agents' own ledgers, under share servers: what the claim says is what they are charged."""
    parties = parties_of(RECORDS, 1, ONE)
    fitted = ContinualCount("ill", 16, layout="tree").fit(
        shared(RECORDS, NoisePlan.DIVIDED, parties=parties)
    )
    assert parties[0].ledger.spent().max() == fitted.claim_.epsilon.nanonats  # type: ignore[union-attr]
    assert parties[0].ledger.spent().min() == ONE.divided_by(5).nanonats * 1  # of the last step's people


def test_a_tree_that_asked_every_interval_at_all_of_epsilon_would_be_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broken twin: epsilon is not divided by the levels."""
    monkeypatch.setattr(Intervals, "most", property(lambda self: 1))
    with pytest.raises(Exception, match=r"as many of the views|left"):
        ContinualCount("ill", 16, layout="tree").fit(shared(RECORDS, NoisePlan.DIVIDED))


@pytest.mark.parametrize(
    ("plan", "servers", "predicted"),
    [("each-server", 2, 2**0.5), ("divided", 2, 1.0), ("divided", 3, 1.0), ("joint", 3, 1.0)],
)
def test_the_error_over_share_servers_is_that_of_the_reference(
    plan: str, servers: int, predicted: float
) -> None:
    """T = 1,024, epsilon = 1: 34.8 where one noise is added in all, 49.2 with two full ones; by the law that is planned."""
    records = Records(SCHEMA, {"ill": np.ones(4096, bool), "old": np.ones(4096, bool)})
    oracle = shared(records, NoisePlan.parse(plan), servers)
    from localdp.algorithms.streams.running_count import predicted_rms, stream_query

    ends = [4 * step for step in range(1, 1025)]
    told = predicted_rms(oracle, stream_query("ill", oracle), Intervals(1024), ends)
    assert told == pytest.approx(34.78 * predicted, rel=0.001)
    assert told == pytest.approx({1.0: 34.8, 2**0.5: 49.2}[predicted], rel=0.01)


def test_locally_every_step_is_asked_once_and_the_layout_is_chosen_by_the_plan() -> None:
    lr = InProcessLROracle(parties_of(RECORDS, 2))
    oracle = CountingOracle(LocalOracle(lr, ONE, KEYRING.source("stream", "local")))
    fitted = ContinualCount("ill", 16).fit(oracle)
    assert fitted.layout_ == "steps"
    assert oracle.counts.rounds == 16
    assert fitted.claim_.epsilon == ONE
    # Each count has the error of a count of everybody so far: sqrt(t) C / 2 sqrt(n / T), as a single local count has.
    one = LocalOracle(lr, ONE, KEYRING.source("stream", "single")).answer(["ill"])[0]
    assert fitted.standard_errors_[-1] == pytest.approx(one.count_error, rel=0.02)


def test_of_few_steps_a_curator_counts_each_and_of_many_a_tree() -> None:
    few = ContinualCount("ill", 64).fit(CuratorOracle(RECORDS, ONE, KEYRING.source("stream", "few")))
    assert few.layout_ == "steps"
    assert few.predicted_rms_ < 8.1


def test_arrivals_say_who_comes_when_and_a_step_in_which_nobody_comes_costs_nothing() -> None:
    arrivals = [100, 100, 100, 1000]
    oracle = CountingOracle(ExactOracle(RECORDS))
    fitted = ContinualCount("ill", 4, layout="tree", arrivals=arrivals).fit(oracle)
    true = np.cumsum(RECORDS.column("ill"))[np.array(arrivals) - 1]
    assert fitted.counts_ == pytest.approx(true)
    assert oracle.counts.rounds == 3  # the third step has an interval of its own, in which nobody came


@pytest.mark.parametrize(
    ("learner", "error"),
    [
        (ContinualCount("ill", 12, layout="tree"), InvalidParameter),
        (ContinualCount("ill", 0), InvalidParameter),
        (ContinualCount("ill", 8, layout="bush"), InvalidParameter),  # type: ignore[arg-type]
        (ContinualCount("ill", 2, arrivals=[5, 4]), InvalidParameter),
        (ContinualCount("ill", 2, arrivals=[5, PEOPLE + 1]), InvalidParameter),
        (ContinualCount("ill", 2, arrivals=[5]), InvalidParameter),
        (ContinualCount("ill", 4096), TooFewReports),
    ],
)
def test_what_is_no_stream_is_refused_before_anybody_is_asked(
    learner: ContinualCount, error: type[Exception]
) -> None:
    ledger = MemoryLedger(PEOPLE, ONE)
    with pytest.raises(error):
        learner.fit(CuratorOracle(RECORDS, ONE, KEYRING.source("stream", "bad"), ledger=ledger))
    assert ledger.spent().sum() == 0


def test_a_running_count_is_a_sum_of_released_intervals() -> None:
    running = RunningCount(Intervals(8))
    for step in range(1, 9):
        count = running.add(SummedInterval(np.array([10.0**step]), np.array([2.0]), 1))
    assert [one.values[0] for one in running.counts] == [
        1e1, 1e2, 1e2 + 1e3, 1e4, 1e4 + 1e5, 1e4 + 1e6, 1e4 + 1e6 + 1e7, 1e8,
    ]  # fmt: skip
    assert count.standard_errors[0] == 2**0.5
    with pytest.raises(InvalidParameter, match="over"):
        running.add(SummedInterval.empty(1))


def test_epsilon_of_a_part_is_rounded_down() -> None:
    assert Epsilon.requested(1).divided_by(11) * 11 <= ONE
    assert Epsilon.requested(1).divided_by(11).exact <= Fraction(1, 11)
