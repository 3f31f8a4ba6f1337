"""What a new extract changed is told to its owner by counts; the last file of a pattern is the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.changes import FILE_NAME, Changes, read_changes
from parties.agent.config import load_config
from parties.agent.state import init_storage, publish

CONFIG = """
name = "a"
[data]
path = "visits-*.csv"
person = "patient"
[schema]
ward = { kind = "category", labels = ["A", "B", "rest"], other = "rest" }
age = { kind = "integer", low = 0, high = 99, outside = "clip" }
[budget]
total = 1
"""


def test_an_owner_hears_by_counts_what_a_new_extract_changed(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(CONFIG)
    config = load_config(tmp_path / "agent.toml")
    with pytest.raises(InvalidParameter, match="there is no table at"):
        init_storage(config)
    (tmp_path / "visits-2024-01-01.csv").write_text("patient,ward,age\np1,A,30\np2,B,40\np3,A,50\n")
    init_storage(config)
    assert read_changes(config.storage) == Changes(3, 3)
    (tmp_path / "visits-2024-01-02.csv").write_text(
        "patient,ward,age\np4,new,300\np3,A,50\np2,A,41\np1,A,31\n"
    )
    publish(config)
    told = read_changes(config.storage)
    assert (told.rows, told.people, told.newcomers, told.changed) == (4, 4, 1, {"ward": 1, "age": 2})
    assert told.lines() == [
        "4 people, of whom 1 are new; 4 rows",
        "ward: 1 person with another value",
        "age: 2 people with another value",
        "ward: 1 cell none of the labels, read as 'rest'",
        "age: 1 cell above the upper bound, counted as the bound",
    ]
    assert (config.storage / FILE_NAME).stat().st_mode & 0o077 == 0
    publish(config)
    assert read_changes(config.storage).changed == {}


def test_before_anything_was_read_there_is_nothing_to_tell(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="no table was read"):
        read_changes(tmp_path)
