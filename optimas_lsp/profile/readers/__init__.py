"""Readers: one module a report format."""
