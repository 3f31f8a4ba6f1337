"""What a trust model is, as data: the form of the rows in `models.py`, and what an oracle is made of.

Checked in tests/unit/oracles/test_models.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter

if TYPE_CHECKING:
    from localdp.accounting.ledger import Ledger
    from localdp.domains import Records
    from localdp.oracles.collecting import ShareServers
    from localdp.oracles.definition import StatisticalQueryOracle
    from localdp.oracles.lr import LROracle
    from localdp.oracles.shared import Broken
    from localdp.oracles.shuffler import Mixer
    from localdp.randomness.source import RandomSource

Options: TypeAlias = Mapping[str, Any]  # of a model, by name
Coins: TypeAlias = "Callable[[str], RandomSource]"  # by what they are for
NONE: Options = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Parties:
    """The parties as oracles ask them: whatever of it is there."""

    lr: LROracle | None = None  # their reports
    share_servers: ShareServers | None = None
    # A shuffler of its own; None: of simulated parties this process is the shuffler.
    mixer: Mixer | None = None
    records: Records | None = None  # of everybody, where they are at hand: in a simulation
    curator: Ledger | None = None  # what people have spent with the curator
    honest: int | None = None  # people whose reports hide others behind a shuffler; None: everybody's do
    said: str = "these parties have"  # where it is said who there is
    # Rounds of share servers that broke off: whoever asks the same again goes on, and nobody pays twice.
    broken: Broken = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OneCount:
    """One count of bits, of which a model predicts the error."""

    people: int
    epsilon: Epsilon  # privacy loss of a person, in nats, replace-one neighbours
    servers: int = 2
    options: Options = field(default_factory=dict)  # of the model; its defaults for the others


class CountNoise(Protocol):
    """What a model adds to a count, in people."""

    def variance(self) -> float:
        """Of the noise alone."""
        ...

    def half_width(self, level: float) -> float:
        """What it does not exceed, with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class TrustModel:
    """Whom one has to trust, and all that follows from it."""

    name: str
    title: str  # in legends
    honest: str  # who must be, in a few words
    colour: str  # Okabe and Ito's, told apart by the colour-blind
    mark: str  # of a point in a plot
    style: str  # in a terminal
    make: Callable[[Parties, Epsilon, Coins, Options], StatisticalQueryOracle]
    predicted_error: Callable[[OneCount], float]  # expected absolute error of a count, in people
    # The law of that error; None: there is none.
    noise: Callable[[OneCount], CountNoise | None] = lambda count: None
    divides: Literal["people", "epsilon"] = "epsilon"  # what the questions of one round share
    lower_bound: Callable[[OneCount], float] | None = None  # what no protocol of the same kind can beat
    # What a party charges a person for it.
    charge: Callable[[OneCount], Epsilon] = lambda count: count.epsilon
    growth: float = 0.0  # the error of a count grows with this power of the number of people
    options: Options = field(default_factory=dict)  # and their defaults; None: it depends on the parties
    needs_agents: bool = False  # parties that answer for their people
    needs_share_servers: bool = False
    share_servers: int | None = None  # how many it takes; None: as many as there are
    needs_mixer: bool = False
    needs_records: bool = False  # of everybody, beforehand
    spends: bool = True  # an epsilon is part of the question
    # So near to another model's in error that learners' tables do without its column; empty: to none.
    near: str = ""
    # Each message is sealed by itself, so that a round among processes takes a minute for a million people: a comparison of
    # many trials has its parties as objects of one process, where nothing is sealed.
    sealed: bool = False
    cheaters: str = ""  # what a party that cheats can do; empty: it depends on the tier

    def settled(self, options: Options) -> dict[str, Any]:
        """The options as they are meant: those that are given, checked, and the defaults of the others."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise InvalidParameter(f"the {self.name} model has no option {name!s:.40}; it has {known}")
        return {**self.options, **options}
