"""Kinds of file, a module each: what opens one returns the source of its table."""
