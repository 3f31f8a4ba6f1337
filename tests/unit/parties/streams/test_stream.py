"""A stream with a journal: what is asked after which step, who pays, and what is told again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import localdp as ldp
from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.streams.continual_count import ContinualCount
from localdp.errors import CollectionClosed, InvalidParameter, PolicyRefused, TooFewReports, Unreachable
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.models import MODELS, ModelName
from localdp.oracles.shared import InProcessShareServers
from parties.federated.verbs import ModelOptions
from parties.federation import Federation
from parties.streams.journal import StreamJournal, StreamStep
from parties.streams.stream import CountedStream, came_by, most_paid, risked, spent
from parties.streams.terms import StreamTerms
from tests.support.federations import people

PEOPLE = 240
SMOKERS = people(PEOPLE).column("smoker")
SIZES = (100, 60, 80)
# A shuffled round of few people needs much more of a single report; budgets are of what a ledger is charged.
EPSILON = {"exact": None, "shuffled": 8}


@pytest.fixture
def clinics() -> Iterator[Federation]:
    with ldp.simulate(people(PEOPLE), parties=SIZES, budget=30) as federation:
        yield federation


def opened(federation: Federation, path: Path, model: ModelName = "exact", steps: int = 8) -> CountedStream:
    epsilon = EPSILON.get(model, 1)
    return federation.stream(path, "smoker", steps=steps, layout="tree", epsilon=epsilon, model=model)


def values(stream: CountedStream) -> list[str]:
    return [float(one.values[0]).hex() for one in stream.counts]


def truth(ends: tuple[int, ...]) -> int:
    """How many smokers have come, of those who have come of each party."""
    firsts = np.cumsum([0, *SIZES[:-1]])
    return sum(int(SMOKERS[first : first + end].sum()) for first, end in zip(firsts, ends, strict=True))


def test_in_each_step_the_next_people_of_every_party_are_asked(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks")
    for step in range(1, 9):
        count = stream.next()
        ends = tuple(size * step // 8 for size in SIZES)
        assert (count.step, count.people) == (step, sum(ends))
        assert count.values[0] == pytest.approx(truth(ends))
    with pytest.raises(InvalidParameter, match="over"):
        stream.next()


def test_who_came_may_be_said_by_party_or_of_all(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks")
    assert stream.next({"party-1": 7}).values[0] == pytest.approx(truth((0, 7, 0)))
    assert stream.next(0).people == 7
    assert stream.next(100).people == 107
    for wrong in ({"party-9": 1}, {"party-1": 60}, {"party-1": -1}, 134, -1):
        with pytest.raises(InvalidParameter):
            stream.next(wrong)
    assert stream.next(133).people == PEOPLE
    assert stream.next().people == PEOPLE  # nobody is left who could come
    assert stream.counts[-1].values[0] == pytest.approx(SMOKERS.sum())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dies", ["begun", "asked", "released"])
def test_wherever_it_breaks_off_it_goes_on_and_tells_the_same_again(
    clinics: Federation, tmp_path: Path, model: ModelName, dies: str
) -> None:
    """Under every trust model: the same counts again, bit for bit, and people pay for the intervals they were in, once."""
    stream = opened(clinics, tmp_path / "weeks", model, 4)
    stream.next()
    told, budgets = values(stream), clinics.budgets()
    stream.noted = lambda name: _raise(name == dies)
    with pytest.raises(Unreachable):
        stream.next()
    again = clinics.stream(tmp_path / "weeks")
    assert values(again)[: len(told)] == told
    assert len(again.counts) == 1 + (dies == "released")
    while len(again.counts) < 4:
        again.next()
    assert values(clinics.stream(tmp_path / "weeks")) == values(again)
    whole = opened(clinics, tmp_path / "twin", model, 4)
    for _ in range(4):
        whole.next()
    if model in ("local", "shared"):
        each = Epsilon.requested(1).divided_by(3).nanonats
        assert min(clinics.budgets().remaining) == Epsilon(30 * 10**9 - 6 * each)  # of both streams
    assert again.epsilon == whole.epsilon
    assert budgets != clinics.budgets() or model in ("exact", "curator")


def _raise(now: bool) -> None:
    if now:
        raise Unreachable("the process came to its end")


def test_share_servers_release_the_same_numbers_for_a_step_that_broke_off(
    clinics: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, heard = InProcessShareServers.release, []

    def breaking(self, collection, accepted, signed):  # type: ignore[no-untyped-def]
        heard.append([one.noisy_sums for one in release(self, collection, accepted, signed)])
        if len(heard) == 1:
            raise Unreachable("the line went dead after the servers had released")
        return release(self, collection, accepted, signed)

    stream = opened(clinics, tmp_path / "weeks", "shared", 4)
    monkeypatch.setattr(InProcessShareServers, "release", breaking)
    with pytest.raises(Unreachable):
        stream.next()
    clinics.stream(tmp_path / "weeks").next()
    assert heard[0] == heard[1]


def test_asked_again_people_pay_again_and_the_stream_says_so(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks", "local", 2)
    stream.noted = lambda name: _raise(name == "asked")
    with pytest.raises(Unreachable):
        stream.next()
    stream.noted = lambda name: None
    stream.next(ask_again=True)
    half = Epsilon.requested(1).divided_by(2)
    assert stream.epsilon == stream.claim.epsilon == half * 2
    assert min(clinics.budgets().remaining) == Epsilon(30 * 10**9 - half.nanonats * 2)


def test_a_step_of_too_few_people_does_not_begin_and_the_stream_goes_on(
    clinics: Federation, tmp_path: Path
) -> None:
    stream = opened(clinics, tmp_path / "weeks", "shared", 4)
    stream.next(20)
    assert stream.next(1).people == 21  # the interval is that of both steps
    with pytest.raises(TooFewReports, match=r"minimum batch of 2.*step 3 did not begin.*came=0"):
        stream.next(1)
    assert stream.epsilon == Epsilon.requested(1).divided_by(3) * 2  # nobody was asked in vain
    assert (stream.next(0).people, stream.next(2).people) == (21, 23)


def test_a_step_that_parties_refuse_is_begun_anew_with_other_people(
    clinics: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = opened(clinics, tmp_path / "weeks", "local", 2)
    with monkeypatch.context() as patched:
        patched.setattr(InProcessLROracle, "reports", _too_few)
        with pytest.raises(PolicyRefused):
            stream.next({"party-0": 5})
    with pytest.raises(InvalidParameter, match="began with other people"):
        stream.next({"party-0": 20})
    assert stream.next({"party-0": 20}, ask_again=True).people == 20
    half = Epsilon.requested(1).divided_by(2)
    assert stream.epsilon == half * 2  # for all that is known the first five were asked twice
    assert clinics.stream(tmp_path / "weeks").next(20).people == 40
    assert stream.epsilon == half * 3
    assert min(clinics.budgets().remaining) == Epsilon(30 * 10**9 - half.nanonats * 2)


def _too_few(*asked: object, **how: object) -> None:
    raise PolicyRefused("the owner wants more people")


def test_who_was_left_out_of_a_step_that_was_begun_anew_pays_where_they_come(
    clinics: Federation, tmp_path: Path
) -> None:
    """Ten people are asked, five of them again, and the other five in the next step: nobody's price is forgotten."""
    stream = clinics.stream(tmp_path / "weeks", "smoker", steps=3, layout="steps", epsilon=1, model="local")
    stream.noted = lambda name: _raise(name == "asked")
    with pytest.raises(Unreachable):
        stream.next({"party-0": 10})
    stream.noted = lambda name: None
    stream.next({"party-0": 5}, ask_again=True)
    assert stream.epsilon == Epsilon.requested(2)
    stream.next({"party-0": 5})
    assert stream.epsilon == Epsilon.requested(2)  # a bound by attempts alone would say 1 of the last five
    paid = {Epsilon.requested(28): 10, Epsilon.requested(30): 230}
    assert dict(clinics.budgets().remaining) == paid


def test_a_step_that_can_no_more_be_gone_on_with_says_what_to_do(
    clinics: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an hour, when share servers have dropped what was never released."""
    stream = opened(clinics, tmp_path / "weeks", "shared", 2)
    stream.noted = lambda name: _raise(name == "asked")
    with pytest.raises(Unreachable):
        stream.next()
    stream.noted = lambda name: None

    def ended(self, collection):  # type: ignore[no-untyped-def]
        raise CollectionClosed("the collection has ended")

    with monkeypatch.context() as patched:
        patched.setattr(InProcessShareServers, "open", ended)
        with pytest.raises(CollectionClosed, match=r"has ended; step 1 broke off.*--ask-again"):
            stream.next()
    assert stream.next(ask_again=True).step == 1


def test_the_claim_is_that_of_the_model_at_what_was_paid(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks", "shared", 4)
    assert stream.claim.epsilon == Epsilon(0)
    stream.next()
    assert stream.claim.epsilon == Epsilon.requested(1).divided_by(3)
    for _ in range(3):
        stream.next()
    assert stream.claim.epsilon == Epsilon.requested(1).divided_by(3) * 3
    assert stream.claim.model == "shared"


def test_it_has_the_errors_of_the_release_of_all_steps_at_once(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks", "shared", 16)
    while len(stream.counts) < 16:
        stream.next()
    whole = clinics.release(
        ContinualCount("smoker", 16, layout="tree", check_signal=False), epsilon=1, model="shared"
    )
    assert [one.standard_errors[0] for one in stream.counts] == pytest.approx(whole.standard_errors_)


def test_another_stream_is_not_gone_on_with_under_the_name_of_this_one(
    clinics: Federation, tmp_path: Path
) -> None:
    opened(clinics, tmp_path / "weeks", "shared").next()
    for changed in (
        {"epsilon": 2},
        {"steps": 16},
        {"model": "local"},
        {"layout": "steps"},
        {"noise_plan": "divided"},
    ):
        terms = {"steps": 8, "epsilon": 1, "model": "shared", "layout": "tree", **changed}
        with pytest.raises(InvalidParameter, match="another"):
            clinics.stream(tmp_path / "weeks", "smoker", **terms)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="another parties"):
        clinics.of(["party-0"]).stream(tmp_path / "weeks")
    with pytest.raises(InvalidParameter, match="no such journal"):
        clinics.stream(tmp_path / "nothing")


def test_the_best_layout_is_chosen_when_it_begins_and_kept(clinics: Federation, tmp_path: Path) -> None:
    stream = clinics.stream(tmp_path / "weeks", "smoker", steps=8, epsilon=1, model="local")
    assert stream.terms.layout == "steps"
    assert (
        clinics.stream(tmp_path / "weeks", "smoker", steps=8, epsilon=1, model="local").terms
        == stream.terms
    )
    assert stream.epsilon == Epsilon(0)


TERMS = StreamTerms(
    "smoker", "shared", (("noise_plan", "divided"),), "1", 4, "tree", (("a", 3), ("b", 5)), "1/10"
)


def test_terms_are_written_and_read() -> None:
    assert StreamTerms.of_text(TERMS.to_text()) == TERMS
    assert TERMS.each == Epsilon.requested(1).divided_by(3)


@pytest.mark.parametrize(
    ("came", "ends"), [(8, (3, 5)), (0, (0, 0)), (1, (1, 0)), (4, (2, 2)), (7, (3, 4))]
)
def test_people_of_all_parties_are_shared_out(came: int, ends: tuple[int, ...]) -> None:
    assert came_by(TERMS, (0, 0), came) == ends


def test_nobody_has_paid_before_the_first_step() -> None:
    assert spent(TERMS, []) == Epsilon(0)
    assert risked(TERMS, []) == 0


def test_a_delta_is_that_of_everybodys_intervals_and_of_what_was_asked_again() -> None:
    steps = [StreamStep(1, (1, 1), 2, None)]
    assert risked(TERMS, steps) == Fraction(3, 10)
    steps.append(StreamStep(2, (1, 2), 0, None))
    assert risked(TERMS, steps) == Fraction(4, 10)  # the first people are in both intervals
    assert risked(TERMS, [StreamStep(1, (1, 1), 30, None)]) == 1


def test_what_is_paid_is_that_of_whoever_paid_most_by_everybodys_own_account() -> None:
    """Person by person, of all streams of three steps in which each was begun once or twice, with any people."""
    ends = [(a, b) for a in range(3) for b in range(2)]
    terms = replace(TERMS, parties=(("a", 2), ("b", 1)))
    for first, again, second in product(ends, ends, ends):
        if all(a <= b for a, b in zip(again, second, strict=True)):
            steps = [StreamStep(1, again, 1, None, (first,)), StreamStep(2, second, 0, None)]
            person = [
                sum(place < one[party] for one in (first, again, second))
                for party, size in enumerate(terms.sizes)
                for place in range(size)
            ]  # of a tree: the second interval is of both steps
            assert most_paid(terms, steps) == max(person)


@pytest.mark.parametrize("model", MODELS)
def test_the_claim_has_the_delta_of_the_release_of_all_steps_at_once(
    tmp_path: Path, model: ModelName
) -> None:
    """Of a fresh oracle it is 0, whatever was asked before."""
    options: ModelOptions = {"noise_plan": "joint"} if model == "shared" else {}
    epsilon, learner = EPSILON.get(model, 1), ContinualCount("smoker", 2, layout="tree", check_signal=False)
    with _with_three_servers() as clinics, _with_three_servers() as others:
        stream = clinics.stream(
            tmp_path / "weeks", "smoker", steps=2, layout="tree", epsilon=epsilon, model=model, **options
        )
        assert stream.claim.delta == 0
        stream.next()
        once = stream.claim.delta
        stream.next()
        assert stream.claim.delta == stream.delta == once * 2
        whole = others.release(learner, epsilon=epsilon, model=model, **options).claim_
    assert (stream.delta > 0) == (model in ("shuffled", "flooded", "shared"))
    assert whole.delta <= stream.delta
    assert float(whole.delta) == pytest.approx(float(stream.delta), rel=1e-5)


@pytest.mark.parametrize(("model", "layout", "times"), [
    ("shuffled", "steps", 1), ("shuffled", "tree", 3), ("flooded", "steps", 1), ("flooded", "tree", 1),
])  # fmt: skip
def test_a_delta_is_that_of_the_intervals_that_somebody_was_in(
    clinics: Federation, model: ModelName, layout: str, times: int
) -> None:
    """Who comes in other steps is somebody else's chance; a flooded interval has a third of the delta, as of epsilon."""
    stream = ContinualCount("smoker", 4, layout=layout, check_signal=False)  # type: ignore[arg-type]
    claim = clinics.release(stream, epsilon=8, model=model).claim_
    assert float(claim.delta) == pytest.approx(times / 10**6, rel=1e-5)


def _with_three_servers() -> Federation:
    return ldp.launch(people(PEOPLE), parties=SIZES, budget=30, processes=False, share_servers=3)


def test_asked_again_a_delta_is_paid_again(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks", "shuffled", 2)
    stream.noted = lambda name: _raise(name == "asked")
    with pytest.raises(Unreachable):
        stream.next()
    assert stream.claim.delta == Fraction(1, 10**6)
    stream.noted = lambda name: None
    stream.next(ask_again=True)
    assert stream.claim.delta == Fraction(2, 10**6)
    assert clinics.stream(tmp_path / "weeks").claim.delta == Fraction(2, 10**6)


def test_a_step_that_did_not_break_off_is_not_asked_twice(clinics: Federation, tmp_path: Path) -> None:
    stream = opened(clinics, tmp_path / "weeks", "local", 2)
    stream.next(ask_again=True)
    half = Epsilon.requested(1).divided_by(2)
    assert stream.epsilon == half
    assert min(clinics.budgets().remaining) == Epsilon(30 * 10**9 - half.nanonats)


def test_who_came_is_not_what_another_process_said_at_the_same_time(
    clinics: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, other = (opened(clinics, tmp_path / "weeks", "local", 2) for _ in range(2))
    begin_step = StreamJournal.begin_step

    def second(self, step, came):  # type: ignore[no-untyped-def]
        monkeypatch.undo()
        other.next(10)
        return begin_step(self, step, came)

    monkeypatch.setattr(StreamJournal, "begin_step", second)
    with pytest.raises(InvalidParameter, match="began with other people"):
        stream.next(149)
    assert stream.next(20).people == 30


def test_whoever_goes_on_with_a_step_that_another_process_begins_anew_asks_whom_it_began_with(
    clinics: Federation, tmp_path: Path
) -> None:
    """Or somebody would be asked twice, and be on record once."""
    stream, other = (opened(clinics, tmp_path / "weeks", "local", 2) for _ in range(2))

    def anew(step: str) -> None:
        if step == "begun":
            other.next({"party-1": 20}, ask_again=True)

    stream.noted = anew
    assert stream.next({"party-0": 10}).people == 20  # what was written down first is what counts
    half = Epsilon.requested(1).divided_by(2)
    assert other.epsilon == half  # nobody was in both
    assert min(clinics.budgets().remaining) == Epsilon(30 * 10**9 - half.nanonats)


@pytest.mark.parametrize("model", ["local", "shared"])
def test_of_an_older_copy_nobody_is_told_the_count_of_other_people(
    clinics: Federation, tmp_path: Path, model: ModelName
) -> None:
    """The same step of the same people comes out the same; of other people it is asked, and their ledgers say so."""
    stream, old = opened(clinics, tmp_path / "weeks", model, 2), tmp_path / "old"
    stream.next(40)
    _copy(tmp_path / "weeks", old)
    _copy(tmp_path / "weeks", tmp_path / "older")
    told = stream.next(50)
    assert clinics.stream(old).next(50).values.tolist() == told.values.tolist()
    before = min(clinics.budgets().remaining)
    other = clinics.stream(tmp_path / "older").next(90)
    assert other.people == 130
    assert min(clinics.budgets().remaining) < before


def _copy(journal: Path, copy: Path) -> None:
    with closing(sqlite3.connect(journal)) as one, closing(sqlite3.connect(copy)) as other:
        one.backup(other)
    copy.chmod(0o600)
