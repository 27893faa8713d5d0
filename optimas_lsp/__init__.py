"""Optimas for the editor: a GPU profile goes in, evidence comes out on the source line."""

__version__ = "0.1.0"
