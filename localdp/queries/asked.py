"""The queries of a round as somebody writes them, texts or checked ones, and their check before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from localdp.domains import Schema
from localdp.errors import QueryRefused
from localdp.queries.encoded import Query
from localdp.queries.expressions import Several
from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery
from localdp.queries.vector_query import VectorQuery

MOST_QUERIES_IN_A_ROUND = 4096
Asked = str | StatisticalQuery
AskedVector = str | VectorQuery


def checked_round(queries: Sequence[Asked], schema: Schema) -> list[StatisticalQuery]:
    """The queries of a round, parsed and type-checked before anything is asked or charged."""
    _require_list(queries)
    return [_of_schema(_number(query, schema), schema) for query in queries]


def checked_vectors(queries: Sequence[AskedVector], schema: Schema) -> list[VectorQuery]:
    """The same for queries whose answers are vectors."""
    _require_list(queries)
    return [_of_schema(_vector(query, schema), schema) for query in queries]


def checked_plan(queries: Sequence[Asked | AskedVector], schema: Schema) -> list[Query]:
    """Queries of either sort, for planning; a text that is a number's query is taken as one."""
    _require_list(queries)
    return [
        _of_schema(query_of(query, schema) if isinstance(query, str) else query, schema)
        for query in queries
    ]


def _require_list(queries: Sequence[object]) -> None:
    if isinstance(queries, str):
        raise QueryRefused("a round is a list of queries; write [query] for a single one")
    if not 1 <= len(queries) <= MOST_QUERIES_IN_A_ROUND:
        raise QueryRefused(f"a round has 1 to {MOST_QUERIES_IN_A_ROUND} queries")


def _number(query: Asked, schema: Schema) -> StatisticalQuery:
    return StatisticalQuery.parse(query, schema) if isinstance(query, str) else query


def _vector(query: AskedVector, schema: Schema) -> VectorQuery:
    return VectorQuery.parse(query, schema) if isinstance(query, str) else query


@lru_cache(maxsize=64)
def query_of(text: str, schema: Schema) -> Query:
    """What a text means on a schema: a number's query, if it can be one."""
    expression = parse(text)
    if not isinstance(expression, Several):
        with suppress(QueryRefused):
            return StatisticalQuery(expression, schema)
    return VectorQuery(expression, schema)


_AnyQuery = TypeVar("_AnyQuery", StatisticalQuery, VectorQuery, Query)


def _of_schema(query: _AnyQuery, schema: Schema) -> _AnyQuery:
    if query.schema != schema:
        raise QueryRefused("the query was checked against another schema than the oracle's")
    return query
