"""What `parties.federation.Federation` is made of.

| file | what it is |
|---|---|
| `tables.py` | data frames, Arrow tables and files as records |
| `whereabouts.py` | where the parties are: in this process, in processes of their own, or running somewhere |
| `ledgers.py` | what people of launched parties have spent |
| `budgets.py` | what people have left, as ledgers and parties say |
| `views.py` | some of the parties, whose books are those of the whole |
| `quorum.py` | a round that does without whoever is slow or gone |
| `events.py`, `watching.py` | who is asked, who answers, what fails; and what it has cost |
"""
