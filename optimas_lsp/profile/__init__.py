"""What was measured: the frozen Profile model, its readers, its store and the choice of hot kernels."""
