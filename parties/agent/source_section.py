"""What [data] says of a table: where it stands (a file or a database), how it is written, and what holds for all cells.

Checked in tests/unit/parties/agent/test_agent_config.py and test_reading.py.
"""

from __future__ import annotations

import codecs

from localdp.errors import InvalidParameter
from parties.agent.database_source import DatabaseSource, address_of
from parties.agent.reading import SHARED, shared_reading, texts_of
from parties.agent.sections import Sections
from parties.agent.sources import Source, TableSource

_OF_FILES = ("path", "separator", "quote", "encoding", "header", "comment", "sheet")
_OF_DATABASES = ("table", "query", "password_file")


def shared_of(read: Sections) -> dict[str, object]:
    """The readings that hold for all columns."""
    given = {key: read.take("data", key, object, None) for key in SHARED if key != "alike"}
    given["alike"] = read.flag("data", "alike") or None
    told = {key: value for key, value in given.items() if value is not None}
    return shared_reading(told, lambda key, why: read.wrong(".".join(key), why))


def nobody_of(read: Sections, person: str | None) -> tuple[str, ...]:
    """What stands in the column of people where a row is nobody's."""
    told = read.take("data", "nobody", object, None)
    if told is None:
        return ()
    if person is None:
        raise read.wrong("data.nobody", "goes with data.person")
    return texts_of(told, lambda why: read.wrong("data.nobody", why))


def source_of(read: Sections) -> TableSource:
    """Where the table stands, and how it is written."""
    section = read.table.get("data", {})
    database = isinstance(section, dict) and "database" in section
    for key in _OF_FILES if database else _OF_DATABASES:
        if isinstance(section, dict) and key in section:
            raise read.wrong(f"data.{key}", f"goes {'without' if database else 'with'} data.database")
    return _in_a_database(read) if database else _in_a_file(read)


def _in_a_database(read: Sections) -> DatabaseSource:
    relation, query = read.take("data", "table", str, None), read.take("data", "query", str, None)
    if (relation is None) is (query is None):
        raise read.wrong("data.database", 'goes with one of table = "visits" and query = "SELECT ..."')
    try:
        address = address_of(read.take("data", "database", str), read.beside(""))
    except InvalidParameter as error:
        raise read.wrong("data.database", str(error)) from None
    file = read.optional_path("data", "password_file")
    return DatabaseSource(address.render_as_string(hide_password=False), relation, query, file)


def _in_a_file(read: Sections) -> Source:
    separator = read.take("data", "separator", str, None)
    if separator is not None and len(separator) != 1:
        raise read.wrong("data.separator", 'one mark, such as ";"')
    quote = read.take("data", "quote", str, '"')
    if len(quote) != 1 or quote == separator:
        raise read.wrong("data.quote", "one mark, and another one than the separator")
    return Source(
        read.beside(read.take("data", "path", str)),
        separator,
        quote,
        _encoding(read),
        read.take("data", "sheet", str, None),
        read.count("data", "header", 1),
        read.take("data", "comment", str, ""),
    )


def _encoding(read: Sections) -> str:
    encoding = read.take("data", "encoding", str, "utf-8")
    try:
        codecs.lookup(encoding)
        "".encode(encoding)  # some codecs are not of texts
    except (LookupError, UnicodeError):
        raise read.wrong("data.encoding", 'a known encoding, such as "utf-8" or "latin-1"') from None
    return encoding
