"""What a share server sees of people's answers, taken from the wire: uniform, whatever the answers are.

Chi-square of the highest and of the lowest eight bits of each share, 256 bins, n = 65,536 shares, for each server and for
data that is all zero and all one.  alpha = 1e-6 a test; the seeds are fixed, so it passes always or never.  Power: at
n / 256 = 256 a bin, it sees a single bin that is off by half with near certainty; it would miss a bias of a few percent
spread over all bins, which the exact test in tests/unit/sharing/test_additive.py does not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.party.party import Party
from localdp.sharing import additive
from localdp.sharing.field import PRIME, Elements, unpack
from localdp.sharing.share_server import ShareServer
from parties.shares.service import ShareService
from tests.support.federations import collection_of, party, served

PEOPLE = 65_536
ALPHA = 1e-6
BINS = 256


class Curious(ShareService):
    """Keeps the shares of every message that it receives."""

    def __init__(self, server: ShareServer) -> None:
        super().__init__(server)
        self.seen: list[Elements] = []
        self.shapes: list[tuple[Any, ...]] = []  # all of the messages but what is in them

    async def UploadShares(self, requests: AsyncIterator[Any], context: Any) -> Any:  # noqa: N802
        async def copied() -> AsyncIterator[Any]:
            async for request in requests:
                self.seen.append(unpack(request.shares))
                self.shapes.append(shape_of(request))
                yield request

        return await super().UploadShares(copied(), context)


def shape_of(request: Any) -> tuple[Any, ...]:
    """Whose shares a message carries, and how long it is."""
    cohort = request.cohort.SerializeToString(deterministic=True)
    return request.party, cohort, len(request.shares), len(request.public_shares)


def watched(answers: NDArray[np.bool_], tier: str = "additive") -> list[Curious]:
    """Servers that saw how these people's answers came in."""
    records = Records.from_columns(Schema({"smoker": BitDomain()}), {"smoker": answers})
    services: list[Curious] = []

    def make(number: int, server: ShareServer) -> ShareService:
        services.append(Curious(server))
        return services[-1]

    everybody = [party(records)]
    with served(everybody, wrap_server=make) as federation:
        collection = collection_of(everybody, tier=tier)
        federation.shared.open(collection)
        federation.shared.contribute(collection, Cohort(0, len(answers)))
    return services


def views(bit: bool) -> list[Elements]:
    """What each of two servers receives when everybody's answer is that bit."""
    return [np.concatenate(service.seen) for service in watched(np.full(PEOPLE, bit))]


def is_uniform(shares: Elements) -> bool:
    """Whether high and low bits pass."""
    high = (shares >> np.uint64(56)).astype(np.int64)
    low = (shares & np.uint64(BINS - 1)).astype(np.int64)
    observed = [np.bincount(bits, minlength=BINS) for bits in (high, low)]
    return all(stats.chisquare(counts).pvalue > ALPHA for counts in observed)


@pytest.mark.parametrize("bit", [False, True], ids=["all zero", "all one"])
def test_the_shares_that_a_server_receives_are_uniform(bit: bool) -> None:
    seen = views(bit)
    assert [len(shares) for shares in seen] == [PEOPLE, PEOPLE]
    assert all(is_uniform(shares) for shares in seen)
    sums = (
        seen[0].astype(object) + seen[1].astype(object)
    ) % PRIME  # together, of course, they are the answers
    assert set(sums) == {int(bit)}


def _share_is_the_value(values: Any, servers: int, source: Any) -> list[Elements]:
    zero = np.zeros(len(values), np.uint64)
    return [values.astype(np.uint64)] + [zero] * (servers - 1)


def _half_the_field(values: Any, servers: int, source: Any) -> list[Elements]:
    mask = source.raw(np.uint64, len(values)) >> np.uint64(1)
    return [mask, (values.astype(np.uint64) - mask) % np.uint64(PRIME)]


def _seed_reused(values: Any, servers: int, source: Any) -> list[Elements]:
    mask = np.full(len(values), 0x123456789ABCDEF, np.uint64)
    return [mask, (np.uint64(PRIME) - mask + values.astype(np.uint64)) % np.uint64(PRIME)]


@pytest.mark.parametrize("twin", [_share_is_the_value, _half_the_field, _seed_reused])
def test_the_test_of_uniformity_notices_a_broken_splitter(
    twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additive, "split", twin)
    assert not all(is_uniform(shares) for shares in views(True))


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_number_length_and_order_of_the_messages_do_not_depend_on_the_answers(tier: str) -> None:
    people = 140_000 if tier == "additive" else 25_000  # more than one message
    every_kind = [np.zeros(people, np.bool_), np.ones(people, np.bool_), np.arange(people) % 7 == 0]
    shapes = [[service.shapes for service in watched(answers, tier)] for answers in every_kind]
    assert shapes[0] == shapes[1] == shapes[2]
    assert all(len(messages) > 1 for messages in shapes[0])


def test_a_block_that_is_cut_where_the_answers_change_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = Party.shared

    def leaky(self: Party, collection: Any, cohort: Cohort, caller: str = "") -> Any:
        made, bits = good(self, collection, cohort, caller), self.records.column("smoker")
        return lambda part: made(Cohort(part.start, part.stop - int(bits[part.stop - 1])))

    monkeypatch.setattr(Party, "shared", leaky)
    none, all_of_them = (watched(np.full(100, bit)) for bit in (False, True))
    assert none[0].shapes != all_of_them[0].shapes
