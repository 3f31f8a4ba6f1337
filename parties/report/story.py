"""What a report tells, as data: whatever was run, a page is made of these.

A group is the panels (`localdp/experiments/panels.py`) that share an axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from localdp.experiments.panels import Panel
from parties.durable import Data

Facts = Mapping[str, str]
TableRow: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Panels with the same axes, and what to know about them."""

    title: str
    note: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class PromiseInWords:
    """What one trust model promises, in words for the person whose record it is."""

    model: str
    words: str
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text and numbers."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    texts: tuple[int, ...] = (0,)  # columns that are text
    note: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One experiment."""

    source: str  # the name of its file
    title: str
    asked: Facts
    groups: tuple[Group, ...]
    data: Data  # embedded in the page
    lead: str = ""
    warning: str = ""
    confidential: bool = False  # as the table that it is about
    promises: tuple[PromiseInWords, ...] = ()
    about_promises: str = ""
    refusals: Table | None = None
    costs: Table | None = None
    cells: Table | None = None
    notes: tuple[str, ...] = ()
    origin: Facts = field(default_factory=dict)
    configuration: str = ""
