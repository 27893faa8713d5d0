"""The proof: build, run, compare bit for bit, time; nothing is offered without it."""
