"""Joint noise on the sums of a collection, in one process: attempts that break off, and servers that lie or forget.

Twins that must be caught: nonces of which one server is told others, and a component that its holder changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pytest

from localdp.computing.attempts import HEADER_BYTES
from localdp.computing.dialogue import SERVERS, Carrier, Dialogue, outcomes
from localdp.computing.joint_release import joint_release, run_joint_release
from localdp.computing.keyed_streams import NONCE_BYTES
from localdp.errors import ComputationAborted, InvalidParameter, LocalDpError, ShareMismatch
from localdp.oracles.collecting import combined
from localdp.sharing.agreement import agree
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.joint_terms import JointRecord
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import MemoryStorage, Published
from tests.support.shares import (
    blocks_of,
    collection_of,
    exact_sums,
    one_hot,
    servers_for,
    signed_by,
    upload,
)

VALUES = one_hot(4, *[0, 1, 1, 2, 1, 3, 0, 1, 1, 1, 2, 0])
MOST_ROUNDS = 22  # of a noisy count, greeting and last words included


def histogram(tier: str = "additive") -> Collection:
    return collection_of(
        servers=("server-0", "server-1", "server-2"),
        plan=NoisePlan.JOINT,
        encoding=Encoding.histogram(4),
        tier=tier,
    )


@dataclass
class Three:
    """The servers of a collection, with all reports agreed on; they can be built again from what they stored."""

    collection: Collection
    storages: list[MemoryStorage] = field(default_factory=lambda: [MemoryStorage() for _ in range(SERVERS)])
    servers: list[ShareServer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.servers = servers_for(self.collection, self.storages)

    def ready(self, values: np.ndarray = VALUES) -> Three:
        upload(self.servers, blocks_of(self.collection, values))
        agree(self.servers[0], self.servers[1:], self.collection)
        return self

    def again(self) -> Three:
        return replace(self)

    @property
    def agreed(self) -> tuple[bytes, bytes, list[bytes]]:
        name = self.collection.digest
        return name, self.servers[0].holding(name).accepted, signed_by(self.servers, self.collection)

    def parts(self, life: int) -> list[Dialogue[Published]]:
        name, accepted, signed = self.agreed
        return [
            joint_release(
                server.joint_terms(name, accepted, signed),
                bytes([life, number] * (NONCE_BYTES // 2)),
                partial(server.keep_joint, name),
            )
            for number, server in enumerate(self.servers)
        ]

    def kept(self) -> list[JointRecord]:
        return [server._task(self.collection.digest).joint for server in self.servers]

    def ends(self, life: int, carry: Carrier | None = None) -> list[Published | LocalDpError]:
        return [*outcomes(self.parts(life), carry)]


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
    for changed in ({"identity": bytes(32)}, {"key": bytes(32)}):
        server = three.servers[1]
        kept = three.kept()[1]
        server.keep_joint(three.collection.digest, replace(kept, **changed))
        with pytest.raises(ShareMismatch, match="otherwise before"):
            three.ends(2)
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
    with pytest.raises(ComputationAborted, match="server 0 or server 2"):
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
        JointRecord(b"i" * 32, b"k" * 32),
        JointRecord(b"i" * 32, b"k" * 32, b"t" * 32, b"sums"),
    ):
        assert JointRecord.unpacked(record.packed()) == record
        assert "k" * 32 not in repr(record)
