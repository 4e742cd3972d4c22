"""Samplers of the papers: for comparison, by values only, or in the metric of the data."""
