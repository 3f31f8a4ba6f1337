"""A shuffler's answer to a round, as a file: mixed reports, which name neither parties nor an order.

The shuffler keeps its account and its promise as in a call; a round that is asked again of the same shuffler is the
same file. Checked in tests/integration/test_aggregate.py.
"""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from localdp.cohorts import Cohort
from localdp.oracles.lr import LROracle
from parties.at_rest.places import inside, written
from parties.at_rest.report_file import Heading, in_rows, write_reports
from parties.at_rest.round_file import RoundFile


def write_mixed(mixer: LROracle, name: str, asked: RoundFile, directory: str) -> tuple[str, int]:
    """Ask whoever mixes for everybody's reports, and write them; returns where, and how many they are."""
    request = asked.request
    mixed = np.concatenate(list(mixer.reports(request, Cohort(0, mixer.people))))
    heading = Heading(
        asked.digest(mixer.schema),
        request.question(mixer.schema).text,
        request.randomizer,
        name,
        0,
        0,
        mixer.people,
        0,
        mixed=True,
    )
    place = inside(directory, f"{heading.round.hex()[:16]}-{quote(name, safe='')}.parquet")
    with written(place) as file:
        return place, write_reports(file, heading, in_rows(request.randomizer, [mixed]))
