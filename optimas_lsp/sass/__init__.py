"""What the GPU executed: machine code, inline chains and the causes of stalls."""
