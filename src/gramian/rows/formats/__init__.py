"""Kinds of file, one module each."""
