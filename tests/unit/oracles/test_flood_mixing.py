"""A shuffler in a flooded round: enough honest people or nothing, once, and it cannot read a message."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import MemoryPromiseLedger
from localdp.cohorts import Cohort, Split
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    RequestExpired,
    TooFewReports,
    Unreachable,
)
from localdp.oracles.flood_mixing import MixedFlood, round_of
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Party
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_batch import SEALED_BYTES, Codes, Messages, added, opened_codes, packed_codes
from localdp.sharing.flooded_round import FloodedQuestion, FloodedRound, round_digest
from tests.support.flooding import SECRET, plan_of, question_of
from tests.support.people import ONE, parties_of, population

PEOPLE = population(100)
EVERYBODY = [Cohort(0, 100)]
QUESTION = question_of(plan_of(100, 70))
PROMISE = Promise(ONE, Fraction(1, 1000), requests=3, minimum_cohort=50)


class Away(InProcessLROracle):
    """Parties of which some are away, or send what they should not."""

    def __init__(
        self, parties: Sequence[Party], away: Sequence[int] = (), late: Sequence[int] = ()
    ) -> None:
        super().__init__(parties)
        self.away, self.late, self.asked = set(away), set(late), 0
        self.lies: dict[int, Messages] = {}

    def granted_flooded(self, asked: FloodedRound) -> list[LocalDpError | None]:
        told = super().granted_flooded(asked)
        return [Unreachable("away") if number in self.away else one for number, one in enumerate(told)]

    def flooded(
        self, asked: FloodedRound, parts: Sequence[int]
    ) -> Iterator[tuple[int, Messages | LocalDpError]]:
        self.asked += 1
        for number, messages in super().flooded(asked, parts):
            yield number, Unreachable("late") if number in self.late else self.lies.get(number, messages)


def shuffler(behind: InProcessLROracle, promise: Promise | None = PROMISE, key: int = 0) -> Shuffler:
    return Shuffler(behind, KeystreamSource(bytes([key] * 16)), promise)


def parties(**which: Sequence[int]) -> Away:
    """Ten parties of ten people."""
    return Away(parties_of(PEOPLE, 10, ONE * 5), **which)


def opened(mixed: MixedFlood) -> Codes:
    return opened_codes(SECRET, round_digest(QUESTION, mixed.roster), mixed.messages)


def rows(mixed: MixedFlood) -> list[bytes]:
    return sorted(row.tobytes() for row in mixed.messages)


def test_all_messages_come_out_and_open_and_say_the_count() -> None:
    mixed = shuffler(parties()).flooded(QUESTION, EVERYBODY)
    assert mixed.people == 100
    assert mixed.messages.shape == (10 * QUESTION.plan.size(10), SEALED_BYTES)
    count = int(added(opened(mixed), 1)[0])
    assert abs(count - int(PEOPLE.column("smoker").sum())) < 40


def test_the_order_is_the_shufflers_secret_and_the_messages_are_not() -> None:
    one, again, other = (shuffler(parties(), key=key).flooded(QUESTION, EVERYBODY) for key in (0, 0, 1))
    assert (one.messages == again.messages).all()
    assert (one.messages != other.messages).any()
    assert rows(one) == rows(other)


def test_three_of_ten_may_be_away_and_a_fourth_may_not() -> None:
    mixed = shuffler(parties(away=[1, 2, 3])).flooded(QUESTION, EVERYBODY)
    assert mixed.people == 70
    behind = parties(away=[1, 2, 3, 4])
    with pytest.raises(Unreachable, match="too few people"):
        shuffler(behind).flooded(QUESTION, EVERYBODY)
    assert behind.asked == 0
    assert not any(party.ledger.spent().any() for party in behind.parties)


def test_whoever_is_gone_after_the_quote_counts_as_away() -> None:
    assert shuffler(parties(away=[1], late=[2, 3])).flooded(QUESTION, EVERYBODY).people == 70
    for late in ([2, 3, 4], range(10)):
        with pytest.raises(Unreachable, match="nothing was released"):
            shuffler(parties(away=[1], late=late)).flooded(QUESTION, EVERYBODY)


def test_a_round_is_released_once_and_never_with_a_party_more_or_less() -> None:
    """The difference of two releases would be one party's messages."""
    book = MemoryPromiseLedger(PROMISE.epsilon_total, PROMISE.delta_total)
    behind = parties(away=[1, 2])
    first = Shuffler(behind, KeystreamSource(bytes(16)), PROMISE, book).flooded(QUESTION, EVERYBODY)
    restarted = Shuffler(behind, KeystreamSource(bytes([1] * 16)), PROMISE, book)
    assert rows(restarted.flooded(QUESTION, EVERYBODY)) == rows(first)
    for away in ([1], [1, 2, 3], []):
        behind.away = set(away)
        with pytest.raises(RequestExpired):
            restarted.flooded(QUESTION, EVERYBODY)
    assert book.spent("party-0", 10)[0].tolist() == [ONE.nanonats] * 10
    assert not book.spent("party-1", 10).any()


def test_what_was_promised_of_a_person_adds_up_to_a_total() -> None:
    one = shuffler(parties())
    for number in range(3):
        one.flooded(replace(QUESTION, round_id=bytes([number] * 16)), EVERYBODY)
    with pytest.raises(BudgetExhausted, match="in all"):
        one.flooded(replace(QUESTION, round_id=bytes([3] * 16)), EVERYBODY)


@pytest.mark.parametrize(
    ("promise", "why"),
    [
        (replace(PROMISE, epsilon=Epsilon.requested("0.9")), "promises more"),
        (replace(PROMISE, delta=Fraction(1, 1001)), "promises more"),
        (replace(PROMISE, minimum_cohort=71), "at least 71 honest"),
        (replace(PROMISE, colluding=4), "too few people"),
    ],
)
def test_a_round_that_does_not_keep_the_promise_is_refused_before_anybody_is_asked(
    promise: Promise, why: str
) -> None:
    behind = parties()
    with pytest.raises((PolicyRefused, TooFewReports), match=why):
        shuffler(behind, promise).flooded(QUESTION, EVERYBODY)
    assert behind.asked == 0


def test_parties_that_may_collude_are_not_counted_on() -> None:
    behind = parties(away=[0])
    promise = replace(PROMISE, colluding=2)
    assert shuffler(behind, promise).flooded(QUESTION, EVERYBODY).people == 90
    behind.away = {0, 1}
    with pytest.raises(Unreachable):
        shuffler(behind, promise).flooded(QUESTION, EVERYBODY)


def test_a_liar_has_no_more_messages_than_its_people_and_their_room() -> None:
    """It moves the sum by what it may send; a message more, and it is left out."""
    size = QUESTION.plan.size(10)
    behind, plain = parties(), Shuffler(parties(), KeystreamSource(bytes(16)))
    key_less = replace(QUESTION, key=b"")
    honest = int(added(plain.flooded(key_less, EVERYBODY).messages, 1)[0])
    behind.lies[4] = np.ones(size, np.uint32)
    lied = Shuffler(behind, KeystreamSource(bytes(16))).flooded(key_less, EVERYBODY)
    assert (lied.people, abs(int(added(lied.messages, 1)[0]) - honest) <= size + 10) == (100, True)
    for lie in (
        np.ones(size + 1, np.uint32),
        np.ones(size - 1, np.uint32),
        np.zeros((size, SEALED_BYTES), np.uint8),
    ):
        behind.lies[4] = lie
        assert Shuffler(behind, KeystreamSource(bytes(16))).flooded(key_less, EVERYBODY).people == 90


def test_messages_of_another_round_do_not_open_in_this_one() -> None:
    """A party that was told another n sends what counts for nothing: its messages are sealed under another digest."""
    behind, size = parties(), QUESTION.plan.size(10)
    lied = round_of(question_of(plan_of(20)), [Cohort(0, 20)], behind.contributors)
    ((_, messages),) = parties().flooded(lied, [1])
    assert not isinstance(messages, LocalDpError)
    behind.lies[1] = np.resize(messages, (size, SEALED_BYTES))
    mixed = shuffler(behind).flooded(QUESTION, EVERYBODY)
    lies = {row.tobytes() for row in messages}
    unopened = [
        code for row, code in zip(mixed.messages, opened(mixed), strict=True) if row.tobytes() in lies
    ]
    assert len(unopened) == size
    assert not any(unopened)


def sent(question: FloodedQuestion) -> bytes:
    """All that a shuffler is sent, in a row."""
    asked = round_of(question, EVERYBODY, parties().contributors)
    held = [
        messages
        for _, messages in parties().flooded(asked, range(10))
        if not isinstance(messages, LocalDpError)
    ]
    return b"".join(one.tobytes() if one.ndim == 2 else packed_codes(one) for one in held)


def test_what_a_shuffler_holds_has_no_plaintext() -> None:
    """Two codes in a row are in no ciphertext but in one of 2**26 runs; a twin that seals nothing is full of them."""
    markers = [packed_codes(np.array([code] * 2, np.uint32)) for code in (1, 2)]
    sealed, plain = sent(QUESTION), sent(replace(QUESTION, key=b""))
    assert sum(sealed.count(marker) for marker in markers) == 0
    assert sum(plain.count(marker) for marker in markers) > 20


def test_only_ranges_of_people_are_asked() -> None:
    with pytest.raises(InvalidParameter, match="ranges"):
        shuffler(parties()).flooded(QUESTION, [Cohort(0, 100, Split(bytes(16), 2, 0))])
    with pytest.raises(InvalidParameter, match="as many"):
        shuffler(parties()).flooded(QUESTION, [Cohort(0, 99)])
    with pytest.raises(LocalDpError):
        shuffler(parties()).flooded(QUESTION, [Cohort(1, 101)])


def test_some_people_of_several_parties_are_a_round_of_several_parts() -> None:
    question = question_of(plan_of(35))
    mixed = shuffler(parties(), None).flooded(question, [Cohort(5, 25), Cohort(80, 95)])
    assert mixed.people == 35
    sizes = [question.plan.size(people) for people in (5, 10, 5, 10, 5)]
    assert len(mixed.messages) == sum(sizes)
