#!/usr/bin/env bash
# Frictionless: a column of postal codes is described as integers, and loses its zeros.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'frictionless==5.21.0'

cd "$folder"
venv/bin/python -W ignore - << 'PYTHON'
from importlib.metadata import version

from frictionless import describe, extract

with open("places.csv", "w") as file:
    file.write("code,town\n" + "".join(f"0{1000 + k},town{k}\n" for k in range(50)))
kind = describe("places.csv", type="schema").get_field("code").type
first = extract("places.csv")["places"][0]

print(f"frictionless {version('frictionless')}")
print("Digits with leading zeros are integers for the description, and then for the reader.")
print(f"cell 01000: described as {kind}, read as {first['code']!r}")
assert kind == "integer" and first["code"] == 1000
PYTHON
