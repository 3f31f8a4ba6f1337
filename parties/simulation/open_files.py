"""How many files a process may have open: a listening party takes several, and the usual 1,024 are soon used up.

The system lets every process raise its soft limit up to the hard one.
Checked in tests/unit/parties/simulation/test_simulation_files.py.
"""

from __future__ import annotations

import resource

from localdp.errors import InvalidParameter

# Its port, its caller, its ledger with two companions and a lock, and what it uploads through.
PER_HOSTED_AGENT = 9
PER_DIALLED_AGENT = 2
USUAL = 256  # whatever else a process has open


def allow_open_files(wanted: int) -> None:
    """Raise the soft limit where it is too low; refuse where the hard one is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise InvalidParameter(
            f"so many parties need {wanted} open files in one process, and the system allows {hard}: more processes, fewer "
            "parties, or a larger `ulimit -n`"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
