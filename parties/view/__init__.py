"""What is shown of work that goes on: on a terminal, in plain lines, or as JSON for machines; always on standard error.

| file | what it is |
|---|---|
| `sweep.py`, `rounds.py` | what is known of a running experiment and of running parties: frozen, folded from events |
| `sweep_table.py`, `rounds_table.py`, `words.py` | the same for people to look at |
| `pace.py` | the time that is left |
| `screen.py`, `bars.py` | where it goes: a picture, lines, JSON; the bar of all commands that run trials |
| `waiting.py` | what is waited for, once it takes longer than a second |
| `experiments.py`, `parties.py`, `federations.py` | `localdp run`, `localdp parties up`, a script's federation |
| `journal.py`, `owned.py` | the rounds that coordinators tell of; processes and ledgers, as their owner sees them |
"""

from parties.view.federations import watching

__all__ = ["watching"]
