"""The HTML report: one file that opens offline, in dark and light, by keyboard and on a small screen."""

from optimas_lsp.report.html.compare_page import render_comparison
from optimas_lsp.report.html.page import Subject, render

__all__ = ["Subject", "render", "render_comparison"]
