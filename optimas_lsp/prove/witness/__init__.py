"""The witness: what a CUDA program left in device memory and gave back to the host."""
