"""Compiled code comes when it is asked for, from where it may be kept, and not at all where it is not wanted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import InvalidParameter
from localdp.sharing.prio3 import Count, Prio3
from localdp.sharing.prio3.batch.compiled import sponge, toolchain
from localdp.sharing.prio3.batch.compiled.steps import SHARDING, VERIFYING, Steps
from localdp.sharing.prio3.batch.engine import WITHOUT_NUMBA, can_compile, use_compiled, warm_up
from localdp.sharing.prio3.batch.sharding import BlockSharder
from localdp.sharing.prio3.batch.verification import BlockVerifier
from tests.unit.sharing.prio3.test_batch import Cubic

KEY = bytes(32)
ROOT = Path(__file__).resolve().parents[4]
COLD_SECONDS = 30.0
COUNT = Prio3(Count(), 2)


def python(code: str, **environment: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def engine_names(prio3: Prio3, compiled: bool | None = None) -> list[str]:
    verifier = BlockVerifier(prio3, KEY, b"", 0, compiled=compiled)
    sharder = BlockSharder(prio3, b"", compiled=compiled)
    return [type(verifier._engine).__name__, type(sharder._sharding).__name__]


def test_numba_is_not_imported_before_a_block_is_to_be_verified() -> None:
    imports = "import localdp.sharing.prio3.batch.verification, localdp.sharing.prio3.batch.sharding"
    assert python(f"{imports}, sys; print('numba' in sys.modules)") == "False"


def test_the_environment_can_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_names(COUNT) == ["CompiledEngine", "CompiledSharding"]
    monkeypatch.setenv(WITHOUT_NUMBA, "0")
    assert can_compile(COUNT)
    monkeypatch.setenv(WITHOUT_NUMBA, "1")
    assert engine_names(COUNT) == ["NumpyEngine", "NumpySharding"]
    with pytest.raises(InvalidParameter):
        use_compiled(COUNT, compiled=True)
    warm_up(COUNT, lambda *_: pytest.fail("there is nothing to wait for"))


def test_without_numba_everything_is_done_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # Importing it now fails.
    assert engine_names(COUNT) == ["NumpyEngine", "NumpySharding"]
    with pytest.raises(InvalidParameter):
        BlockVerifier(COUNT, KEY, b"", 0, compiled=True)


def test_a_switched_off_compiler_and_another_byte_order_leave_it_to_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert not can_compile(COUNT)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "byteorder", "big")
    assert not can_compile(COUNT)


def test_heirs_of_a_circuit_are_not_taken_for_it() -> None:
    assert can_compile(COUNT)
    assert not can_compile(Prio3(Cubic(), 2))


@pytest.mark.parametrize("sharding", [False, True])
def test_warming_up_says_what_comes_next_and_when_it_is_over(sharding: bool) -> None:
    told: list[tuple[str, int, int]] = []
    warm_up(COUNT, lambda *step: told.append(step), sharding)
    names = [*VERIFYING, *(name for name in SHARDING if sharding and name not in VERIFYING)]
    expected = [(name, done, len(names)) for done, name in enumerate(names)]
    assert told == [*expected, ("", len(names), len(names))]


def test_entries_release_the_lock_and_are_never_compiled_for_other_types() -> None:
    for limbs in (1, 2):
        steps = Steps(limbs)
        for name in dict.fromkeys(VERIFYING + SHARDING):
            step: Any = getattr(steps, name)
            assert step.targetoptions["nogil"] and not step.targetoptions.get("parallel")
            assert len(step.signatures) == 1 and not step._can_compile


def test_the_name_of_an_entry_changes_with_any_file_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in Path(toolchain.__file__).parent.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(toolchain, "__file__", str(tmp_path / "toolchain.py"))
    digest = toolchain.digest_of_sources.__wrapped__
    before = digest()
    assert before == toolchain.digest_of_sources()
    assert sponge.streams.__qualname__.endswith(before)
    (tmp_path / "words.py").write_text((tmp_path / "words.py").read_text() + "\n")
    assert digest() != before


def test_where_nothing_can_be_kept_an_entry_is_compiled_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def njit(_signatures: Any, nogil: bool, cache: bool = False) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")
        return lambda function: function

    monkeypatch.setattr(toolchain, "_njit", njit)

    def first() -> None: ...

    assert toolchain.entry(first, None) is first
    assert asked == [True, False]


def test_another_failure_to_compile_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(_signatures: Any, **_options: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr(toolchain, "_njit", njit)

    def second() -> None: ...

    with pytest.raises(RuntimeError, match="something else"):
        toolchain.entry(second, None)


COLD = """
import time
from localdp.sharing.prio3 import Count, HistogramCircuit, Prio3
from localdp.sharing.prio3.batch.engine import warm_up
for circuit in (Count(), HistogramCircuit(4, 2)):
    warm_up(Prio3(circuit, 2), sharding=True)
print(time.process_time())
"""


@pytest.mark.nightly
def test_everything_is_compiled_within_half_a_minute_and_found_again_at_once(tmp_path: Path) -> None:
    """Both fields, verifying and sharding, in seconds of processor time, with nothing kept from before."""
    cold = float(python(COLD, NUMBA_CACHE_DIR=str(tmp_path)))
    warm = float(python(COLD, NUMBA_CACHE_DIR=str(tmp_path)))
    assert warm < cold / 3
    assert cold < COLD_SECONDS
