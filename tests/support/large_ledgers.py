"""A ledger of many requests, each charged to a part of a random split, as an agent leaves it; and what a start on it takes.

The entries are written as the ledger writes them, in one transaction; the sums of the checkpoint are made up, for adding up
a hundred thousand splits of a million people takes half an hour.  That is what the checkpoint saves.

Run as a program it opens such a file in a process of its own, and tells seconds and memory as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, Sums
from localdp.cohorts import Cohort, Split
from parties.agent.chain import Chain, Standing
from parties.agent.checkpoint import MOST_STEPS, digest_of, steps_of, store
from parties.agent.entries import Checkpoint
from parties.agent.ledger import SqliteLedger
from parties.agent.mark import Mark
from parties.durable import transaction

KEY = bytes(32)
PLENTY = Epsilon(1 << 60)


def split_charge(number: int, people: int) -> Charge:
    """The charge of a request for a third of all people."""
    cohort = Cohort(0, people, Split(number.to_bytes(16, "big"), 3, 0))
    return Charge(number.to_bytes(32, "big"), bytes(32), cohort, Epsilon(1), "one-bit randomizer of smoker")


def make(path: Path, people: int, requests: int) -> None:
    """A ledger whose last checkpoint is as old as it may be when a process is killed."""
    since = MOST_STEPS // steps_of(split_charge(0, people).cohort)
    chain, standing = Chain(KEY), Standing()
    with closing(SqliteLedger(path, people, PLENTY, chain_key=KEY)) as ledger:
        with transaction(ledger._file):
            for number in range(requests):
                if number == max(1, requests - since):
                    spent = np.random.default_rng(1).integers(0, requests, people)
                    sums = Sums(spent, 0, 0, np.zeros(0, np.int64))
                    content = Checkpoint(digest_of(sums), standing.total, standing.requests)
                    entry = chain.write(ledger._file, standing, content, 1)
                    store(ledger._file, entry.number, sums)
                    standing = standing.after(entry)
                entry = chain.write(ledger._file, standing, split_charge(number, people), 1)
                standing = standing.after(entry, True)
        ledger._mark.advance(Mark(standing.entries, standing.link, standing.total))
        ledger._steps = 0


def measure(path: Path, people: int, requests: int) -> dict[str, float]:
    """What a start takes, and the memory after a look at many of the requests."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    with closing(SqliteLedger(path, people, PLENTY, chain_key=KEY)) as ledger:
        started = time.perf_counter() - began
        opened = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        for number in range(0, requests, max(1, requests // 2000)):
            assert not ledger.charge(split_charge(number, people))
        repeated = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "start_seconds": started,
        "start_megabytes": (opened - before) / 1024,
        "repetition_milliseconds": 1000 * repeated / len(range(0, requests, max(1, requests // 2000))),
        "all_megabytes": (after - before) / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
