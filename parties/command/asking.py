"""The parties that a question is put to: running ones, or made-up people in parties that are launched for it.

Running parties are in a file of addresses, or behind a relay that they dial; perhaps they want to see an identity.
Checked through the commands that ask, in tests/integration/test_tls.py and tests/integration/test_command_line.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, SignalTooWeak
from localdp.oracles.models import Parties, model_named, models_with, require_at_hand
from parties.command.arguments import Asking
from parties.command.options import names, number_of_people
from parties.command.output import stderr_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.domains import Schema
    from parties.federated.events import Event
    from parties.federation import Federation

Tell = Callable[[str], None]
Check = Callable[["Schema"], object]
_MOST_NAMED = 3  # parties that are waited for
_OPTIONS = {
    "with check_signal=False": "with --anyway",
    "bins=5": "--bins 5",
}  # as the command line has them


@contextmanager
def asked(asking: Asking, check: Check) -> Iterator[Federation]:
    """Whoever is asked, checked and there; what takes long is said on standard error."""
    from parties.view.waiting import waiting

    with (
        waiting(stderr_console()) as tell,
        federation_of(asking, check, tell) as federation,
    ):
        followed = federation.events.subscribe(_Followed(tuple(federation.parties), tell))
        try:
            yield federation
        except SignalTooWeak as error:
            raise SignalTooWeak(_on_the_command_line(str(error))) from error
        finally:
            followed()


def terms_of(asking: Asking) -> Data:
    """Trust model, price and options, as the verbs of a federation take them."""
    return {"model": asking.model, "epsilon": asking.epsilon, **options_of(asking)}


def options_of(asking: Asking) -> Data:
    """The options of the model, as far as the commands have them."""
    model = model_named(asking.model)
    if asking.minimum_batch is not None and "minimum_batch" not in model.options:
        goes_with = " or ".join(models_with("minimum_batch"))
        raise InvalidParameter(
            f"--minimum-batch is about what share servers hold: it goes with --model {goes_with}"
        )
    typed = {name: getattr(asking, name, None) for name in model.options}
    return {name: value for name, value in typed.items() if value is not None}


def federation_of(asking: Asking, check: Check, tell: Tell = lambda text: None) -> Federation:
    """Running parties if connected, else parties launched for this question, where the model asks any."""
    epsilon, chosen = Epsilon.requested(asking.epsilon), options_of(asking)
    if asking.connect is not None or asking.relay is not None:
        require_at_hand(model_named(asking.model), Parties())
        return _connected(asking, tell)
    if asking.identity is not None:
        raise InvalidParameter("--identity is shown to running parties: it goes with --connect or --relay")
    return _launched(asking, epsilon, chosen, check, tell)


def _connected(asking: Asking, tell: Tell) -> Federation:
    """All parties, those that are dialled and those that dial, or the shuffler in front of them."""
    from parties.addresses import read_state
    from parties.federation import Federation

    if asking.connect is not None:
        read_state(asking.connect)  # a file that cannot be read is told as any other file
    expected = [name for name in names(asking.expect) if name]
    told = ", ".join(name.partition("=")[0] for name in expected)
    tell(f"waiting until {told} dial in" if expected else "waiting for the parties to answer")
    return Federation.connect(
        asking.connect,
        asking.identity,
        relay=asking.relay,
        expect=expected,
        may_miss=False,
        only_shuffler=model_named(asking.model).needs_mixer,
        told=tell,
    )


def _launched(asking: Asking, epsilon: Epsilon, chosen: Data, check: Check, tell: Tell) -> Federation:
    """Made-up people, in parties that end with the federation."""
    from localdp.accounting.epsilon import LARGEST_EPSILON_NATS
    from localdp.accounting.shuffling import FEWEST_PEOPLE
    from localdp.experiments.population import SCHEMA, made_up_people
    from localdp.oracles.shared import require_batch
    from localdp.oracles.shuffler import Promise
    from localdp.randomness.keyring import Keyring
    from parties.federation import Federation

    model = model_named(asking.model)
    check(SCHEMA)  # what is refused is refused before anything is launched
    people = made_up_people(number_of_people(asking.people), Keyring.from_system().source("people"))
    if model.needs_share_servers:
        require_batch(model.settled(chosen)["minimum_batch"], people.people)
    tell(f"starting {asking.parties} agents and {asking.servers} share servers")
    return Federation.launch(
        people,
        parties=asking.parties if model.needs_agents else 1,
        share_servers=asking.servers,
        budget=Epsilon.requested(
            LARGEST_EPSILON_NATS
        ),  # these people are asked once; a report that is mixed takes its own
        processes=model.needs_agents,
        shuffler=Promise(epsilon, minimum_cohort=FEWEST_PEOPLE) if model.needs_mixer else None,
        told=tell,
    )


class _Followed:
    """Says of a round whom it waits for."""

    def __init__(self, parties: tuple[str, ...], tell: Tell) -> None:
        self._parties, self._tell, self._missing = parties, tell, dict.fromkeys(parties)
        self._rounds = 0

    def __call__(self, event: Event) -> None:
        if event.kind == "round started":
            self._missing, self._rounds = dict.fromkeys(self._parties), self._rounds + 1
            again = f", round {self._rounds}" if self._rounds > 1 else ""
            self._tell(f"asking {event.people:,} people{again}")
        elif event.kind == "party answered" and self._missing:
            self._missing.pop(event.party, None)
            named = list(self._missing)[:_MOST_NAMED]
            further = (
                f" and {len(self._missing) - len(named)} more" if len(self._missing) > len(named) else ""
            )
            self._tell(f"waiting for {', '.join(named)}{further}" if named else "adding up")


def _on_the_command_line(message: str) -> str:
    for written, typed in _OPTIONS.items():
        message = message.replace(written, typed)
    return message
