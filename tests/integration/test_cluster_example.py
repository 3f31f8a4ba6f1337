"""The example of a cluster, from one command to its end: database, share servers, agents, Dask, files of reports."""

import subprocess
import sys

import pytest

from tests.support.processes import ROOT


@pytest.mark.nightly
def test_the_cluster_starts_answers_and_ends() -> None:
    script = str(ROOT / "examples/cluster/cluster.py")
    done = subprocess.run(
        [sys.executable, script, "--once"], capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "of 4,000" in done.stdout and "4,000 reports of 2 parties in 2 files" in done.stdout
    assert "100,000,000 people by formula" in done.stdout
