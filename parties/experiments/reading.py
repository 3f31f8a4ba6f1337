"""An experiment from its TOML file; every refusal is one line with the file, the line, the key and what to write.

```toml
[data]
set = "made-up"                # or several, ["wine", "iris"]; or path = "patients.csv" (.csv, .parquet, .arrow, .feather)
# resample = 5000              # tables and bundled sets: draw so many rows with replacement; true: as many as run.people

# [schema]                     # with path: its columns, with bounds that are told and not read off the data
# smoker = { kind = "bit" }
# age = { kind = "integer", low = 0, high = 120 }
# stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }

[parties]
number = 4                     # or sizes = [100, 200]
share_servers = 2
budget = 10                    # nats that a person may spend in one trial; without it, there is no limit
transport = "in-process"       # or "processes": agents and share servers as processes, over gRPC

[faults]
dropouts = 0.0                 # fraction of the parties that do not answer
stragglers = 0.0               # fraction that answers too late: charged, and not counted
cheaters = 0.0                 # fraction that lies
# cheat = "reports"            # they send what suits them; or "inputs": they lie about records, and keep to the protocol

[run]
models = ["curator", "local", "shuffled", "shared"]
query = "smoker"               # or learner = "halfspace", or release = "ranges", with [run.parameters]
epsilon = [0.5, 1, 2]          # nats per person and trial
people = [1000, 1e5]
# dimension = [2, 4, 8]        # of a synthetic set that has one
trials = 100
# baselines = true             # of a learner: what scikit-learn and a constant reach on the same people
# insecure_seeds = [1, 2]      # repeatable coins, hence no privacy: for made-up people only

# [run.parameters]             # of the learner or the release
# [run.options.shared]         # of a trust model
# noise_plan = "divided"

[output]
directory = "out/experiment"   # relative to this file
formats = ["json", "parquet"]
```

Checked, refusal by refusal, in tests/unit/parties/experiments/test_experiment_reading.py.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from localdp.algorithms.definition import Learner
from localdp.domains.dealing import MOST_PARTIES
from localdp.errors import InvalidParameter, InvalidRecord, QueryRefused
from localdp.experiments.catalogue import (
    LEARNERS,
    RELEASES,
    LearnerTask,
    QueryTask,
    learner_named,
    parameters_of,
)
from localdp.experiments.cheating import CHEATS
from localdp.experiments.datasets import MOST_FEATURES, SYNTHETIC
from localdp.oracles.models import MODELS
from parties.agent.declared import Declared, declared_schema
from parties.durable import Data
from parties.experiments.counterparts import COUNTERPARTS, has_counterpart
from parties.experiments.definition import (
    FORMATS,
    TRANSPORTS,
    DataSource,
    Experiment,
    Faults,
    Output,
    PartiesPlan,
    Sweep,
)
from parties.experiments.populations import SETS, is_synthetic, schema_of, table_of
from parties.experiments.values import Section
from parties.federated.whereabouts import SERVERS
from parties.toml_file import TomlFile

MOST_PEOPLE = 10**7
MOST_TRIALS = 10**6
MOST_SEED = (1 << 63) - 1
DEFAULT_PEOPLE = 10_000
_SECTIONS = ("data", "schema", "parties", "faults", "run", "output")
_PARTIES = ("number", "sizes", "share_servers", "budget", "transport")
_RUN = (
    "models",
    "query",
    "learner",
    "release",
    "parameters",
    "options",
    "epsilon",
    "people",
    "dimension",
    "trials",
    "baselines",
    "insecure_seeds",
)


def load_experiments(path: Path) -> tuple[Experiment, ...]:
    """Read and check a file: an experiment for each set that it names; its table, if it has one, is read, too."""
    return _Reader(TomlFile(path)).experiments()


def load_experiment(path: Path) -> Experiment:
    """Read and check a file of one experiment."""
    several = load_experiments(path)
    if len(several) > 1:
        raise InvalidParameter(f"{path} has {len(several)} experiments, one for each set")
    return several[0]


class _Reader:
    """Reads section by section; what two sections must agree on is checked at the end."""

    def __init__(self, file: TomlFile) -> None:
        self._file = file
        for name in file.table:
            if name not in _SECTIONS:
                raise file.wrong((name,), f"unknown; an experiment has {', '.join(_SECTIONS)}")
        self._data = Section(file, ("data",), ("set", "path", "resample", "public"), required=True)
        self._parties = Section(file, ("parties",), _PARTIES)
        self._faults = Section(file, ("faults",), ("dropouts", "stragglers", "cheaters", "cheat"))
        self._run = Section(file, ("run",), _RUN, required=True)
        self._output = Section(file, ("output",), ("directory", "formats"))

    def experiments(self) -> tuple[Experiment, ...]:
        sources = self._sources()
        return tuple(self._experiment(data, several=len(sources) > 1) for data in sources)

    def _experiment(self, data: DataSource, several: bool) -> Experiment:
        parties, faults, task = self._plan(), self._read_faults(), self._task()
        places, sweep = self._places(), self._sweep(data, parties)
        experiment = Experiment(
            self._file.path,
            self._file.text,
            data,
            parties,
            faults,
            sweep,
            task,
            replace(places, directory=places.directory / data.about) if several else places,
            self._options(),
            baselines=self._baselines(task),
            part=data.about if several else None,
        )
        self._check_faults(experiment)
        self._check_task(experiment)
        return experiment

    def _sources(self) -> tuple[DataSource, ...]:
        """The sets, or the table."""
        if ("set" in self._data) is ("path" in self._data):
            raise self._data.missing("set", f"set = some of {', '.join(SETS)}, or path = a table's file")
        if "set" in self._data:
            names = self._names()
            if "schema" in self._file.table:
                raise self._file.wrong(("schema",), "goes with data.path; a set has a schema of its own")
            if "public" in self._data:
                raise self._data.wrong("public", "goes with data.path; a set is public, or made up")
            if "resample" in self._data and all(name in SYNTHETIC for name in names):
                raise self._data.wrong("resample", "a made-up set has as many people as run.people says")
            return tuple(
                DataSource(name=name, resample=name not in SYNTHETIC and self._resampled())
                for name in names
            )
        path = self._data.text("path")
        assert path is not None
        source = DataSource(
            self._file.path.parent / path, self._schema(), None, self._resampled(), self._is_public()
        )
        self._check_table(source)
        return (source,)

    def _names(self) -> tuple[str, ...]:
        """The sets, each of which there is."""
        told = self._data.raw("set")
        for name in told if isinstance(told, list) else [self._data.text("set")]:
            if name not in SETS:
                raise self._data.wrong("set", f"no set is called {name!s:.40}; there are {', '.join(SETS)}")
        return self._data.choices("set", SETS) or ()

    def _baselines(self, task: QueryTask | LearnerTask) -> bool:
        if not self._run.flag(
            "baselines", "true if scikit-learn is to learn from the same people, or false"
        ):
            return False
        if not has_counterpart(task):
            raise self._run.wrong("baselines", f"only of {', '.join(COUNTERPARTS)}")
        return True

    def _is_public(self) -> bool:
        return self._data.flag("public", "true if anybody may know the rows of this table, or false")

    def _resampled(self) -> bool:
        if "resample" not in self._data or self._data.raw("resample") is True:
            return "resample" in self._data
        self._data.whole("resample", 1, MOST_PEOPLE, 1)
        return True

    def _schema(self) -> Declared:
        return declared_schema(self._file.table.get("schema"), self._file.wrong)

    def _check_table(self, source: DataSource) -> None:
        assert source.path is not None
        if not source.path.is_file():
            raise self._data.wrong(
                "path", f"there is no file {source.path}; paths are relative to this one"
            )
        try:
            table_of(source)
        except (InvalidParameter, InvalidRecord) as error:
            raise self._data.wrong("path", str(error)) from None

    def _plan(self) -> PartiesPlan:
        number = self._parties.whole("number", 1, MOST_PARTIES, 4)
        sizes = self._sizes()
        if sizes is not None and "number" in self._parties:
            raise self._parties.wrong("sizes", "either number or sizes")
        servers = self._parties.whole("share_servers", SERVERS.start, SERVERS.stop - 1, 2)
        told = self._parties.choices("transport", TRANSPORTS) or TRANSPORTS[:1]
        transport = next((one for one in TRANSPORTS if told == (one,)), None)
        if transport is None:
            raise self._parties.wrong("transport", f"one of {', '.join(TRANSPORTS)}")
        return PartiesPlan(number, sizes, servers, self._parties.epsilon("budget"), transport)

    def _read_faults(self) -> Faults:
        away, late, lying = (self._faults.fraction(name) for name in ("dropouts", "stragglers", "cheaters"))
        if "cheat" not in self._faults:
            return Faults(away, late, lying)
        cheat = next((one for one in CHEATS if one == self._faults.raw("cheat")), None)
        if cheat is None:
            raise self._faults.wrong("cheat", f"how cheaters lie is one of {', '.join(CHEATS)}")
        if not lying:
            raise self._faults.wrong(
                "cheat", "nobody cheats: say which part of the parties does, cheaters = 0.1"
            )
        return Faults(away, late, lying, cheat)

    def _sizes(self) -> tuple[int, ...] | None:
        if "sizes" not in self._parties:
            return None
        sizes = self._parties.raw("sizes")
        whole = isinstance(sizes, list) and all(type(size) is int and size >= 1 for size in sizes)
        if not whole or not 1 <= len(sizes) <= MOST_PARTIES:
            raise self._parties.wrong("sizes", "a list of whole numbers from 1, such as [100, 200]")
        return tuple(sizes)

    def _task(self) -> QueryTask | LearnerTask:
        told = [name for name in ("query", "learner", "release") if name in self._run]
        if len(told) > 1:
            raise self._run.wrong(told[1], f"there is {told[0]} already; an experiment runs one of them")
        if not told:
            raise self._run.missing("query", 'one of query = "...", learner = "..." and release = "..."')
        kind, text = told[0], self._run.text(told[0])
        assert text is not None
        if kind == "query":
            if "parameters" in self._run:
                raise self._run.wrong(
                    "parameters", "a query has none; they are those of a learner or a release"
                )
            return QueryTask(text)
        parameters = self._file.section(("run", "parameters"), parameters_of(self._learner(kind, text)))
        task = LearnerTask(text, parameters)
        try:
            task.learner()
        except InvalidParameter as error:
            raise self._run.wrong("parameters", str(error)) from None
        return task

    def _learner(self, kind: str, name: str) -> type[Learner]:
        known = LEARNERS if kind == "learner" else RELEASES
        if ":" not in name and name not in known:
            raise self._run.wrong(kind, f"no {kind} is called {name:.40}; there are {', '.join(known)}")
        beside = str(self._file.path.resolve().parent)
        if ":" in name and beside not in sys.path:
            sys.path.insert(0, beside)  # one's own: beside the file, or wherever Python finds it
        try:
            return learner_named(name)
        except InvalidParameter as error:
            raise self._run.wrong(kind, str(error)) from None

    def _sweep(self, data: DataSource, parties: PartiesPlan) -> Sweep:
        models = self._run.choices("models", tuple(MODELS))
        if models is None:
            raise self._run.missing("models", f"models = some of {', '.join(MODELS)}")
        epsilons = self._run.epsilons("epsilon")
        if epsilons is None:
            raise self._run.missing("epsilon", "epsilon = 1, what a person may spend in one trial, in nats")
        return Sweep(
            models,
            epsilons,
            self._people(data, parties),
            self._dimensions(data),
            self._run.whole("trials", 1, MOST_TRIALS, 1),
            self._run.wholes("insecure_seeds", 0, MOST_SEED) or (),
        )

    def _people(self, data: DataSource, parties: PartiesPlan) -> tuple[int, ...]:
        told = self._run.wholes("people", 1, MOST_PEOPLE)
        people = told or self._default_people(data, parties)
        where, key = (
            (self._run, "people") if told else (self._parties, "sizes" if parties.sizes else "number")
        )
        if parties.sizes is not None and people != (sum(parties.sizes),):
            raise self._parties.wrong(
                "sizes", f"they add up to {sum(parties.sizes)}, not to the number of people"
            )
        if min(people) < parties.count:
            raise where.wrong(key, f"{min(people)} people cannot be dealt to {parties.count} parties")
        if told and not is_synthetic(data) and not data.resample and max(told) > table_of(data).people:
            raise self._run.wrong(
                "people", f"the table has {table_of(data).people} rows; say resample = true in [data]"
            )
        return people

    def _default_people(self, data: DataSource, parties: PartiesPlan) -> tuple[int, ...]:
        if data.resample and self._data.raw("resample") is not True:
            return (self._data.whole("resample", 1, MOST_PEOPLE, 1),)
        if not is_synthetic(data):
            return (table_of(data).people,)
        return (sum(parties.sizes) if parties.sizes else DEFAULT_PEOPLE,)

    def _dimensions(self, data: DataSource) -> tuple[int, ...] | tuple[None]:
        if "dimension" not in self._run:
            return (None,)
        made = SYNTHETIC.get(data.name or "")
        if made is None or made.dimension is None:
            having = [name for name, one in SYNTHETIC.items() if one.dimension is not None]
            raise self._run.wrong("dimension", f"goes with one of the sets {', '.join(having)}")
        return self._run.wholes("dimension", made.fewest, MOST_FEATURES) or (None,)

    def _options(self) -> dict[str, Data]:
        given = Section(self._file, ("run", "options"), tuple(MODELS))
        told = {}
        for model in (model for model in MODELS if model in given):
            told[model] = dict(self._file.section(("run", "options", model), tuple(MODELS[model].options)))
        return told

    def _places(self) -> Output:
        directory = self._output.text("directory") or f"out/{self._file.path.stem}"
        formats = self._output.choices("formats", FORMATS) or FORMATS
        return Output(self._file.path.parent / directory, formats)

    def _check_faults(self, experiment: Experiment) -> None:
        away, late, cheating = experiment.faults.counts(experiment.parties.count)
        key = next((name for name in ("dropouts", "stragglers", "cheaters") if name in self._faults), "")
        if away + late + cheating >= experiment.parties.count:
            raise self._faults.wrong(
                key,
                "somebody has to answer, and honestly: fewer dropouts, stragglers and cheaters, or more parties",
            )
        if "cheaters" in self._faults and not cheating and experiment.faults.cheaters:
            raise self._faults.wrong(
                "cheaters",
                f"of {experiment.parties.count} parties that is nobody: more cheaters, or more parties",
            )
        if away + late and experiment.parties.transport == "processes":
            raise self._faults.wrong(
                key, 'missing parties are those of one process: write parties.transport = "in-process"'
            )
        mixed = [model for model in experiment.sweep.models if MODELS[model].needs_mixer]
        if away + late and mixed:
            raise self._faults.wrong(
                key,
                f"the {mixed[0]} promise is for the reports of everybody: leave {mixed[0]} out of run.models",
            )

    def _check_task(self, experiment: Experiment) -> None:
        key = next(name for name in ("query", "learner", "release") if name in self._run)
        for dimension in experiment.sweep.dimensions:
            try:
                experiment.task.check(schema_of(experiment.data, dimension))
            except (InvalidParameter, QueryRefused) as error:
                raise self._run.wrong(key, str(error)) from None
