"""What a check of `localdp doctor` finds, in one line, and what to do about it, if anything, in another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["ok", "note", "fails"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: "fails" keeps localdp from working, a "note" only some of it."""

    check: str
    verdict: Verdict
    told: str
    fix: str = ""  # empty if all is well

    def to_data(self) -> dict[str, str]:
        """Plain data."""
        return asdict(self)


def ok(check: str, told: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", told)


def note(check: str, told: str, fix: str) -> Finding:
    """Something can be had that is not there."""
    return Finding(check, "note", told, fix)


def fails(check: str, told: str, fix: str) -> Finding:
    """localdp does not work like this."""
    return Finding(check, "fails", told, fix)
