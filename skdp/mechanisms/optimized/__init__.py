"""Linear programs for noise of least cost, and certificates of its privacy and of its optimality.

Internal: `OptimizedNoise` is what a user calls.
"""
