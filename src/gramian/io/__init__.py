"""Where tables come from: files, folders, streams, arrays of other libraries."""
