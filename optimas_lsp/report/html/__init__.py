"""The HTML report: one file that opens offline, in dark and light, by keyboard and on a small screen."""

from optimas_lsp.report.html.compare_page import render_comparison
from optimas_lsp.report.html.outcome import outcome_page
from optimas_lsp.report.html.page import Subject, render

__all__ = ["Subject", "outcome_page", "render", "render_comparison"]
