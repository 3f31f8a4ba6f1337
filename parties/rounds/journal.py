"""The journal of rounds: a plan before anybody is asked, each tally as it comes in, and the end.

A round is open from its plan to its end.  While it is open, whoever has no tally may be asked again, under the one
request identifier of the round: a party that charged for it already replays its report at no charge.  A round ends once,
and takes no tally after that; its answer is a function of what stands here.

Checked in tests/unit/parties/rounds/test_rounds_journal.py and tests/fault/test_round_faults.py.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import astuple
from fractions import Fraction

import numpy as np
from google.protobuf.message import DecodeError

from localdp.errors import InvalidParameter, LocalDpError, StorageFailed
from localdp.randomizers.definition import Tally
from parties import codec
from parties.rounds.plan import Headcount, Part, Quorum, RoundPlan
from parties.rounds.storage import Storage, storage_errors
from parties.wire.v1 import cohort_pb2, oracle_pb2

Missing = Mapping[str, Headcount]  # by reason
NOT_IN_TIME = "deadline_missed"


class Journal:
    """Rounds, in the coordinator's storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(self, plan: RoundPlan) -> None:
        """Write the plan; when this returns, it is on disk."""
        request, quorum = codec.request_to_wire(plan.request, plan.cohort), plan.quorum
        round_id = plan.round_id
        with self._storage.transaction() as file:
            file.execute(
                "INSERT INTO rounds (round_id, request, query, randomizer, schema_digest, quorum)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    round_id,
                    request.SerializeToString(deterministic=True),
                    plan.request.query,
                    plan.request.randomizer.canonical,
                    plan.schema_digest,
                    json.dumps([str(quorum.fraction), quorum.of]),
                ),
            )
            file.executemany(
                "INSERT INTO asked (round_id, party, address, cohort, people, place) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (round_id, part.party, part.address, _cohort_bytes(part), part.people, place)
                    for place, part in enumerate(plan.parts)
                ),
            )

    def plan(self, round_id: str) -> RoundPlan:
        """The plan of a round, rebuilt and checked."""
        with storage_errors():
            row = self._storage.file.execute(
                "SELECT request, schema_digest, quorum FROM rounds WHERE round_id = ?", (round_id,)
            ).fetchone()
            asked = self._storage.file.execute(
                "SELECT party, address, cohort, people FROM asked WHERE round_id = ? ORDER BY place",
                (round_id,),
            ).fetchall()
        if row is None:
            raise InvalidParameter(f"the journal has no round {round_id!s:.40}")
        return _plan(round_id, row, asked)

    def record(self, round_id: str, tallies: Iterable[tuple[str, Tally]]) -> None:
        """Keep what parties answered, once each; nothing is added to a round that has ended."""
        with self._storage.transaction() as file:
            file.executemany(
                "INSERT INTO tallies (round_id, party, reports, sums)"
                " SELECT round_id, ?, ?, ? FROM rounds WHERE round_id = ? AND missing IS NULL"
                " ON CONFLICT DO NOTHING",
                [
                    (party, tally.reports, tally.sums.astype("<i8").tobytes(), round_id)
                    for party, tally in tallies
                ],
            )

    def tallies(self, plan: RoundPlan) -> dict[str, Tally]:
        """What has been answered so far, by party."""
        with storage_errors():
            rows = self._storage.file.execute(
                "SELECT party, reports, sums FROM tallies WHERE round_id = ?", (plan.round_id,)
            ).fetchall()
        randomizer = plan.randomizer
        shape = randomizer.tally(randomizer.unpack(b"", 0)).sums.shape  # some sum up tables
        return {
            party: Tally(randomizer, reports, np.frombuffer(sums, "<i8").astype(np.int64).reshape(shape))
            for party, reports, sums in rows
        }

    def close(self, plan: RoundPlan, reasons: Mapping[str, str]) -> None:
        """End a round; one that has ended, here or by another coordinator, stays as it is.

        `reasons` says of each party why it did not answer; what is kept is how many there are of each.
        """
        with self._storage.transaction() as file:
            missing = missing_by_reason(plan, self.tallies(plan), reasons)
            data = {reason: astuple(count) for reason, count in missing.items()}
            file.execute(
                "UPDATE rounds SET missing = ? WHERE round_id = ? AND missing IS NULL",
                (json.dumps(data), plan.round_id),
            )

    def ended(self, plan: RoundPlan) -> Missing | None:
        """Who was missing at the end of a round; None while it is open."""
        with storage_errors():
            row = self._storage.file.execute(
                "SELECT missing FROM rounds WHERE round_id = ?", (plan.round_id,)
            ).fetchone()
        if row is None or row[0] is None:
            return None
        return {reason: Headcount(*counts) for reason, counts in json.loads(row[0]).items()}

    def unfinished(self) -> list[RoundPlan]:
        """The open rounds, oldest first."""
        with storage_errors():
            rows = self._storage.file.execute(
                "SELECT round_id FROM rounds WHERE missing IS NULL ORDER BY number"
            ).fetchall()
        return [self.plan(round_id) for (round_id,) in rows]


def missing_by_reason(plan: RoundPlan, answered: Container[str], reasons: Mapping[str, str]) -> Missing:
    """Everybody in the plan who has not answered, counted by reason."""
    missing: dict[str, Headcount] = {}
    for part in plan.parts:
        if part.party not in answered:
            why = reasons.get(part.party, NOT_IN_TIME)
            missing[why] = missing.get(why, Headcount()) + part.headcount
    return dict(sorted(missing.items()))


def _cohort_bytes(part: Part) -> bytes:
    return codec.cohort_to_wire(part.cohort).SerializeToString(deterministic=True)


def _plan(
    round_id: str, row: tuple[bytes, bytes, str], asked: list[tuple[str, str, bytes, int]]
) -> RoundPlan:
    try:
        request, cohort = codec.request_from_wire(oracle_pb2.RandomizeRequest.FromString(row[0]))
        fraction, of = json.loads(row[2])
        parts = tuple(
            Part(party, address, codec.cohort_from_wire(cohort_pb2.Cohort.FromString(part)), people)
            for party, address, part, people in asked
        )
        return RoundPlan(request, cohort, Quorum(Fraction(fraction), of), row[1], parts)
    except (LocalDpError, DecodeError, ValueError) as error:
        raise StorageFailed(f"round {round_id} of the journal cannot be read") from error
