"""The reports: how many, how long, which coins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.cohorts import SEED_BYTES, Cohort, Split
from localdp.party.party import Request
from parties.contract.clause import Clause
from parties.contract.law_clauses import Share
from parties.contract.plan import ClausePlan
from parties.contract.subject import Broken, Subject, unpacked

_SPLIT = Split(b"contract".ljust(SEED_BYTES), 3, 1)


def repeated(subject: Subject, plan: ClausePlan) -> str:
    """The same request, twice."""
    for name in ("asked", "column", "near a quarter"):
        request = plan.requests[name]
        first, second = (subject.reports(request, plan.crowd) for _ in range(2))
        if not np.array_equal(first, second):
            raise Broken(f"{_changed(first, second)} of {len(first)} reports of {name!r} changed")
    return f"3 requests of {plan.crowd.size()} people, twice"


def parts(subject: Subject, plan: ClausePlan) -> str:
    """Some of the people of a request that was answered for all."""
    crowd = plan.crowd
    middle = crowd.stop // 2
    some = (
        Cohort(0, 1),
        Cohort(3, middle + 5),
        Cohort(middle, crowd.stop),
        Cohort(crowd.stop - 1, crowd.stop),
        Cohort(0, crowd.stop, _SPLIT),
        Cohort(7, middle, _SPLIT),
    )
    for name in ("asked", "column"):
        request = plan.requests[name]
        everybody = subject.reports(request, crowd)
        for cohort in some:
            _require_slice(subject, request, cohort, everybody)
    return f"2 requests, {len(some)} ranges and splits of each"


def _require_slice(
    subject: Subject, request: Request, cohort: Cohort, everybody: NDArray[np.generic]
) -> None:
    mine = subject.reports(request, cohort)
    theirs = everybody[cohort.selection()]
    if not np.array_equal(mine, theirs):
        people = f"{cohort.start} .. {cohort.stop - 1}" + (" of a split" if cohort.split else "")
        raise Broken(f"people {people}: {_changed(mine, theirs)} of {len(mine)} reports are not theirs")


def independent(subject: Subject, plan: ClausePlan) -> str:
    """Two requests agree as often as independent coins do: not always, not never."""
    bits = {
        name: subject.reports(plan.requests[name], plan.crowd) for name in ("true", "true again", "false")
    }
    keep = 1 - float(plan.requests["true"].randomizer.law(0)[1])
    same, other = keep**2 + (1 - keep) ** 2, 2 * keep * (1 - keep)
    agree = int(np.count_nonzero(bits["true"] == bits["true again"]))
    Share("agreement under two identifiers", agree, plan.crowd.size(), same).require()
    agree = int(np.count_nonzero(bits["true"] == bits["false"]))
    Share("agreement of two queries under one identifier", agree, plan.crowd.size(), other).require()
    flips = bits["true"][1:] == bits["true"][:-1]
    # Every second pair: pairs without a common person are independent.
    neighbours = np.count_nonzero(flips[::2])
    Share("agreement of neighbours", int(neighbours), len(flips[::2]), same).require()
    return "two identifiers, two queries, neighbours: as independent coins"


def lengths(subject: Subject, plan: ClausePlan) -> str:
    """Counts, lengths and padding, for numbers of people that fill no byte; the same for all values."""
    crowd = plan.crowd
    for stop in (1, 7, 8, 13, crowd.stop):
        for name in ("true", "false", "column", "near a quarter"):
            subject.reports(plan.requests[name], Cohort(0, stop))
        shapes = {name: _shape(subject, plan.requests[name], Cohort(0, stop)) for name in ("true", "false")}
        if shapes["true"] != shapes["false"]:
            raise Broken("the messages about `true` and about `false` differ in number or length")
    return "5 numbers of people, 4 requests"


def _shape(subject: Subject, request: Request, cohort: Cohort) -> list[tuple[int, int]]:
    reply = subject.ask(request, cohort)
    unpacked(request, cohort, reply)
    return [(part.reports, len(part.packed)) for part in reply.parts]


def _changed(one: NDArray[np.generic], other: NDArray[np.generic]) -> int:
    return int(np.count_nonzero(one != other))


CLAUSES = (
    Clause("C04", "the same request has the same reports, bit for bit", repeated),
    Clause("C05", "any part of a request's people has the same reports as in the whole", parts),
    Clause("C06", "different requests, and different people, have independent coins", independent),
    Clause("C07", "reports are as many and as long as the contract says, whatever the values", lengths),
)
