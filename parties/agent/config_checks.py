"""What has to fit together in an agent's configuration, key by key right as it may be.

Checked in tests/unit/parties/agent/test_agent_config.py.
"""

from __future__ import annotations

from localdp.errors import InvalidParameter
from localdp.party.policy import Policy, operator_of
from parties.agent.sections import Sections
from parties.agent.settings import AgentConfig, Dial
from parties.identity import role_host


class ConfigChecks:
    """What has to fit together."""

    def __init__(self, sections: Sections) -> None:
        self._read = sections

    def checked(self, config: AgentConfig) -> AgentConfig:
        """The configuration, if it holds together."""
        unknown = sorted((config.policy.columns or frozenset()) - set(config.schema.names))
        if unknown:
            raise self._wrong("policy.columns", f"{unknown[0]!r} is not a column of the schema")
        strange = sorted(config.approval.columns - set(config.schema.names))
        if strange:
            raise self._wrong("approval.columns", f"{strange[0]!r} is not a column of the schema")
        if config.approval.analysts and config.tls is None:
            raise self._wrong("approval.analysts", "names analysts by their certificates: it needs [tls]")
        self._check_people(config)
        self._check_shuffler(config.policy)
        self._check_quotas(config)
        if config.tls is not None:
            self._check_role("name", operator_of(config.name))
            for server in config.share_servers:
                self._check_role(f"share_servers.{server}", server)
        if config.dial is not None:
            self._check_peer("dial", config.dial, config)
        if config.witness is not None:
            self._check_peer("witness", config.witness.peer, config)
        dialled, named = config.dial and config.dial.name, config.policy.aggregators
        if dialled is not None and named is not None and dialled not in named:
            raise self._wrong("dial.name", "is not one of policy.aggregators: nothing would be answered")
        return config

    def _check_people(self, config: AgentConfig) -> None:
        if config.rows != "one" and config.person is None:
            raise self._wrong("data.person", f"needed when rows = {config.rows!r}: it says whose row it is")
        filled = None if config.person is None else config.declared.filled_from(config.person)
        if filled is not None:
            raise self._wrong(
                f"schema.{filled}.missing",
                "does not go with the column of data.person: an empty cell there is refused",
            )
        if config.fixed_order and config.person is not None:
            raise self._wrong("data.fixed_order", "goes without data.person, by which people are known")

    def _check_quotas(self, config: AgentConfig) -> None:
        if config.quotas is None:
            return
        if not config.quotas.leaves_theirs(config.budget):
            raise self._wrong(
                "quotas",
                f"all together are more than budget.total = {config.budget}: one could use what is another one's",
            )
        for name in config.quotas.of:
            if config.tls is None:
                raise self._wrong(f"quotas.{name}", "names an analyst by its certificate: it needs [tls]")
            self._check_role(f"quotas.{name}", name)
            named = config.policy.aggregators
            if named is not None and name not in named:
                raise self._wrong(f"quotas.{name}", "is not one of policy.aggregators, and may not ask")

    def _check_shuffler(self, policy: Policy) -> None:
        allowed = policy.largest_epsilon_shuffled is not None or policy.largest_delta_flooded is not None
        if (policy.shuffler is not None) is not allowed:
            raise self._wrong(
                "policy.shuffler",
                "goes with policy.largest_epsilon_shuffled or policy.largest_delta_flooded: who may ask for more, and "
                "how much",
            )
        if policy.second_key is not None and policy.largest_delta_flooded is None:
            raise self._wrong("policy.second_shuffler", "goes with policy.largest_delta_flooded")
        if policy.smallest_epsilon > policy.largest_epsilon:
            raise self._wrong("policy.smallest_epsilon", "is more than policy.largest_epsilon")

    def _check_peer(self, section: str, peer: Dial, config: AgentConfig) -> None:
        if (peer.name is None) is not (config.tls is None):
            whose = "analyst" if section == "dial" else section
            told = f"goes with [tls]: it is the name in the {whose}'s certificate"
            raise self._wrong(f"{section}.name", told)
        if peer.name is not None:
            self._check_role(f"{section}.name", peer.name)

    def _check_role(self, key: str, name: str) -> None:
        """What has to stand in a certificate can stand there."""
        try:
            role_host(name)
        except InvalidParameter as error:
            raise self._wrong(key, str(error)) from None

    def _wrong(self, key: str, reason: str) -> InvalidParameter:
        return self._read.wrong(key, reason)
