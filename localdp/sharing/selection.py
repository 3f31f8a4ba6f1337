"""A selection from the sums of a collection: how they become scores, of which one is told to be nearly the largest.

| rule | scores |
|---|---|
| largest | the sums, or with weights: one weighted sum of all entries for each candidate |
| furthest | how far each of these is from its offset, up or down |
| quantile | of a histogram: minus how many people lie between a value and the rank that is the offset |

What a server computes by itself is linear (`shares_of_scores`): weighted sums, sums of the first j entries, offsets.
What is not, the distance and the lesser of two, happens on shares (`localdp.computing.shared_scores`).

Claim.  `sensitivity` bounds how far replacing one record moves any score, and is read off the encoding and the weights;
nobody's word is taken for it.  `require_fitting` refuses what could leave the range in which scores are compared.
Checked in tests/unit/sharing/test_selection.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.framing import digest
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3.fields import PrimeField

SelectionRule: TypeAlias = Literal["largest", "furthest", "quantile"]
MOST_CANDIDATES = 1 << 16
LARGEST_WEIGHT = 1 << 16
# What is added to a score before it is compared, so that it is a number of 31 bits.
SHIFTS: dict[SelectionRule, int] = {"largest": 1 << 29, "furthest": 1 << 30, "quantile": 1 << 30}
_RANGE = 1 << 31
_LIMB_BITS = 16
_WEIGHTS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Selection:
    """Which candidate is told."""

    rule: SelectionRule
    candidates: int
    offsets: tuple[int, ...] = ()  # furthest: one for each candidate; quantile: the rank
    weights: bytes = (
        b""  # rows of weights on the entries: bits, or four bytes each; none: each entry is a candidate
    )

    def __post_init__(self) -> None:
        if self.rule not in get_args(SelectionRule):
            raise InvalidParameter("the rule of a selection is largest, furthest or quantile")
        if not 1 <= self.candidates <= MOST_CANDIDATES:
            raise InvalidParameter(f"there are 1 to {MOST_CANDIDATES:,} candidates")
        offsets = {"largest": 0, "furthest": self.candidates, "quantile": 1}[self.rule]
        if len(self.offsets) != offsets or any(abs(offset) >= _RANGE for offset in self.offsets):
            raise InvalidParameter("a selection has an offset for each candidate, or one rank, or none")

    @classmethod
    def packed_weights(cls, rows: NDArray[np.int64]) -> bytes:
        """Rows of weights as they are sent and named: bits where all are 0 or 1."""
        if int(rows.max(initial=0)) <= 1:
            return np.packbits(rows.astype(np.uint8)).tobytes()
        return rows.astype("<u4").tobytes()

    def rows(self, length: int) -> NDArray[np.unsignedinteger] | None:
        """The rows of weights on so many entries, if there are any; not in wider numbers than they come in."""
        if not self.weights:
            return None
        size = self.candidates * length
        if len(self.weights) == -(-size // 8):
            numbers: NDArray[np.unsignedinteger] = np.unpackbits(
                np.frombuffer(self.weights, np.uint8), count=size
            )
        elif len(self.weights) == 4 * size:
            numbers = np.frombuffer(self.weights, "<u4")
        else:
            raise InvalidParameter("there is a weight of each entry for each candidate")
        if int(numbers.max()) > LARGEST_WEIGHT:
            raise InvalidParameter(f"weights are whole numbers up to {LARGEST_WEIGHT:,}")
        return numbers.reshape(self.candidates, length)

    @property
    def digest(self) -> bytes:
        """Names all of it."""
        offsets = " ".join(map(str, self.offsets))
        return digest(
            b"selection", self.rule.encode(), b"%d" % self.candidates, offsets.encode(), self.weights
        )

    def sensitivity(self, encoding: Encoding) -> int:
        """How far replacing one record moves a score at most."""
        rows = self.rows(encoding.length)
        if rows is None:
            return encoding.bound
        return max(1, int((rows.max(axis=1) - rows.min(axis=1)).max()))

    def require_fitting(self, encoding: Encoding, people: int) -> None:
        """Refuse candidates that are not of these sums, and scores that could leave the range of comparisons."""
        rows = self.rows(encoding.length)
        if (rows is not None or self.rule == "quantile") and encoding.kind != "histogram":
            raise InvalidParameter("weights and quantiles are of the values of one category")
        if (rows is None and self.candidates != encoding.length) or (
            rows is not None and self.rule == "quantile"
        ):
            raise InvalidParameter("without weights each entry is a candidate, and of a quantile always")
        most = people * (encoding.bound if rows is None else int(rows.max()))
        room, shift = _RANGE - SHIFTS[self.rule], SHIFTS[self.rule]
        if not all(most - offset < room and offset <= shift for offset in self.offsets or (0,)):
            raise InvalidParameter(
                f"a selection on shares compares numbers below {room:,}, and {people:,} people could add up to {most:,}:"
                " ask fewer people, or about conditions instead of numbers"
            )

    def shares_of_scores(self, field: PrimeField, sums: Sequence[int], *, first: bool) -> list[int]:
        """One server's shares of what is compared, from its shares of the sums; the first server adds what is public.

        Of a quantile these are the sums of the first 0, 1, ... entries, less the rank: one more than there are candidates.
        """
        p, rows = field.modulus, self.rows(len(sums))
        if self.rule == "quantile":
            shares, total = [0], 0
            for share in sums:
                total = (total + share) % p
                shares.append(total)
        else:
            shares = list(sums) if rows is None else _weighted(field, rows, sums)
        if not first or not self.offsets:
            return shares
        offsets = self.offsets * len(shares) if self.rule == "quantile" else self.offsets
        return [(share - offset) % p for share, offset in zip(shares, offsets, strict=True)]


def _weighted(field: PrimeField, rows: NDArray[np.unsignedinteger], sums: Sequence[int]) -> list[int]:
    """Rows times sums: limb by limb, so that whole columns are added up in machine words; some rows at a time."""
    limbs = np.frombuffer(field.pack(list(sums)), "<u2").reshape(len(sums), -1).astype(np.int64)
    many = max(1, _WEIGHTS_AT_ONCE // len(sums))
    starts = range(0, len(rows), many)
    parts = [
        part for start in starts for part in (rows[start : start + many].astype(np.int64) @ limbs).tolist()
    ]
    return [
        sum(part << _LIMB_BITS * place for place, part in enumerate(row)) % field.modulus for row in parts
    ]
