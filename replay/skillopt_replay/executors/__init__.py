"""Where rollouts run: on this machine, or on the workers of a Dask cluster."""
