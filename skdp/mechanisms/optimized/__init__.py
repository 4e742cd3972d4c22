"""Linear programs for noise of least cost, and certificates of its privacy and of its optimality.

Internal: `OptimizedNoise` and `DataDependentNoise` are what a user calls.
"""
