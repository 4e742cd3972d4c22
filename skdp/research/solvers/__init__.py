"""Solvers of the papers that no default chooses."""
