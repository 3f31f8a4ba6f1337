"""Files of reports: what was written is read again, bit for bit, or refused; and each counts once."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport, RequestExpired
from localdp.randomizers.registry import entry_of
from localdp.randomness.hazmat import SeededSource
from parties.at_rest import aggregating, report_file
from parties.at_rest.aggregating import aggregate
from parties.at_rest.report_file import (
    Heading,
    Packed,
    read_groups,
    read_heading,
    row_digests,
    write_reports,
)
from parties.at_rest.round_file import RoundFile
from parties.executors.chosen import ChosenExecutor

ONE = Epsilon.requested(1)
ROUND = bytes(range(32))
PER_ROW = 1000


@pytest.fixture(autouse=True)
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_file, "ROWS_PER_GROUP", 2)
    monkeypatch.setattr(aggregating, "_GROUPS_OF_TASK", 2)


def randomizer(name: str = "k-ary", inputs: int = 12, epsilon: Epsilon = ONE) -> Any:
    return entry_of(name).made(epsilon, inputs)


def reports_of(seed: int, people: int, made: Any) -> Any:
    return made.randomize(np.arange(people) % min(made.inputs, 1024), SeededSource(seed))


def blocks_of(reports: Any, made: Any) -> list[Packed]:
    parts = [reports[start : start + PER_ROW] for start in range(0, len(reports), PER_ROW)]
    return [(made.pack(part), len(part)) for part in parts]


def heading(party: str = "north", people: int = 7500, made: Any = None, **other: Any) -> Heading:
    whole = Heading(ROUND, "city", made or randomizer(), party, 3, 0, people, 0)
    return replace(whole, **other)


def file_of(directory: Path, name: str, about: Heading, seed: int = 1) -> Path:
    path = directory / name
    reports = reports_of(seed, about.stop - about.start, about.randomizer)
    with path.open("wb") as file:
        write_reports(file, about, blocks_of(reports, about.randomizer))
    return path


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("one-bit", 2),
        ("k-ary", 12),
        ("k-ary", 1024),
        ("projective-geometry", 1024),
        ("optimized-unary", 20),
    ],
)
def test_the_sums_of_files_are_those_of_the_reports(name: str, inputs: int, tmp_path: Path) -> None:
    made = randomizer(name, inputs)
    for seed, party in enumerate(("north", "south")):
        file_of(tmp_path, f"{party}.parquet", heading(party, made=made), seed)
    chosen = ChosenExecutor.named(None, 2 if name == "one-bit" else 1)
    done = aggregate([str(tmp_path / "*.parquet")], chosen=chosen)
    both = np.concatenate([reports_of(seed, 7500, made) for seed in range(2)])
    np.testing.assert_array_equal(done.tally.sums, made.tally(both).sums)
    assert done.tally.reports == 15_000 and done.parties == ("north", "south") and done.files == 2


def test_what_is_written_says_the_round_the_randomizer_and_packed_reports_and_nothing_else(
    tmp_path: Path,
) -> None:
    about = heading(until=99)
    path = file_of(tmp_path, "a.parquet", about)
    table = parquet.read_table(path)
    assert table.column_names == ["round", "randomizer", "reports", "packed", "digest"]
    assert set(table.column("round").to_pylist()) == {ROUND}
    assert set(table.column("randomizer").to_pylist()) == {"k-ary(epsilon=1,inputs=12)"}
    packed = b"".join(table.column("packed").to_pylist())
    assert packed == b"".join(one for one, _ in blocks_of(reports_of(1, 7500, randomizer()), randomizer()))
    metadata = parquet.ParquetFile(path).metadata
    told = json.loads(metadata.metadata[b"localdp"])
    assert told.keys() == {
        *("version", "round", "query", "randomizer", "party", "epoch"),
        *("start", "stop", "until", "mixed", "reports", "digest"),
    }
    column = metadata.row_group(0).column(3)
    assert column.statistics is None and column.compression == "UNCOMPRESSED"


def test_its_length_depends_on_the_number_of_reports_alone(tmp_path: Path) -> None:
    lengths = {file_of(tmp_path, f"{seed}.parquet", heading(), seed).stat().st_size for seed in range(4)}
    assert len(lengths) == 1


def test_the_same_reports_are_the_same_bytes() -> None:
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        write_reports(file, heading(), blocks_of(reports_of(1, 7500, randomizer()), randomizer()))
    assert files[0].getvalue() == files[1].getvalue()


def test_a_file_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a.parquet", heading())
    (tmp_path / "copy.parquet").write_bytes(path.read_bytes())
    (tmp_path / "link.parquet").symlink_to(path)
    done = aggregate([str(tmp_path / "*.parquet"), str(path)])
    assert (done.tally.reports, done.files, done.repeated) == (7500, 1, 1)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"round": bytes(32)}, "another round"),
        ({"randomizer": randomizer(epsilon=ONE * 2)}, "another randomizer"),
        ({"query": "town"}, "another randomizer or query"),
        ({"party": "north"}, "two different answers of north"),
        ({"party": "north", "epoch": 4}, "two different answers of north"),
        ({"until": 50}, "has expired"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    other: dict[str, Any], why: str, tmp_path: Path
) -> None:
    file_of(tmp_path, "a.parquet", heading())
    file_of(tmp_path, "b.parquet", heading(**{"party": "south", **other}), seed=2)
    with pytest.raises(LocalDpError, match=why):
        aggregate([str(tmp_path / "*.parquet")], now=lambda: 50.0)


def test_parts_of_a_party_count_if_they_have_nobody_in_common(tmp_path: Path) -> None:
    for start, stop in ((0, 1000), (1000, 2500)):
        file_of(tmp_path, f"{start}.parquet", heading(start=start, stop=stop))
    assert aggregate([str(tmp_path / "*")]).tally.reports == 2500


def test_what_a_shuffler_mixed_is_not_added_to_others_unless_nobody_is_in_two(tmp_path: Path) -> None:
    file_of(tmp_path, "a.parquet", heading(people=100))
    mixed = file_of(tmp_path, "m.parquet", heading("mixer", people=200, mixed=True), seed=2)
    (tmp_path / "copy.parquet").write_bytes(mixed.read_bytes())
    assert aggregate([str(mixed), str(tmp_path / "copy.parquet")]).tally.reports == 200
    every = [str(tmp_path / "*.parquet")]
    with pytest.raises(InvalidParameter, match=r"copy\.parquet is a shuffler's.*--disjoint"):
        aggregate(every)
    assert aggregate(every, disjoint=True).tally.reports == 300


def test_another_round_than_the_one_that_is_meant_is_refused(tmp_path: Path) -> None:
    mine, other = (RoundFile.fresh(" ( city ) ", randomizer(), SeededSource(seed)) for seed in (1, 2))
    names = [one.request.digest("city") for one in (mine, other)]
    file_of(tmp_path, "0.parquet", heading("stray", round=names[1]))
    file_of(tmp_path, "1.parquet", heading(round=names[0]))
    assert aggregate([str(tmp_path / "1*")], asked=mine).tally.reports == 7500
    with pytest.raises(InvalidParameter, match=r"0\.parquet: this is an answer to another round"):
        aggregate([str(tmp_path / "*")], asked=mine)
    file_of(tmp_path, "0.parquet", heading("stray", query="town", round=mine.request.digest("town")))
    with pytest.raises(InvalidParameter, match="another round"):
        aggregate([str(tmp_path / "0*")], asked=mine)


def test_before_its_end_a_file_counts_and_from_then_on_it_does_not(tmp_path: Path) -> None:
    path = str(file_of(tmp_path, "a.parquet", heading(until=50)))
    assert aggregate([path], now=lambda: 49.9).tally.reports == 7500
    with pytest.raises(RequestExpired):
        aggregate([path], now=lambda: 50.0)


def _cut(data: bytes) -> bytes:
    return data[:-100]


def _flipped(data: bytes) -> bytes:
    place = data.index(blocks_of(reports_of(1, 7500, randomizer()), randomizer())[5][0]) + 3
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def _other_metadata(data: bytes) -> bytes:
    return data.replace(b'"version": 1', b'"version": 2')


def _more_people(data: bytes) -> bytes:
    return data.replace(b'"stop": 7500', b'"stop": 7400')


def _renamed_rows(data: bytes) -> bytes:
    return data.replace(b"k-ary(epsilon=1", b"k-ary(epsilon=9", 1)


@pytest.mark.parametrize(
    "harm",
    [
        _cut,
        _flipped,
        _other_metadata,
        _more_people,
        _renamed_rows,
        lambda data: b"",
        lambda data: b"PAR1" * 20,
    ],
    ids=["cut off", "a bit", "version", "people", "randomizer", "empty", "no table"],
)
def test_a_file_that_was_harmed_is_refused_and_not_counted(
    harm: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = file_of(tmp_path, "a.parquet", heading())
    harmed = harm(path.read_bytes())
    assert harmed != path.read_bytes()
    path.write_bytes(harmed)
    with pytest.raises(LocalDpError):
        aggregate([str(path)])


def test_groups_of_rows_are_read_by_themselves(tmp_path: Path) -> None:
    path = str(file_of(tmp_path, "a.parquet", heading()))
    told, groups = read_heading(path)
    assert (told.reports, groups, told.epoch) == (7500, 4, 3)
    counts = [count for number in range(groups) for _, count in read_groups(path, told, number, number + 1)]
    assert counts == [1000] * 7 + [500]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="there is no file"):
        aggregate([str(tmp_path / "*.parquet")])
    (tmp_path / "x").write_text("people")
    with pytest.raises(MalformedReport, match="no file of reports"):
        aggregate([str(tmp_path / "x")])


def test_reports_over_an_open_domain_are_not_added_up(tmp_path: Path) -> None:
    made = entry_of("local-hashing").made(ONE, 8)
    file_of(tmp_path, "a.parquet", heading(made=made, people=100))
    with pytest.raises(InvalidParameter, match="open domain"):
        aggregate([str(tmp_path / "a.parquet")])


GOOD: dict[str, list[Any]] = {
    "round": [ROUND],
    "randomizer": ["one-bit(epsilon=1)"],
    "reports": [8],
    "packed": [b"\0"],
    "digest": [hashlib.sha256(b"\0").digest()],
}
ONE_BIT = randomizer("one-bit", 2)


def table_of(
    path: Path,
    columns: dict[str, Any],
    *,
    about: bytes | None = None,
    other: Sequence[str] = (),
    **options: Any,
) -> str:
    """A file that somebody else made: by default just as ours is."""
    total = hashlib.sha256(GOOD["digest"][0]).digest()
    told = heading(people=8, made=ONE_BIT, reports=8, digest=total).to_json() if about is None else about
    plain = {"compression": "NONE", "use_dictionary": False, "store_schema": False}
    ours = report_file._schema(pa)
    kinds = {field.name: field for field in ours if field.name not in other}
    schema = pa.schema(
        [kinds.get(name, pa.field(name, pa.array(value).type)) for name, value in columns.items()]
    )
    with parquet.ParquetWriter(path, schema, **{**plain, **options}) as writer:
        writer.write_table(pa.table(list(columns.values()), schema=schema))
        writer.add_key_value_metadata({b"localdp": told})
    return str(path)


@pytest.fixture
def ours(tmp_path: Path) -> str:
    return table_of(tmp_path / "ours.parquet", GOOD | {"randomizer": [ONE_BIT.canonical]})


def test_a_file_that_was_made_elsewhere_just_like_ours_counts(ours: str) -> None:
    assert aggregate([ours]).tally.reports == 8


def test_a_small_file_that_is_long_when_it_is_read_is_refused_by_its_layout(tmp_path: Path) -> None:
    rows = 100_000
    columns = {name: value * rows for name, value in GOOD.items()}
    places = [
        table_of(tmp_path / "zstd", columns, compression="zstd"),
        table_of(tmp_path / "dictionary", columns, use_dictionary=True),
        table_of(tmp_path / "rows", columns),
        table_of(tmp_path / "wide", GOOD | {"packed": [bytes(1 << 23)]}),
        table_of(tmp_path / "few", GOOD | {"packed": [bytes(1 << 13)]}, compression="zstd"),
    ]
    for place in places:
        for read in (read_heading, row_digests):
            with pytest.raises(MalformedReport, match=place):
                read(place)


@pytest.mark.parametrize(
    "other",
    [
        {"digest": ["abc"]},
        {"digest": pa.array([None], pa.binary())},
        {"packed": pa.array([None], pa.binary())},
        {"packed": [7]},
        {"reports": pa.array([None], pa.int64())},
        {"reports": [8.0]},
        {"more": [1]},
        {"packed": None},
    ],
)
def test_columns_of_another_kind_are_refused(other: dict[str, Any], tmp_path: Path) -> None:
    columns = {name: value for name, value in {**GOOD, **other}.items() if value is not None}
    place = table_of(tmp_path / "other", columns, other=tuple(other))
    with pytest.raises(MalformedReport, match=place):
        aggregate([place])


@pytest.mark.parametrize(
    "about",
    [
        b"[" * 200_000,
        b"[]",
        b"null",
        b"\xff",
        b" " * (1 << 21),
        heading(people=8, made=ONE_BIT).to_json().replace(b'"until": 0', b'"until": ' + b"9" * 4000),
        heading(people=8, made=ONE_BIT, query="\x1b]0;owned\x07").to_json(),
        heading(people=8, made=ONE_BIT, query="x" * 100_000).to_json(),
    ],
    ids=["deep", "list", "null", "no text", "long", "number", "escape", "query"],
)
def test_headings_that_are_none_are_refused(about: bytes, tmp_path: Path) -> None:
    place = table_of(tmp_path / "other", GOOD, about=about)
    with pytest.raises(MalformedReport, match=place):
        aggregate([place])


def test_more_reports_than_a_row_has_bytes_for_are_refused(tmp_path: Path) -> None:
    told = heading(people=9, made=ONE_BIT, reports=9, digest=hashlib.sha256(GOOD["digest"][0]).digest())
    columns = GOOD | {"reports": [9], "randomizer": [ONE_BIT.canonical]}
    place = table_of(tmp_path / "short", columns, about=told.to_json())
    with pytest.raises(MalformedReport, match=place):
        aggregate([place])


def test_whatever_a_file_holds_the_refusal_is_ours_and_names_it(ours: str, tmp_path: Path) -> None:
    random, whole, refused = np.random.default_rng(1), Path(ours).read_bytes(), list[str]()
    place = tmp_path / "harmed"
    for _ in range(300):
        harmed = bytearray(whole)
        for at in random.integers(0, len(whole), random.integers(1, 5)):
            harmed[at] = random.integers(0, 256)
        place.write_bytes(harmed)
        try:
            aggregate([str(place)])
        except LocalDpError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all(str(place) in one or "other numbers of reports" in one for one in refused)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "directory")
    with pytest.raises(MalformedReport, match="directory cannot be read"):
        aggregate([str(tmp_path / "directory")])
