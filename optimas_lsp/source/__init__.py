"""Where that is in code: syntax, path mapping and anchors that move with edits."""
