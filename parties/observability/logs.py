"""Structured logs: one JSON object a line, on standard error.

    {"time": "...", "level": "info", "event": "call", "role": "agent", "name": "north", "method": "Randomize", ...}

Only the fields that `log` is given are written.  Of what other libraries log, the text is left out, because it may quote an
exception, and an exception may quote a record: the logger's name and the exception's type remain.

Checked in tests/unit/parties/observability/test_observability.py.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from localdp.errors import InvalidParameter

LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
VARIABLE = "LOCALDP_LOG"
_LOGGER = logging.getLogger("localdp")
_LOGGER.addHandler(logging.NullHandler())  # or Python prints bare words for whoever configured nothing
_FIELDS = "localdp_fields"

Value = str | int | float


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Our own fields, or of a stranger's record its origin alone."""
        fields = getattr(record, _FIELDS, None)
        line: dict[str, Value] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        if fields is None:
            line |= {"event": "library", "logger": record.name}
            if record.exc_info and record.exc_info[0] is not None:
                line["error"] = record.exc_info[0].__name__
        else:
            line |= {"event": str(record.msg), **fields}
        return json.dumps(line)


def log(level: int, event: str, fields: Mapping[str, Value]) -> None:
    """One line with these fields."""
    _LOGGER.log(level, event, extra={_FIELDS: dict(fields)})


def configure_logs(level: str, stream: TextIO | None = None) -> logging.Handler:
    """Write the lines of this process to a stream from this level on; LOCALDP_LOG, if set, has the last word."""
    chosen = os.environ.get(VARIABLE) or level
    if chosen not in LEVELS:
        raise InvalidParameter(f"the level of the log is one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.setLevel(LEVELS[chosen])
    root = logging.getLogger()
    root.addHandler(handler)
    _LOGGER.setLevel(LEVELS[chosen])
    return handler


def release_logs(handler: logging.Handler) -> None:
    """Undo `configure_logs`."""
    logging.getLogger().removeHandler(handler)
    handler.close()
