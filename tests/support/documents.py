"""Documents that are run: the files that they show are written, and their shell blocks are one session of bash.

| in the document | here |
|---|---|
| a block with title="NAME" | is written to the file NAME |
| a block of `sh` | is run, every line of it, unless it is in `EXEMPT`; a failing line fails the document |
| a line that ends with `# exit code N` | must end with that code |
| a line that ends with ` &` | runs in the background; the block after it begins when all it listens at is open |
| a line whose comment says `until Ctrl-C` | runs in the background, too; `parties up` is awaited |
| a block of `toml` without a title | is a part of the page's configuration, or an experiment, and is read as one |
| a block of `python` without a title | is run by tests/integration/test_documents.py |
| any other block | is only read; if there are commands in it, it is in `EXEMPT` |

Ports of the form 7xxx on loopback are replaced by free ones, so that documents can be run beside each other.  `.venv` and
`examples` are there as in a checkout.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import COMMAND, ROOT, Stage

# Blocks with commands that are not typed here, by page and first line, and why not.
_SETS_UP = "sets up the environment that this runs in"
EXEMPT = {
    ("CONTRIBUTING.md", "$ make test"): "what runs the tests, and what runs beside them",
    ("CONTRIBUTING.md", "$ .venv/bin/pytest"): "what runs the tests, and what runs beside them",
    ("README.md", "make demo"): _SETS_UP,
    ("README.md", "make check"): "what runs the tests, and what runs beside them",
    ("docs/index.md", "$ make demo"): _SETS_UP,
    ("docs/index.md", "$ pip install ."): "tests/integration/test_packaging.py installs it",
    ("docs/tutorial.md", "$ make demo"): _SETS_UP,
    (
        "docs/command-line.md",
        "$ localdp --install-completion",
    ): "tests/integration/test_completion.py does it",
    (
        "docs/howto-own-data.md",
        "$ localdp owner changes",
    ): "tests/unit/parties/agent/test_changes.py has the words",
    ("docs/howto-deploy.md", "$ localdp site new"): "for other machines: tests/unit/parties/test_site.py",
    ("docs/howto-deploy.md", "$ localdp ask"): "for other machines: tests/integration/test_tls.py",
    ("docs/howto-deploy.md", "$ localdp site join"): "for other machines: tests/unit/parties/test_site.py",
    ("docs/owner.md", "$ localdp owner pending"): "tests/integration/test_owner_command.py does it",
    ("docs/howto-own-data.md", "$ localdp agent init"): "docs/tutorial.md does it step by step",
    (
        "docs/howto-own-data.md",
        "$ localdp data sketch",
    ): "tests/integration/test_data_command.py does it, and edits as an owner does",
    (
        "docs/howto-own-data.md",
        ".venv/bin/python examples/tables/omop.py",
    ): "tests/unit/parties/agent/test_databases.py does it",
    (
        "docs/pan-privacy.md",
        "$ localdp pan-private",
    ): "tests/integration/test_pan_private_command.py does it",
    (
        "docs/privacy-officer.md",
        "$ localdp budget collect",
    ): "tests/integration/test_collect_command.py does it",
    (
        "docs/scale.md",
        "$ localdp simulate",
    ): "a billion people: tests/integration/test_simulate.py has fewer",
    ("docs/scale.md", "$ localdp reports ask"): "tests/integration/test_aggregate.py does it",
    (
        "docs/flooded.md",
        "$ localdp shuffler second",
    ): "for other machines: tests/integration/test_second_shuffler.py",
    ("docs/streams.md", "$ localdp stream begin"): "tests/integration/test_stream_command.py does it",
    (
        "docs/shares.md",
        "$ localdp share-server run",
    ): "needs a database: tests/fault/test_postgres_kill_nine.py",
    (
        "docs/howto-own-randomizer.md",
        "make protos",
    ): "of a changed checkout: tests/integration/test_own_randomizer.py",
    ("docs/keys.md", "localdp keys rotate"): "docs/agents.md does it",
    ("docs/keys.md", "localdp keys revoke"): "of a deployment: tests/integration/test_revocation.py",
    (
        "docs/keys.md",
        "localdp witness run",
    ): "for another machine: tests/integration/test_witness_command.py",
    (
        "docs/agents.md",
        "localdp agent restore",
    ): "the agent runs on that page: tests/integration/test_backup_commands.py",
    (
        "docs/contract.md",
        "localdp contract",
    ): "of somebody else's agent: tests/integration/test_contract_command.py",
    (
        "docs/privacy-officer.md",
        "$ localdp budget export",
    ): "docs/agents.md does it",
    (
        "docs/noise.md",
        "$ localdp shared explain",
    ): "shows its output: tests/integration/test_documents.py compares it",
    (
        "docs/shuffling.md",
        "$ localdp shuffler run",
    ): "for another machine: tests/integration/test_shuffler.py",
}
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(?:localdp|make|pip|python)\s", re.MULTILINE)
_FILE = re.compile(r'^```\w+ title="([\w.-]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
_BACKGROUND = re.compile(r" &(\s+#.*)?$")
_KEPT = re.compile(r"^(.*\S)\s+#.*until Ctrl-C")
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
_UP = "\nfor _ in $(seq 600); do if [ -e out/parties.json ]; then break; fi; sleep 0.1; done"


def files(document: str) -> dict[str, str]:
    """What the document tells the reader to save, by name."""
    return dict(_FILE.findall(document))


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: str
    language: str
    title: str
    text: str

    @property
    def exempt(self) -> str | None:
        """Why it is not typed, if it is not."""
        return next(
            (
                why
                for (page, first), why in EXEMPT.items()
                if page == self.page and self.text.startswith(first)
            ),
            None,
        )

    @property
    def has_commands(self) -> bool:
        """Whether somebody might type it."""
        return self.language == "sh" or (
            self.language in ("", "console", "text", "bash", "shell")
            and _COMMAND.search(self.text) is not None
        )


def blocks_of(document: str, page: str = "") -> list[Block]:
    """All fenced blocks of a page."""
    found = _BLOCK.findall(document)
    return [Block(page, language, more.strip(), text) for language, more, text in found]


def shell_blocks(document: str, page: str = "") -> list[str]:
    """What the document tells the reader to type, and is typed."""
    return [
        block.text for block in blocks_of(document, page) if block.language == "sh" and not block.exempt
    ]


def script(document: str, page: str = "") -> str:
    """All of it, for bash."""
    parts = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT"]
    for block in shell_blocks(document, page):
        parts += [_line(line) for line in block.splitlines()]
        background = [line for line in block.splitlines() if _BACKGROUND.search(line)]
        wanted = [port for line in background for port in _listened(line, document)]
        if wanted:
            parts.append(_LISTENING.format(ports=" ".join(wanted)))
    return "\n".join(parts) + "\n"


def _line(line: str) -> str:
    """A line of the document; one that is to fail says so in the document itself."""
    if kept := _KEPT.match(line):
        return f"{kept[1]} &" + (_UP if " parties up" in line else "")
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
    _like_a_checkout(made.directory)
    for name, content in files(text).items():
        (made.directory / name).write_text(content)
    return subprocess.run(
        ["bash", "-c", script(text, page_name(document))],
        cwd=made.directory,
        env={**made.environment, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def pages() -> list[Path]:
    """Every page of the project."""
    found = [ROOT.glob("*.md")] + [
        (ROOT / room).rglob("*.md")
        for room in ("docs", "examples", "notebooks", "protos", "benchmarks", "tests")
    ]
    return sorted(path for room in found for path in room)


def page_name(document: Path) -> str:
    """A page as the register names it."""
    return str(document.relative_to(ROOT)) if document.is_relative_to(ROOT) else document.name


def _like_a_checkout(directory: Path) -> None:
    """What pages of a checkout count on; results of the examples are not to land in the real one."""
    (directory / ".venv").mkdir(exist_ok=True)
    (directory / ".venv/bin").symlink_to(COMMAND.parent)
    shutil.copytree(ROOT / "examples", directory / "examples", ignore=shutil.ignore_patterns("__pycache__"))


def with_free_ports(document: str) -> str:
    """The document with other ports."""
    found = sorted(set(_PORT.findall(document)))
    with_sockets = [(port, socket.create_server(("127.0.0.1", 0))) for port in found]
    free = {port: str(server.getsockname()[1]) for port, server in with_sockets}
    for _, server in with_sockets:
        server.close()
    return _PORT.sub(lambda match: free[match[0]], document)
