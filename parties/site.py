"""A bundle for one site: everything that whoever runs a party there needs, in one archive, made by whoever runs the study.

| in the archive | what it is |
|---|---|
| keys/ | the site's certificate, its key, and the authority's certificate |
| site.toml | the beginning of the agent's configuration: name, addresses, share servers, who may ask |
| README.txt | what to do next |
| SHA256SUMS | the digest of each of them |

The archive has a secret key, so it is for its owner alone, and its digest is told by another way than the archive: whoever
joins takes nothing that was changed on the way.  What belongs to the site (table, schema, budget) is not in it.

Checked in tests/unit/parties/test_site.py.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localdp.errors import InvalidParameter
from parties.durable import make_private_directory, write_atomically
from parties.identity import AUTHORITY, CERTIFICATE, KEY, fingerprint_of, make_identity

CONFIGURATION, README, SUMS = "site.toml", "README.txt", "SHA256SUMS"
_KEYS = tuple(f"keys/{name}" for name in (CERTIFICATE, KEY, AUTHORITY))
_MEMBERS = (*_KEYS, CONFIGURATION, README)
_LARGEST_BYTES = 1 << 20
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TOLD = """This is the bundle of the site {name}.  It has a secret key: keep it as you keep passwords.

1. localdp site join {name}.site --digest DIGEST      the digest that you were told by another way
2. localdp data sketch TABLE --into agent.toml        then complete the lines that begin with #!
3. localdp data check agent.toml                      everything that does not fit
4. localdp agent init agent.toml
5. localdp agent run agent.toml
"""


@dataclass(frozen=True, slots=True)
class Site:
    """What a study tells one of its sites."""

    name: str
    listen: str | None = None  # where its agent listens; None: it dials
    dial: str | None = None  # the coordinator that it dials
    analyst: str = "analyst"
    share_servers: Mapping[str, str] = field(default_factory=dict)

    def configuration(self) -> str:
        """The beginning of the agent's configuration."""
        lines = [
            f"name = {json.dumps(self.name)}",
            "",
            "[policy]",
            "largest_epsilon = 1",
            "minimum_cohort = 100",
            f"aggregators = [{json.dumps(self.analyst)}]",
        ]
        if self.listen is not None:
            lines += ["", "[listen]", f"address = {json.dumps(self.listen)}"]
        if self.dial is not None:
            lines += [
                "",
                "[dial]",
                f"coordinator = {json.dumps(self.dial)}",
                f"name = {json.dumps(self.analyst)}",
            ]
        if self.share_servers:
            lines += ["", "[share_servers]"]
            lines += [f"{name} = {json.dumps(address)}" for name, address in self.share_servers.items()]
        return "\n".join([*lines, "", "[tls]", 'directory = "keys"', ""])


@dataclass(frozen=True, slots=True)
class Joined:
    """What is told of a bundle, to be compared by whoever made it and whoever joins with it."""

    digest: str  # of the archive
    fingerprint: str  # of the certificate


def new_site(authority: Path, site: Site, hosts: tuple[str, ...], out: Path) -> Joined:
    """Make a site's identity, and its bundle."""
    if out.exists():
        raise InvalidParameter(f"{out} is there already; it is not overwritten")
    if (site.listen is None) is (site.dial is None):
        raise InvalidParameter(
            "a site's agent listens at an address, or dials a coordinator: say one of them"
        )
    with tempfile.TemporaryDirectory() as directory:
        keys = Path(directory) / "keys"
        make_identity(authority, keys, site.name, hosts)
        parts = {f"keys/{path.name}": path.read_bytes() for path in sorted(keys.iterdir())}
    parts |= {CONFIGURATION: site.configuration().encode(), README: _TOLD.format(name=site.name).encode()}
    content = _archive(parts)
    write_atomically(out, content, confidential=True)
    return _told(content, parts)


def join_site(bundle: Path, directory: Path, digest: str | None = None) -> Joined:
    """Unpack a bundle that was not changed on the way, as the beginning of an agent's directory."""
    content = _read(bundle)
    told = hashlib.sha256(content).hexdigest()
    if digest is not None and digest.strip().lower() != told:
        raise InvalidParameter(
            f"{bundle} is not the bundle of this digest; ask for it again, and use neither"
        )
    parts = _parts(bundle, content)
    for path in (directory / "agent.toml", directory / "keys", directory / README):
        if path.exists():
            raise InvalidParameter(f"{path} is there already; it is not overwritten")
    directory.mkdir(parents=True, exist_ok=True)
    make_private_directory(directory / "keys")
    for name in _KEYS:
        write_atomically(directory / name, parts[name], confidential=True)
    write_atomically(directory / "agent.toml", parts[CONFIGURATION])
    write_atomically(directory / README, parts[README])
    return _told(content, parts)


def _archive(parts: Mapping[str, bytes]) -> bytes:
    sums = "".join(f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in parts.items())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**parts, SUMS: sums.encode()}.items():
            archive.writestr(name, part)
    return packed.getvalue()


def _read(bundle: Path) -> bytes:
    if not bundle.is_file() or bundle.stat().st_size > _LARGEST_BYTES:
        raise InvalidParameter(f"{bundle} is no bundle of `localdp site new`")
    return bundle.read_bytes()


def _parts(bundle: Path, content: bytes) -> dict[str, bytes]:
    """What is in it: these members and no others, each with its digest."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            listed = [one.filename for one in archive.infolist()]
            small = sum(one.file_size for one in archive.infolist()) <= _LARGEST_BYTES
            known = all(one.compress_type in _PACKED for one in archive.infolist())
            if sorted(listed) != sorted((*_MEMBERS, SUMS)) or not small or not known:
                raise ValueError
            parts = {name: archive.read(name) for name in _MEMBERS}
            sums = dict(line.split("  ")[::-1] for line in archive.read(SUMS).decode().splitlines())
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        raise InvalidParameter(f"{bundle} is no bundle of `localdp site new`") from None
    for name, part in parts.items():
        if sums.get(name) != hashlib.sha256(part).hexdigest():
            raise InvalidParameter(f"{bundle}: {name} was changed on the way; ask for the bundle again")
    return parts


def _told(content: bytes, parts: Mapping[str, bytes]) -> Joined:
    return Joined(hashlib.sha256(content).hexdigest(), fingerprint_of(parts[_KEYS[0]]))
