"""Rules for the number of components, a file for each family."""
