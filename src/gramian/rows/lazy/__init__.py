"""Arrays in files that are sliced without being read as a whole."""
