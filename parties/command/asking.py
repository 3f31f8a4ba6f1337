"""The parties that a question is put to: running ones, or made-up people in parties that are launched for it.

Running parties are in a file of addresses, or behind a relay that they dial; perhaps they want to see an identity.
Checked through the commands that ask, in tests/integration/test_tls.py and tests/integration/test_command_line.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from localdp.errors import InvalidParameter
from localdp.oracles.models import Count, Parties, model_named, models_with, require_at_hand
from parties.command.arguments import Asking
from parties.command.options import names, number_of_people
from parties.command.output import print_whole, stderr_console
from parties.durable import Data

if TYPE_CHECKING:
    from localdp.accounting.epsilon import Epsilon
    from localdp.domains import Schema
    from parties.federation import Federation


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


def federation_of(asking: Asking, check: Callable[[Schema], object]) -> Federation:
    """Running parties if connected, else parties launched for this question, where the model asks any."""
    from localdp.accounting.epsilon import Epsilon

    epsilon, chosen = Epsilon.requested(asking.epsilon), options_of(asking)
    if asking.connect is not None or asking.relay is not None:
        require_at_hand(model_named(asking.model), Parties())
        return _connected(asking)
    if asking.identity is not None:
        raise InvalidParameter("--identity is shown to running parties: it goes with --connect or --relay")
    return _launched(asking, epsilon, chosen, check)


def _connected(asking: Asking) -> Federation:
    """All parties, those that are dialled and those that dial, or the shuffler in front of them."""
    from parties.addresses import read_state
    from parties.federation import Federation

    if asking.connect is not None:
        read_state(asking.connect)  # a file that cannot be read is told as any other file
    return Federation.connect(
        asking.connect,
        asking.identity,
        relay=asking.relay,
        expect=[name for name in names(asking.expect) if name],
        may_miss=False,
        only_shuffler=model_named(asking.model).needs_mixer,
        told=told,
    )


def _launched(
    asking: Asking, epsilon: Epsilon, chosen: Data, check: Callable[[Schema], object]
) -> Federation:
    """Made-up people, in parties that end with the federation."""
    from localdp.accounting.shuffling import FEWEST_PEOPLE
    from localdp.experiments.keyring import Keyring
    from localdp.experiments.population import SCHEMA, made_up_people
    from localdp.oracles.shared import require_batch
    from localdp.oracles.shuffler import Promise
    from parties.federation import Federation

    model = model_named(asking.model)
    check(SCHEMA)  # what is refused is refused before anything is launched
    people = made_up_people(number_of_people(asking.people), Keyring.from_system().source("people"))
    if model.needs_share_servers:
        require_batch(model.settled(chosen)["minimum_batch"], people.people)
    return Federation.launch(
        people,
        parties=asking.parties if model.needs_agents else 1,
        share_servers=asking.servers,
        budget=model.charge(Count(people.people, epsilon)),
        processes=model.needs_agents,
        shuffler=Promise(epsilon, minimum_cohort=FEWEST_PEOPLE) if model.needs_mixer else None,
        told=told,
    )


def told(text: str) -> None:
    """What is waited for, where it takes long."""
    print_whole(stderr_console(), text)
