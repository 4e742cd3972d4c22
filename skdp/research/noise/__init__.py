"""Noise whose distribution depends on the value: its linear program, its draws and its event."""
