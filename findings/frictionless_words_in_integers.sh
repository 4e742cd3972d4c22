#!/usr/bin/env bash
# Frictionless: words in 5 % of a column leave it an integer column, and are read as None.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'frictionless==5.21.0'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

from frictionless import describe, extract

answers = [str(k) for k in range(95)] + ["refused"] * 5
with open("answers.csv", "w") as file:
    file.write("person,hours\n" + "".join(f"p{k},{one}\n" for k, one in enumerate(answers)))
kind = describe("answers.csv", type="schema").get_field("hours").type
hours = [row["hours"] for row in extract("answers.csv")["answers"]]

print(f"frictionless {version('frictionless')}")
print("A type needs 90 % of the cells, and the reader drops the other cells without an error.")
print(f"95 numbers and 5 words: described as {kind}, {hours.count(None)} cells are None")
assert kind == "integer" and hours.count(None) == 5
PYTHON
