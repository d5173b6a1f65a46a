"""What a table is, in memory or not, and where it comes from: arrays, files, folders, streams, clusters."""
