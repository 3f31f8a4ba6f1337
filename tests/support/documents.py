"""Documents that are run: the files that they show are written, and their shell blocks are one session of bash.

| in the document | here |
|---|---|
| a block with title="NAME" | is written to the file NAME |
| a block of `sh` | is run, every line of it; a failing line fails the document |
| a line that ends with `# exit code N` | must end with that code |
| a line that ends with ` &` | runs in the background; the block after it begins when all it listens at is open |
| any other block | is only read |

Ports of the form 7xxx on loopback are replaced by free ones, so that documents can be run beside each other.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from pathlib import Path

from tests.support.processes import COMMAND, Stage

_FILE = re.compile(r'^```\w+ title="([\w.-]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^(.*\S)\s+# exit code (\d+)$")
_PORT = re.compile(r"\b7\d{3}\b(?=[\"'#\s,;]|$)|(?<=/)7\d{3}(?=/)|(?<=127\.0\.0\.1:)7\d{3}")
_LISTENING = """
for port in {ports}; do
    for _ in $(seq 300); do
        if (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; then break; fi
        sleep 0.1
    done
done
"""


def files(document: str) -> dict[str, str]:
    """What the document tells the reader to save, by name."""
    return dict(_FILE.findall(document))


def shell_blocks(document: str) -> list[str]:
    """What the document tells the reader to type."""
    return _SHELL.findall(document)


def script(document: str) -> str:
    """All of it, for bash."""
    parts = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT"]
    for block in shell_blocks(document):
        parts += [_line(line) for line in block.splitlines()]
        background = [line for line in block.splitlines() if line.endswith(" &")]
        wanted = [port for line in background for port in _listened(line, document)]
        if wanted:
            parts.append(_LISTENING.format(ports=" ".join(wanted)))
    return "\n".join(parts) + "\n"


def _line(line: str) -> str:
    """A line of the document; one that is to fail says so in the document itself."""
    matched = _CODE.match(line)
    if matched is None:
        return line
    return (
        f"code=0; {matched[1]} || code=$?; [ $code = {matched[2]} ] || {{ echo exit code $code; exit 99; }}"
    )


def _listened(line: str, document: str) -> list[str]:
    """The ports that a command in the background will listen at: its own option, or those of its configuration."""
    told = re.findall(r"--listen \S+:(\d+)", line)
    if told:
        return told
    configured = dict(_configured(document))
    return [port for name in re.findall(r"\S+\.toml", line) for port in configured.get(name, [])]


def _configured(document: str) -> list[tuple[str, list[str]]]:
    """Where each configuration listens: as shown, or as made from a shown one by `sed`."""
    shown = [
        (name, re.findall(r'^address = "\S+:(\d+)"', text, re.MULTILINE))
        for name, text in files(document).items()
        if name.endswith(".toml")
    ]
    for replacements, _, made in re.findall(r"^sed '(.*)' (\S+) > (\S+)$", document, re.MULTILINE):
        shown.append((made, [re.findall(r"s/\d+/(\d+)/", replacements)[0]]))
    return shown


def run(document: Path, made: Stage, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a document in the directory of a stage, and return how it ended."""
    text = with_free_ports(document.read_text())
    for name, content in files(text).items():
        (made.directory / name).write_text(content)
    return subprocess.run(
        ["bash", "-c", script(text)],
        cwd=made.directory,
        env={**made.environment, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def with_free_ports(document: str) -> str:
    """The document with other ports."""
    found = sorted(set(_PORT.findall(document)))
    with_sockets = [(port, socket.create_server(("127.0.0.1", 0))) for port in found]
    free = {port: str(server.getsockname()[1]) for port, server in with_sockets}
    for _, server in with_sockets:
        server.close()
    return _PORT.sub(lambda match: free[match[0]], document)
