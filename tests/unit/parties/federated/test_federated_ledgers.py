"""A federation's books in memory: threads that charge at the same moment do not spend more than there is."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from localdp.accounting.ledger import Charge, MemoryLedger
from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted
from localdp.experiments.population import made_up_people
from localdp.randomness.hazmat import SeededSource
from parties.federation import Federation
from tests.support.ledgers import NAT, charge

EVERYBODY = Cohort(0, 8)


def charged_by_two(ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch) -> int:
    """What somebody has spent when a second thread charges between the check of the first and its charge."""
    accounts = ledger._accounts
    check = accounts.debtors

    def refused_or_not() -> None:
        with suppress(BudgetExhausted):
            ledger.charge(charge(2, EVERYBODY))

    second = threading.Thread(target=refused_or_not)

    def interrupted(asked: Charge) -> object:
        found = check(asked)
        if second.ident is None:
            second.start()
            second.join(0.2)  # all the time it needs, if it is let in
        return found

    monkeypatch.setattr(accounts, "debtors", interrupted)
    ledger.charge(charge(1, EVERYBODY))
    second.join()
    return int(ledger.spent().max())


@pytest.mark.parametrize("whose", ["curator", "party"])
def test_a_second_thread_does_not_charge_between_a_check_and_its_charge(
    whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Federation.launch(
        made_up_people(8, SeededSource(1)), parties=1, budget=1, processes=False
    ) as federation:
        place = federation._place
        ledger = place.parties.curator if whose == "curator" else place.ledgers[0]
        assert isinstance(ledger, MemoryLedger)
        assert charged_by_two(ledger, monkeypatch) == NAT.nanonats
