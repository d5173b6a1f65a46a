"""Functions of a fitted model: describe, diagnose, rotate, stability, comparison; proposals for a table."""
