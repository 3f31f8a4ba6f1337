"""Agents that dial out: one stream for each party, over which it is called as if it had been dialled.

The coordinator's side ends in a `grpc.Channel` (channel.py), the agent's side begins with what its service registered
(answering.py): between the two, frames carry serialized messages and know nothing of them.  So the same stubs, handlers,
charges, errors and redaction are at work in both directions of dialling.
"""
