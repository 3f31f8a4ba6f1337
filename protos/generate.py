"""Generates parties/wire and the reference in docs/contract.md from protos/, or checks that what is committed is that."""

import argparse
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import document
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
PACKAGE = Path("parties/wire/v1")


def generate(into: Path) -> None:
    """Write messages, their types and the service stubs below `into`."""
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    standard = str(files("grpc_tools") / "_proto")
    arguments = ["protoc", f"--proto_path={PROTOS}", f"--proto_path={standard}"]
    outputs = [f"--{kind}_out={into}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main([*arguments, *outputs, *sources]) != 0:
        sys.exit("protoc failed")


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
