"""The law behind the data: polynomial equations that its rows obey."""
