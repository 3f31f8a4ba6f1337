"""The command line: `localdp`.

| file | what it is |
|---|---|
| `main.py` | which commands there are, in the order of the help |
| `declaring.py`, `arguments.py`, `options.py` | how a command is declared; what several take; values as they are typed |
| `output.py`, `misread.py`, `signals.py` | what is printed, exit codes, carets; Ctrl-C |
| `asking.py`, `answers.py`, `learning.py` | whom a question is put to; answers, and what was learned, in words |
| `history.py`, `standing.py`, `demonstration.py` | ledgers, running parties and demonstrations in words |

Every other file is a command, or a group of them, under its name.
"""
