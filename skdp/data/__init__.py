"""The data of a fit or a statistic: columns, blocks of rows, persons, and exact sums.

From the outside in:

- `records`: the rows of one call, in whatever form. Model families use this class only.
- `exact_sums`: sums of numbers over records, as integers.
- `column`, `columns`: one column, and a table, of any library. The only conversion of user data.
- `column_facts`: public bounds, categories and keys of columns.
- `engine`, `blocks`, `lazy`: rows outside of memory, by the engines `arrow`, `dask` and `spark`.
- `persons`: records of several rows.
- `schema`, `column_schema`, `schema_readers`: public facts about a table and a column, stated once
  or read from other tools. `encoding`: a table as its schema encodes it.
- `validation`: scikit-learn's checks, with errors that quote no value.
"""
