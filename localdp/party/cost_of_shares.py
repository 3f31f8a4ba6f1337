"""What shares cost: an answer encoded, split among the servers, with a proof in the tier that has proofs.

Proofs are made in one of three ways (`localdp.sharing.prio3_tier`): by compiled code, on arrays for many reports at once,
or each alone, which is the fastest for few of them where nothing is compiled.  Which of them is a fact of the machine and
of the number of people, and not of records.

Checked in tests/unit/party/test_cost.py.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from localdp.party.cost import Work
from localdp.sharing.collection import Collection
from localdp.sharing.prio3_tier import Prio3Tier
from localdp.sharing.tiers import report_bytes

_ENCODED_SECONDS = 4e-9  # of an entry
_ADDITIVE_BYTE_SECONDS = 0.2e-9  # for each server but the first
_MESSAGE_BYTE_SECONDS = 0.15e-9
_SEALED_SECONDS = 0.5e-3  # of a message to one server
_SEALED_BYTE_SECONDS = 2e-9
Way: TypeAlias = Literal["compiled", "arrays", "alone"]
_PLAIN_CIRCUITS = ("count", "sum")  # no joint randomness, and a short proof


def share_work(collection: Collection, way: Way, *, sealed: bool = False) -> Work:
    """Encoding, splitting and wrapping up the answers of a part."""
    row = report_bytes(collection)
    work = Work(0.1e-3, collection.encoding.length * _ENCODED_SECONDS + row * _MESSAGE_BYTE_SECONDS)
    if sealed:
        work += Work(len(collection.servers) * _SEALED_SECONDS, row * _SEALED_BYTE_SECONDS)
    if collection.tier == "additive":
        byte = (len(collection.servers) - 1) * _ADDITIVE_BYTE_SECONDS
        return work + Work(len(collection.servers) * 50e-6, row * byte)
    return work + _WAYS[way](collection)


def _compiled(collection: Collection) -> Work:
    servers, elements = len(collection.servers), _elements(collection)
    element = 0.05e-6 if collection.encoding.kind in _PLAIN_CIRCUITS else 0.33e-6
    return Work(1.0e-3 + 2.5e-6 * elements, 0.3e-6 + 0.1e-6 * servers + element * elements)


def _arrays(collection: Collection) -> Work:
    """Numpy, which pays for each element of a report whatever the number of reports."""
    servers, elements = len(collection.servers), _elements(collection)
    if collection.encoding.kind in _PLAIN_CIRCUITS:
        return Work(1e-3 * servers + 40e-6 * elements, 3e-6 * servers + 0.3e-6 * elements)
    return Work(2e-3 * servers + 1.1e-3 * elements, 5e-6 * servers + 3.5e-6 * elements)


def _alone(collection: Collection) -> Work:
    """Python's integers, one report after the other."""
    servers, elements = len(collection.servers), _elements(collection)
    if collection.encoding.kind in _PLAIN_CIRCUITS:
        return Work(0.1e-3, (0.35e-3 + 6e-6 * elements) * servers)
    return Work(0.1e-3, 0.35e-3 * servers + (23e-6 + 26e-6 * servers) * elements)


_WAYS = {"compiled": _compiled, "arrays": _arrays, "alone": _alone}


def _elements(collection: Collection) -> int:
    """Of a report's proof and encoding: what the first server gets."""
    return Prio3Tier(collection).prio3.layout.leader_elements
