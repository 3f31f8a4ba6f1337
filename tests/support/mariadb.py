"""A MariaDB for tests, in a directory of its own, on a socket, ended by its id; where Debian's `mariadb-server` is there.

`LOCALDP_MARIADB` may name a directory into which the packages were unpacked (`dpkg -x`); nothing of the system is changed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes import NOBODY, wait_until

_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
_SYSTEM = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
_OURS = (
    "CREATE DATABASE clinic CHARACTER SET utf8mb4",
    "CREATE USER reader@localhost IDENTIFIED BY 'hunter2'",
    "GRANT ALL ON clinic.* TO reader@localhost",
)


def root() -> Path | None:
    """Where the programs are; None if they are nowhere."""
    place = Path(os.environ.get("LOCALDP_MARIADB", "/"))
    return place if (place / "usr/sbin/mariadbd").exists() else None


@contextlib.contextmanager
def mariadb(place: Path) -> Iterator[str]:
    """The address of its database `clinic`, which wants the password hunter2."""
    directory = Path(tempfile.mkdtemp(prefix="maria-", dir="/tmp"))
    try:
        (directory / "data").mkdir()
        for path in (directory, directory / "data"):
            os.chown(path, NOBODY, NOBODY)
        share = place / "usr/share/mysql"
        system = "\n".join((share / name).read_text() for name in _SYSTEM)
        made = f"CREATE DATABASE mysql;\nUSE mysql;\n{system}"
        subprocess.run(
            _command(place, directory, "--bootstrap"),
            input=made.encode(),
            env=_environment(place),
            check=True,
            capture_output=True,
        )
        (directory / "first.sql").write_text("".join(f"{one};\n" for one in _OURS))
        with _serving(place, directory):
            yield f"mysql+pymysql://reader@localhost/clinic?unix_socket={directory}/s"
    finally:
        shutil.rmtree(directory)


@contextlib.contextmanager
def _serving(place: Path, directory: Path) -> Iterator[None]:
    command = _command(place, directory, f"--init-file={directory}/first.sql")
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, env=_environment(place), stdout=log, stderr=log)
    try:
        wait_until(lambda: b"ready for connections" in (directory / "log").read_bytes(), "MariaDB answers")
        yield
    finally:
        process.terminate()
        process.wait(60)


def _command(place: Path, directory: Path, *further: str) -> list[str]:
    return [
        *(
            ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
            if os.geteuid() == 0
            else ()
        ),
        *(str(place / "usr/sbin/mariadbd"), "--no-defaults", f"--basedir={place / 'usr'}"),
        *(f"--datadir={directory}/data", f"--socket={directory}/s", "--skip-networking"),
        f"--lc-messages-dir={place / 'usr/share/mysql'}",
        f"--character-sets-dir={place / 'usr/share/mysql/charsets'}",
        *further,
    ]


def _environment(place: Path) -> dict[str, str]:
    libraries = ":".join(str(place / one) for one in _LIBRARIES)
    return {**os.environ, **({"LD_LIBRARY_PATH": libraries} if place != Path("/") else {})}
