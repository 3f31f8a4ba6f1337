"""A federation in this process: every trust model, budgets, events, and what is refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.learners.conjunction import ConjunctionLearner
from localdp.domains import Schema
from localdp.errors import BudgetExhausted, InvalidParameter, PolicyRefused, QueryRefused, Unreachable
from localdp.experiments.datasets import synthetic
from localdp.experiments.population import made_up_people
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import MODELS
from localdp.oracles.shared import InProcessShareServers
from localdp.randomness.hazmat import SeededSource
from parties.federated.budgets import Budgets
from parties.federated.events import Event
from parties.federated.watching import WatchedOracle
from parties.federation import Federation

PEOPLE = made_up_people(300, SeededSource(1))


def launched(**options: Any) -> Federation:
    return Federation.launch(PEOPLE, **{"processes": False, "insecure_seed": 3, **options})


@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_answers_about_everybody(model: str) -> None:
    with launched() as federation:
        oracle = federation.oracle(model, None if model == "exact" else 1)
        answer = oracle.answer(["smoker"])[0]
        assert answer.people == federation.people == 300
        assert abs(answer.value - PEOPLE.column("smoker").mean()) < 8 * answer.standard_error + 1e-9
        assert oracle.claim.model == model
        assert oracle.schema == federation.schema


def test_the_same_seed_gives_the_same_answers_and_another_oracle_other_ones() -> None:
    def asked(seed: int) -> list[float]:
        with launched(insecure_seed=seed) as federation:
            return [federation.oracle("local", 1).answer(["smoker"])[0].value for _ in range(2)]

    assert asked(3) == asked(3)
    assert asked(3) != asked(4)
    assert len(set(asked(3))) == 2


def test_a_learner_runs_on_a_federation() -> None:
    records = synthetic("conjunction", 20_000, SeededSource(1), 5)
    with Federation.launch(records, parties=3, processes=False, insecure_seed=1) as federation:
        learner = ConjunctionLearner().fit(federation.oracle("local", 4))
        assert set(learner.literals_) == {"x0", "x1", "x2"}


def test_parties_can_have_sizes() -> None:
    with launched(parties=[50, 250]) as federation:
        assert federation.parties == {"party-0": 50, "party-1": 250}


def test_a_plan_asks_nobody() -> None:
    with launched() as federation:
        plan = federation.plan(["smoker", "age >= 65"], epsilon=1)
        assert len(plan.rows) == 2
        assert federation.budgets().remaining == {Epsilon.requested(10): 300}


def test_a_shared_round_that_broke_off_is_paid_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = InProcessShareServers.release, [Unreachable("share server server-1 is away")]

    def release(self: InProcessShareServers, *arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return real(self, *arguments)

    monkeypatch.setattr(InProcessShareServers, "release", release)
    with launched(budget=3) as federation:
        oracle = federation.oracle("shared", 1)
        with pytest.raises(Unreachable):
            oracle.answer(["smoker"])
        assert oracle.answer(["smoker"])[0].reports == 300
        assert federation.budgets().remaining == {Epsilon.requested(2): 300}
        assert set(federation._spending.nanonats.tolist()) == {Epsilon.requested(1).nanonats}


def test_budgets_say_how_many_people_have_how_much_left() -> None:
    with launched(budget=3) as federation:
        federation.oracle("shared", 1).answer(["smoker"])
        assert federation.budgets().remaining == {Epsilon.requested(2): 300}
        assert federation.budgets().exact
        assert str(federation.budgets()) == "300 people have epsilon 2 left"
        view = federation.oracle("local", 1).in_rounds(2)
        view.answer(["smoker"])  # of about half the people
        left = federation.budgets().remaining
        assert sum(left.values()) == 300
        assert set(left) == {Epsilon.requested(1), Epsilon.requested(2)}
        assert federation.budgets("curator").remaining == {Epsilon.requested(3): 300}


def test_budgets_can_be_read_and_say_where_they_come_from() -> None:
    left = Budgets({Epsilon.requested("0.5"): 2, Epsilon.requested(1): 4000}, exact=False)
    assert str(left) == "2 people have at least epsilon 0.5 left; 4,000 people have at least epsilon 1 left"
    silent = Budgets({}, False, at_most={Epsilon.requested(3): 7}, away=("south",))
    assert str(silent) == (
        "7 people have at most epsilon 3 left, as far as this analyst asked; nothing is known of party south"
    )


def test_the_account_of_what_was_asked_is_that_of_the_ledgers() -> None:
    with launched() as federation:
        federation.oracle("local", 1).answer(["smoker", "age >= 65", "bmi >= 30"])
        federation.oracle("shuffled", 1).answer(["smoker"])
        federation.oracle("shared", 1).in_rounds(2).answer(["smoker"])
        federation.oracle("local", 1).in_rounds(3).answer_vectors(["cells(region)"])
        ledgers = np.concatenate([ledger.spent() for ledger in federation._place.ledgers])
        assert np.array_equal(federation._spending.nanonats, ledgers)


@pytest.mark.parametrize("model", ["local", "shared"])
def test_a_round_that_was_refused_is_not_in_the_account(model: str) -> None:
    with launched(budget=1) as federation:
        with pytest.raises(PolicyRefused):
            federation.oracle(model, 2).answer(["smoker"])
        assert not federation._spending.nanonats.any()
        federation.oracle(model, 1).answer(["smoker"])
        assert (federation._spending.nanonats == 10**9).all()


def test_a_budget_holds_over_all_oracles_of_a_federation() -> None:
    with launched(budget=2) as federation:
        federation.oracle("local", 1).answer(["smoker"])
        federation.oracle("shared", 1).answer(["smoker"])
        with pytest.raises(BudgetExhausted):
            federation.oracle("local", 1).answer(["smoker"])
        assert federation.events.failures == {"budget_exhausted": 1}


def test_two_curators_do_not_take_each_others_questions_for_their_own() -> None:
    with launched(budget=2) as federation:
        answers = [federation.oracle("curator", 1).answer(["smoker"])[0].value for _ in range(2)]
        assert federation.budgets("curator").remaining == {Epsilon(0): 300}
        assert len(set(answers)) <= 2
        with pytest.raises(BudgetExhausted):
            federation.oracle("curator", 1).answer(["smoker"])


def test_a_single_request_has_its_own_limit() -> None:
    with launched(largest_request=0.5) as federation, pytest.raises(PolicyRefused):
        federation.oracle("local", 1).answer(["smoker"])


def test_events_tell_of_rounds_and_of_who_answers() -> None:
    told: list[Event] = []
    with launched(parties=2) as federation:
        forget = federation.events.subscribe(told.append)
        federation.oracle("local", 1).answer(["smoker"])
        with pytest.raises(QueryRefused):
            federation.oracle("local", 1).answer(["smokr"])
        forget()
        federation.oracle("local", 1).answer(["smoker"])
    kinds = [(event.kind, event.party, event.reports, event.reason) for event in told]
    assert kinds == [
        ("round started", "", 0, ""),
        ("party answered", "party-0", 150, ""),
        ("party answered", "party-1", 150, ""),
        ("round ended", "", 300, ""),
        ("round started", "", 0, ""),
        ("round failed", "", 0, "query_refused"),
    ]
    assert told[0].queries == ("smoker",)


def test_options_go_to_the_model_that_has_them() -> None:
    with launched() as federation:
        assert (
            federation.oracle("local", 1, divide="epsilon").plan(["smoker", "age > 3"]).rows[0].reports
            == 300
        )
        divided, full = (
            federation.oracle("shared", 1, noise_plan=plan).plan(["smoker"]).rows[0].standard_error
            for plan in ("divided", "each-server")
        )
        assert divided < full
        assert federation.oracle("shuffled", 1, delta="1e-9").plan(["smoker"]).people == 300


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a model that is not there": ({"model": "magic", "epsilon": 1}, "a trust model is one of exact"),
    "an option of another model": ({"model": "local", "epsilon": 1, "delta": 0.1}, "has no option delta"),
    "no epsilon": ({"model": "local"}, "say what each person may spend"),
    "epsilon 0": ({"model": "local", "epsilon": 0}, "epsilon must be"),
    "a noise plan that is not there": (
        {"model": "shared", "epsilon": 1, "noise_plan": "none"},
        "noise plan",
    ),
    "a delta that is no number": (
        {"model": "shuffled", "epsilon": 1, "delta": "small"},
        "a delta is a number",
    ),
}


@pytest.mark.parametrize(("options", "told"), BAD.values(), ids=BAD)
def test_what_no_oracle_can_be_is_refused(options: dict[str, Any], told: str) -> None:
    with launched() as federation, pytest.raises(InvalidParameter, match=told):
        federation.oracle(**options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"parties": 0}, "dealt to 1 to 300"),
        ({"parties": 301}, "dealt to 1 to 300"),
        ({"parties": [100, 100]}, "add up to 200"),
        ({"parties": [300, 0]}, "at least one person"),
        ({"share_servers": 1}, "2 to 16 share servers"),
        ({"budget": 0}, "epsilon must be"),
    ],
    ids=str,
)
def test_what_cannot_be_launched_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidParameter, match=told):
        launched(**options)


def test_parties_in_this_process_have_no_rounds_with_a_deadline_and_no_addresses(tmp_path: Any) -> None:
    with launched() as federation:
        with pytest.raises(InvalidParameter, match="processes=True"):
            federation.round("smoker", 1)
        with pytest.raises(InvalidParameter, match="processes=True"):
            federation.write_addresses(tmp_path / "parties.json")


def test_a_closed_federation_says_so() -> None:
    federation = launched()
    federation.close()
    federation.close()
    with pytest.raises(InvalidParameter, match="closed"):
        federation.oracle("local", 1)


def test_a_forgotten_federation_is_closed() -> None:
    federation = launched()
    closed = federation._closed
    forgotten = weakref.ref(federation)
    del federation
    gc.collect()
    assert forgotten() is None
    assert not closed.alive


def test_an_oracle_keeps_its_federation_open() -> None:
    oracle = launched().oracle("local", 1)
    gc.collect()
    view = oracle.in_rounds(2)
    del oracle
    gc.collect()
    assert isinstance(view, WatchedOracle)
    assert isinstance(view.owner, Federation)
    view.owner._require_open()


def test_an_oracle_of_a_federation_is_an_oracle() -> None:
    with launched() as federation:
        oracle: StatisticalQueryOracle = federation.oracle("exact")
        assert isinstance(oracle.schema, Schema)
        assert oracle.answer_vectors(["cells(region)"])[0].values.sum() == pytest.approx(1)


@pytest.mark.parametrize("step", ["contribute", "agree", "release"])
def test_a_verb_that_was_interrupted_goes_on_when_it_is_asked_again_and_nobody_pays_twice(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*told: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with Federation.launch(PEOPLE, parties=2, processes=False, budget=3) as federation:
        monkeypatch.setattr(InProcessShareServers, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            federation.count("smoker", epsilon=1, model="shared")
        federation.count("smoker", epsilon="0.5", model="shared")  # another price is another round
        again = federation.count("smoker", epsilon=1, model="shared")
        assert (again.epsilon_promised, again.answered) == (1, PEOPLE.people)
        assert federation._place.ledgers[0].spent().max() == 1.5 * 10**9
        federation.count("smoker", epsilon=1, model="shared")  # which is a new one
        assert federation._place.ledgers[0].spent().max() == 2.5 * 10**9
