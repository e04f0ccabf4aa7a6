"""Work on a Dask cluster: batches of queries, and LightGBM's Dask learner; the only package that knows Dask."""
