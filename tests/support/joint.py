"""Three servers in one process that agreed on reports: they can be built again from what they stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np

from localdp.computing.dialogue import Carrier, Dialogue, outcomes
from localdp.computing.joint_release import joint_release
from localdp.computing.keyed_streams import NONCE_BYTES
from localdp.errors import LocalDpError
from localdp.sharing.agreement import agree
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.joint_terms import JointRecord
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.selection import Selection, SelectionRule
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import MemoryStorage, Published
from tests.support.shares import blocks_of, collection_of, one_hot, servers_for, signed_by, upload

VALUES = one_hot(4, *[0, 1, 1, 2, 1, 3, 0, 1, 1, 1, 2, 0])


def histogram(tier: str = "additive") -> Collection:
    return collection_of(
        servers=("server-0", "server-1", "server-2"),
        plan=NoisePlan.JOINT,
        encoding=Encoding.histogram(4),
        tier=tier,
    )


def selection(rule: SelectionRule = "largest", tier: str = "additive") -> Collection:
    offsets = {"largest": (), "furthest": (5, 6, 2, 1), "quantile": (4,)}[rule]
    return replace(histogram(tier), selection=Selection(rule, 4, offsets))


@dataclass
class Agreed:
    """The servers of a collection, with all reports agreed on; they can be built again from what they stored."""

    collection: Collection
    storages: list[MemoryStorage] = field(default_factory=list)
    servers: list[ShareServer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.storages = self.storages or [MemoryStorage() for _ in self.collection.servers]
        self.servers = servers_for(self.collection, self.storages)

    def ready(self, values: np.ndarray = VALUES) -> Self:
        upload(self.servers, blocks_of(self.collection, values))
        agree(self.servers[0], self.servers[1:], self.collection)
        return self

    def again(self) -> Self:
        return replace(self)

    @property
    def agreed(self) -> tuple[bytes, bytes, list[bytes]]:
        name = self.collection.digest
        return name, self.servers[0].holding(name).accepted, signed_by(self.servers, self.collection)


class Three(Agreed):
    """Three of them, which draw their noise together."""

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
