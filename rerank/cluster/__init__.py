"""Work on a Dask cluster: batches of queries, and training from summed histograms; the only package that knows Dask."""
