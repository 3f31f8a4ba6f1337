"""A report of experiments: one page that needs nothing else, from the files of `run`, `compare`, `separate` and `attack`.

| file | what it is |
|---|---|
| `story.py` | what a report tells, as data: plots with their points, promises, refusals, costs, origin |
| `files.py` | the results in a directory, read without belief |
| `results.py` | the story of results.json: its points (`points.py`), words (`telling.py`) and tables (`accounts.py`) |
| `earlier.py` | the stories of a comparison, a separation and an attack |
| `drawing.py` | one panel as SVG |
| `tables.py`, `page.py`, `page.html` | the page |
| `writing.py` | report.html, whole or not at all |

Checked in tests/unit/parties/report/test_experiment_report.py, and in a browser in
tests/integration/test_report_in_browser.py.
"""

from parties.report.experiment.writing import write_experiment_report

__all__ = ["write_experiment_report"]
