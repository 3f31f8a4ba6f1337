"""An owner's rules over the durable ledger: ownership and questions by content outlive the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, PolicyRefused, StorageFailed
from localdp.party.party import Party
from parties.agent.config import AgentConfig, load_config
from parties.agent.state import init_storage, publish
from tests.support.agents import charges_of, close_party, party_of, write_agent
from tests.support.federations import request

COST = request().randomizer.epsilon.nanonats


@contextmanager
def opened(config: AgentConfig) -> Iterator[Party]:
    """The agent's party, as after a start."""
    party = party_of(config)
    try:
        yield party
    finally:
        close_party(party)


def made(tmp_path: Path, **settings: object) -> AgentConfig:
    config = load_config(write_agent(tmp_path, **settings))  # type: ignore[arg-type]
    init_storage(config)
    return config


def test_where_each_row_answers_it_pays_from_its_share_also_after_a_restart(tmp_path: Path) -> None:
    each = 'person = "patient"\nrows = "each"\nmost_rows = 4'
    config = made(tmp_path, people=3, rows_each=3, data=each)
    with opened(config) as party:
        assert party.people == 9
        assert len(party.randomize(request(1), Cohort(0, 4))) == 4
        assert party.ledger.spent().tolist() == [COST] * 4 + [0] * 5
    with opened(config) as party:
        assert party.ledger.spent().tolist() == [COST] * 4 + [0] * 5
        with pytest.raises(BudgetExhausted, match="1 of 2 people"):  # four nats of four rows
            party.randomize(request(2), Cohort(3, 5))
        party.randomize(request(2), Cohort(4, 5))
        assert party.ledger.spent().tolist() == [COST] * 5 + [0] * 4


def test_a_sampled_person_pays_once_however_many_rows_there_are(tmp_path: Path) -> None:
    config = made(tmp_path, people=3, rows_each=50, data='person = "patient"\nrows = "sample"')
    with opened(config) as party:
        first = party.randomize(request(1), Cohort(0, 3))
        assert party.ledger.spent().tolist() == [COST] * 3
    with opened(config) as party:
        assert (party.randomize(request(1), Cohort(0, 3)) == first).all()
        assert party.ledger.spent().tolist() == [COST] * 3


def test_a_question_by_content_is_one_row_of_the_ledger_also_after_a_restart(tmp_path: Path) -> None:
    config, everybody = made(tmp_path, policy="by_content = true"), Cohort(0, 40)
    with opened(config) as party:
        first = party.randomize(request(1, "smoker and age >= 20"), everybody)
    with opened(config) as party:
        assert (party.randomize(request(2, "(smoker and (age >= 20))"), everybody) == first).all()
    assert len(charges_of(config)) == 1


def test_in_a_new_epoch_the_question_by_content_is_charged_anew(tmp_path: Path) -> None:
    settings = {"policy": "by_content = true", "data": "fixed_order = true"}
    config, everybody = made(tmp_path, **settings), Cohort(0, 40)
    with opened(config) as party:
        first = party.randomize(request(1), everybody)
    publish(config)  # and nothing has changed
    with opened(config) as party:
        assert (party.randomize(request(1), everybody) != first).any()
        assert (party.ledger.spent() == 2 * COST).all()


def test_a_table_that_lost_people_who_were_charged_is_refused(tmp_path: Path) -> None:
    config = made(tmp_path)
    with opened(config) as party:
        party.randomize(request(1), Cohort(0, 40))
    config.data.write_text("\n".join(config.data.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(StorageFailed, match="more people"):
        publish(config)
    with opened(config) as party:
        assert party.people == 40  # the epoch of before is still open


def test_a_refusal_by_policy_leaves_no_row(tmp_path: Path) -> None:
    config = made(tmp_path, policy='columns = ["smoker"]\nminimum_cohort = 20')
    with opened(config) as party:
        for asked, cohort in [
            (request(1, "age >= 3"), Cohort(0, 40)),
            (request(1), Cohort(0, 19)),
            (request(1, epsilon=Epsilon.requested("2.1")), Cohort(0, 40)),
        ]:
            with pytest.raises(PolicyRefused):
                party.randomize(asked, cohort)
    assert charges_of(config) == []
