"""The contract of an agent as checks that any implementation can be run against, over the wire alone.

`run.check_contract` connects to a live agent that holds made-up people, reads what it says of itself, derives requests from
its schema, and checks the clauses one by one.  The clauses stand in `serving_clauses.py` (how it is reached),
`report_clauses.py` (the bits and their coins), `law_clauses.py` (how often they flip), `refusal_clauses.py`,
`budget_clauses.py`, `quote_clauses.py`, `time_clauses.py` (when answers leave), `epoch_clauses.py` and `load_clauses.py`
(too much work, and unread answers); docs/contract.md lists them.

That a correct agent passes, and that each clause is failed by an agent that breaks it, is checked in
tests/integration/test_contract_command.py.
"""
