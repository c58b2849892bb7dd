"""Matrices in blocks of rows on a Dask cluster, and the connection to one."""
