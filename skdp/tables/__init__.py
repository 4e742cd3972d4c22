"""Schemas of tables: what is public about columns, stated once for every tool."""

from skdp.data.column_schema import ColumnSchema
from skdp.data.schema import TableSchema

__all__ = ["ColumnSchema", "TableSchema"]
