"""Many experiments: planned from one file, run on Parsl, resumed, exported as a dataset, and told in tables."""
