"""Rounds and parties as they are watched: a note for each step of a round, folded into what is shown.  No clock, no disk.

A note holds what a coordinator has released or could print anyway: the query, the trust model, epsilon, numbers of people
and of parties, reasons, the estimate with its standard error.  It travels as one JSON object, and whatever is read back is
checked in full (`note_of`): a note that is not one is dropped, never repaired.

Checked in tests/unit/parties/view/test_view_rounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from parties.durable import Data
from parties.federated.events import Event
from parties.view.words import LONGEST_TEXT, one_line

KINDS = ("round started", "round ended", "round failed")
MOST_ROUNDS = 50  # that are remembered one by one
_LARGEST_NUMBER = 10**15
_MOST_REASONS = 20
_WHOLE = ("queries", "people", "reports", "parties", "asked")
_REAL = ("epsilon", "value", "standard_error", "half_width")


@dataclass(frozen=True, slots=True)
class Note:
    """One step of one round."""

    kind: str
    round: str  # which one: unique among all coordinators
    model: str
    query: str
    queries: int = 1  # of the round; `query` is the first
    people: int = 0  # whom it is about
    reports: int = 0  # that it has
    parties: int = 0  # that answered
    asked: int = 0  # parties; 0: not known
    epsilon: float | None = None  # what is promised about it, of each person, in nats
    value: float | None = None
    standard_error: float | None = None
    half_width: float | None = None  # of the interval at 95 %
    reason: str = ""  # why it failed
    missing: Mapping[str, int] = field(default_factory=dict)  # people, by reason

    def to_data(self) -> Data:
        """Plain data, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "", {})}


def note_of(data: object) -> Note | None:
    """The note that some data are; None if they are anything else."""
    if not isinstance(data, dict) or data.get("kind") not in KINDS:
        return None
    texts = {name: data.get(name, "") for name in ("round", "model", "query", "reason")}
    numbers = {name: data.get(name, 1 if name == "queries" else 0) for name in _WHOLE}
    reals = {name: data.get(name) for name in _REAL}
    missing = data.get("missing", {})
    if not all(isinstance(text, str) and len(text) <= 4 * LONGEST_TEXT for text in texts.values()):
        return None
    if not texts["round"] or not all(map(_is_whole, numbers.values())) or not _is_count(missing):
        return None
    if not all(value is None or _is_real(value) for value in reals.values()):
        return None
    facts: Data = {name: one_line(text) for name, text in texts.items()}
    facts |= numbers | {name: None if value is None else float(value) for name, value in reals.items()}
    return Note(data["kind"], **facts, missing={one_line(why): count for why, count in missing.items()})


def note_of_event(event: Event, name: str, parties: int) -> Note | None:
    """What a federation of so many parties tells, as a note; a party that answers is no step of its own."""
    if event.kind not in KINDS:
        return None
    everybody = event.kind == "round ended" and not event.missing
    asked = parties if event.asked is None else event.asked
    answered = asked if everybody and event.parties is None else event.parties
    return Note(
        event.kind,
        name,
        event.model,
        one_line(event.queries[0]) if event.queries else "",
        len(event.queries),
        event.people,
        event.reports,
        answered or 0,
        0 if answered is None else asked,
        event.epsilon,
        event.value,
        event.standard_error,
        event.half_width,
        event.reason,
        dict(event.missing),
    )


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_NUMBER


def _is_real(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST_NUMBER  # which infinities and NaN are not


def _is_count(value: object) -> bool:
    if not isinstance(value, dict) or len(value) > _MOST_REASONS:
        return False
    return all(isinstance(why, str) and _is_whole(count) for why, count in value.items())


@dataclass(frozen=True, slots=True)
class PartyView:
    """One party or server, as its owner sees it."""

    name: str
    role: str  # agent, share server, shuffler
    alive: bool = True
    people: int = 0
    uses: int | None = None  # requests that were answered, of an agent whose ledger can be read
    lowest: float | None = None  # budget left, in nats, to whoever has the least
    highest: float | None = None


@dataclass(frozen=True, slots=True)
class PartiesView:
    """Running parties so far."""

    parties: Mapping[str, PartyView] = field(default_factory=dict)
    rounds: Mapping[str, Note] = field(default_factory=dict)  # the latest, by name, the oldest first
    ended: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)  # rounds, by reason
    missing: Mapping[str, int] = field(default_factory=dict)  # people, by reason
    left: tuple[float, float] | None = None  # the least and the most, where only the whole is known

    def told(self, note: Note) -> PartiesView:
        """With one more step of a round."""
        rounds = {name: one for name, one in self.rounds.items() if name != note.round}
        rounds[note.round] = note
        for name in list(rounds)[:-MOST_ROUNDS]:
            del rounds[name]
        failed = {note.reason or "unknown": 1} if note.kind == "round failed" else {}
        return replace(
            self,
            rounds=rounds,
            ended=self.ended + (note.kind == "round ended"),
            failures=_added(self.failures, failed),
            missing=_added(self.missing, note.missing),
        )

    def seen(self, party: PartyView) -> PartiesView:
        """With what is known of a party now."""
        return replace(self, parties={**self.parties, party.name: party})

    @property
    def budgets(self) -> tuple[float, float] | None:
        """The least and the most that anybody has left, in nats; None: not known."""
        known = [party for party in self.parties.values() if party.lowest is not None]
        if not known:
            return self.left
        lowest = min(party.lowest for party in known if party.lowest is not None)
        return lowest, max(party.highest for party in known if party.highest is not None)

    @property
    def gone(self) -> list[str]:
        """Who does not run any more."""
        return [party.name for party in self.parties.values() if not party.alive]

    def notable(self, most: int) -> list[PartyView]:
        """Some parties to look at: who is gone first, then who has the least left."""
        order = sorted(self.parties.values(), key=lambda one: (one.alive, _or_infinite(one.lowest)))
        return order[:most]


def _added(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """The sums; beyond so many reasons, nobody reads on."""
    found = {why: counts.get(why, 0) + more.get(why, 0) for why in {**counts, **more}}
    return dict(list(found.items())[:_MOST_REASONS])


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value
