"""Picks features, kernels and widths; finds the relations that rows obey."""
