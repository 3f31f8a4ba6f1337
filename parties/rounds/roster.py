"""The roster: which parties are enrolled, where they are, and how many people each speaks for.

All enrolled parties have one schema, that of whoever was enrolled first; it stays while anybody is enrolled.  A party
keeps its place when it is withdrawn and enrolled again: people are numbered through in the order of the roster.

A party that is to be asked and was never met is expected: it has a place, as many people as somebody says, perhaps nobody
knows how many, and no schema.  So it is missing, and counted, until it is met.

Checked in tests/unit/parties/rounds/test_rounds_roster.py.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass

from localdp.cohorts import LARGEST_INDEX
from localdp.domains import Schema
from localdp.errors import InvalidParameter, LocalDpError
from localdp.framing import digest
from localdp.sharing.collection import LONGEST_NAME
from parties.rounds.storage import Storage, storage_errors

LONGEST_ADDRESS = 300
MOST_SHARE_SERVERS = 16


class SchemaDiffers(LocalDpError):
    """A party's records have other columns than the roster's."""


@dataclass(frozen=True, slots=True)
class Enrolled:
    """One party, as it described itself when it was enrolled; or as it is expected, while nobody has met it."""

    name: str
    address: str
    people: int  # 0: nobody knows
    schema_digest: bytes  # empty: it was never met
    share_servers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= LONGEST_NAME or not self.name.isprintable():
            raise InvalidParameter(f"a party's name has 1 to {LONGEST_NAME} printable characters")
        least = 1 if self.met else 0
        if not 0 < len(self.address) <= LONGEST_ADDRESS or not least <= self.people <= LARGEST_INDEX:
            raise InvalidParameter("a party's address or its number of people is out of bounds")
        if len(self.share_servers) > MOST_SHARE_SERVERS or any(
            len(name) > LONGEST_NAME for name in self.share_servers
        ):
            raise InvalidParameter("a party names too many share servers, or too long ones")

    @property
    def met(self) -> bool:
        """Whether the party has ever said who it is."""
        return bool(self.schema_digest)


def schema_digest(schema: Schema) -> bytes:
    """What a schema is recognised by."""
    return digest(b"localdp schema v1", json.dumps(schema.to_data(), sort_keys=True).encode())


class Roster:
    """The enrolled parties, in the coordinator's storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @property
    def schema(self) -> Schema:
        """What everybody's records consist of."""
        with storage_errors():
            row = self._storage.file.execute("SELECT data FROM roster_schema").fetchone()
        if row is None:
            raise InvalidParameter("nobody is enrolled")
        return Schema.from_data(json.loads(row[0]))

    def enrolled(self) -> list[Enrolled]:
        """Who is enrolled and was not withdrawn, in order."""
        with storage_errors():
            rows = self._storage.file.execute(
                "SELECT name, address, people, schema_digest, share_servers FROM parties"
                " WHERE withdrawn = 0 ORDER BY number"
            ).fetchall()
        return [
            Enrolled(name, address, people, digested, tuple(json.loads(servers)))
            for name, address, people, digested, servers in rows
        ]

    def enrol(self, party: Enrolled, schema: Schema, among: Container[str] | None = None) -> None:
        """Enrol a party, or note its new address or size; refused when its schema is not the roster's.

        That is the schema of whoever was met first, of all or `among` those who are still asked.
        """
        if party.schema_digest != schema_digest(schema):
            raise InvalidParameter("a party is enrolled with the digest of its own schema")
        with self._storage.transaction() as file:
            if not any(one.met and (among is None or one.name in among) for one in self.enrolled()):
                file.execute(
                    'INSERT INTO roster_schema ("only", data) VALUES (1, ?)'
                    ' ON CONFLICT ("only") DO UPDATE SET data = excluded.data',
                    (json.dumps(schema.to_data()),),
                )
            if self.schema != schema:
                raise SchemaDiffers(
                    f"party {party.name} has other columns than the enrolled parties: {self.schema.difference(schema)}"
                )
            file.execute(
                "INSERT INTO parties (name, address, people, schema_digest, share_servers)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET address = excluded.address,"
                " people = excluded.people, schema_digest = excluded.schema_digest,"
                " share_servers = excluded.share_servers, withdrawn = 0",
                (
                    party.name,
                    party.address,
                    party.people,
                    party.schema_digest,
                    json.dumps(party.share_servers),
                ),
            )

    def expect(self, name: str, address: str, people: int | None) -> None:
        """Have a place for a party that cannot be enrolled now; one that was met before keeps what it said of itself."""
        party = Enrolled(name, address, people or 0, b"")
        with self._storage.transaction() as file:
            file.execute(
                "INSERT INTO parties (name, address, people, schema_digest, share_servers)"
                " VALUES (?, ?, ?, x'', '[]') ON CONFLICT (name) DO UPDATE SET address = excluded.address,"
                " people = CASE WHEN length(parties.schema_digest) = 0 THEN excluded.people ELSE parties.people END,"
                " withdrawn = 0",
                (party.name, party.address, party.people),
            )

    def withdraw(self, name: str) -> None:
        """From now on the party is not asked; rounds that it answered keep its tally."""
        with self._storage.transaction() as file:
            done = file.execute(
                "UPDATE parties SET withdrawn = 1 WHERE name = ? AND withdrawn = 0", (name,)
            )
            if done.rowcount != 1:
                raise InvalidParameter(f"no party {name!s:.64} is enrolled")
