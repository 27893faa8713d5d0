"""One module and one data file a transformation."""
