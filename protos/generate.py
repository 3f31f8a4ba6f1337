"""Generates parties/wire and the reference in docs/contract.md from protos/, or checks that what is committed is that."""

import argparse
import sys
import tempfile
from pathlib import Path

import document
from compiler import ROOT, compiled

PACKAGE = Path("parties/wire/v1")


def generate(into: Path) -> None:
    """Write messages, their types and the service stubs below `into`."""
    compiled(*(f"--{kind}_out={into}" for kind in ("python", "pyi", "grpc_python")))


def generated(below: Path) -> dict[str, str]:
    """Names and texts of the generated files."""
    return {path.name: path.read_text() for path in sorted((below / PACKAGE).glob("*_pb2*"))}


def main() -> None:
    """Generate in place, or with --check compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the committed files are stale")
    if not parser.parse_args().check:
        generate(ROOT)
        document.PAGE.write_text(document.page())
        return
    with tempfile.TemporaryDirectory() as fresh:
        generate(Path(fresh))
        stale = generated(Path(fresh)).items() ^ generated(ROOT).items()
    names = {name for name, _ in stale}
    if document.PAGE.read_text() != document.page():
        names.add(document.PAGE.name)
    if names:
        sys.exit(f"stale: {', '.join(sorted(names))}; run `make protos` and commit the result")


if __name__ == "__main__":
    main()
