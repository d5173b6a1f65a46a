"""The kinds of rows: dense, sparse, stored, on a device and in Dask's chunks."""
