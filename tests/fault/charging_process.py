"""A process that charges one ledger file as fast as it can, and says after each charge that it was granted.

    python -m tests.fault.charging_process PATH PEOPLE LIMIT_NANONATS NAME [LARGEST_FILE_BYTES | CALLER QUOTAS]

QUOTAS are nanonats by caller, in JSON.

It says `ready`, waits for a line, then charges new requests of one nat until it is refused, and says why.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.accounting.quotas import Quotas
from localdp.cohorts import Cohort
from localdp.errors import LocalDpError
from tests.support.ledgers import sqlite_ledger


def quotas_of(text: str) -> Quotas:
    """Of JSON."""
    return Quotas({name: Epsilon(nanonats) for name, nanonats in json.loads(text).items()})


def main() -> None:
    """Charge until refused."""
    path, people, limit, name = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    caller, quotas = "", None
    if len(sys.argv) == 7:
        caller, quotas = sys.argv[5], quotas_of(sys.argv[6])
    ledger = sqlite_ledger(path, people, Epsilon(limit), quotas=quotas)
    if len(sys.argv) == 6:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[5]), resource.RLIM_INFINITY))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        for number in itertools.count():
            request = f"{name} {number}".encode()
            ledger.charge(Charge(request, b"r", Cohort(0, people), Epsilon(10**9), "a race", caller))
            print("granted", flush=True)
    except LocalDpError as refused:
        print(type(refused).__name__, flush=True)


if __name__ == "__main__":
    main()
