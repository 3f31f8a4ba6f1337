"""An agent's answers as files: charged before they are there, once, and bound to their epoch."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.errors import (
    ApprovalNeeded,
    BudgetExhausted,
    CertificateRevoked,
    InvalidParameter,
    LocalDpError,
    PolicyRefused,
    RequestExpired,
    WorkRefused,
)
from localdp.party.party import Draw
from localdp.randomizers.definition import LocalRandomizer, Reports, Values
from localdp.randomizers.registry import entry_of
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import RandomSource
from parties.agent import plan, report_files
from parties.agent.config import AgentConfig, load_config
from parties.agent.plan import randomize_plan
from parties.agent.report_files import write_answer
from parties.agent.state import AgentState, init_storage, publish
from parties.agent.work import WorkLimits
from parties.at_rest import report_file
from parties.at_rest.aggregating import aggregate
from parties.at_rest.report_file import read_heading
from parties.at_rest.round_file import RoundFile
from parties.identity import make_authority, make_identity
from parties.revocation_list import REVOKED, revoke
from tests.support.agents import charges_of, write_agent

PEOPLE = 40
ONE = Epsilon.requested(1)


@pytest.fixture
def config(tmp_path: Path) -> AgentConfig:
    made = load_config(write_agent(tmp_path, people=PEOPLE, data='person = "patient"'))
    init_storage(made)
    return made


@pytest.fixture
def state(config: AgentConfig) -> Iterator[AgentState]:
    with closing(AgentState(config)) as opened:
        yield opened


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "reports")


def asked(seed: int = 1, epsilon: Epsilon = ONE) -> RoundFile:
    return RoundFile.fresh("smoker", entry_of("one-bit").made(epsilon, 2), SeededSource(seed))


def test_a_file_has_everybodys_reports_and_everybody_was_charged_once(
    config: AgentConfig, state: AgentState, out: str
) -> None:
    place, reports = write_answer(state, asked(), out)
    assert reports == PEOPLE and [one.cost for one in charges_of(config)] == [ONE]
    request = asked().request
    direct = state.party.randomize(request, Cohort(0, PEOPLE))
    done = aggregate([place])
    assert done.tally.sums.tolist() == request.randomizer.tally(direct).sums.tolist()  # type: ignore[attr-defined]
    heading, _ = read_heading(place)
    assert (heading.party, heading.epoch, heading.until > 0) == ("clinic", 1, True)


def test_a_round_that_comes_again_is_the_same_bytes_at_no_further_charge_also_after_a_restart(
    config: AgentConfig, out: str
) -> None:
    files = []
    for _ in range(3):
        with closing(AgentState(config)) as state:
            place, _ = write_answer(state, asked(), out)
        files.append(Path(place).read_bytes())
        Path(place).unlink()
    assert len(set(files)) == 1 and len(charges_of(config)) == 1


def test_nothing_is_written_where_the_charge_is_refused(state: AgentState, out: str) -> None:
    for seed in range(2):
        write_answer(state, asked(seed, ONE * 2), out)
    with pytest.raises(BudgetExhausted):
        write_answer(state, asked(9), out)
    with pytest.raises(PolicyRefused):
        write_answer(state, asked(10, ONE * 3), out)
    assert len(list(Path(out).iterdir())) == 2


def test_the_charge_is_durable_before_anything_is_written(
    config: AgentConfig, state: AgentState, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged_at_the_time: list[int] = []

    def written(place: str) -> None:
        charged_at_the_time.append(len(charges_of(config)))
        raise LocalDpError("the disk is full")

    monkeypatch.setattr(report_files, "written", written)
    with pytest.raises(LocalDpError, match="disk"):
        write_answer(state, asked(), out)
    assert charged_at_the_time == [1] and not Path(out).exists()


def test_a_round_of_an_epoch_that_ended_is_repeated_to_whoever_had_it_and_to_nobody_else(
    config: AgentConfig, out: str
) -> None:
    with closing(AgentState(config)) as state:
        first, _ = write_answer(state, asked(), out)
        before = Path(first).read_bytes()
        with pytest.raises(LocalDpError):
            state.party.charged(asked(3).request, Cohort(0, PEOPLE + 1))
        state.party.charged(asked(4).request, Cohort(0, PEOPLE))  # and nobody waited for the reports
        publish(config)
        assert write_answer(state, asked(), out) == (first, PEOPLE) and Path(first).read_bytes() == before
        for caller, seed in (("", 4), ("somebody else", 1)):
            with pytest.raises(RequestExpired):
                write_answer(state, asked(seed), out, caller)
        place, _ = write_answer(state, asked(2), out)
    assert read_heading(place)[0].epoch == 2 and len(charges_of(config)) == 3
    with pytest.raises(LocalDpError):  # two rounds
        aggregate([f"{out}/*"])


def test_an_answer_that_is_no_longer_kept_is_refused_and_its_file_says_until_when(
    config: AgentConfig, state: AgentState, out: str
) -> None:
    place, _ = write_answer(state, asked(), out)
    until = read_heading(place)[0].until
    state.answers._clock = lambda: until + 1.0
    with pytest.raises(RequestExpired):
        write_answer(state, asked(), out)
    with pytest.raises(RequestExpired):
        aggregate([place], now=lambda: float(until))


def small_work(config: AgentConfig, limit: str, seconds: float) -> AgentConfig:
    """The same agent, with little time."""
    return replace(config, work=replace(WorkLimits(quantum_seconds=0), **{limit: seconds}))  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["request_seconds", "piece_seconds", "caller_seconds"])
def test_too_much_work_is_refused_before_anybody_is_charged(
    limit: str, config: AgentConfig, out: str
) -> None:
    with (
        closing(AgentState(small_work(config, limit, 1e-6))) as state,
        pytest.raises(WorkRefused, match=r"s of work|cannot be cut"),
    ):
        write_answer(state, asked(), out)
    assert not charges_of(config) and not Path(out).exists()


def test_people_are_drawn_in_the_parts_of_a_call_and_gathered_into_rows(
    config: AgentConfig, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_file, "REPORTS_PER_ROW", 16)
    monkeypatch.setattr(plan, "MESSAGE_BYTES", 3)
    with closing(AgentState(config)) as state:
        schema, everybody = state.party.records.schema, Cohort(0, PEOPLE)
        size = randomize_plan(asked().request, everybody, schema, config.work).people
        drawn: list[int] = []
        ours = state.answers.reports

        def reports(charged: Draw, randomizer: LocalRandomizer, part: Cohort, caller: str) -> bytes:
            drawn.append(part.size())
            return ours(charged, randomizer, part, caller)

        monkeypatch.setattr(state.answers, "reports", reports)
        place, _ = write_answer(state, asked(), out)
        direct = asked().request.randomizer.pack(state.party.randomize(asked().request, everybody))
    table = parquet.read_table(place)
    assert max(drawn) == size == 24 and sum(drawn) == PEOPLE
    assert table.column("reports").to_pylist() == [16, 16, 8]
    assert b"".join(table.column("packed").to_pylist()) == direct


def test_while_reports_are_drawn_another_process_answers(
    config: AgentConfig, state: AgentState, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile: list[bytes] = []
    randomizer = type(asked().request.randomizer)
    ours = randomizer.randomize

    def randomize(self: LocalRandomizer, values: Values, source: RandomSource) -> Reports:
        if not meanwhile:
            meanwhile.append(b"")
            with closing(AgentState(config)) as other:
                other.answers._file.execute("PRAGMA busy_timeout = 0")
                place, _ = write_answer(other, asked(), f"{out}/other")
                meanwhile.append(Path(place).read_bytes())
        return ours(self, values, source)

    monkeypatch.setattr(randomizer, "randomize", randomize)
    place, _ = write_answer(state, asked(), out)
    assert Path(place).read_bytes() == meanwhile[1] and len(charges_of(config)) == 1


def test_a_name_of_which_a_certificate_was_revoked_gets_no_file(
    tmp_path: Path, config: AgentConfig, out: str
) -> None:
    keys = tmp_path / "keys"
    make_authority(keys / "authority")
    for name in ("clinic", "mallory", "analyst"):
        make_identity(keys / "authority", keys / name, name)
    revoke(keys, "mallory")
    known = replace(config, tls=keys / "clinic", revoked=keys / "authority" / REVOKED)
    with closing(AgentState(known)) as state:
        with pytest.raises(CertificateRevoked):
            write_answer(state, asked(), out, "mallory")
        assert not charges_of(config)
        assert write_answer(state, asked(), out, "analyst")[1] == PEOPLE


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ('aggregators = ["ada"]', PolicyRefused),
        ("[approval]\nquestions = true", ApprovalNeeded),
        ("[quotas]\nothers = 0.5", BudgetExhausted),
    ],
)
def test_the_owners_rules_hold_for_files(
    rules: str, why: type[LocalDpError], tmp_path: Path, out: str
) -> None:
    made = load_config(write_agent(tmp_path, people=PEOPLE, data='person = "patient"', policy=rules))
    init_storage(made)
    with closing(AgentState(made)) as state, pytest.raises(why):
        write_answer(state, asked(), out, "eve")
    assert not charges_of(made) and not Path(out).exists()


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ('[approval]\nanalysts = ["eve"]', ApprovalNeeded),
        ("[quotas]\neve = 0.5\nothers = 1", BudgetExhausted),
    ],
)
def test_where_rules_go_by_name_nobody_is_answered_without_one(
    rules: str, why: type[LocalDpError], tmp_path: Path, out: str
) -> None:
    """Or eve's question would pass as nobody's, or be paid for by all others."""
    make_authority(tmp_path / "authority")
    make_identity(tmp_path / "authority", tmp_path / "clinic", "clinic", ("localhost",))
    tls = '[tls]\ndirectory = "clinic"\n'
    made = load_config(
        write_agent(tmp_path, people=PEOPLE, data='person = "patient"', policy=rules, more=f"\n{tls}")
    )
    init_storage(made)
    for caller, refusal in (("", InvalidParameter), ("eve", why)):
        with closing(AgentState(made)) as state, pytest.raises(refusal):
            write_answer(state, asked(), out, caller)
    assert not charges_of(made) and not Path(out).exists()


def test_a_wide_randomizer_has_short_rows(
    state: AgentState, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_file, "_ROW_BYTES", 200)
    made = entry_of("optimized-unary").made(ONE, 121)
    place, _ = write_answer(state, RoundFile.fresh("age", made, SeededSource(5)), out)
    assert parquet.read_table(place).column("reports").to_pylist() == [8] * 5
    assert aggregate([place]).tally.reports == PEOPLE
