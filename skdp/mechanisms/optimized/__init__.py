"""Noise optimised by linear programming, with certificates of its cost on both sides."""
