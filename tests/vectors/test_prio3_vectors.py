"""Prio3 against vectors: every operation of each, in order, byte for byte; what must fail, fails."""

import hashlib
import json
import os
from typing import Any

import numpy as np
import pytest

from localdp.errors import LocalDpError
from localdp.sharing.prio3 import Count, HistogramCircuit, MultihotCountVec, Prio3, Sum, SumVec, VerifyState
from localdp.sharing.prio3 import xof as library_xof
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.verification import BlockState, BlockVerifier, rows
from localdp.sharing.prio3.batch.words import Mask, Octets
from localdp.sharing.prio3.circuit import Gadget, Univariate, Vector
from localdp.sharing.prio3.fields import FIELD64, FIELD128
from localdp.sharing.prio3.flp import AnyCircuit
from tests.unit.sharing.prio3.protocol import EVERY_WAY, Way
from tests.vectors import naive_prio3, prio3_vectors
from tests.vectors.naive_prio3 import Naive
from tests.vectors.prio3_vectors import VARIABLE, named, names, own, published, published_directory, which

FOR_TESTS = 0xFFFF_FFFF
PINNED = "9dd8d80dfc2d9109307babe61509cdefe9d25228c7f86a139632bf879128fce8"
LONGEST_FOR_NAIVE = 48


class HigherDegree(Count):
    """The circuit x (x - 1) (x - 2) of the published vectors, whose gadget is of degree 3."""

    @property
    def gadget(self) -> Gadget:
        return Univariate((0, 2, -3, 1))

    def encode(self, measurement: int) -> list[int]:
        return [measurement]

    def gadget_inputs(self, encoded: Vector, joint: Vector, one: int) -> list[list[int]]:
        return [[encoded[0]]]

    def checks(self, encoded: Vector, gadget_outputs: Vector, one: int) -> list[int]:
        return list(gadget_outputs)


def instance(name: str, vector: dict[str, Any]) -> Prio3:
    kind = name.partition("_")[0]
    get = vector.get
    circuits: dict[str, Any] = {
        "Prio3Count": Count,
        "Prio3Sum": lambda: Sum(vector["max_measurement"]),
        "Prio3SumVec": lambda: SumVec(vector["length"], vector["max_measurement"], vector["chunk_length"]),
        "Prio3SumVecWithMultiproof": lambda: SumVec(
            vector["length"], vector["max_measurement"], vector["chunk_length"], FIELD64, FOR_TESTS
        ),
        "Prio3Histogram": lambda: HistogramCircuit(vector["length"], vector["chunk_length"]),
        "Prio3MultihotCountVec": lambda: MultihotCountVec(
            vector["length"], vector["max_weight"], vector["chunk_length"]
        ),
        "Prio3HigherDegree": lambda: HigherDegree(algorithm=FOR_TESTS),
    }
    circuit: AnyCircuit = circuits[kind]()
    return Prio3(circuit, get("shares", 2), 3 if kind.endswith("Multiproof") else 1)


class Replay:
    """Runs the operations of a vector, each on the vector's own messages, and compares what comes out."""

    def __init__(self, prio3: Prio3, vector: dict[str, Any]) -> None:
        self.prio3, self.vector = prio3, vector
        self.context, self.key = bytes.fromhex(vector["ctx"]), bytes.fromhex(vector["verify_key"])
        self.states: dict[tuple[int, int], VerifyState] = {}
        self.outputs: dict[int, list[tuple[int, ...]]] = {}

    def run(self, step: dict[str, Any]) -> None:
        report = self.vector["reports"][step.get("report_index", 0)]
        place = step.get("report_index", 0), step.get("aggregator_id", 0)
        getattr(self, step["operation"])(report, *place)

    def shard(self, report: dict[str, Any], _i: int, _j: int) -> None:
        coins = bytes.fromhex(report["nonce"]), bytes.fromhex(report["rand"])
        made = self.prio3.shard(self.context, report["measurement"], *coins)
        assert made.public_share.hex() == report["public_share"]
        assert [share.hex() for share in made.input_shares] == report["input_shares"]

    def verify_init(self, report: dict[str, Any], i: int, j: int) -> None:
        messages = (report["nonce"], report["public_share"], report["input_shares"][j])
        self.states[i, j], share = self.prio3.verify_init(
            self.key, self.context, j, *(bytes.fromhex(message) for message in messages)
        )
        assert share.hex() == report["verifier_shares"][0][j]

    def verifier_shares_to_message(self, report: dict[str, Any], _i: int, _j: int) -> None:
        shares = [bytes.fromhex(share) for share in report["verifier_shares"][0]]
        assert self.prio3.combine(self.context, shares).hex() == report["verifier_messages"][0]

    def verify_next(self, report: dict[str, Any], i: int, j: int) -> None:
        output = self.prio3.verify_next(self.states[i, j], bytes.fromhex(report["verifier_messages"][0]))
        assert self.prio3.field.pack(output).hex() == report["out_shares"][j]
        self.outputs.setdefault(j, []).append(output)

    def aggregate(self, _report: dict[str, Any], _i: int, j: int) -> None:
        assert self.prio3.aggregate(self.outputs[j]).hex() == self.vector["agg_shares"][j]

    def unshard(self, _report: dict[str, Any], _i: int, _j: int) -> None:
        shares = [bytes.fromhex(share) for share in self.vector["agg_shares"]]
        assert self.prio3.unshard(shares) == self.vector["agg_result"]


@pytest.mark.parametrize("name", names())
def test_every_operation_of_a_vector_does_what_the_vector_says(name: str) -> None:
    vector = named(name)
    replay = Replay(instance(name, vector), vector)
    for step in vector["operations"]:
        if step["success"]:
            replay.run(step)
        else:
            with pytest.raises(LocalDpError):
                replay.run(step)


class BlockReplay:
    """The servers' operations of a vector, on all of its reports at once."""

    def __init__(self, prio3: Prio3, vector: dict[str, Any], compiled: bool) -> None:
        self.prio3, self.vector, self.layout = prio3, vector, prio3.layout
        key, context = bytes.fromhex(vector["verify_key"]), bytes.fromhex(vector["ctx"])
        self.servers = [
            BlockVerifier(prio3, key, context, j, compiled=compiled) for j in range(prio3.shares)
        ]
        self.states: dict[int, BlockState] = {}
        self.accepted: dict[int, Mask] = {}
        self.holds = np.ones(len(vector["reports"]), np.bool_)

    def column(self, key: str, length: int, *at: int) -> Octets:
        values = [report[key] for report in self.vector["reports"]]
        for index in at:
            values = [value[index] for value in values]
        return rows([bytes.fromhex(value) for value in values], length)

    def verify_init(self, j: int) -> bool:
        public = self.column("nonce", 16), self.column("public_share", self.layout.public_bytes)
        mine = self.column("input_shares", self.layout.input_bytes(j), j)
        self.states[j], shares = self.servers[j].init(*public, mine)
        assert (shares == self.column("verifier_shares", self.layout.verifier_bytes, 0, j)).all()
        return bool(self.states[j].good.all())

    def verifier_shares_to_message(self, _j: int) -> bool:
        every = range(self.prio3.shares)
        shares = [self.column("verifier_shares", self.layout.verifier_bytes, 0, j) for j in every]
        messages, self.holds = self.servers[0].combine(shares)
        if self.holds.all():
            assert (messages == self.column("verifier_messages", self.layout.blind_bytes, 0)).all()
        return bool(self.holds.all())

    def verify_next(self, j: int) -> bool:
        messages = self.column("verifier_messages", self.layout.blind_bytes, 0)
        self.accepted[j] = self.servers[j].finish(self.states[j], messages, self.holds)
        return bool(self.accepted[j].all())

    def aggregate(self, j: int) -> bool:
        share = self.servers[j].aggregate(self.states[j], self.accepted[j])
        assert share.hex() == self.vector["agg_shares"][j]
        return True


BATCHED = [name for name in names() if "HigherDegree" not in name]
BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])


@BOTH
@pytest.mark.parametrize("name", BATCHED)
def test_a_block_of_reports_does_what_the_vector_says(name: str, compiled: bool) -> None:
    vector = named(name)
    replay = BlockReplay(instance(name, vector), vector, compiled)
    order = ["verify_init", "verifier_shares_to_message", "verify_next", "aggregate"]
    steps = {
        (order.index(step["operation"]), step.get("aggregator_id", 0)): step["success"]
        for step in vector["operations"]
        if step["operation"] in order
    }
    for (operation, server), success in sorted(steps.items()):
        assert getattr(replay, order[operation])(server) == success


@EVERY_WAY
@pytest.mark.parametrize("name", BATCHED)
def test_a_block_of_measurements_is_sharded_as_the_vector_says(name: str, way: Way) -> None:
    vector = named(name)
    steps = [step for step in vector["operations"] if step["operation"] == "shard" and step["success"]]
    sharded = {step.get("report_index", 0) for step in steps}
    prio3, reports = instance(name, vector), [vector["reports"][i] for i in sorted(sharded)]
    coins = [
        rows([bytes.fromhex(report[key]) for report in reports], length)
        for key, length in (("nonce", 16), ("rand", prio3.rand_bytes))
    ]
    sharder = BlockSharder(prio3, bytes.fromhex(vector["ctx"]), **way)
    public, inputs = sharder.shard([report["measurement"] for report in reports], *coins)
    assert [row.tobytes().hex() for row in public] == [report["public_share"] for report in reports]
    for j, matrix in enumerate(inputs):
        assert [row.tobytes().hex() for row in matrix] == [report["input_shares"][j] for report in reports]


def test_where_there_are_published_vectors_they_are_of_every_kind() -> None:
    kinds = {name.partition("_")[0] for name in published()}
    needed = {"Prio3Count", "Prio3Sum", "Prio3SumVec", "Prio3Histogram", "Prio3MultihotCountVec"}
    assert kinds >= needed or (not kinds and VARIABLE not in os.environ)
    assert not kinds or any("_bad_" in name for name in published())


def test_a_run_says_which_vectors_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "17 of our own (9 that must fail)" in which()
    monkeypatch.setattr(prio3_vectors, "published", dict)
    assert "the published ones are not at hand" in which()


def test_own_vectors_are_those_that_were_once_checked() -> None:
    """Pinned when the naive sharding reproduced the first report of each good published vector, long ones too."""
    canonical = json.dumps(own(), sort_keys=True).encode()
    assert hashlib.sha256(canonical).hexdigest() == PINNED


def naive_for(name: str, vector: dict[str, Any]) -> Naive:
    names = ["length", "max_measurement", "max_weight", "chunk_length"]
    return Naive(
        name.partition("_")[0][5:], vector["shares"], **{key: vector[key] for key in names if key in vector}
    )


def test_the_naive_implementation_reproduces_the_published_reports() -> None:
    """The first report of each good vector; not of the long ones, which take ten seconds."""
    vectors = {name: vector for name, vector in published().items() if vector["agg_result"] is not None}
    for name in [name for name in vectors if "HigherDegree" not in name and "Multiproof" not in name]:
        vector, naive = vectors[name], naive_for(name, vectors[name])
        if naive.meas_len > LONGEST_FOR_NAIVE:
            continue
        report = vector["reports"][0]
        coins = bytes.fromhex(report["nonce"]), bytes.fromhex(report["rand"])
        public, inputs = naive.shard(bytes.fromhex(vector["ctx"]), report["measurement"], *coins)
        assert (public.hex(), [share.hex() for share in inputs]) == (
            report["public_share"],
            report["input_shares"],
        )


def test_the_xof_gives_the_published_seed_and_elements() -> None:
    """Where the published file is missing, the naive implementation says what must come out."""
    seed, tag, binder = bytes(range(32)), b"domain separation tag", b"binder string"
    stream = naive_prio3.xof(seed, tag, binder, 40 * 16)
    path = published_directory() / "XofTurboShake128.json"
    if path.exists():
        vector = json.loads(path.read_text())
        seed, tag, binder = (bytes.fromhex(vector[key]) for key in ("seed", "dst", "binder"))
        assert vector["derived_seed"] == stream[:32].hex()
        stream = bytes.fromhex(vector["expanded_vec_field128"])
    assert library_xof.derive_seed(seed, tag, binder) == stream[:32]
    assert FIELD128.pack(library_xof.expand(FIELD128, seed, tag, binder, 40)) == stream
