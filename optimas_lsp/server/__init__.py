"""The LSP surface; the only room that knows about the protocol."""
