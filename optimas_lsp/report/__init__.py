"""What people look at: text, SARIF and HTML."""
