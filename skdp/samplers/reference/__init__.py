"""Samplers of the papers that certify no run short enough for a fit: for `draw_samples` only."""
