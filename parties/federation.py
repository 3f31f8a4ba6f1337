"""A federation of parties as one object: the coordinator's side, from a script or a notebook.

    with Federation.launch(people, parties=4, budget=10) as federation:        # simulated parties
        print(federation.count("smoker", epsilon=1))

    with Federation.connect("out/parties.json") as federation:                 # running ones
        print(federation.count("smoker", epsilon=1, model="shared"))

Both give the same object.  Its verbs are those of `parties.federated.verbs`.  `oracle` makes the statistical-query
oracle of a trust model; `round` asks one query with a deadline and a quorum; `of` is some of the parties, as a federation;
`budgets` says what people have left; `events` tells what happens.  Launched parties end with the federation: at `close`, at
the end of `with`, when it is forgotten, when the interpreter ends, and also when that is killed (`parties.simulation`).

Checked in tests/unit/parties/test_federation.py and, with processes, in tests/integration/test_federation.py.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Ledger
from localdp.accounting.ledger_of_some import LedgerOfSome
from localdp.domains import Schema
from localdp.domains.dealing import dealt_out
from localdp.errors import InvalidParameter, Unreachable
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import LROracle
from localdp.oracles.models import Options, Parties, model_named, oracle_of
from localdp.oracles.shuffler import Promise
from localdp.randomness.keyring import Keyring
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource
from parties.addresses import State, read_state, require_replaceable, write_state
from parties.federated.budgets import Budgets, by_amount, by_step, left_of, spent_of
from parties.federated.events import Events
from parties.federated.ledgers import LedgerFile
from parties.federated.quorum import WatchedQuorum, quorum_oracle
from parties.federated.streams import open_stream
from parties.federated.tables import SchemaLike, records_of
from parties.federated.verbs import EpsilonLike, Verbs
from parties.federated.views import Some, SpendingOfSome
from parties.federated.watching import Spending, WatchedMixer, WatchedOracle, WatchedReports, WatchedShares
from parties.federated.whereabouts import (
    Address,
    Launch,
    Place,
    behind_shuffler,
    in_processes,
    in_this_process,
    names_of,
    running,
)
from parties.identity import Identity, load_identity
from parties.rounds.partial import RoundResult
from parties.streams.stream import CountedStream
from parties.streams.terms import Wanted
from parties.view.journal import journal_rounds


@dataclass(frozen=True, slots=True)
class _Within:
    """What some parties are a part of."""

    whole: Federation
    some: Some


class Federation(Verbs):
    """Parties that can be asked, under any trust model that their place allows."""

    def __init__(self, place: Place, keyring: Keyring, within: _Within | None = None) -> None:
        """Use `launch`, `connect` or `of`."""
        self._place = place
        self._keyring = keyring
        self._within = within
        self._closed = weakref.finalize(self, place.close)
        self._curator: Ledger | None = place.parties.curator
        if within is None:
            self._numbers = count(1)  # of oracles: no two of them have the same coins
            self._spending = Spending(place.lr.people)
            self.events = Events()
            return
        whole, some = within.whole, within.some
        self._numbers, self.events = whole._numbers, whole.events
        self._spending = SpendingOfSome(whole._spending, some)
        self._curator = whole._curator and LedgerOfSome(whole._curator, some.ranges)

    @classmethod
    def launch(
        cls,
        data: object,
        schema: SchemaLike | None = None,
        *,
        parties: int | Sequence[int] = 4,
        share_servers: int = 2,
        budget: EpsilonLike = 10,
        largest_request: EpsilonLike | None = None,
        processes: bool | int = True,
        shuffler: Promise | None = None,
        told: Callable[[str], None] = lambda text: None,
        insecure_seed: int | None = None,
    ) -> Federation:
        """Simulated parties that hold the data between them, as processes or in this one.

        `parties` is how many there are, or how many people each holds; every person may spend `budget` in total, and
        `largest_request` (all of it, unless given) at a time.  A party hosts all of its people, each with a budget of
        their own, in a process of its own; or all parties are dealt out to so many processes; or, without any, they are
        objects here.  A promise is kept by a `shuffler` in a process of its own; without one the shuffled model mixes in
        this process.  `told` hears what takes long.  With `insecure_seed` everything is repeatable, hence guessable: for
        made-up people only.
        """
        records, limit = records_of(data, schema), Epsilon.requested(budget)
        keyring = Keyring.of_seed(insecure_seed)
        largest = limit if largest_request is None else Epsilon.requested(largest_request)
        parts = dealt_out(records, parties)
        launch = Launch(parts, records, limit, largest, share_servers, keyring, shuffler, told)
        if processes is False:
            return cls(in_this_process(launch), keyring)
        return cls(in_processes(launch, None if processes is True else processes), keyring)

    @classmethod
    def simulate(
        cls,
        data: object,
        schema: SchemaLike | None = None,
        *,
        parties: int | Sequence[int] = 1,
        budget: EpsilonLike = 10,
        insecure_seed: int | None = None,
    ) -> Federation:
        """The same in this process, without sockets or other processes: for data at hand, and for trying things."""
        return cls.launch(
            data, schema, parties=parties, budget=budget, processes=False, insecure_seed=insecure_seed
        )

    @classmethod
    def connect(
        cls,
        path: str | Path | None = None,
        identity: str | Path | Identity | None = None,
        *,
        relay: str | None = None,
        expect: Sequence[str] = (),
        may_miss: bool = True,
        only_shuffler: bool = False,
        told: Callable[[str], None] = lambda text: None,
        insecure_seed: int | None = None,
    ) -> Federation:
        """Running parties, from the file of `localdp parties up` or of `write_addresses`, and those that dial in.

        `identity` is what the coordinator shows where parties want TLS: a directory of `localdp keys`.  The seed makes the
        coordinator's public identifiers repeatable; the parties' coins are their own.  Whoever cannot be reached is `away`,
        or refused unless some `may_miss`.  Agents dial in at `relay`, a host and a port, where those that `expect` names
        are waited for.  With `only_shuffler` nobody but the shuffler is dialled, which alone knows the parties; `told`
        hears how far share servers are.
        """
        if path is not None and not Path(path).is_file():
            raise InvalidParameter(f"{path}: there is no such file; `localdp parties up` writes it")
        state = State((), ()) if path is None else read_state(Path(path))
        shown = load_identity(Path(identity)) if isinstance(identity, str | Path) else identity
        said = "these parties have" if path is None else f"{path} names"
        where = Address(state, said, shown, relay, tuple(expect), told)
        place = behind_shuffler(where) if only_shuffler else running(where, may_miss=may_miss)
        federation = cls(place, Keyring.of_seed(insecure_seed))
        journal_rounds(federation.events, state.events, len(federation.parties) or len(state.agents))
        if federation.away:
            why = "; ".join(place.reasons[:3])
            warnings.warn(f"{names_of(federation.away)} cannot be asked: {why}", stacklevel=2)
        return federation

    def of(self, parties: Iterable[str]) -> Federation:
        """The federation of some of the parties: answers are about their people, and nobody else is asked or charged.

        Their budgets are the same ones, and so are the events.  A shuffler that runs somewhere mixes the reports of all of
        its parties, so that a part of them has no shuffled model.  It ends with this one, or before it at its own `close`.
        """
        self._require_open()
        self._place.require_known()
        if self._within is not None or self._place.some is None:
            raise InvalidParameter("this is a part of a federation already: ask the whole one for another")
        some = Some.named(parties, self._place.contributors)
        return Federation(self._place.some(some.numbers), self._keyring, _Within(self, some))

    @property
    def schema(self) -> Schema:
        """What queries may be about."""
        return self._place.lr.schema

    @property
    def people(self) -> int:
        """How many people there are, over all parties."""
        return self._place.lr.people

    @property
    def parties(self) -> dict[str, int]:
        """Who takes part, and how many people each speaks for."""
        return {party.name: party.people for party in self._place.contributors}

    @property
    def away(self) -> dict[str, int | None]:
        """Who is named and could not be asked, and how many people each has, where the file of parties says so."""
        return {peer.name: self._place.stated.get(peer.name) for peer in self._place.away}

    @property
    def process_ids(self) -> Mapping[str, int]:
        """The processes of launched parties and share servers, by name."""
        return self._place.process_ids

    @property
    def ledger_files(self) -> dict[str, Path]:
        """The ledgers of launched parties, by name: theirs to write."""
        books = zip(self.parties, self._place.ledgers, strict=False)
        return {name: book.path for name, book in books if isinstance(book, LedgerFile)}

    @property
    def addresses(self) -> State:
        """Where everybody is who can be dialled."""
        place, people = self._place, {**self._place.stated, **self.parties}
        agents = (*place.dialled, *place.away)
        named = {peer.name: people[peer.name] for peer in agents if peer.name in people}
        return State(agents, place.servers, place.shuffler, people=named)

    def oracle(
        self, model: str, epsilon: EpsilonLike | None = None, **options: Any
    ) -> StatisticalQueryOracle:
        """The statistical-query oracle of a trust model (`localdp.oracles.models` lists models and options).

        Every round costs each person `epsilon`, in nats, until their budgets are spent.  In the local model
        `quorum=0.7` does without whoever is slow or gone, if so many of the people answer each request within
        `deadline_seconds`; a `journal` keeps what was not finished.
        """
        self._require_open()
        spent = None if epsilon is None else Epsilon.requested(epsilon)
        if "quorum" in options:
            if model != LocalOracle.model or spent is None:
                name = LocalOracle.model
                raise InvalidParameter(
                    f'a quorum is of the {name} model: oracle("{name}", epsilon=1, quorum=0.7)'
                )
            source = self._keyring.source("federation", str(next(self._numbers)), model, "analyst")
            return self._quorum()(spent, source, **options)
        self._require_everybody()
        if model_named(model).needs_mixer and not self._place.shuffles:
            raise InvalidParameter(
                "the shuffler mixes the reports of all of its parties: ask the whole federation, or use the local model"
            )

        return self._made(model, spent, options)

    def _made(
        self,
        model: str,
        epsilon: Epsilon | None,
        options: Options,
        identifiers: RandomSource | None = None,
        around: Callable[[Parties], Parties] = lambda parties: parties,
    ) -> StatisticalQueryOracle:
        """A watched oracle; `identifiers` is what those that are public are drawn from, `around` goes around parties."""
        number = next(self._numbers)

        def coins(purpose: str) -> RandomSource:
            if identifiers is not None and purpose == "analyst":
                return identifiers
            return self._keyring.source("federation", str(number), model, purpose)

        oracle = oracle_of(model, around(self._watched(model)), epsilon, coins, options)
        cost, parties = None if epsilon is None else float(epsilon), len(self._place.contributors) or None
        return WatchedOracle(oracle, self.events, model, self, parties, cost)

    def reports(self) -> LROracle:
        """What the parties report, for whoever asks with a randomizer of their own."""
        self._require_open()
        self._require_everybody()
        return self._watched(LocalOracle.model).lr or self._place.lr

    def _watched(self, model: str) -> Parties:
        """The parties, with an account of what they are asked for."""
        place, asked = self._place, self._place.parties
        if not place.contributors:
            return asked  # whom it asked is the shuffler's secret
        return replace(
            asked,
            lr=WatchedReports(place.lr, place.contributors, self.events, self._spending, model),
            share_servers=asked.share_servers and WatchedShares(asked.share_servers, self._spending),
            mixer=asked.mixer and WatchedMixer(asked.mixer, place.contributors, self._spending),
            curator=self._curator,
        )

    def budgets(self, of: Literal["parties", "curator"] = "parties") -> Budgets:
        """What is left to people: with their parties, or with the curator of a simulation, who keeps a book of its own.

        Of launched parties it is read off their ledgers, whoever asked them.  Running ones are asked, and say how many
        people have at least so much left, in coarse steps.  Of one that does not say, it is what people have left at most,
        as far as this coordinator knows: others may have asked them, too.
        """
        self._require_open()
        self._place.require_known()
        sizes = [party.people for party in self._place.contributors]
        left = left_of(self._all_spent(of), sizes, self._place.limits)
        if of == "curator" or self._place.ledgers or self._place.budgets is None:
            return Budgets(by_amount(left), exact=True)
        told = self._place.budgets()
        silent = [one for one, steps in zip(left, told, strict=True) if steps is None]
        steps = [steps for steps in told if steps is not None]
        return Budgets(by_step(steps), False, by_amount(silent), tuple(self.away))

    def _all_spent(self, of: str) -> NDArray[np.int64]:
        if self._within is None:
            return self._spent(of)
        return self._within.whole._spent(of)[self._within.some.people]

    def _spent(self, of: str) -> NDArray[np.int64]:
        return spent_of(of, self._place.ledgers, self._spending.nanonats, self._curator)

    def round(
        self,
        query: str,
        epsilon: EpsilonLike,
        *,
        quorum: str | float = 1,
        deadline_seconds: float = 60.0,
        journal: str | Path | None = None,
    ) -> RoundResult:
        """One query in the local model that does without whoever is slow or gone, if a quorum of the people answers.

        Only of parties that are processes of their own.  With a journal a round that was cut off goes on where it stopped.
        """
        self._require_open()
        # Its identifier is new whatever the seed of the federation is: a journal outlives it, and has each once.
        spent, source = Epsilon.requested(epsilon), KeystreamSource.from_system()
        oracle = self._quorum()(
            spent, source, quorum=quorum, deadline_seconds=deadline_seconds, journal=journal
        )
        oracle.answer([query])
        return oracle.results[-1]

    def _stream(self, journal: Path, wanted: Wanted | None) -> CountedStream:
        self._require_open()
        self._require_everybody()
        self._place.require_known()
        return open_stream(journal, wanted, self.parties, self._made)

    def _quorum(self) -> Callable[..., WatchedQuorum]:
        """Makes a quorum oracle of the parties, from epsilon, coins and options."""
        return partial(quorum_oracle, self._place, self._spending, self.events, owner=self)

    def write_addresses(self, path: str | Path) -> None:
        """Write down where the parties are, for `connect` and for `localdp ask --connect`."""
        if not self._place.dialled:
            raise InvalidParameter(
                "parties in this process have no addresses: launch them with processes=True"
            )
        require_replaceable(Path(path))
        write_state(self.addresses, Path(path))

    def close(self) -> None:
        """End launched parties, or let go of running ones."""
        self._closed()

    def __repr__(self) -> str:
        state = "" if self._closed.alive else ", closed"
        return f"<Federation of {len(self.parties)} parties, {self.people:,} people{state}>"

    def __enter__(self) -> Federation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        whole = self if self._within is None else self._within.whole
        if not self._closed.alive or not whole._closed.alive:
            raise InvalidParameter("the federation is closed")

    def _require_everybody(self) -> None:
        """No answer is made from some of the parties in silence."""
        if self.away:
            raise Unreachable(
                f"{names_of(self.away)} cannot be asked, and an answer is about everybody: ask those who are there, "
                "federation.of(federation.parties), or federation.round with a quorum, or connect again later"
            )
