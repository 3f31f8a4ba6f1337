"""What a record may be, the universe X of the book: domains of columns, schemas, tables of records."""

from localdp.domains.columns import BitDomain, CategoryDomain, Domain, IntegerDomain, RealDomain
from localdp.domains.ownership import Ownership
from localdp.domains.records import Records
from localdp.domains.rows import RowsDomain
from localdp.domains.schema import RESERVED_WORDS, Schema, is_column_name

__all__ = [
    "RESERVED_WORDS",
    "BitDomain",
    "CategoryDomain",
    "Domain",
    "IntegerDomain",
    "Ownership",
    "RealDomain",
    "Records",
    "RowsDomain",
    "Schema",
    "is_column_name",
]
