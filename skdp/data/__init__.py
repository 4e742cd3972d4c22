"""The data as they arrive: columns, blocks of rows, persons, and exact sums."""
