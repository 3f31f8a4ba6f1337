"""The same random sequences through real gRPC services, where requests are in flight at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fault.operations import FAULTS, QUESTIONS, Ask, Operation, Restart, Together
from tests.fault.test_random_operations import MEMORY, ONE_NAT, in_memory, run_sequences
from tests.fault.wire import Wire
from tests.fault.world import MakeParty, run
from tests.support.broken_parties import charges_after_reply, fresh_coins
from tests.support.federations import loopback

__all__ = ["in_memory"]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with loopback() as threads, closing(Wire(threads)) as made:
        yield made


def test_no_sequence_over_grpc_breaks_the_promise(in_memory: Path, wire: Wire) -> None:
    answers, refusals = run_sequences(range(10_000, 10_060), in_memory, transport=wire)
    assert answers > 240
    assert refusals > 60


@pytest.mark.nightly
def test_no_sequence_among_a_thousand_over_grpc_breaks_the_promise(in_memory: Path, wire: Wire) -> None:
    run_sequences(range(20_000, 21_000), in_memory, transport=wire)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_call_that_fails_at_any_step_is_answered_on_retry(
    in_memory: Path, wire: Wire, fault: str
) -> None:
    failing, retry = Ask(ONE_NAT, fault=fault), Ask(ONE_NAT, agent=1)
    answers, _ = run([failing, retry, Restart(), retry], in_memory / "ledger", transport=wire)
    assert answers >= 2


@pytest.mark.parametrize("agents", [(0,), (0, 1)], ids=["one agent", "two agents on one ledger"])
def test_a_burst_that_asks_for_far_more_than_the_budget_gets_what_there_is(
    in_memory: Path, wire: Wire, agents: tuple[int, ...]
) -> None:
    burst = tuple(Ask(question, agent=agent) for question in range(len(QUESTIONS)) for agent in agents)
    sequence: list[Operation] = [Together(burst * 2), Together(burst), Restart(), Together(burst)]
    answers, refusals = run(sequence, in_memory / "ledger", transport=wire)
    assert answers > 0 and refusals > 0


def test_one_request_asked_fifty_times_at_once_has_one_report_and_one_charge(
    in_memory: Path, wire: Wire
) -> None:
    for question in (ONE_NAT, MEMORY):
        same = Together(tuple(Ask(question, agent=number % 2) for number in range(50)))
        answers, refusals = run([same], in_memory / f"{question}", transport=wire)
        assert (answers, refusals) == (50, 0)


@pytest.mark.parametrize(
    ("twin", "complaint"), [(charges_after_reply, "not charged"), (fresh_coins, "two different reports")]
)
def test_the_sequences_over_grpc_notice_a_party_that_is_broken(
    in_memory: Path, wire: Wire, twin: MakeParty, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_sequences(range(10_000, 10_060), in_memory, twin, wire)
