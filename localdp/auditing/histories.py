"""An exact audit over several requests, across a change of records: what was lost in all, against what the ledger booked.

These are the two experiments of Definition 3.7, for an adversary whose questions are fixed beforehand.

The audit of one report (exact.py) cannot see what reports tell together.  Here a real `Party` with a real ledger is asked
in two epochs, once for each of several histories of one person's records, and the joint law of all its answers is
enumerated (coin_table.py).  The loss is the logarithm of the largest ratio of the probabilities of the same answers under
two histories: one in which the record changes with the epoch and one in which it does not, or x throughout against x'.

Claim.  For every randomizer the loss is at most the sum of what was booked for that person, and answers of two epochs
share no coin, hence are independent.  For memoised randomizers `change_audit` takes the permanent answers themselves for
the reports: whatever the number of requests, reports are drawn from these and from coins of their own, so they lose no
more.
Answers that share no coin are independent, so their laws are enumerated apart and their ratios multiplied; answers that
do are enumerated together.  Both give the same figure; the tests compare them.
Checked in tests/unit/auditing/test_histories.py, against named broken parties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any, cast

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.auditing.coin_table import Coin, joint_law
from localdp.auditing.drawing import ends
from localdp.auditing.exact import largest_ratio
from localdp.auditing.inputs_as_records import asked_of
from localdp.auditing.result import HistoryAudit
from localdp.cohorts import Cohort
from localdp.domains import Ownership
from localdp.errors import InvalidParameter, RequestExpired
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.input_kinds import FingerprintInput, Input
from localdp.randomizers.memoised import is_memoised

MOST_TRIED = 4  # inputs of which the pair that is told apart best is taken
_KEY = bytes(range(32))
_PLENTY = Epsilon(10**12)
_EXPIRED = b"expired"
_REFUSED = {(_EXPIRED,): Fraction(1)}

Rows = tuple[Input, ...]  # the inputs in the records of one epoch
History = tuple[Rows, ...]  # of each epoch in turn
Law = dict[tuple[bytes, ...], Fraction]


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is asked: in each epoch, requests under these identifiers, about everybody."""

    identifiers: tuple[tuple[int, ...], ...] = ((1,), (2,))
    by_content: bool = False
    owners: tuple[int, ...] | None = None  # of the rows, one of which is drawn; None: a person has one
    party: Callable[..., Party] = Party
    ledger: Callable[[int, Epsilon], MemoryLedger] = MemoryLedger


@dataclass(frozen=True, slots=True)
class Answers:
    """What a party answers to a schedule: each answer can be drawn again, from other coins."""

    drawn: tuple[Callable[[], bytes], ...]
    epochs: tuple[int, ...]
    booked: Epsilon  # for the first person


def history_audit(
    randomizer: LocalRandomizer, histories: Sequence[History], schedule: Schedule | None = None
) -> HistoryAudit:
    """The largest loss between any two of these histories of the first person's records, against what was booked."""
    answered = [answers_of(randomizer, history, schedule or Schedule()) for history in histories]
    booked, epochs = answered[0].booked, answered[0].epochs
    if any(one.booked != booked for one in answered):
        raise InvalidParameter("what is booked depends on records")
    groups, laws = _followed(answered)
    ratio = _worst([_largest(one, other) for one, other in permutations(laws, 2)])
    return HistoryAudit(
        measured=math.inf if ratio is None else math.log1p(ratio - 1),
        rounded=None if ratio is None else Epsilon.of_ratio(ratio),
        booked=booked,
        requests=len(epochs),
        epochs_share_coins=any(len({epochs[place] for place in group}) > 1 for group in groups),
    )


def _followed(answered: Sequence[Answers]) -> tuple[list[list[int]], list[list[Law]]]:
    """The answers in groups that share no coin, and for each history the joint law of each group."""
    alone = [[joint_law([draw]) for draw in one.drawn] for one in answered]
    if any(not coins and law != _REFUSED for one in alone for law, coins in one):
        raise InvalidParameter("an answer was drawn without coins of the table")
    groups = _sharing([[coins for _, coins in one] for one in alone])
    laws = [
        [
            one[group[0]][0] if len(group) == 1 else joint_law([answers.drawn[i] for i in group])[0]
            for group in groups
        ]
        for one, answers in zip(alone, answered, strict=True)
    ]
    return groups, laws


def change_audit(randomizer: LocalRandomizer, tried: Sequence[Input] | None = None) -> HistoryAudit | None:
    """One request in each of two epochs (of memoised randomizers: any number), over all histories of two inputs.

    None if there are too many coins to follow.
    """
    bare = permanent_of(randomizer)
    inputs = range(MOST_TRIED) if randomizer.takes == FingerprintInput() else tried or ends(randomizer)
    try:
        pair = best_told(bare, inputs)
    except InvalidParameter:
        return None
    return replace(history_audit(bare, histories_of(*pair)), any_number=bare is not randomizer)


def permanent_of(randomizer: LocalRandomizer) -> LocalRandomizer:
    """A memoised randomizer whose reports are its permanent answers: what any number of them comes to."""
    if not is_memoised(randomizer):
        return randomizer
    bare = type("PermanentAnswers", (type(randomizer),), {"renew": lambda _, answers, __: answers})
    permanent: LocalRandomizer = cast(Any, bare).from_parameters(randomizer.parameters)
    return permanent


def histories_of(one: Input, other: Input, epochs: int = 2) -> tuple[History, ...]:
    """All histories of a person who has one of these two inputs in each epoch."""
    return tuple(tuple((held,) for held in path) for path in product((one, other), repeat=epochs))


def best_told(randomizer: LocalRandomizer, tried: Sequence[Input]) -> tuple[Input, Input]:
    """The two inputs whose first reports differ most."""
    schedule = Schedule(((1,),))
    laws = {}
    for value in tried[:MOST_TRIED]:
        answers = answers_of(randomizer, ((value,),), schedule)
        laws[value] = {report: mass for (report,), mass in joint_law(answers.drawn)[0].items()}
    return largest_ratio(laws)[1]


def answers_of(randomizer: LocalRandomizer, history: History, schedule: Schedule) -> Answers:
    """Ask a real party, and keep what draws its answers."""
    asked, everybody = asked_of(randomizer), len(history[0])
    ownership = None
    if schedule.owners is not None:
        ownership = Ownership(np.array(schedule.owners), "sample")
        everybody = ownership.people
    first, *later = (asked.records(randomizer, rows) for rows in history)
    policy = Policy(largest_epsilon=_PLENTY, by_content=schedule.by_content)
    party = schedule.party("audited", first, _KEY, schedule.ledger(everybody, _PLENTY), policy, ownership)
    drawn, epochs = [], []
    for number, identifiers in enumerate(schedule.identifiers):
        if number:
            party.enter(party.epoch.next(later[number - 1], ownership))
        for identifier in identifiers:
            request = Request(identifier.to_bytes(16, "big"), asked.query, randomizer)
            drawn.append(_drawn(party, request, Cohort(0, everybody), sampled=ownership is not None))
            epochs.append(number)
    return Answers(tuple(drawn), tuple(epochs), Epsilon(int(party.ledger.spent()[0])))


def _drawn(party: Party, request: Request, cohort: Cohort, *, sampled: bool) -> Callable[[], bytes]:
    """What draws the packed reports of a request, or the refusal that it has expired."""
    try:
        draw = party.charged(request, cohort)
    except RequestExpired:
        return lambda: _EXPIRED
    if (
        sampled or draw.keeps == "inputs"
    ):  # coins choose the rows, or are in the permanent answers that are kept
        return lambda: request.randomizer.pack(draw(cohort))
    inputs = draw.inputs(cohort)
    return lambda: request.randomizer.pack(draw.made(cohort, inputs))


def _sharing(histories: Sequence[Sequence[frozenset[Coin]]]) -> list[list[int]]:
    """The answers in groups, such that in no history answers of two groups share a coin."""
    groups: list[list[int]] = []
    for place in range(len(histories[0])):
        joined = [group for group in groups if any(one[place] & one[i] for one in histories for i in group)]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted([place, *(i for group in joined for i in group)]))
    return groups


def _largest(one: Sequence[Law], other: Sequence[Law]) -> Fraction | None:
    """The largest ratio of the mass under one history to that under the other, over independent groups; None: infinite."""
    ratio = Fraction(1)
    for here, there in zip(one, other, strict=True):
        if here.keys() - there.keys():
            return None
        ratio *= max(mass / there[answers] for answers, mass in here.items())
    return ratio


def _worst(ratios: Sequence[Fraction | None]) -> Fraction | None:
    """The largest ratio; None is infinity."""
    finite = [ratio for ratio in ratios if ratio is not None]
    return max(finite, default=Fraction(1)) if len(finite) == len(ratios) else None
