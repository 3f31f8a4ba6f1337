"""Parties that lie: what a cheater can send under each trust model, and what may come of it.

| cheat | exact, curator | local, shuffled | shared, additive | shared, prio3 |
|---|---|---|---|---|
| inputs | hands in false records | randomizes a false answer | shares a false answer | the same, with a good proof |
| reports | the same | the report that debiases highest | a value out of range, which nobody notices | the same, rejected |

A false record is one whose answer to the query is the largest that is found (`loud_record`), and everybody at a cheating
party is said to have it.  What is largest: a number itself, the last value of a category, the sum of a vector's entries,
all parities positive.  Where there is no single query every column is at its largest value.

Claim.  With m of n people at cheating parties a mean of values in [0, 1] moves by at most m / n where cheaters can only
choose an input; by at most m C / n, C = (e^epsilon + 1) / (e^epsilon - 1), where they choose a one-bit report, because a
debiased report is one of two numbers that are C apart; and by anything where nothing is proved.
Checked in tests/unit/experiments/test_cheating.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, cast, get_args

import numpy as np

from localdp.cohorts import Asked, Cohort
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.domains.columns import ColumnArray
from localdp.domains.dealing import joined
from localdp.errors import InvalidParameter
from localdp.oracles.models import model_named
from localdp.party.party import Draw, Party, Request, Shares
from localdp.queries.encoded import Query, encoded
from localdp.randomizers.definition import Estimate, Frequencies, Reports, TalliedRandomizer, Values
from localdp.randomizers.marginals import MarginalEstimates
from localdp.randomness.keys import derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import Integers, Numbers
from localdp.sharing import field
from localdp.sharing.blocks import Rows, ShareBlock
from localdp.sharing.collection import Collection

Cheat = Literal["inputs", "reports"]
CHEATS: tuple[Cheat, ...] = get_args(Cheat)
OUT_OF_RANGE = 1000  # times the largest value
_TRIED = 64  # reports, of which the loudest is sent
_SEARCHED = 4096  # records, of which the loudest is copied
_MOVED_BYTE, _MOVED_BIT = 1, 4  # 2**10 in the little-endian element that comes first in a leader's share


def loud_record(records: Records, query: Query | None = None) -> Records:
    """One record: the one with the largest answer among people's and two extreme ones, or the upper one of these."""
    schema = records.schema
    extremes = {name: _ends(schema, name) for name in schema.names}
    ends = Records.from_columns(schema, extremes)
    if query is None:
        return ends.slice(0, 1)
    some = records.slice(0, min(records.people, _SEARCHED))
    tried = joined([ends, some])
    return tried.take([int(np.argmax(_loudness(query, tried)))])


def all_alike(record: Records, people: int) -> Records:
    """So many people with one record."""
    return record.take(np.zeros(people, np.int64))


def _ends(schema: Schema, name: str) -> ColumnArray:
    """The largest and the smallest value of a column, as they are stored."""
    match schema[name]:
        case BitDomain():
            return np.array([True, False])
        case CategoryDomain(labels):
            return np.array([len(labels) - 1, 0])
        case IntegerDomain(low, high) | RealDomain(low, high):
            return np.array([high, low])
    raise InvalidParameter("a column of this kind has no largest value")


def _loudness(query: Query, records: Records) -> Numbers:
    if query.kind == "category":
        return np.asarray(query.evaluate(records))
    entries: Integers = encoded(query, records).sum(axis=1)
    return -entries if query.kind == "parities" else entries


class CheatingParty(Party):
    """Charges its people as ever, and sends what suits it: reports and shares of nobody's answer.

    Its records should be false ones, `all_alike`: they say in which direction it pushes.
    """

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        """The report that debiases highest, from everybody."""
        honest = super().charged(request, cohort, caller)
        question = request.question(self.records.schema)
        report = loudest_report(request.randomizer, question.inputs(self.records.slice(0, 1)))
        return replace(honest, made=lambda part, values: np.repeat(report, part.size(), axis=0))

    def shared(self, collection: Collection, cohort: Cohort, caller: str = "") -> Shares:
        """Shares of a value out of range; with proofs, of another value than the proof is about."""
        shares = super().shared(collection, cohort, caller)
        spoil = _spoiled if collection.tier == "prio3" else _enlarged

        def cheating(part: Asked, values: Values) -> list[ShareBlock]:
            first, *others = shares.made(part, values)
            return [replace(first, rows=spoil(first.rows, collection)), *others]

        return replace(shares, made=cheating)


def _enlarged(rows: Rows, collection: Collection) -> Rows:
    """The first server's shares, with so much added that every entry is far out of range."""
    more = (OUT_OF_RANGE - 1) * collection.encoding.bound
    elements = np.ascontiguousarray(rows.inputs).view("<u8").astype(np.uint64, copy=False)
    moved = field.subtract(elements, np.full_like(elements, field.PRIME - more))
    return Rows(rows.public, moved.astype("<u8", copy=False).view(np.uint8))


def _spoiled(rows: Rows, _: Collection) -> Rows:
    """The leader's shares, with the first element moved by 1024, up or down: the proof is about the value before."""
    inputs = rows.inputs.copy()
    inputs[:, _MOVED_BYTE] ^= _MOVED_BIT
    return Rows(rows.public, inputs)


def loudest_report(randomizer: Any, value: Values) -> Reports:
    """Of reports that there are, the one that debiases furthest towards a value, alone in an array; the value is, too.

    The best of `_TRIED` draws at that value: of a bit, a category or a subset that is the best there is, but for a chance
    of at most 2**-64; of a vector it is near it.  The coins are public: a cheater has nothing to hide.
    """
    if not isinstance(randomizer, TalliedRandomizer) or not hasattr(randomizer, "estimate"):
        raise InvalidParameter("cheating with reports needs a randomizer whose reports are summed up")
    return _loudest(cast(Hashable, randomizer), value.dtype.str, value.shape, value.tobytes())


@lru_cache(maxsize=256)
def _loudest(randomizer: Any, dtype: str, shape: tuple[int, ...], value: bytes) -> Reports:
    wanted: Values = np.frombuffer(value, dtype).reshape(shape)
    coins = KeystreamSource(derive_key(b"the loudest report", randomizer.canonical.encode()))
    tried: Reports = randomizer.randomize(np.repeat(wanted, _TRIED, axis=0), coins)
    pushes = [_push(randomizer, tried[one : one + 1], wanted[0]) for one in range(_TRIED)]
    best = int(np.argmax(pushes))
    return tried[best : best + 1]


def _push(randomizer: TalliedRandomizer, report: Reports, wanted: Any) -> float:
    """What a single report estimates, in the direction of the value."""
    estimate: Any = cast(Any, randomizer).estimate(randomizer.tally(report))
    match estimate:
        case Estimate():
            return estimate.value
        case Frequencies():
            vector = np.ndim(wanted) == 1
            return float(estimate.values @ wanted) if vector else float(estimate.values[int(wanted)])
        case MarginalEstimates():
            return float(estimate.parities.sum())
    raise InvalidParameter("it is not known how to cheat with reports of this randomizer")


_OF_TIER = {
    "additive": "A cheater can share a value out of its range: one report can move the sum by anything, and nobody "
    "notices.",
    "prio3": "A cheater can lie about its own answer, within its range: m of n people move a mean by at most m/n. "
    "Anything else is rejected, and counted.",
}


def cheating_in_words(model: str, tier: str) -> str:
    """What a cheating party can do under a trust model."""
    return model_named(model).cheaters or _OF_TIER[tier]
