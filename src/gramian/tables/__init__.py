"""What a table is, cell by cell and as a whole."""
