"""Some of the parties of a federation: what is asked of them is noted with the whole, and with nobody else.

A view numbers its people anew, from 0, party by party.  The books stay those of the whole: who was asked through a view has
spent it everywhere.

Checked in tests/unit/parties/federated/test_federation_views.py and, with processes, in
tests/integration/test_federation.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort, Ranges
from localdp.errors import InvalidParameter
from localdp.sharing.collection import Contributor
from parties.federated.watching import Spending

_MOST_NAMED = 8  # of the parties that there are, in a refusal


@dataclass(frozen=True, slots=True)
class Some:
    """Some parties of a whole, by number and in its order, and the ranges of their people in its numbering."""

    numbers: tuple[int, ...]
    ranges: Ranges

    @classmethod
    def named(cls, names: Iterable[str], whole: Sequence[Contributor]) -> Some:
        """The parties of these names."""
        wanted, known = list(names), [party.name for party in whole]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            shown = ", ".join(known[:_MOST_NAMED]) + (", ..." if len(known) > _MOST_NAMED else "")
            raise InvalidParameter(f"no party is called {unknown[0]!s:.40}; there are {shown}")
        if not wanted or len(set(wanted)) < len(wanted):
            raise InvalidParameter("some of the parties are at least one, and each of them once")
        ends = list(accumulate(party.people for party in whole))
        numbers = sorted(known.index(name) for name in wanted)
        return cls(
            tuple(numbers),
            tuple(range(ends[number] - whole[number].people, ends[number]) for number in numbers),
        )

    @property
    def people(self) -> NDArray[np.int64]:
        """Who they are in the numbering of the whole."""
        return np.concatenate([np.asarray(one, np.int64) for one in self.ranges])


class SpendingOfSome(Spending):
    """Passes on to the whole what people of the view were asked for."""

    def __init__(self, whole: Spending, some: Some) -> None:
        super().__init__(len(some.people))
        self._whole, self._some = whole, some

    def add_part(self, number: int, part: Cohort, sizes: Sequence[int], epsilon: Epsilon) -> None:
        """One report of each person of a part of one party."""
        before = self.nanonats.copy()
        super().add_part(number, part, sizes, epsilon)
        self._whole.nanonats[self._some.people] += self.nanonats - before
