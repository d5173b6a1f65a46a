"""Columns in batches: facts about them, which are numbers, names and labels, and the table of them."""
