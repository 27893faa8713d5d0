"""``python -P -m optimas_lsp.server.prompt_text``: what a model would be asked, for one request of ``course``.

The request stands on standard input; nothing is sent, built or run.
"""

from __future__ import annotations

import sys

from optimas_lsp.course import Course, Request
from optimas_lsp.errors import OptimasError


def main() -> int:
    """Print the prompt; exit status 1 with the sentence of what is wrong."""
    try:
        sys.stdout.write(Course.of(Request.model_validate_json(sys.stdin.read())).prompt.text)
    except OptimasError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
