"""Rules for the number of components, a file for each family, and the table of all of them."""
