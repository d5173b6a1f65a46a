"""Simulations of intervals and limits, one file a subject."""
