"""Functions of a fitted model: describe, rotate, stability, choice of components."""
