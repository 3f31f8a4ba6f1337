"""Python, the packages that localdp needs, those that it can use, and whether compiled code is at hand.

What is needed stands in the metadata that the package was installed with; what was tested together, in constraints.txt of
a checkout.  Nothing that is optional is imported: numba alone would take a second.

Checked in tests/unit/parties/doctor/test_packages.py, against pyproject.toml, and in tests/integration/test_doctor.py.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from parties.doctor.finding import Finding, fails, note, ok

LEAST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parents[2]  # of the checkout, if this is one
INSTALL = "pip install --upgrade localdp"
# Each extra's own package, and what is missing without it; what begins with `UNNEEDED` is no loss.
UNNEEDED = "nor needed"
EXTRAS: Mapping[str, tuple[str, str]] = {
    "plots": ("matplotlib", "`compare --out` and `separate --out` draw nothing"),
    "agent": (
        "pyarrow",
        "`agent` reads tables in CSV only, no spreadsheets, and data frames cannot be handed over",
    ),
    "shared": ("numba", "proofs of shares are verified by numpy, about ten times slower"),
    "attacks": ("scipy", "no reconstruction by linear programs"),
    "scale": ("distributed", "no Dask cluster, and files of reports on this machine only"),
    "postgres": (
        "psycopg",
        "share servers, shufflers and rounds keep their state in files, not in PostgreSQL",
    ),
    "database": ("sqlalchemy", "`agent` reads files only, no tables of databases"),
    "docs": ("mkdocs", f"{UNNEEDED}: `make docs` makes an environment of its own"),
    "dev": ("pytest", "no tests; only those who change localdp need them"),
}
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9][0-9A-Za-z.]*))?\s*$")
_KERNELS = "localdp/sharing/prio3/batch/compiled"

Versions = Callable[[str], str | None]


def installed(name: str) -> str | None:
    """The version of a package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with, without zeros at the end: 1.85.1 is (1, 85, 1), 2.0rc1 is (2,)."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    parts = [] if found is None else [int(part) for part in found[0].split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def python(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Finding:
    """Python itself."""
    told = ".".join(str(part) for part in version)
    if version < LEAST_PYTHON:
        return fails("python", f"{told} is too old", "install Python 3.11 or newer")
    return ok("python", told)


def requirements() -> dict[str, str]:
    """What localdp needs without any extra: the least version of each package, by name."""
    needed = {}
    for line in metadata.requires("localdp") or []:
        matched = _REQUIREMENT.fullmatch(line.split(";")[0].strip())
        if ";" not in line and matched is not None:
            needed[matched[1]] = matched[2] or "0"
    return needed


def core(version_of: Versions = installed) -> Finding:
    """The packages without which nothing works."""
    if version_of("localdp") is None:
        return fails("packages", "localdp is not installed", "pip install --editable . in the checkout")
    needed = requirements()
    wrong = []
    for name, least in needed.items():
        found = version_of(name)
        if found is None:
            wrong.append(f"{name} is missing")
        elif numbers(found) < numbers(least):
            wrong.append(f"{name} {found} is older than {least}")
    if wrong:
        return fails("packages", ", ".join(wrong), INSTALL)
    return ok("packages", f"localdp {version_of('localdp')} and the {len(needed)} packages it needs")


def constraints(path: Path = ROOT / "constraints.txt", version_of: Versions = installed) -> Finding:
    """Whether the packages are those that were tested together."""
    if not path.exists():
        return ok("constraints", "not a checkout: any version that the package allows")
    pinned = [line.partition("==") for line in path.read_text().splitlines() if "==" in line]
    other = [
        f"{name} {found} instead of {version}"
        for name, _, version in pinned
        if (found := version_of(name)) not in (None, version)
    ]
    if other:
        told = ", ".join(other[:3]) + (f" and {len(other) - 3} more" if len(other) > 3 else "")
        return note("constraints", told, f"pip install --constraint {path} --editable '.[dev]'")
    return ok("constraints", f"what is installed is as in {path.name}")


def extras(version_of: Versions = installed) -> Iterator[Finding]:
    """What can be added."""
    for extra, (package, without) in EXTRAS.items():
        check, found = f"extra {extra}", version_of(package)
        if found is not None:
            yield ok(check, f"{package} {found}")
        elif without.startswith(UNNEEDED):
            yield ok(check, f"{package} is not installed, {without}")
        else:
            yield note(check, f"{package} is not installed: {without}", f"pip install 'localdp[{extra}]'")


def compiled_code(version_of: Versions = installed) -> Finding:
    """Whether the verification of proofs was compiled before, and is kept on disk."""
    check = "compiled code"
    if version_of("numba") is None:
        return ok(check, "none without numba")
    found = sum(1 for place in _places() for _ in place.glob("**/*.nbi"))
    if found:
        return ok(check, f"{found} functions are kept on disk")
    return ok(check, "none is kept yet: the first proofs take a minute, and it is kept then")


def _places() -> list[Path]:
    """Where numba keeps what it compiled: where it is told to, beside the source, or in the user's cache."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    if told:
        return [Path(told)]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return [ROOT / _KERNELS, cache]
