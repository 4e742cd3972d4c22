"""The folders that users import from; the others are internal and have no page of their own."""

import pkgutil

import skdp

INTERNAL = {"data", "design", "ledger", "support"}
MODULES = sorted(
    m.name
    for m in pkgutil.iter_modules(skdp.__path__)
    if m.name not in INTERNAL and m.name[0] != "_"
)
