"""Joint noise on the sums of a collection, in one process: attempts that break off, and servers that lie or forget.

Twins that must be caught: nonces of which one server is told others, and a component that its holder changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.computing.attempts import HEADER_BYTES
from localdp.computing.dialogue import Carrier, Traffic, run_together
from localdp.computing.joint_release import run_joint_release
from localdp.errors import ComputationAborted, InvalidParameter, LocalDpError, ShareMismatch
from localdp.oracles.collecting import combined
from localdp.sharing.encoding import Encoding
from localdp.sharing.joint_terms import JointRecord
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.selection import Selection, SelectionRule
from localdp.sharing.storage import Published
from tests.support.joint import VALUES, Three, histogram, selection
from tests.support.shares import collection_of, exact_sums, one_hot

ROOT = Path(__file__).resolve().parents[3]
MOST_ROUNDS = 22  # of a noisy count, greeting and last words included


def sums_in(three: Three, life: int) -> list[int]:
    """The noisy sums of an attempt that nothing disturbs; nothing is released."""
    return combined(three.collection, [end for end in three.ends(life) if isinstance(end, Published)])


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_the_servers_release_sums_with_one_noise_and_the_same_again(tier: str) -> None:
    three = Three(histogram(tier)).ready()
    exact, (_, accepted, signed) = exact_sums(three.servers, three.collection), three.agreed
    assert exact == VALUES.sum(axis=0).tolist()
    published = run_joint_release(three.servers, three.collection, accepted, signed)
    noise = np.subtract(combined(three.collection, published), exact)
    assert 0 < np.abs(noise).max() < 60
    again = [server.release(three.collection.digest, accepted, signed) for server in three.servers]
    assert [one.published for one in again] == published


@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("rule", ["largest", "furthest", "quantile"])
def test_of_a_selection_they_release_one_index_and_the_same_again(rule: SelectionRule, tier: str) -> None:
    three = Three(selection(rule, tier)).ready()
    _, accepted, signed = three.agreed
    published = run_joint_release(three.servers, three.collection, accepted, signed)
    assert len({len(one.noisy_sums) for one in published}) == len(set(published)) == 1
    (index,) = combined(three.collection, published)
    assert 0 <= index < 4
    again = [server.release(three.collection.digest, accepted, signed) for server in three.servers]
    assert [one.published for one in again] == published


def test_every_attempt_at_a_selection_has_the_same_noise_and_another_collection_another() -> None:
    three = Three(selection()).ready()
    told = {tuple(sums_in(three.again(), life)) for life in range(4)}
    assert len(told) == 1
    others = set()
    for number in range(12):
        other = Three(replace(selection(), epsilon=Epsilon(10**8 + number)))
        others |= set(sums_in(other.ready(), 1))
    assert len(others) > 1


def test_what_is_for_a_selection_is_never_released_as_sums_and_the_other_way_round() -> None:
    """The same reports of the same people: a server that were told of the other collection would know neither."""
    for collection, other in ((histogram(), selection()), (selection(), histogram())):
        three = Three(collection).ready()
        _, accepted, signed = three.agreed
        with pytest.raises(LocalDpError):
            three.servers[0].joint_terms(other.digest, accepted, signed)
        published = run_joint_release(three.servers, collection, accepted, signed)
        assert len(collection.field.unpack(published[0].noisy_sums)) == collection.published_elements
        with pytest.raises((LocalDpError, ValueError)):
            combined(other, published)


def test_an_index_that_one_server_changed_is_noticed_and_named() -> None:
    three = Three(selection()).ready()
    published = [end for end in three.ends(1) if isinstance(end, Published)]
    with pytest.raises(ComputationAborted, match="two versions: share server server-1 is") as caught:
        combined(three.collection, changed(published, 1))
    assert caught.value.suspects == (1,)
    beyond = [one._replace(noisy_sums=three.collection.field.pack([4])) for one in published]
    with pytest.raises(ComputationAborted, match="no candidate"):
        combined(three.collection, beyond)


def broken_off(number: int) -> Carrier:
    """Everything is lost from this round on."""

    def carry(now: int, sender: int, receiver: int, octets: bytes) -> bytes:
        if now == number:
            raise ConnectionError
        return octets

    return carry


def test_an_attempt_that_broke_off_in_any_round_is_made_again_with_the_same_noise() -> None:
    whole = sums_in(Three(histogram()).ready(), life=0)
    for number in range(MOST_ROUNDS):
        three = Three(histogram()).ready()
        try:
            three.ends(1, broken_off(number))
        except ConnectionError:
            assert sums_in(three.again(), life=2) == whole
        else:
            assert number > 10  # there was no such round
            break
    else:
        raise AssertionError("joint noise takes more rounds than it may")


def test_a_noisy_count_and_a_noisy_maximum_take_few_rounds_from_the_greeting_to_the_last_word() -> None:
    """All of the release is in it: proofs, opening, and that everybody keeps what is released."""
    three = {"servers": ("server-0", "server-1", "server-2"), "plan": NoisePlan.JOINT}
    count = collection_of(**three, encoding=Encoding.count())
    most = replace(
        collection_of(**three, encoding=Encoding.histogram(256)), selection=Selection("largest", 256)
    )
    taken = []
    for collection, values in ((count, VALUES[:, :1]), (most, one_hot(256, *range(12)))):
        traffic = Traffic()
        run_together(Three(collection).ready(values).parts(1), traffic=traffic)
        taken.append(traffic.rounds)
    assert taken == [20, 70]


def test_the_picture_of_a_release_has_its_rounds_and_what_is_said_in_them() -> None:
    picture = (ROOT / "docs" / "pictures" / "computing-rounds.svg").read_text()
    steps, octets_told = (
        re.findall(rf'class="[a-z ]*{name}"[^>]*>([^<]*)<', picture) for name in ("rounds", "said")
    )
    servers = ("server-0", "server-1", "server-2")
    count = collection_of(servers=servers, plan=NoisePlan.JOINT, encoding=Encoding.count())
    said = Counter[int]()

    def note(number: int, _sender: int, _receiver: int, octets: bytes) -> bytes:
        said[number + 1] += len(octets)
        return octets

    run_together(Three(count).ready(VALUES[:, :1]).parts(1), note)
    covered = list[int]()
    for rounds, told in zip(steps, octets_told, strict=True):
        first, _, last = rounds.partition("\N{EN DASH}")
        step = range(int(first), int(last or first) + 1)
        covered += step
        total = sum(said[number] for number in step)
        assert told == (f"{total} B" if total < 1000 else f"{total / 1000:.1f} kB")
    assert covered == list(range(1, 21)) == sorted(said)


def test_masks_are_new_in_every_attempt() -> None:
    three = Three(histogram()).ready()
    first, second = three.ends(1), three.again().ends(2)
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_other_reports_in_the_same_places_have_another_noise() -> None:
    one, other = (Three(histogram()).ready(values) for values in (VALUES, np.roll(VALUES, 1, axis=1)))
    noises = [
        np.subtract(sums_in(three, 1), exact_sums(three.servers, three.collection))
        for three in (one, other)
    ]
    assert one.agreed == other.agreed
    assert (noises[0] != noises[1]).any()


def test_a_collection_has_one_identity_ever() -> None:
    three = Three(histogram()).ready()
    three.ends(1)
    for changed, suspects in (({"identity": bytes(32)}, (0, 2)), ({"key": bytes(32)}, (2,))):
        server = three.servers[1]
        kept = three.kept()[1]
        server.keep_joint(three.collection.digest, replace(kept, **changed))
        stopped = three.ends(2)[1]
        assert isinstance(stopped, ComputationAborted)
        assert "than in the first attempt" in stopped.check and stopped.suspects == suspects
        server.keep_joint(three.collection.digest, kept)


def told_otherwise(number: int, sender: int, receiver: int, place: int) -> Carrier:
    """One octet of what one server says to another in one round is another."""

    def carry(now: int, who: int, to: int, octets: bytes) -> bytes:
        if (now, who, to) != (number, sender, receiver) or len(octets) <= place:
            return octets
        return octets[:place] + bytes([octets[place] ^ 1]) + octets[place + 1 :]

    return carry


@pytest.mark.parametrize(("number", "place"), [(0, 0), (1, HEADER_BYTES)], ids=["commitment", "nonce"])
def test_servers_that_were_told_different_things_stop_before_they_compute(number: int, place: int) -> None:
    three = Three(histogram()).ready()
    ends = three.ends(1, told_otherwise(number, 2, 0, place))
    assert all(isinstance(end, ComputationAborted) for end in ends)
    assert not any(record.sums for record in three.kept())


def test_nothing_is_kept_of_what_is_not_verified() -> None:
    three = Three(histogram()).ready()
    ends = three.ends(1, told_otherwise(3, 1, 0, 40))
    assert all(isinstance(end, ComputationAborted) for end in ends)
    assert all(record.identity and not record.sums for record in three.kept())
    assert sums_in(three.again(), 2) == sums_in(Three(histogram()).ready(), 2)


def changed(published: Sequence[Published], server: int) -> list[Published]:
    """The first octet of what a server published is another."""
    lie = [*published]
    data = lie[server].noisy_sums
    lie[server] = lie[server]._replace(noisy_sums=bytes([data[0] ^ 1]) + data[1:])
    return lie


def test_a_component_that_its_holder_changed_is_noticed() -> None:
    three = Three(histogram()).ready()
    published = [end for end in three.ends(1) if isinstance(end, Published)]
    with pytest.raises(ComputationAborted, match="share server server-0 or share server server-2"):
        combined(three.collection, changed(published, 0))
    with pytest.raises(ComputationAborted, match="of one attempt"):
        combined(three.collection, [published[0]._replace(attempt=bytes(32)), *published[1:]])


def test_without_the_others_nothing_is_released() -> None:
    three = Three(histogram()).ready()
    name, accepted, signed = three.agreed
    with pytest.raises(ShareMismatch, match="drawn with the other servers"):
        three.servers[0].release(name, accepted, signed)
    with pytest.raises(ShareMismatch):
        three.servers[0].joint_terms(name, bytes(32), signed)


def test_two_servers_are_told_what_to_do() -> None:
    with pytest.raises(InvalidParameter, match="start 3, or take the noise plan each-server"):
        collection_of(plan=NoisePlan.JOINT)


def test_a_record_is_what_it_was_after_it_was_packed() -> None:
    for record in (
        JointRecord(),
        JointRecord(b"i" * 32, b"k" * 32, b"e" * 96),
        JointRecord(b"i" * 32, b"k" * 32, b"e" * 96, b"t" * 32, b"sums"),
    ):
        assert JointRecord.unpacked(record.packed()) == record
        assert "k" * 32 not in repr(record)
