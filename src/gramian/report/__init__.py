"""Explains a fitted model: a folder of tables, pictures and one page that a person can open."""
