"""Prio3 once more: naive, slow, and written from the text of draft-irtf-cfrg-vdaf-20 without a line of the library.

It makes vectors in the schema of the published ones, for machines that do not have those.  Wherever the library is clever
this is not: Keccak goes lane by lane with tabulated constants, polynomials are interpolated by Lagrange's formula with
inversions, circuits run once through and record what goes into their gadget.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

P64 = 2**32 * 4294967295 + 1
P128 = 2**66 * 4611686018427387897 + 1
Gate = Callable[[list[int]], int]
RHO = [
    [0, 36, 3, 41, 18],
    [1, 44, 10, 45, 2],
    [62, 6, 43, 15, 61],
    [28, 55, 25, 21, 56],
    [27, 20, 39, 8, 14],
]
LAST_TWELVE = """000000008000808B 800000000000008B 8000000000008089 8000000000008003 8000000000008002 8000000000000080
000000000000800A 800000008000000A 8000000080008081 8000000000008080 0000000080000001 8000000080008008"""


def rotate(lane: int, by: int) -> int:
    return ((lane << by) | (lane >> (64 - by))) % 2**64


def keccak_p12(a: list[list[int]]) -> list[list[int]]:
    for constant in LAST_TWELVE.split():
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                b[y][(2 * x + 3 * y) % 5] = rotate(a[x][y] ^ d[x], RHO[x][y])
        a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
        a[0][0] ^= int(constant, 16)
    return a


def turboshake128(message: bytes, domain: int, size: int) -> bytes:
    data = message + bytes([domain])
    data += bytes(-len(data) % 168)
    data = data[:-1] + bytes([data[-1] ^ 0x80])
    state = [[0] * 5 for _ in range(5)]
    for start in range(0, len(data), 168):
        for i in range(21):
            state[i % 5][i // 5] ^= int.from_bytes(data[start + 8 * i :][:8], "little")
        state = keccak_p12(state)
    out = b""
    while len(out) < size:
        out += b"".join(state[i % 5][i // 5].to_bytes(8, "little") for i in range(21))
        state = keccak_p12(state)
    return out[:size]


def xof(seed: bytes, dst: bytes, binder: bytes, size: int) -> bytes:
    message = len(dst).to_bytes(2, "little") + dst + len(seed).to_bytes(1, "little") + seed + binder
    return turboshake128(message, 1, size)


def value_at(p: int, xs: list[int], ys: list[int], t: int) -> int:
    """Lagrange's formula."""
    total = 0
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        term = y
        for j, other in enumerate(xs):
            if i != j:
                term = term * (t - other) * pow(x - other, -1, p) % p
        total += term
    return total % p


@dataclass
class Naive:
    """One of the five variants, with the parameters of its vectors."""

    kind: str
    shares: int
    length: int = 1
    max_measurement: int = 1
    max_weight: int = 1
    chunk_length: int = 1

    def __post_init__(self) -> None:
        self.number = ["Count", "Sum", "SumVec", "Histogram", "MultihotCountVec"].index(self.kind) + 1
        self.p, self.width = (P64, 8) if self.number <= 2 else (P128, 16)
        bits = self.max_measurement.bit_length()
        self.meas_len = [
            0,
            1,
            bits,
            self.length * bits,
            self.length,
            self.length + self.max_weight.bit_length(),
        ][self.number]
        self.joint_len = 0 if self.number <= 2 else -(-self.meas_len // self.chunk_length)
        self.arity = {1: 2, 2: 1}.get(self.number, 2 * self.chunk_length)
        self.calls = {1: 1, 2: bits}.get(self.number, self.joint_len)
        self.eval_len = {1: 1, 2: bits, 3: 1}.get(self.number, 2)
        self.wire_len = 2
        while self.wire_len < self.calls + 1:
            self.wire_len *= 2
        self.poly_len = 2 * (self.wire_len - 1) + 1
        self.proof_len = self.arity + self.poly_len
        self.query_len = 1 + (self.eval_len if self.eval_len > 1 else 0)

    def points(self, n: int) -> list[int]:
        order = 2**32 if self.p == P64 else 2**66
        w = pow(7, (self.p - 1) // order * (order // n), self.p)
        return [pow(w, i, self.p) for i in range(n)]

    # Encoding and circuits.

    def encode_int(self, value: int, largest: int) -> list[int]:
        bits = largest.bit_length()
        rest_max = 2 ** (bits - 1) - 1
        last_weight = largest - rest_max
        rest, last = (value, 0) if value <= rest_max else (value - last_weight, 1)
        return [rest // 2**i % 2 for i in range(bits - 1)] + [last]

    def decode_int(self, digits: list[int], largest: int) -> int:
        bits = largest.bit_length()
        last_weight = largest - ((1 << (bits - 1)) - 1)
        return (
            sum((1 << i) * digits[i] for i in range(bits - 1)) + last_weight * digits[bits - 1]
        ) % self.p

    def encode(self, m: Any) -> list[int]:
        if self.kind == "Count":
            return [m]
        if self.kind == "Sum":
            return self.encode_int(m, self.max_measurement)
        if self.kind == "SumVec":
            return [digit for value in m for digit in self.encode_int(value, self.max_measurement)]
        if self.kind == "Histogram":
            return [1 if i == m else 0 for i in range(self.length)]
        return [int(x) for x in m] + self.encode_int(sum(m), self.max_weight)

    def truncate(self, meas: list[int]) -> list[int]:
        if self.kind == "Sum":
            return [self.decode_int(meas, self.max_measurement)]
        if self.kind == "SumVec":
            bits = self.max_measurement.bit_length()
            return [
                self.decode_int(meas[i * bits : (i + 1) * bits], self.max_measurement)
                for i in range(self.length)
            ]
        return meas[: self.length]

    def gadget(self, inputs: list[int]) -> int:
        if self.kind == "Sum":
            return (inputs[0] ** 2 - inputs[0]) % self.p
        return sum(inputs[2 * i] * inputs[2 * i + 1] for i in range(self.arity // 2)) % self.p

    def evaluate(self, meas: list[int], joint: list[int], num_shares: int, gate: Gate) -> list[int]:
        if self.kind == "Count":
            return [(gate([meas[0], meas[0]]) - meas[0]) % self.p]
        if self.kind == "Sum":
            return [gate([b]) for b in meas]
        inv = pow(num_shares, -1, self.p)
        range_check = 0
        for i in range(self.calls):
            inputs = []
            for j in range(self.chunk_length):
                index = i * self.chunk_length + j
                elem = meas[index] if index < len(meas) else 0
                inputs += [pow(joint[i], j + 1, self.p) * elem % self.p, (elem - inv) % self.p]
            range_check += gate(inputs)
        if self.kind == "SumVec":
            return [range_check % self.p]
        if self.kind == "Histogram":
            return [range_check % self.p, (sum(meas) - inv) % self.p]
        weight = self.decode_int(meas[self.length :], self.max_weight)
        return [range_check % self.p, (sum(meas[: self.length]) - weight) % self.p]

    # The proof system.

    def run(self, meas: list[int], joint: list[int], shares: int, seeds: list[int], answer: Any) -> Any:
        """The circuit's output and the values of the wires that it recorded; `answer(k, inputs)` is the gadget."""
        wires = [[seed] + [0] * (self.wire_len - 1) for seed in seeds]
        calls = 0

        def gate(inputs: list[int]) -> int:
            nonlocal calls
            calls += 1
            for wire, value in zip(wires, inputs, strict=True):
                wire[calls] = value
            return int(answer(calls, inputs))

        return self.evaluate(meas, joint, shares, gate), wires

    def prove(self, meas: list[int], prove_rand: list[int], joint: list[int]) -> list[int]:
        _, wires = self.run(meas, joint, 1, prove_rand, lambda _, inputs: self.gadget(inputs))
        xs = self.points(self.wire_len)
        fine = self.points(2 * self.wire_len)[: self.poly_len]
        return prove_rand + [self.gadget([value_at(self.p, xs, wire, x) for wire in wires]) for x in fine]

    def query(
        self, meas: list[int], proof: list[int], query_rand: list[int], joint: list[int]
    ) -> list[int]:
        seeds, poly = proof[: self.arity], proof[self.arity :]
        out, wires = self.run(meas, joint, self.shares, seeds, lambda k, _: poly[2 * k])
        v = out[0]
        if self.eval_len > 1:
            v = sum(r * o for r, o in zip(query_rand, out, strict=False)) % self.p
        t = query_rand[-1]
        xs, fine = self.points(self.wire_len), self.points(2 * self.wire_len)[: self.poly_len]
        return [v, *(value_at(self.p, xs, wire, t) for wire in wires), value_at(self.p, fine, poly, t)]

    def decide(self, verifier: list[int]) -> bool:
        return verifier[0] == 0 and self.gadget(verifier[1:-1]) == verifier[-1]

    # Prio3.

    def dst(self, usage: int, ctx: bytes) -> bytes:
        return bytes([18, 0]) + self.number.to_bytes(4, "big") + usage.to_bytes(2, "big") + ctx

    def vector(self, seed: bytes, dst: bytes, binder: bytes, count: int) -> list[int]:
        stream = xof(seed, dst, binder, self.width * (count + 3))  # Three rejections happen to nobody.
        words = [int.from_bytes(stream[i * self.width :][: self.width], "little") for i in range(count + 3)]
        return [word for word in words if word < self.p][:count]

    def pack(self, vector: list[int]) -> bytes:
        return b"".join(x.to_bytes(self.width, "little") for x in vector)

    def part(self, ctx: bytes, agg: int, blind: bytes, meas: list[int], nonce: bytes) -> bytes:
        return xof(blind, self.dst(7, ctx), bytes([agg]) + nonce + self.pack(meas), 32)

    def joint_seed(self, ctx: bytes, parts: list[bytes]) -> bytes:
        return xof(bytes(32), self.dst(6, ctx), b"".join(parts), 32)

    def joint_rand(self, ctx: bytes, seed: bytes) -> list[int]:
        return self.vector(seed, self.dst(3, ctx), b"\1", self.joint_len)

    def helper(self, ctx: bytes, agg: int, seed: bytes) -> tuple[list[int], list[int]]:
        meas = self.vector(seed, self.dst(1, ctx), bytes([agg]), self.meas_len)
        return meas, self.vector(seed, self.dst(2, ctx), bytes([1, agg]), self.proof_len)

    def shard(self, ctx: bytes, measurement: Any, nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        seeds = [rand[i : i + 32] for i in range(0, len(rand), 32)]
        helpers = seeds[: self.shares - 1]
        blinds = [b""] * self.shares
        if self.joint_len:
            helpers = seeds[: 2 * (self.shares - 1) : 2]
            blinds = [seeds[-2], *seeds[1 : 2 * (self.shares - 1) : 2]]
        meas = self.encode(measurement)
        shares = [self.helper(ctx, j + 1, seed) for j, seed in enumerate(helpers)]
        leader = [(x - sum(s[0][i] for s in shares)) % self.p for i, x in enumerate(meas)]
        parts, joint = list[bytes](), list[int]()
        if self.joint_len:
            every = [leader, *(s[0] for s in shares)]
            parts = [self.part(ctx, j, blinds[j], every[j], nonce) for j in range(self.shares)]
            joint = self.joint_rand(ctx, self.joint_seed(ctx, parts))
        proof = self.prove(meas, self.vector(seeds[-1], self.dst(4, ctx), b"\1", self.arity), joint)
        leader_proof = [(x - sum(s[1][i] for s in shares)) % self.p for i, x in enumerate(proof)]
        inputs = [self.pack(leader + leader_proof), *helpers]
        return b"".join(parts), [share + blind for share, blind in zip(inputs, blinds, strict=True)]

    def verify_init(
        self, key: bytes, ctx: bytes, agg: int, nonce: bytes, public: bytes, share: bytes
    ) -> tuple[list[int], bytes, list[int], bytes]:
        """Output share, corrected joint seed, verifier share and its joint randomness part."""
        inner, blind = (share[:-32], share[-32:]) if self.joint_len else (share, b"")
        if agg == 0:
            flat = [
                int.from_bytes(inner[i : i + self.width], "little")
                for i in range(0, len(inner), self.width)
            ]
            meas, proof = flat[: self.meas_len], flat[self.meas_len :]
        else:
            meas, proof = self.helper(ctx, agg, inner)
        joint, seed, part = list[int](), b"", b""
        if self.joint_len:
            part = self.part(ctx, agg, blind, meas, nonce)
            parts = [public[i : i + 32] for i in range(0, len(public), 32)]
            parts[agg] = part
            seed = self.joint_seed(ctx, parts)
            joint = self.joint_rand(ctx, seed)
        query_rand = self.vector(key, self.dst(5, ctx), b"\1" + nonce, self.query_len)
        return self.truncate(meas), seed, self.query(meas, proof, query_rand, joint), part
