"""What a test remembers of share servers over all their lives, and what must hold of every honest one.

1. There is one noise: whatever a server releases of a collection, ever, is the same bytes; they are exactly its shares of
   the agreed set plus the noise that follows from them and from the secret that its vault had.
2. What is released is a set of reports that all honest servers put on record, before the collection's end; no report is in
   it that an honest server found bad.
3. (With honest servers that lost nothing) what all acknowledged is released: `share_world.World.settle`.
4. No report is verified under two keys.
5. Who is said to lie does; and who is caught lying is named: `share_adversary`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection as Some
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from localdp.cohorts import Cohort
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.sharing.binding import Binding
from localdp.sharing.blame import Blame
from localdp.sharing.blocks import Octets, Positions, Rows, ShareBlock
from localdp.sharing.collection import Collection, Contributor, Tier
from localdp.sharing.encoding import Encoding
from localdp.sharing.storage import Job, Release
from localdp.sharing.tiers import sharing_of
from tests.support.shares import blocks_of, collection_of, one_hot

REPORTS = 10  # each fills a bucket of its own
BAD_FOR_LEADER, BAD_FOR_HELPERS = 4, 7  # two reports are bad, and must never count
MINIMUM = 3
_ACCUSED = re.compile(r"share server (server-\d+) (?!refused|has not got|signed|for this set)")


@dataclass
class Batch:
    """A collection, its reports, and what servers said that they had stored."""

    collection: Collection
    blocks: list[ShareBlock]  # all reports, for each server
    key: bytes  # that servers verify with
    acknowledged: list[set[int]] = field(default_factory=list)
    sent: list[set[int]] = field(default_factory=list)

    @property
    def name(self) -> bytes:
        return self.collection.digest

    @classmethod
    def begun(cls, number: int, binding: Binding, tier: Tier, leader: bytes) -> Batch:
        """Bound to servers, the first of which has that key."""
        servers = len(binding.keys)
        collection = collection_of(
            collection_id=number.to_bytes(16, "big"),
            encoding=Encoding.histogram(REPORTS),
            tier=tier,
            servers=tuple(f"server-{each}" for each in range(servers)),
            parties=(Contributor("party-0", REPORTS),),
            minimum_batch=MINIMUM,
            binding=binding,
        )
        blocks = blocks_of(collection, one_hot(REPORTS, *range(REPORTS)))
        spoiled = [_spoiled(block, server) for server, block in enumerate(blocks)]
        key = derive_key(leader, b"verify", collection.collection_id)
        return cls(collection, spoiled, key, *([set[int]() for _ in range(servers)] for _ in range(2)))

    def block(self, server: int, place: range) -> ShareBlock:
        """Some consecutive reports."""
        rows = self.blocks[server].rows.take(slice(place.start, place.stop))
        return ShareBlock(self.name, "party-0", Cohort(place.start, place.stop), rows)

    def verifiers(self, server: int, key: bytes, positions: Positions) -> Octets:
        """What a server says about reports."""
        rows = self.blocks[server].rows.take(positions.astype(np.int64))
        return sharing_of(self.collection).checker(server, key).init(rows)[1]

    def shares(self, server: int, which: Some[int]) -> list[int]:
        """What a server's shares of some reports add up to."""
        rows = self.blocks[server].rows.take(np.array(sorted(which), np.int64))
        checker = sharing_of(self.collection).checker(server, bytes(32))
        return checker.sums(checker.init(rows)[0], np.ones(len(rows), np.bool_))

    def noise(self, secret: bytes, accepted: bytes, sums: Sequence[int]) -> list[int]:
        """What a server adds to its sums that has that secret."""
        packed = self.collection.field.pack(sums)
        source = KeystreamSource(derive_key(secret, b"noise", self.name, accepted, packed))
        return [int(entry) for entry in self.collection.noise.draw(source, REPORTS)]

    @cached_property
    def modulus(self) -> int:
        return self.collection.field.modulus

    def unpacked(self, release: Release) -> list[int]:
        return self.collection.field.unpack(release.noisy_sums)


def bad_for(servers: Iterable[int]) -> set[int]:
    """The reports that one of these servers finds bad, whatever others say."""
    return {BAD_FOR_HELPERS if server else BAD_FOR_LEADER for server in servers}


def _spoiled(block: ShareBlock, server: int) -> ShareBlock:
    """With a bad report: one that the leader cannot read, or one that only helpers find fault with."""
    public, inputs = block.rows.public.copy(), block.rows.inputs.copy()
    if public.size and server:
        public[BAD_FOR_HELPERS] ^= 1  # another joint randomness than the leader was shown
    else:
        inputs[BAD_FOR_HELPERS if server else BAD_FOR_LEADER] = 0xFF  # no field element
    return ShareBlock(block.collection, block.party, block.cohort, Rows(public, inputs))


class Book:
    """All that ever happened at the honest servers of one world."""

    def __init__(self, honest: frozenset[int]) -> None:
        self.honest = honest
        self.forgot: set[int] = set()  # servers of which something was put back or lost
        self.sealed: dict[tuple[int, bytes], dict[bytes, frozenset[int]]] = defaultdict(dict)
        self.drawn: dict[tuple[int, bytes], dict[bytes, bytes | None]] = defaultdict(dict)
        self.returned: dict[tuple[int, bytes], set[bytes]] = defaultdict(set)
        self.keys: dict[tuple[int, bytes, int], set[bytes]] = defaultdict(set)

    def counts(self, server: int, job: Job) -> None:
        """A decision is on a server's record."""
        assert not bad_for([server]) & set(job.positions[job.accepted].tolist()), "a bad report counts"

    def seals(self, server: int, name: bytes, accepted: bytes, reports: frozenset[int]) -> None:
        """A set is on a server's record."""
        known = self.sealed[server, name]
        known[accepted] = reports
        assert len(known) == 1 or server in self.forgot, "a set was final, and is another now"

    def records(
        self, server: int, batch: Batch, release: Release, secret: bytes | None, now: float
    ) -> None:
        """A release is on a server's record, and the vault had that secret."""
        assert now < batch.collection.binding.ends, "a collection was released after its end"
        self.drawn[server, batch.name][release.noisy_sums] = secret

    def checks(self, server: int, name: bytes, key: bytes, positions: Positions) -> None:
        """A server told something about reports that depends on the key."""
        for position in positions.tolist():
            known = self.keys[server, name, position]
            known.add(key)
            assert len(known) == 1, "a report was verified under two keys"

    def releases(self, server: int, batch: Batch, release: Release) -> None:
        """A server returned a release: rules 1 and 2."""
        returned = self.returned[server, batch.name]
        returned.add(release.noisy_sums)
        assert len(returned) == 1, "there are two releases of one server"
        reports = self._agreed(batch, release.holding.accepted)
        assert len(reports) >= MINIMUM, "a release is below the minimum batch"
        assert not reports & bad_for(self.honest), "a bad report counts"
        secret = self.drawn[server, batch.name].get(release.noisy_sums)
        assert secret is not None, "a release is not on record, or there was no secret"
        sums = batch.shares(server, reports)
        noise = batch.noise(secret, release.holding.accepted, sums)
        pairs = zip(batch.unpacked(release), noise, strict=True)
        exact = [(noisy - extra) % batch.modulus for noisy, extra in pairs]
        assert exact == sums, "a release is not the agreed set and the noise"

    def _agreed(self, batch: Batch, accepted: bytes) -> frozenset[int]:
        """The set that all honest servers have on record under that digest."""
        sets = [self.sealed[server, batch.name].get(accepted) for server in sorted(self.honest)]
        assert None not in sets, "what was released is not what all honest servers have on record"
        assert len(set(sets)) == 1, "honest servers signed for different sets"
        assert sets[0] is not None
        return sets[0]

    def requires_truth(self, error: Exception) -> None:
        """No honest server is said to lie: rule 5."""
        for name in _ACCUSED.findall(str(error)):
            assert int(name[7:]) not in self.honest, f"an honest server is accused: {error}"

    def requires_fairness(self, blame: Blame) -> None:
        """Nothing is held against an honest server but bad reports of parties, and reports that it never got."""
        names = {f"server-{server}" for server in self.honest}
        assert not {*blame.lying, *blame.wrong} & names, "an honest server is said to lie"
        assert all(blame.refusing[name] <= 2 for name in names), (
            "an honest server is said to refuse reports"
        )

    def buckets(self, batch: Batch) -> list[int]:
        """What all servers released, without their noise, each bucket as it is."""
        total = [0] * REPORTS
        for server in sorted(self.honest):
            (noisy,) = self.returned[server, batch.name]
            secret = self.drawn[server, batch.name][noisy]
            ((accepted, reports),) = self.sealed[server, batch.name].items()
            assert secret is not None
            noise = batch.noise(secret, accepted, batch.shares(server, reports))
            sums = batch.collection.field.unpack(noisy)
            total = [old + a - b for old, a, b in zip(total, sums, noise, strict=True)]
        return [entry % batch.modulus for entry in total]


def set_of(kept: Any) -> frozenset[int]:
    """Which reports count, by the jobs on record."""
    return frozenset(position for job in kept.jobs for position in job.positions[job.accepted].tolist())


def chunks(positions: Sequence[int], size: int) -> list[Positions]:
    """Blocks of increasing positions."""
    ordered = np.array(sorted(positions), np.uint32)
    return [ordered[at : at + size] for at in range(0, len(ordered), size)]
