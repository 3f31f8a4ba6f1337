"""Rounds: one question to everybody who is enrolled, with a deadline, a quorum and a journal.

| file | what it is |
|---|---|
| `storage.py` | the file that all of it is kept in |
| `roster.py` | who is enrolled |
| `liveness.py` | who is there, and still has the enrolled schema |
| `standing.py` | who of running parties is up, and what each says of itself |
| `plan.py` | what a round asks of whom, fixed before anybody is asked |
| `journal.py` | plans, tallies and ends of rounds, durably |
| `asking.py` | many calls at once, bounded in number and in time |
| `partial.py` | what the answers of some say about all |
| `round.py` | a round from its plan to its answer, and again after a crash |

A party is whoever keeps a budget.  An agent that hosts n people is n logical parties behind one service, each with a
budget of its own: a round is one call to it, however many they are.  Enrol one agent of many people, not many agents.
"""
