"""Schemas of tables: what is public about columns, stated once for every tool."""

from skdp.data.schema import ColumnSchema, TableSchema

__all__ = ["ColumnSchema", "TableSchema"]
