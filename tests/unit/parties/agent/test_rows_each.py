"""Where every row answers: whether a refusal tells which rows are one person's, and what each person can spend at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import BudgetExhausted, InvalidParameter, InvalidRecord, LocalDpError
from localdp.party.party import Party
from parties.agent.config import load_config
from parties.agent.state import init_storage
from tests.support.agents import close_party as close
from tests.support.agents import party_of, write_agent
from tests.support.federations import request

EACH = 'person = "patient"\nrows = "each"\n'
TOTAL = 4  # nats, in the configuration; a request costs one


def made(directory: Path, data: str, rows_each: int, **options: str) -> Party:
    """The agent of 12 rows, of as many people as that makes."""
    config = load_config(
        write_agent(directory, people=12 // rows_each, rows_each=rows_each, data=data, **options)
    )
    init_storage(config)
    return party_of(config)


def attack(party: Party) -> list[str]:
    """Spend row 0's budget, then look at how its neighbour, and others with it, are answered or refused."""
    heard = []
    asked = [Cohort(0, 1)] * 5 + [Cohort(1, 2), Cohort(1, 3), Cohort(0, 4), Cohort(4, 6), Cohort(4, 10)]
    for number, cohort in enumerate(asked):
        try:
            heard.append(str(len(party.randomize(request(number), cohort))))
        except LocalDpError as refusal:
            heard.append(repr(refusal))
    return heard


def outcomes(directory: Path, data: str, **options: str) -> list[list[str]]:
    """The same questions about twelve rows of twelve, six, four and three people."""
    heard = []
    for rows_each in (1, 2, 3, 4):
        place = directory / str(rows_each)
        place.mkdir()
        party = made(place, data, rows_each, **options)
        heard.append(attack(party))
        close(party)
    return heard


@pytest.mark.parametrize("options", [{}, {"policy": "minimum_cohort = 1"}, {"budget": "per_day = 4"}])
def test_with_most_rows_no_refusal_depends_on_whose_the_rows_are(
    tmp_path: Path, options: dict[str, str]
) -> None:
    heard = outcomes(tmp_path, EACH + "most_rows = 4", **options)
    assert heard[0] == heard[1] == heard[2] == heard[3]
    assert "BudgetExhausted" in " ".join(heard[0])


def test_with_most_rows_a_minimum_cohort_does_not_tell_either(tmp_path: Path) -> None:
    heard = outcomes(tmp_path, EACH + "most_rows = 4", policy="minimum_cohort = 2")
    assert heard[0] == heard[1] == heard[2] == heard[3]
    # Six rows are those of two people at least, four may be those of one.
    assert ["PolicyRefused" in one for one in heard[0]] == [True] * 9 + [False]


def test_without_it_there_is_no_agent(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"data\.most_rows: needed"):
        made(tmp_path, EACH, 2)


def test_nobody_spends_more_than_the_budget_over_all_rows(tmp_path: Path) -> None:
    party = made(tmp_path, EACH + "most_rows = 4", 4)
    spent = 0
    for number in range(20):
        for row in range(4):  # all of them are the first person's
            try:
                party.randomize(request(number), Cohort(row, row + 1))
                spent += request().randomizer.epsilon.nanonats
            except BudgetExhausted:
                continue
    assert TOTAL * 10**9 - 4 < spent <= TOTAL * 10**9
    close(party)


def test_somebody_with_more_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match=r"more than data\.most_rows = 3 rows"):
        made(tmp_path, EACH + "most_rows = 3", 4)


def test_most_rows_goes_with_each_row(tmp_path: Path) -> None:
    path = write_agent(tmp_path, data='person = "patient"\nrows = "sample"\nmost_rows = 3')
    with pytest.raises(InvalidParameter, match=r"data\.most_rows"):
        load_config(path)


def test_it_cannot_be_raised_once_a_row_has_spent_more_than_its_new_share(tmp_path: Path) -> None:
    party = made(tmp_path, EACH + "most_rows = 2", 2)
    for number in range(2):
        party.randomize(request(number), Cohort(0, 1))
    close(party)
    later = load_config(write_agent(tmp_path, people=6, rows_each=2, data=EACH + "most_rows = 4"))
    with pytest.raises(InvalidParameter, match="more than their share"):
        party_of(later)
    party = party_of(load_config(write_agent(tmp_path, people=6, rows_each=2, data=EACH + "most_rows = 2")))
    assert party.ledger.limit.nanonats == TOTAL * 10**9 // 2
    close(party)
