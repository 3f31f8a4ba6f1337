"""Experiments from files: what to run in TOML, trials on worker processes, results that a killed run does not lose.

| file | what it is |
|---|---|
| `lines.py`, `values.py` | a TOML file whose refusals name the line, and its values |
| `definition.py`, `reading.py` | an experiment as data, and from a file |
| `bundled.py`, `populations.py` | public data sets, and the people of one cell |
| `cells.py` | the sweep as cells, their trials as blocks, what a block brings |
| `settings.py`, `processes.py` | who takes part in a trial: parties in this process, some of them faulty; or processes |
| `trials.py` | one block of trials, anywhere and in any order |
| `comparing.py`, `separating.py` | the experiments that come with the package: section 9.3, section 12.1 |
| `journal.py` | finished blocks, durably |
| `forecast.py` | what a run would yield and take, before it is begun |
| `running.py`, `results.py` | a run from its first block to its results |
"""
