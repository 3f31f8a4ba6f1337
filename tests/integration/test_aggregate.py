"""Rounds by file beside live ones: the same estimate, bit for bit, at one charge; and through a shuffler."""

import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.experiments.crowd_reports import sums_digest
from localdp.oracles.lr import InProcessLROracle, tally_of
from localdp.oracles.promise import Promise
from localdp.oracles.shuffler import Shuffler
from localdp.randomizers.registry import entry_of
from localdp.randomness.hazmat import SeededSource
from parties.agent.config import load_config
from parties.at_rest.aggregating import aggregate
from parties.at_rest.mixed import write_mixed
from parties.at_rest.round_file import RoundFile
from parties.coordinator import Peer, RemoteParties
from tests.support.agents import charges_of, failed, running, succeeded, write_agent
from tests.support.federations import party, people
from tests.support.processes import localdp, stage

PEOPLE = 3000


def test_a_running_agents_file_is_the_live_round_at_one_charge(tmp_path: Path) -> None:
    config = write_agent(tmp_path, people=PEOPLE, data='person = "patient"')
    succeeded(tmp_path, "agent", "init", str(config))
    succeeded(tmp_path, "reports", "ask", "age >= 50", "--out", "round.json", "--epsilon", "1")
    request = RoundFile.read(tmp_path / "round.json").request
    with stage(tmp_path) as made, running(made, config) as (_, address):
        with closing(RemoteParties([Peer("clinic", address)])) as live:
            tally = tally_of(live, request, Cohort(0, PEOPLE))
        told = succeeded(tmp_path, "reports", "write", "round.json", str(config), "--to", "reports")
    again = succeeded(tmp_path, "reports", "write", "round.json", str(config), "--to", "reports")
    assert told == again and told["reports"] == PEOPLE
    done = succeeded(tmp_path, "aggregate", "reports/*.parquet", told["out"], "--round", "round.json")
    randomizer = request.randomizer
    estimate = randomizer.estimate(tally)  # type: ignore[attr-defined]
    assert done["digest"] == sums_digest(tally) and done["estimates"] == [estimate.value]
    assert (done["files"], done["files_repeated"], done["parties"]) == (1, 0, ["clinic"])
    assert len(charges_of(load_config(config))) == 1


def test_a_round_is_written_once_and_what_is_no_round_is_refused(tmp_path: Path) -> None:
    succeeded(tmp_path, "reports", "ask", "smoker", "--out", "round.json")
    assert (
        "is there already" in failed(tmp_path, "reports", "ask", "smoker", "--out", "round.json")["message"]
    )
    (tmp_path / "other.json").write_text("{}")
    config = write_agent(tmp_path, data='person = "patient"')
    succeeded(tmp_path, "agent", "init", str(config))
    assert "is no round" in failed(tmp_path, "reports", "write", "other.json", str(config))["message"]
    assert "there is no file" in failed(tmp_path, "aggregate", "reports/*.parquet")["message"]


def test_people_read_estimates_of_a_histogram(tmp_path: Path) -> None:
    config = write_agent(tmp_path, people=400, data='person = "patient"')
    succeeded(tmp_path, "agent", "init", str(config))
    asked = ("reports", "ask", "which(age < 20, age < 40)", "--randomizer", "k-ary", "--inputs", "3")
    told = succeeded(tmp_path, *asked, "--out", "round.json")
    assert told["randomizer"] == "k-ary(epsilon=1,inputs=3)"
    succeeded(tmp_path, "reports", "write", "round.json", str(config), "--to", "reports")
    shown = localdp(tmp_path, "aggregate", "reports/*.parquet", "--workers", "2").stdout
    assert "400 reports of 1 parties" in shown and "value 0:" in shown


def test_a_shufflers_file_names_no_party_and_no_order(tmp_path: Path) -> None:
    records = people(200)
    behind = InProcessLROracle([party(records)])
    promise = Promise(Epsilon.requested(1), minimum_cohort=100)
    mixer = Shuffler(behind, SeededSource(3), promise)
    made = entry_of("one-bit").made(Epsilon.requested(1), 2)
    asked = RoundFile.fresh("smoker", made, SeededSource(1))
    place, reports = write_mixed(mixer, "shuffler", asked, str(tmp_path))
    before = Path(place).read_bytes()
    assert reports == 200 and write_mixed(mixer, "shuffler", asked, str(tmp_path)) == (place, 200)
    assert Path(place).read_bytes() == before and b"party-0" not in before
    live = np.concatenate(list(mixer.reports(asked.request, Cohort(0, 200))))
    assert aggregate([place]).tally.sums.tolist() == made.tally(live).sums.tolist()


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidParameter, match=r"localdp\[agent\]"):
        aggregate([str(tmp_path / "a.parquet")])
