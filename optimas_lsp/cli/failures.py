"""How every command fails: one sentence on standard error and exit status 2; Ctrl-C is 130, a closed pipe 141.

``--debug``, anywhere before ``--``, shows the traceback as well.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from optimas_lsp.errors import OptimasError

FAILED = 2
INTERRUPTED = 130
CLOSED_PIPE = 141


class SentenceGroup(TyperGroup):
    """A group of commands whose failures are sentences."""

    debug = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments wherever it stands."""
        end = args.index("--") if "--" in args else len(args)
        SentenceGroup.debug = "--debug" in args[:end]
        return super().parse_args(ctx, [arg for arg in args[:end] if arg != "--debug"] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; turn what goes wrong into a sentence and an exit status."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OptimasError as error:
            if SentenceGroup.debug:
                traceback.print_exc()
            say(f"optimas: {error.sentence()}")
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            say("optimas: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output has left: point it elsewhere, so that the interpreter's last flush is silent.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(CLOSED_PIPE) from None
        return result


def say(sentence: str) -> None:
    """A sentence on standard error; characters the terminal cannot show, or would obey, are replaced, never fatal.

    Sentences name kernels and files out of reports that anybody may have made.
    """
    encoding = sys.stderr.encoding or "utf-8"
    shown = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in sentence)
    sys.stderr.write(shown.encode(encoding, "replace").decode(encoding, "replace") + "\n")
