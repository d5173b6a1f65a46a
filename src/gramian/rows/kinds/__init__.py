"""Rows: what every kind of data is to those who compute with it."""
