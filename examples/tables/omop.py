"""A made-up hospital in the tables of the OMOP common data model: `python examples/tables/omop.py DIRECTORY`.

It writes omop.sqlite, with the tables person, visit_occurrence, condition_occurrence and death, and omop.toml, the
configuration of an agent that reads them by one query with a row for each visit.  What is printed is what is known of
these people.  With PostgreSQL, MySQL or DuckDB only the address in omop.toml is another one.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

PEOPLE = 4_000
MALE, FEMALE = 8507, 8532  # concepts of the OMOP vocabularies
INPATIENT, OUTPATIENT, EMERGENCY = 9201, 9202, 9203
DIABETES, ASTHMA = 201826, 317009
TABLES = """
CREATE TABLE person (person_id INTEGER PRIMARY KEY, gender_concept_id INTEGER, year_of_birth INTEGER);
CREATE TABLE visit_occurrence (visit_occurrence_id INTEGER PRIMARY KEY, person_id INTEGER, visit_concept_id INTEGER,
                               visit_start_date DATE, visit_end_date DATE);
CREATE TABLE condition_occurrence (person_id INTEGER, condition_concept_id INTEGER, condition_start_date DATE);
CREATE TABLE death (person_id INTEGER PRIMARY KEY, death_date DATE);
"""
CONFIGURATION = '''name = "omop"

[data]
database = "sqlite:///omop.sqlite"
query = """
SELECT v.person_id, p.gender_concept_id, p.year_of_birth, v.visit_concept_id,
       v.visit_start_date,
       CASE WHEN d.death_date = v.visit_end_date THEN 1 ELSE 0 END AS died,
       CASE WHEN EXISTS (SELECT 1 FROM condition_occurrence c
                         WHERE c.person_id = v.person_id AND c.condition_concept_id = 201826)
            THEN 1 ELSE 0 END AS diabetes
FROM visit_occurrence v
JOIN person p ON p.person_id = v.person_id
LEFT JOIN death d ON d.person_id = v.person_id
"""
person = "person_id"
rows = "together"
row = "visit"
most_rows = 6
order = "admitted"

[schema]
female = { kind = "bit", column = "gender_concept_id", true = ["8532"], false = ["8507"], per_person = "first" }
born = { kind = "integer", low = 1900, high = 2030, column = "year_of_birth", per_person = "first" }
diabetes = { kind = "bit", per_person = "any" }
died = { kind = "bit" }
admitted = { kind = "integer", low = 0, high = 366, column = "visit_start_date", as = "days", since = 2024-01-01 }

[schema.kind]
kind = "category"
labels = ["inpatient", "outpatient", "emergency", "other"]
column = "visit_concept_id"
recode = { "9201" = "inpatient", "9202" = "outpatient", "9203" = "emergency" }
other = "other"

[budget]
total = 4

[policy]
largest_epsilon = 1
minimum_cohort = 100
'''


@dataclass
class Known:
    """What is known of these people."""

    visits: int = 0
    died: int = 0


def fill(file: sqlite3.Connection, seed: int = 1) -> dict[str, float]:
    """Make everybody up, and tell what is known of them."""
    coins, known = random.Random(seed), Known()  # noqa: S311 - made-up people
    file.executescript(TABLES)
    for person in range(1, PEOPLE + 1):
        about = (person, coins.choice((MALE, FEMALE)), coins.randrange(1930, 2020))
        file.execute("INSERT INTO person VALUES (?, ?, ?)", about)
        for concept, share in ((DIABETES, 0.12), (ASTHMA, 0.08)):
            if coins.random() < share:
                file.execute(
                    "INSERT INTO condition_occurrence VALUES (?, ?, '2024-01-01')", (person, concept)
                )
        _visit(file, person, coins, known)
    return {
        "people": PEOPLE,
        "visits": known.visits,
        "died in any visit": known.died / PEOPLE,
        "died in a visit": known.died / known.visits,
    }


def _visit(file: sqlite3.Connection, person: int, coins: random.Random, known: Known) -> None:
    """A year of somebody's visits; nobody has one after they died."""
    day = date(2024, 1, 1)
    for _ in range(coins.choice((1, 1, 1, 2, 2, 3, 4, 6))):
        begin = day + timedelta(days=coins.randrange(1, 50))
        day = begin + timedelta(days=coins.randrange(10))
        known.visits += 1
        kind = coins.choice((INPATIENT, INPATIENT, OUTPATIENT, EMERGENCY, 0))
        visit = (known.visits, person, kind, str(begin), str(day))
        file.execute("INSERT INTO visit_occurrence VALUES (?, ?, ?, ?, ?)", visit)
        if coins.random() < 0.04:
            file.execute("INSERT INTO death VALUES (?, ?)", (person, str(day)))
            known.died += 1
            return


def main(directory: Path) -> None:
    """Write the database and the configuration, and print what is known."""
    (directory / "omop.toml").write_text(CONFIGURATION)
    (directory / "omop.sqlite").unlink(missing_ok=True)
    with closing(sqlite3.connect(directory / "omop.sqlite")) as file, file:
        print(json.dumps(fill(file)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
