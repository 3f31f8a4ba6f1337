"""The compiler of the protos: an old one, so that what it generates runs on old and new runtimes alike.

Newer compilers write a check into their code that refuses every runtime older than themselves; then whoever has an older
protobuf for the sake of another framework could not have localdp beside it.  This is the newest whose code has no such
check, and the oldest whose code names the methods that a service registers, which `parties/admission.py` needs.

It does not belong into the environment of the project, because it asks for a protobuf of its own age, which it does not
use.  So it is installed beside it on first use, alone.  Checked in tests/tidy/test_tidy.py; the oldest and the newest
runtime in tests/integration/test_lowest_versions.py and everywhere else.
"""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
COMPILER = "grpcio-tools==1.64.3"


def compiled(*outputs: str) -> None:
    """Compile all protos into what the outputs say."""
    compiler = _installed()
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    paths = [f"--proto_path={PROTOS}", f"--proto_path={compiler / 'grpc_tools/_proto'}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", *paths, *outputs, *sources]
    if subprocess.run(command, cwd=compiler, check=False).returncode != 0:
        sys.exit("protoc failed")


def _installed() -> Path:
    """Where the compiler is: in the environment of this interpreter, and not on its path."""
    place = Path(sys.prefix) / "protoc" / COMPILER
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as directory:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            only = ["--no-deps", "--only-binary=:all:", "--target", f"{directory}/new", COMPILER]
            if subprocess.run([*pip, *only], check=False).returncode != 0:
                sys.exit(f"{COMPILER} could not be installed: it is there for Python 3.11 and 3.12")
            with contextlib.suppress(OSError):  # another process was faster
                Path(directory, "new").rename(place)  # whole or not at all
    return place
