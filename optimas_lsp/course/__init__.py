"""One rewrite from request to outcome: what the command line, the editor's jobs and campaigns all run."""

from optimas_lsp.course.course import Course
from optimas_lsp.course.program import Program
from optimas_lsp.course.request import Request

__all__ = ["Course", "Program", "Request"]
