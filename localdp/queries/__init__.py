"""Statistical queries as data: syntax, text, types on a schema, and evaluation on whole tables."""

from localdp.queries.parser import parse
from localdp.queries.statistical import StatisticalQuery, check
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery

__all__ = ["StatisticalQuery", "VectorQuery", "check", "parse", "to_text"]
