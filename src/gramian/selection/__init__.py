"""Picks features, kernels and widths."""
