"""Public facts about a table: its schema, and how a schema encodes rows.

- `schema`: the schema of a table. `column`: the schema of one column.
- `encoding`, `values`: tables and single values as a schema encodes them.
- `draft`, `readers`: schemas from the types of a frame, and from the formats of other tools.
"""

from skdp.data.schema.column import ColumnSchema
from skdp.data.schema.encoding import Bag, Encoding
from skdp.data.schema.schema import TableSchema, encoding_of, groups_of, max_rows_of, schemas_in

__all__ = [
    "Bag",
    "ColumnSchema",
    "Encoding",
    "TableSchema",
    "encoding_of",
    "groups_of",
    "max_rows_of",
    "schemas_in",
]
