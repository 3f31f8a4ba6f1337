"""Two shufflers in a row: each knows half, and a message counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, MalformedReport, PolicyRefused
from localdp.oracles.flood_mixing import MixedFlood
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.second_shuffler import SecondShuffler
from localdp.oracles.shuffler import Promise, Shuffler
from localdp.party.party import Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.flooded_batch import (
    SEALED_BYTES,
    TWICE_BYTES,
    Messages,
    added,
    opened_codes,
    opened_once,
)
from localdp.sharing.flooded_round import FloodedQuestion, round_digest
from localdp.sharing.hpke import public_of
from tests.support.flooding import SECRET, plan_of, question_of
from tests.support.people import KEYRING, ONE, parties_of, population

PEOPLE = population(60)
EVERYBODY = [Cohort(0, 60)]
SECOND = bytes(range(1, 33))
PROMISE = Promise(ONE, Fraction(1, 1000), requests=3, minimum_cohort=50)
QUESTION = replace(question_of(plan_of(60)), second_key=public_of(SECOND))


class Listening:
    """What the first shuffler sends on, as it may change it, and what it saw."""

    def __init__(self, honest: bool = True, policy: Policy | None = None) -> None:
        holders = parties_of(PEOPLE, 3, ONE * 9)
        for one in holders if policy else []:
            one.policy = policy or one.policy
        self.first = Shuffler(InProcessLROracle(holders), KeystreamSource(bytes(16)), PROMISE)
        self.told: list[Messages] = []
        self.honest = honest

    def ask(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        mixed = self.first.flooded(question, cohorts)
        self.told.append(mixed.messages)
        if self.honest:
            return mixed
        return replace(mixed, messages=np.concatenate([mixed.messages, mixed.messages[:7]]))

    def second(self, secret: bytes = SECOND) -> SecondShuffler:
        return SecondShuffler(self.first, self.ask, secret)


def rows(messages: Messages) -> set[bytes]:
    return {row.tobytes() for row in messages}


def count_of(mixed: MixedFlood) -> int:
    codes = opened_codes(SECRET, round_digest(QUESTION, mixed.roster), mixed.messages)
    return int(added(codes, 1)[0])


def test_what_comes_out_opens_and_says_the_count() -> None:
    mixed = Listening().second().flooded(QUESTION, EVERYBODY)
    assert mixed.people == 60
    assert mixed.messages.shape == (3 * QUESTION.plan.size(20), SEALED_BYTES)
    assert abs(count_of(mixed) - int(PEOPLE.column("smoker").sum())) < 40


def test_neither_shuffler_can_read_a_message_and_nobody_recognises_one() -> None:
    """The first has two seals before it and the second one; no row of bytes is in what went in and in what came out."""
    listening = Listening()
    mixed = listening.second().flooded(QUESTION, EVERYBODY)
    (before,) = listening.told
    digest = round_digest(QUESTION, mixed.roster)
    assert before.shape == (len(mixed.messages), TWICE_BYTES)
    assert not opened_codes(
        SECRET, digest, before
    ).any()  # not even the analyst's key is enough behind the first
    assert not opened_codes(SECOND, digest, mixed.messages).any()
    inner, outer = rows(mixed.messages[:, :32]), rows(before[:, :32])
    assert len(inner) == len(outer) == len(before) and not inner & outer
    assert all(row[:32] not in outer for row in rows(mixed.messages))


def test_the_second_mixes_by_coins_of_its_own_and_always_alike() -> None:
    listening = Listening()
    one, again = (listening.second().flooded(QUESTION, EVERYBODY) for _ in range(2))
    assert (one.messages == again.messages).all()
    in_order = opened_once(SECOND, round_digest(QUESTION, one.roster), listening.told[0])
    assert rows(in_order) == rows(one.messages)
    # Of so many messages about one stays at its place; ten do with a probability below 1e-6.
    assert int((in_order == one.messages).all(axis=1).sum()) < 10


def unmixed(messages: Messages, before: Messages, secret: bytes, digest: bytes) -> int:
    """How many messages whoever knows the order of the first finds at the same place."""
    return int((opened_once(secret, digest, before) == messages).all(axis=1).sum())


def test_a_second_that_does_not_mix_is_caught() -> None:
    listening = Listening()
    mixed = listening.second().flooded(QUESTION, EVERYBODY)
    digest = round_digest(QUESTION, mixed.roster)
    lazy = opened_once(SECOND, digest, listening.told[0])  # the twin
    assert unmixed(mixed.messages, listening.told[0], SECOND, digest) < 10
    assert unmixed(lazy, listening.told[0], SECOND, digest) == len(lazy)


def test_a_message_that_comes_twice_counts_once() -> None:
    honest, replaying = Listening(), Listening(honest=False)
    one, other = (each.second().flooded(QUESTION, EVERYBODY) for each in (honest, replaying))
    assert count_of(one) == count_of(other)
    told = Counter(row.tobytes() for row in other.messages)
    assert told.pop(bytes(SEALED_BYTES)) == 7 and set(told.values()) == {1}


def test_another_second_shuffler_opens_nothing_and_refuses() -> None:
    listening = Listening()
    with pytest.raises(InvalidParameter, match="another second shuffler"):
        listening.second(bytes(range(2, 34))).flooded(QUESTION, EVERYBODY)
    assert not listening.told
    with pytest.raises(InvalidParameter):
        listening.second().flooded(question_of(plan_of(60)), EVERYBODY)


def test_messages_without_the_outer_seal_are_refused() -> None:
    def once(question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        return MixedFlood(np.zeros((4, SEALED_BYTES), np.uint8), 60, bytes(32))

    with pytest.raises(MalformedReport):
        SecondShuffler(Listening().first, once, SECOND).flooded(QUESTION, EVERYBODY)


def test_there_is_no_third_and_single_messages_do_not_go_by_a_second() -> None:
    second = Listening().second()
    with pytest.raises(InvalidParameter):
        SecondShuffler(second, second.flooded, SECOND)
    request = Request.fresh("smoker", OneBitRandomizer(ONE, 1), KEYRING.source("request"))
    with pytest.raises(PolicyRefused):
        second.reports(request, Cohort(0, 60))


@pytest.mark.parametrize("key", [b"", public_of(bytes(range(2, 34)))])
def test_an_owner_who_named_a_second_shuffler_takes_part_with_no_other(key: bytes) -> None:
    policy = Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 1000), second_key=public_of(SECOND))
    listening = Listening(policy=policy)
    assert listening.second().flooded(QUESTION, EVERYBODY).people == 60
    with pytest.raises(PolicyRefused):
        listening.first.flooded(replace(QUESTION, second_key=key), EVERYBODY)


def test_a_key_of_small_order_or_without_the_analysts_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        replace(QUESTION, second_key=bytes(32))
    with pytest.raises(InvalidParameter):
        replace(QUESTION, key=b"")


def test_another_second_key_is_another_round() -> None:
    assert len({QUESTION.digest, replace(QUESTION, second_key=b"").digest}) == 2


def test_a_claim_names_both_shufflers() -> None:
    second = Listening().second()
    source, delta = KEYRING.source("second"), Fraction(1, 1000)
    told = FloodedOracle(second, ONE, source, delta=delta, extra=Fraction(1, 100)).claim.statement()
    assert "One of the two shufflers" in told
