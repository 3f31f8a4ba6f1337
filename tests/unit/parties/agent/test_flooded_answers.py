"""An agent's flooded messages after a restart: the same bytes, from what was kept, at no further charge."""

from pathlib import Path

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.errors import BudgetExhausted
from localdp.party.party import Party
from localdp.party.policy import ANY_DELTA, Policy
from localdp.sharing.flooded_round import FloodedRound
from parties.agent.answers import KeptAnswers
from parties.agent.ledger import SqliteLedger
from parties.agent.packing import flooding
from tests.support.flooding import plan_of, question_of, round_at
from tests.support.people import KEYRING, ONE, population

PEOPLE = population(60)
ALL = Cohort(0, 60)


def asked(number: int = 0) -> FloodedRound:
    return round_at(question_of(plan_of(100), number=number), ("party-0", 60), ("party-1", 40))


class Agent:
    """A party with its files, opened."""

    def __init__(self, directory: Path, *, new: bool = False, records: Records = PEOPLE) -> None:
        self.ledger = SqliteLedger(directory / "ledger", 60, ONE, chain_key=bytes(32), synced=False)
        self.kept = KeptAnswers(directory / "answers")
        policy = Policy(shuffler="mixer", largest_delta_flooded=ANY_DELTA)
        self.party = Party("party-0", records, KEYRING.party(0), self.ledger, policy)

    def sent(self, which: FloodedRound, start: int = 0) -> bytes:
        """Its messages from one on."""
        size = which.plan.size(60)
        return flooding(self.party, self.kept, which, ALL, "mixer")(Cohort(start, size)).tobytes()

    def close(self) -> None:
        """As if it were killed: nothing is said to anybody."""
        self.kept.close()
        self.ledger.close()


def test_a_restart_changes_no_byte_and_charges_nobody_again(tmp_path: Path) -> None:
    first = Agent(tmp_path, new=True)
    sent = first.sent(asked())
    first.close()
    again = Agent(tmp_path)
    assert again.sent(asked()) == sent
    assert again.sent(asked(), 20) == sent[20 * 51 :]
    assert again.ledger.spent().tolist() == [ONE.nanonats] * 60
    with pytest.raises(BudgetExhausted):
        again.sent(asked(1))
    again.close()


def test_records_are_not_looked_at_again(tmp_path: Path) -> None:
    """What was kept is sent again, so that nobody learns from a repetition whether a record changed."""
    agent = Agent(tmp_path, new=True)
    sent = agent.sent(asked())
    columns = {name: PEOPLE.column(name) for name in PEOPLE.schema.names}
    columns["smoker"] = ~columns["smoker"].astype(np.bool_)
    looked = Records.from_columns(PEOPLE.schema, columns)
    charged = agent.party.flooded(asked(), ALL, "mixer")
    other = agent.party.flooded(asked(), ALL, "mixer").made(
        ALL, looked.column("smoker").astype(np.uint8)[:, None]
    )
    assert agent.kept.flooded(charged, ALL, "mixer").messages(0, len(other)).tobytes() == sent
    # Had they been looked at, other codes would have got key pairs of their own.
    keys = {sent[place : place + 32] for place in range(0, len(sent), 51)}
    assert not keys & {row[:32].tobytes() for row in other.messages(0, len(other))}
    agent.close()
