"""Symmetric matrices known by what they do: multiply a block of vectors."""
