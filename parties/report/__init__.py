"""Results for people to look at: tables for a terminal, plots, and one page that needs nothing else.

| file | what it is |
|---|---|
| `story.py` | what a report tells, as data: groups of panels, promises, refusals, costs, origin |
| `files.py` | the results in a directory, read without belief |
| `results.py` | the story of results.json: its points (`points.py`), words (`in_words.py`) and tables (`in_tables.py`) |
| `stories.py` | the stories of a comparison, a separation and an attack |
| `drawing.py` | panels as SVG |
| `tables.py`, `page.py`, `page.html` | the page |
| `comparison.py`, `demonstration.py`, `fitting.py`, `wording.py` | tables and numbers in a terminal |
| `writing.py` | the files, each whole or not at all |

Importing this is cheap: matplotlib is loaded only when something is drawn.
Checked in tests/unit/parties/report, and in a browser in tests/integration/test_report_in_browser.py.
"""

from parties.report.writing import write_experiment_report

__all__ = ["write_experiment_report"]
