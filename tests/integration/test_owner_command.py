"""`localdp owner`: a question waits, its owner approves it while the agent runs, and the register has the decision."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import ApprovalNeeded, BudgetExhausted, PolicyRefused
from parties.coordinator import Peer, RemoteParties
from tests.support.agents import failed, running, succeeded, write_agent
from tests.support.federations import request
from tests.support.processes import localdp, stage

EVERYBODY = Cohort(0, 40)
MORE = "\n[approval]\nquestions = true\n\n[quotas]\nothers = 2\n"


def asked(address: str, number: int) -> None:
    with closing(RemoteParties([Peer("clinic", address)], 20.0)) as remote:
        list(remote.reports(request(number), EVERYBODY))


def test_an_owner_approves_while_the_agent_runs(tmp_path: Path) -> None:
    config = write_agent(tmp_path, more=MORE)
    succeeded(tmp_path, "agent", "init", str(config))
    assert succeeded(tmp_path, "owner", "pending", str(config)) == {"pending": []}
    with stage(tmp_path) as made, running(made, config) as (_, address):
        with pytest.raises(ApprovalNeeded, match=r"\(approval.questions\), as number") as refused:
            asked(address, 1)
        (one,) = succeeded(tmp_path, "owner", "pending", str(config))["pending"]
        assert one["number"] in str(refused.value) and one["epsilon"] == 1.0
        assert "no question" in str(failed(tmp_path, "owner", "approve", str(config), "no such"))
        succeeded(tmp_path, "owner", "approve", str(config), one["number"])
        for number in (1, 2):
            asked(address, number)
        with pytest.raises(BudgetExhausted, match=r"\(quotas.others\)"):
            asked(address, 3)
    (entry,) = [
        entry
        for entry in succeeded(tmp_path, "budget", "history", str(config))["entries"]
        if entry["kind"] == "decision"
    ]
    assert entry["allowed"] is True and entry["question"] == one["question"]
    assert "somebody on loopback may ask" in localdp(tmp_path, "budget", "history", str(config)).stdout


def test_a_refusal_holds_after_a_restart(tmp_path: Path) -> None:
    config = write_agent(tmp_path, more="\n[approval]\ncolumns = ['smoker']\n")
    succeeded(tmp_path, "agent", "init", str(config))
    with stage(tmp_path) as made:
        with running(made, config) as (_, address), pytest.raises(ApprovalNeeded):
            asked(address, 1)
        told = localdp(tmp_path, "owner", "pending", str(config)).stdout
        succeeded(tmp_path, "owner", "refuse", str(config), told.split()[0])
        assert "nothing waits" in localdp(tmp_path, "owner", "pending", str(config)).stdout
        with running(made, config) as (_, address):
            with pytest.raises(
                PolicyRefused, match=r"owner has refused this question .*\(approval.columns\)"
            ) as refused:
                asked(address, 2)
            assert not isinstance(refused.value, ApprovalNeeded)
    assert (
        json.loads(localdp(tmp_path, "budget", "show", str(config), "--json").stdout)["data"]["uses"] == 0
    )
