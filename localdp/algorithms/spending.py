"""What several fits spend together: a search or a cross-validation fits many times, and every fit costs its people epsilon.

Epsilons add up over fits (Theorem 3.14 of the book, basic composition): whoever's row is in all of them has spent the sum.
Only fits in this process can be counted.  With `n_jobs` above 1 scikit-learn copies learners into other processes and fits
them there; an account from which learners went away says so, and gives no sum.

Checked in tests/unit/algorithms/test_spending.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter

_NOT_COUNTED = (
    "learners were copied into other processes, and what they spent there is not known: leave n_jobs at 1"
)
_OPEN: list[SpentByFits] = []  # of the whole process: fits may run in threads that scikit-learn starts


@dataclass(slots=True)
class SpentByFits:
    """The fits since the account was opened, and what each cost a person in it."""

    people: int | None = None  # of whom each fit has some; None: not said
    fits: list[tuple[int, Epsilon]] = field(default_factory=list)  # people and epsilon of each
    went_away: bool = False  # whether a learner was copied, not yet fitted, for another process

    @property
    def at_most(self) -> Epsilon:
        """What somebody has spent who was in every fit: nobody has spent more."""
        if self.went_away:
            raise InvalidParameter(_NOT_COUNTED)
        return sum((epsilon for _, epsilon in self.fits), Epsilon(0))

    @property
    def on_average(self) -> float:
        """What a person has spent on average: in a k-fold cross-validation, everybody."""
        if self.people is None:
            raise InvalidParameter("say how many people there are: spending(people=len(X))")
        if self.went_away:
            raise InvalidParameter(_NOT_COUNTED)
        return sum(people * float(epsilon) for people, epsilon in self.fits) / self.people

    def __str__(self) -> str:
        """In words."""
        if self.went_away:
            return _NOT_COUNTED
        spent = f"{len(self.fits)} fits: epsilon {self.at_most} for whoever was in all of them"
        return spent if self.people is None else f"{spent}, {self.on_average:g} for a person on average"


@contextmanager
def spending(people: int | None = None) -> Iterator[SpentByFits]:
    """An account of all fits until the block ends: `with spending() as spent: ...`, then `print(spent)`."""
    if people is not None and people < 1:
        raise InvalidParameter("there is at least one person")
    account = SpentByFits(people)
    _OPEN.append(account)
    try:
        yield account
    finally:
        _OPEN[:] = [one for one in _OPEN if one is not account]


def record_fit(people: int, epsilon: Epsilon) -> None:
    """Write a fit into every open account."""
    for account in _OPEN:
        account.fits.append((people, epsilon))


def record_departure() -> None:
    """Note in every open account that a learner was copied before it was fitted."""
    for account in _OPEN:
        account.went_away = True
