"""Certificates that were taken back, as a server sees them: refused from the next call on, without a restart.

A server is told where a copy of the authority's list lies (`localdp keys revoke` writes it).  At every call it looks at
the file's time, size and inode, and reads the file again when they differ.  At the start the list must be there and be
good.  After that a file that cannot be read, that the authority did not sign, or whose number is smaller than that of the
list in use, changes nothing: the last good list stays in use, and the log says so.

What is compared is the serial number in the certificate that the caller shows.  Over a relay an agent sees no certificate,
only the name that it insisted on: there every holder of a name is refused of which a certificate was revoked.

Claim.  A call that begins after the file was replaced by a good, later list is judged by that list.  It costs a `stat`
and a lookup if nothing changed.  A server that is started on an older list cannot know that it is older.

Checked in tests/unit/parties/test_revocation.py and tests/integration/test_revocation.py.
"""

from __future__ import annotations

import logging
import os
import threading
from functools import lru_cache
from pathlib import Path

from cryptography import x509

from localdp.errors import CertificateRevoked, InvalidParameter
from parties.identity import Context, peer_name
from parties.observability.logs import Value, log
from parties.revocation_list import LARGEST_LIST_BYTES, RevokedCertificates, read_list

# Of a file: when it was written, its size, its inode; None if there is none.
Stamp = tuple[int, int, int] | None


class Revocations:
    """The list in a file, as it is now.  Its methods may be called from any thread."""

    def __init__(self, path: Path, authority: bytes) -> None:
        """`authority`: its certificate in PEM, as in an identity.  A list that is not there or not good is an error."""
        self._path = path
        self._authority = x509.load_pem_x509_certificate(authority)
        self._lock = threading.Lock()
        self._stamp = _stamp(path)
        self._current = self._read()

    @property
    def current(self) -> RevokedCertificates:
        """The list in use, read again if the file changed."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            with self._lock:
                self._take(stamp)
        return self._current

    def require_not_revoked(self, context: Context) -> None:
        """Refuse a caller whose certificate was revoked; one without a certificate, on loopback, has none to lose."""
        revoked, shown = self.current, [*context.auth_context().get("x509_pem_cert", ())]
        if shown and _serial(bytes(shown[0])) in revoked.serials:
            raise CertificateRevoked("the caller's certificate was revoked")
        if not shown:
            self.require_name(peer_name(context))

    def require_name(self, caller: str | None) -> None:
        """Refuse a name of which a certificate was revoked, where the certificate itself is not seen."""
        if caller in self.current.names:
            raise CertificateRevoked(
                "a certificate of the caller's name was revoked, and its own is not seen here"
            )

    def _take(self, stamp: Stamp) -> None:
        """A later list in place of the one in use; whatever else the file is now leaves the list as it was."""
        # Looked at before it is read: what is written meanwhile is read at the next call.
        self._stamp = stamp
        try:
            found = self._read()
        except InvalidParameter:
            self._kept("unreadable")
            return
        if found.number < self._current.number or (
            found.number == self._current.number and found != self._current
        ):
            self._kept("older")
            return
        self._current = found
        log(logging.WARNING, "revocations", {"number": found.number, "revoked": len(found.serials)})

    def _kept(self, why: str) -> None:
        fields: dict[str, Value] = {"file": str(self._path), "why": why, "number": self._current.number}
        log(logging.ERROR, "revocations_kept", fields)

    def _read(self) -> RevokedCertificates:
        try:
            with self._path.open("rb") as file:
                data = file.read(LARGEST_LIST_BYTES + 1)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise InvalidParameter(f"the list of revoked certificates {self._path}: {why}") from None
        if len(data) > LARGEST_LIST_BYTES:
            raise InvalidParameter(f"{self._path} has more than {LARGEST_LIST_BYTES} bytes")
        return read_list(data, self._authority)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=1024)
def _serial(certificate: bytes) -> int:
    """The serial number in a certificate that TLS has checked; a caller shows the same one for each of its calls."""
    return x509.load_pem_x509_certificate(certificate).serial_number
