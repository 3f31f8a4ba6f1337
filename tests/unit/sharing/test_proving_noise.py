"""Servers that prove their noise to each other, in one process: restarts, old states, and every lie that there is.

Twins that must be caught: a server that leaves its noise out, chooses it, has its public coins from elsewhere, changes its
sums after it knows its noise, says two things, or takes a proof from another collection,
or releases something else than it proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from localdp.errors import InvalidParameter, MalformedReport, ShareMismatch
from localdp.oracles.collecting import combined
from localdp.oracles.shared import InProcessShareServers
from localdp.sharing import proving_noise
from localdp.sharing.agreement import prove_together
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3.batch.words import Mask
from localdp.sharing.proof_record import ProofStep
from localdp.sharing.proved.noise_circuit import bits_of
from localdp.sharing.proved.noise_proof import NoiseProver, Response
from localdp.sharing.proving_noise import NoisePart, run_proofs
from localdp.sharing.share_server import ShareServer
from localdp.sharing.storage import Release
from tests.support.joint import VALUES, Agreed
from tests.support.shares import (
    collection_of,
    exact_sums,
    one_hot,
)

Messages = Sequence[bytes]
Change = Callable[[ProofStep, list[bytes]], list[bytes]]  # of what servers said at a step


def proved(servers: int = 2, **changes: object) -> Collection:
    names = tuple(f"server-{number}" for number in range(servers))
    given = {"plan": NoisePlan.PROVED, "encoding": Encoding.histogram(4), "tier": "additive"}
    return collection_of(servers=names, **(given | changes))


class World(Agreed):
    """Servers that prove their noise."""

    def step(self, number: int, step: ProofStep, messages: Messages) -> bytes:
        return self.servers[number].prove_noise(*self.agreed, step, messages)

    def goes(self, change: Change | None = None) -> dict[ProofStep, list[bytes]]:
        """All steps; what is said may be changed on its way, and every server is told the same."""
        said: dict[ProofStep, list[bytes]] = {}

        def ask(step: ProofStep, messages: Messages) -> list[bytes]:
            told = [self.step(number, step, messages) for number in range(len(self.servers))]
            said[step] = change(step, told) if change else told
            return said[step]

        run_proofs(len(self.servers), ask)
        return said

    def releases(self) -> list[int]:
        name, accepted, signed = self.agreed
        released = [server.release(name, accepted, signed).published for server in self.servers]
        return combined(self.collection, released)


@pytest.mark.parametrize("tier", ["additive", "prio3"])
@pytest.mark.parametrize("servers", [2, 3, 4])
def test_servers_release_sums_with_proved_noise_and_the_same_again(servers: int, tier: str) -> None:
    world = World(proved(servers, tier=tier)).ready()
    exact = exact_sums(world.servers, world.collection)
    assert exact == VALUES.sum(axis=0).tolist()
    prove_together(world.servers, *world.agreed)
    sums = world.releases()
    noise = np.subtract(sums, exact)
    assert 0 < np.abs(noise).max() < 100
    prove_together(world.servers, *world.agreed)  # nothing is left to be proved
    assert world.releases() == sums


def test_nothing_is_released_before_everybody_has_proved_its_noise() -> None:
    world = World(proved()).ready()
    with pytest.raises(ShareMismatch, match="every server has proved"):
        world.releases()
    world.goes(lambda step, told: told if step < ProofStep.PROVE else [b"", b""])
    with pytest.raises(ShareMismatch, match="every server has proved"):
        world.releases()


def test_whoever_is_built_again_after_any_step_says_the_same() -> None:
    world, plain = World(proved(3)).ready(), World(proved(3)).ready()

    def built_again(step: ProofStep, told: list[bytes]) -> list[bytes]:
        world.servers = world.again().servers
        return told

    assert world.goes(built_again) == plain.goes()
    assert world.releases() == plain.releases()


def test_a_server_that_was_put_back_has_the_same_noise_and_answers_no_second_delta() -> None:
    first, back = World(proved()).ready(), World(proved()).ready()
    said = first.goes()
    assert back.goes() == said  # nothing but secret, set and sums was left to it
    assert back.releases() == first.releases()
    again = World(proved()).ready()
    seeds = [*said[ProofStep.DELTA]]
    with pytest.raises(ShareMismatch, match="the seed that share server server-1 committed to"):
        again.step(0, ProofStep.PROVE, [seeds[0], bytes(32)])  # another delta


def test_other_reports_in_the_same_places_have_other_noise_and_other_masks() -> None:
    """One server has the same shares of both, and says the same; the other one has other sums."""
    one, other = World(proved()).ready(), World(proved()).ready(one_hot(4, *[3] * 12))
    said, others = one.goes(), other.goes()
    assert one.collection.digest == other.collection.digest
    pairs = zip(said[ProofStep.FIX], others[ProofStep.FIX], strict=True)
    assert [first == second for first, second in pairs] == [True, False]
    first, second = (np.frombuffer(each[ProofStep.PROVE][1], np.uint8) for each in (said, others))
    assert np.count_nonzero(first == second) / len(first) < 0.05  # by chance one byte in 256 agrees


class Cheat(NoiseProver):
    """A prover that says something else than what follows from its coins."""

    def said(self, coins: Mask) -> bytes:
        return super().said(self.wanted(coins))

    def response(self, coins: Mask, key: bytes) -> Response:
        return super().response(self.wanted(coins), key)

    def wanted(self, coins: Mask) -> Mask:
        """The public coins that it would like."""
        return coins


class NoNoise(Cheat):
    """Its public coins are such that every coin of the law falls to zero."""

    def wanted(self, coins: Mask) -> Mask:
        own = self._shape.as_rows(self._bits[: self._shape.own_bits])
        return ~own


class OtherCoins(Cheat):
    """Public coins from elsewhere."""

    def wanted(self, coins: Mask) -> Mask:
        return coins[::-1]


class NoiseLeftOut(NoiseProver):
    """It proves its noise, and releases its sums without."""

    def said(self, coins: Mask) -> bytes:
        super().said(coins)
        self.released = list(self._sums)
        return self._named()


class OneMore(NoiseProver):
    """It adds one to a sum that it released, and says so."""

    def said(self, coins: Mask) -> bytes:
        super().said(coins)
        self.released[0] = (self.released[0] + 1) % self._shape.circuit.modulus
        return self._named()


class SumsAfterwards(NoiseProver):
    """Knowing its noise, it takes other sums, for which it releases what it wants."""

    def said(self, coins: Mask) -> bytes:
        super().said(coins)
        noise = np.subtract(self.released, self._sums)
        p = self._shape.circuit.modulus
        self._sums = [int(s - z) % p for s, z in zip(self._sums, noise, strict=True)]
        wanted = bits_of(self._sums, self._shape.circuit.width)
        self._moved_sums = self._moved_to(wanted, self._shape.own_bits)
        return super().said(coins)


class OneBit(NoiseProver):
    """It says one bit of the comparisons otherwise."""

    def said(self, coins: Mask) -> bytes:
        super().said(coins)
        self._moved_made[3] ^= 4
        self._bits[self._shape.circuit.fixed_rows * self._shape.lanes + 26] ^= 1
        return self._named()


class ResponseOfAnother(NoiseProver):
    """It answers other factors."""

    def response(self, coins: Mask, key: bytes) -> Response:
        return super().response(coins, bytes(32))


class DeltaOfAnother(NoiseProver):
    """It opens at another delta."""

    def proof(self, delta: bytes) -> bytes:
        return super().proof(bytes(len(delta)))


CHEATS = [
    NoNoise,
    OtherCoins,
    NoiseLeftOut,
    OneMore,
    SumsAfterwards,
    OneBit,
    ResponseOfAnother,
    DeltaOfAnother,
]


def with_cheat(world: World, kind: type[NoiseProver], number: int) -> NoisePart:
    """That server has a prover that cheats."""
    server, (name, accepted, _) = world.servers[number], world.agreed
    part = server._part(server._task(name), accepted)
    honest = part._made()
    part._prover = kind.__new__(kind)
    part._prover.__dict__.update(honest.__dict__)
    return part


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("kind", CHEATS)
def test_whoever_cheats_is_named_by_every_honest_server_and_nothing_is_released(
    kind: type[NoiseProver], servers: int
) -> None:
    world = World(proved(servers)).ready()
    with_cheat(world, kind, 1)
    proofs: list[bytes] = []

    def seen(step: ProofStep, told: list[bytes]) -> list[bytes]:
        proofs[:] = told if step == ProofStep.PROVE else proofs
        return told

    with pytest.raises(ShareMismatch, match="share server server-1 did not prove its noise"):
        world.goes(seen)
    for number in range(servers):
        if number != 1:
            with pytest.raises(ShareMismatch, match="share server server-1 did not prove its noise"):
                world.step(number, ProofStep.CHECK, [b"", proofs[1]] + [b""] * (servers - 2))
            blame = world.servers[number].blame(world.collection.digest)
            assert list(blame.servers) == ["server-1"]
            with pytest.raises(ShareMismatch, match="every server has proved"):
                world.releases()


def test_an_honest_prover_of_the_same_construction_is_believed() -> None:
    world = World(proved()).ready()
    with_cheat(world, NoiseProver, 1)
    world.goes()
    assert len(world.releases()) == 4


def test_who_signs_two_things_is_named() -> None:
    world = World(proved(3)).ready()
    said = world.goes(lambda step, told: told if step < ProofStep.FACTORS else [b""] * 3)
    part = with_cheat(world, NoiseProver, 2)
    for step, before in ((ProofStep.KEY, ProofStep.FIX), (ProofStep.FACTORS, ProofStep.SAY)):
        other = [*said[before][:2], part._signed(before, bytes(32))]
        with pytest.raises(ShareMismatch, match="server-2 did not prove its noise: it said two things"):
            world.again().step(0, step, other)


def other_seed(changed: ProofStep, step: ProofStep, told: list[bytes]) -> list[bytes]:
    return [told[0], bytes(32)] if step == changed else told


def test_what_another_changed_on_the_way_names_nobody() -> None:
    for changed in (ProofStep.FIX, ProofStep.TIE, ProofStep.SAY, ProofStep.RESPOND, ProofStep.PROVE):
        world = World(proved()).ready()

        def change(step: ProofStep, told: list[bytes], changed: ProofStep = changed) -> list[bytes]:
            return [told[0], told[1][:-1] + bytes([told[1][-1] ^ 1])] if step == changed else told

        with pytest.raises(
            ShareMismatch, match="nothing about its noise that share server server-1 signed"
        ):
            world.goes(change)
        assert not world.servers[0].blame(world.collection.digest).servers
    for changed in (ProofStep.KEY, ProofStep.COINS, ProofStep.FACTORS, ProofStep.DELTA):
        world = World(proved()).ready()
        with pytest.raises(ShareMismatch, match="not the seed that share server server-1 committed to"):
            world.goes(partial(other_seed, changed))


def test_what_was_said_in_another_collection_or_at_another_step_is_refused() -> None:
    world, other = World(proved()).ready(), World(proved(collection_id=b"another one 1234")).ready()
    said, elsewhere = world.goes(), other.goes()
    fresh = World(proved()).ready()
    with pytest.raises(ShareMismatch, match="signed at this step"):
        fresh.step(0, ProofStep.KEY, [said[ProofStep.FIX][0], elsewhere[ProofStep.FIX][1]])
    with pytest.raises(ShareMismatch, match="signed at this step"):
        fresh.step(0, ProofStep.KEY, [said[ProofStep.FIX][0], said[ProofStep.SAY][1]])


def test_no_step_is_left_out() -> None:
    said = World(proved()).ready().goes()
    world = World(proved()).ready()
    with pytest.raises(ShareMismatch, match="a step was left out"):
        world.step(0, ProofStep.COINS, said[ProofStep.TIE])
    with pytest.raises(ShareMismatch, match="a step was left out"):
        world.step(0, ProofStep.FACTORS, said[ProofStep.SAY])
    with pytest.raises(ShareMismatch, match="a step was left out"):
        world.step(0, ProofStep.DELTA, said[ProofStep.RESPOND])
    with pytest.raises(ShareMismatch, match="checked after they are made"):
        world.step(0, ProofStep.CHECK, [b"", said[ProofStep.PROVE][1]])


def test_proofs_are_for_collections_with_that_plan_that_are_agreed_on() -> None:
    world = World(proved(plan=NoisePlan.EACH_SERVER)).ready()
    with pytest.raises(InvalidParameter, match="whose noise plan is proved"):
        world.step(0, ProofStep.FIX, [])
    name, _, signed = world.agreed
    with pytest.raises(ShareMismatch, match="have not agreed"):
        world.servers[0].prove_noise(name, bytes(32), signed, ProofStep.FIX, [])


def test_more_sums_than_fit_into_a_message_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="noise is proved for about"):
        proved(encoding=Encoding.histogram(20_000))


@dataclass
class ReleasesOtherwise:
    """A server that proves its noise, and then releases its sums without."""

    honest: ShareServer
    sums: Sequence[int] = ()

    def __getattr__(self, name: str) -> object:
        return getattr(self.honest, name)

    def release(self, name: bytes, accepted: bytes, signed: Sequence[bytes]) -> Release:
        task = self.honest._tasks.get(name)
        released = self.honest.release(name, accepted, signed)
        self.sums = task.sums if task else self.sums
        size = released.element_bytes
        return replace(released, noisy_sums=b"".join(one.to_bytes(size, "little") for one in self.sums))


@pytest.mark.parametrize("servers", [2, 3])
def test_who_proves_its_noise_and_releases_sums_without_it_is_named_whenever_it_is_asked(
    servers: int,
) -> None:
    world = World(proved(servers)).ready()
    liar = ReleasesOtherwise(world.servers[1])
    asked = InProcessShareServers([], [world.servers[0], liar, *world.servers[2:]])  # type: ignore[list-item]
    _, accepted, signed = world.agreed
    for _ in range(2):  # the second time nothing is proved: all have released
        with pytest.raises(
            ShareMismatch, match="server-1 released other sums than it proved, says server-0"
        ):
            combined(world.collection, asked.release(world.collection, accepted, signed))


def test_a_server_that_does_not_say_what_all_proved_is_refused() -> None:
    world = World(proved()).ready()
    world.goes()
    name, accepted, signed = world.agreed
    one, other = (server.release(name, accepted, signed).published for server in world.servers)
    with pytest.raises(MalformedReport, match="what every server proved"):
        combined(world.collection, [one, other._replace(attempt=b"")])


def test_whoever_carries_messages_out_of_order_has_nobody_named() -> None:
    world = World(proved(3)).ready()
    early: list[str] = []

    def ask(step: ProofStep, messages: Messages) -> list[bytes]:
        if (
            step == ProofStep.PROVE
        ):  # the proof of server 1 comes to server 0 before server 0 has made its own
            proof = world.step(1, step, messages)
            with pytest.raises(ShareMismatch, match="checked after they are made") as refused:
                world.step(0, ProofStep.CHECK, [b"", proof, b""])
            early.append(str(refused.value))
            assert not world.servers[0].blame(world.collection.digest).servers
        return [world.step(number, step, messages) for number in range(3)]

    run_proofs(3, ask)
    assert early and len(world.releases()) == 4


def test_proofs_of_more_servers_than_there_are_are_refused() -> None:
    world = World(proved()).ready()
    said = world.goes()[ProofStep.PROVE]
    for messages in ([b"", b"", b"x" * 64], [b""] * 50 + [said[1]], [said[1]]):
        with pytest.raises(MalformedReport, match="every server has something to say"):
            world.step(0, ProofStep.CHECK, messages)


def test_a_proof_is_checked_once_and_a_prover_counts_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(proved()).ready()
    task = world.servers[0]._task(world.collection.digest)
    before = task.bytes_held
    said = world.goes()
    assert task.proving is not None
    assert task.bytes_held > before + 48 * task.proving._shape.size  # the planes, and more
    checks: list[bytes] = []
    monkeypatch.setattr(proving_noise, "require_proved", lambda *named: checks.append(named[-1]))
    world.step(0, ProofStep.CHECK, [b"", said[ProofStep.PROVE][1]])
    assert not checks
