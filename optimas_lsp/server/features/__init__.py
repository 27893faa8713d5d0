"""One module an LSP capability: pure functions of a snapshot."""
