"""A block of measurements into reports: `Prio3.shard`, byte for byte, for many measurements at once.

For whoever makes the reports of many people: a party with many records, or a simulation.  Like verification it runs on
compiled code where that is installed, and on numpy otherwise (see `engine`).  A numpy call costs about the same for one
report as for a hundred, so that a few reports are made faster one by one, by `Prio3` itself.  None of these makes a claim
of constant time.

Checked against the reference, for every circuit and 2, 3 and 5 servers, in tests/unit/sharing/prio3/test_sharding.py.
"""

from typing import Protocol

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch.encoding import Digits, Measurements, digits_of
from localdp.sharing.prio3.batch.engine import use_compiled
from localdp.sharing.prio3.batch.verification import require_shape, rows
from localdp.sharing.prio3.batch.words import Octets
from localdp.sharing.prio3.derivations import Prio3Task
from localdp.sharing.prio3.prio3 import NONCE_BYTES, Prio3

Reports = tuple[Octets, list[Octets]]  # Public shares, and the input shares for each server.


class Sharding(Protocol):
    """The steps of a client on matrices whose shapes have been checked."""

    def shard(self, digits: Digits, nonces: Octets, randomness: Octets) -> Reports:
        """Public shares, and the input shares for each server."""
        ...


class OneByOne:
    """The steps of `Prio3` for each report of a block."""

    def __init__(self, prio3: Prio3, context: bytes) -> None:
        self._prio3, self._context = prio3, context

    def shard(self, digits: Digits, nonces: Octets, randomness: Octets) -> Reports:
        each = zip(digits.tolist(), nonces, randomness, strict=True)
        reports = [
            self._prio3.shard_encoded(self._context, encoded, nonce.tobytes(), coins.tobytes())
            for encoded, nonce, coins in each
        ]
        layout = self._prio3.layout
        public = rows([report.public_share for report in reports], layout.public_bytes)
        inputs = (
            rows([report.input_shares[server] for report in reports], layout.input_bytes(server))
            for server in range(self._prio3.shares)
        )
        return public.copy(), [matrix.copy() for matrix in inputs]  # Rows of bytes cannot be written to.


def _sharding_for(prio3: Prio3, context: bytes, compiled: bool | None, one_by_one: bool) -> Sharding:
    if one_by_one:
        return OneByOne(prio3, context)
    task = Prio3Task(prio3.circuit, prio3.shares, prio3.proofs, context)
    if use_compiled(prio3, compiled):
        from localdp.sharing.prio3.batch.compiled.sharding import CompiledSharding

        return CompiledSharding(prio3, task)
    from localdp.sharing.prio3.batch.numpy_sharding import NumpySharding

    return NumpySharding(prio3, task)


class BlockSharder:
    """Makes the reports of one task; `compiled` insists on compiled code or on doing without it.

    `one_by_one` is for few reports: without compiled code, and without numpy's.
    """

    def __init__(
        self, prio3: Prio3, context: bytes, *, compiled: bool | None = None, one_by_one: bool = False
    ) -> None:
        self._prio3 = prio3
        self._sharding = _sharding_for(prio3, context, compiled, one_by_one)

    def shard(self, measurements: Measurements, nonces: Octets, randomness: Octets) -> Reports:
        """The public shares and, for each server, the input shares.  Nonces and randomness must be fresh and uniform."""
        require_shape(nonces, len(nonces), NONCE_BYTES)
        require_shape(randomness, len(nonces), self._prio3.rand_bytes)
        digits = digits_of(self._prio3.circuit, measurements)
        if len(digits) != len(nonces):
            raise InvalidParameter("a block has one nonce for each measurement")
        return self._sharding.shard(digits, nonces, randomness)
