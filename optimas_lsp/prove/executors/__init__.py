"""Where a packed proof job runs: here, over SSH, under Slurm, or nowhere, when its result was recorded."""
