"""What is left of a collection after its release, in the files of a share server: nothing that tells of anybody.

Real processes, real files: the shares of a hundred known reports, the servers' shares of the exact sum and their noise
are looked for in everything that is in the directory, its logs included, while the servers run and after kill -9.  A
server that stores reports and sums as they are is the broken twin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection, Contributor, Tier
from localdp.sharing.storage import Published
from parties.coordinator import Peer
from parties.shares.collector import RemoteShareServers
from tests.fault.test_forgetful_servers import Process, process
from tests.fault.test_share_kill_nine import uploaded
from tests.support.processes import end, stage
from tests.support.shares import bits, blocks_of, collection_of

PEOPLE = 100
LOUD = Epsilon.requested("0.000000001")  # noise of thirty bits, that is not found by chance
ELEMENT_BYTES = 8


@contextmanager
def collected(directory: Path, tier: Tier, module: str) -> Iterator[tuple[list[Process], list[bytes]]]:
    """Servers that have released a collection, and what must not be left of it."""
    with ExitStack() as stack:
        place = stack.enter_context(stage(directory))
        servers = [
            stack.enter_context(process(place, name, module=module)) for name in ("server-0", "server-1")
        ]
        peers = [Peer(one.name, one.address) for one in servers]
        shared = stack.enter_context(closing(RemoteShareServers(None, peers, 20)))  # type: ignore[arg-type]
        name = os.urandom(16)
        collection = collection_of(
            collection_id=name,
            epsilon=LOUD,
            tier=tier,
            parties=(Contributor("party-0", PEOPLE),),
            binding=shared.bind(name),
        )
        shared.open(collection)
        blocks = blocks_of(collection, bits(*[1, 0] * (PEOPLE // 2)))
        uploaded(peers, blocks)
        agreed = shared.agree(collection)
        signed = [one.signature for one in shared.holdings(collection)]
        released = shared.release(collection, agreed.accepted, signed)
        yield servers, secrets_of(collection, blocks, released)


def secrets_of(collection: Collection, blocks: list[ShareBlock], released: list[Published]) -> list[bytes]:
    """Everybody's shares; and without proofs, where a share is an element, the shares of the sum and the noise."""
    shares = [row.tobytes() for block in blocks for row in block.rows.inputs]
    if collection.tier == "prio3":
        return shares
    p, sums = collection.field.modulus, []
    for block, noisy in zip(blocks, released, strict=True):
        exact = int(sum(int(one) for one in block.rows.inputs.view("<u8")[:, 0]) % p)
        sums += [
            exact.to_bytes(ELEMENT_BYTES, "little"),
            ((collection.field.unpack(noisy.noisy_sums)[0] - exact) % p).to_bytes(ELEMENT_BYTES, "little"),
        ]
    return shares + sums


def found(directory: Path, secrets: list[bytes]) -> int:
    """How many of these are somewhere in the files of the servers."""
    files = [path.read_bytes() for path in directory.glob("server-*") if path.is_file()]
    assert len(files) >= 4
    return int(np.count_nonzero([any(secret in file for file in files) for secret in secrets]))


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_nothing_is_left_of_reports_sums_and_noise(tmp_path: Path, tier: Tier) -> None:
    with collected(tmp_path, tier, "") as (servers, secrets):
        assert len(secrets) >= 2 * PEOPLE
        assert found(tmp_path, secrets) == 0
        for server in servers:
            assert server._process is not None
            end(server._process.pid)
            server._process.wait()
        assert found(tmp_path, secrets) == 0


def test_a_server_that_stores_things_as_they_are_is_found_out(tmp_path: Path) -> None:
    with collected(tmp_path, "additive", "tests.fault.forgetful_process") as (_, secrets):
        assert found(tmp_path, secrets) >= PEOPLE
