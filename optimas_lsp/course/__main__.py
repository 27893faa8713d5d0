"""``python -P -m optimas_lsp.course``: one rewrite in a process of its own, for the editor's jobs and for campaigns.

One line of JSON on standard input, a ``Request``; then JSON lines on standard output, each with its ``kind``:

- ``progress``: ``stage``, ``words``;
- ``consent``: ``folder`` and ``actions``, each as data with its ``sentence``. Answered with one line: ``yes`` records
  the consent and goes on, anything else ends with an error;
- ``outcome``: ``outcome``, the schema optimas.rewrite/1;
- or ``error``: ``type``, ``what``, ``where``, ``line``, ``remedy``.

When standard input closes, or on SIGTERM, everything that was started is ended and the exit status is 130.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from optimas_lsp.course.course import Course
from optimas_lsp.course.request import Request
from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.consent import ConsentError, Consents

CANCELLED = 130
LONGEST = 16 * 1024 * 1024
"""Bytes of the longest line that is read."""

Say = Callable[[dict[str, Any]], None]


def main() -> int:
    """Serve one request; returns the exit status: 0 also after an ``error``, which is an answer."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n") as out:
        os.dup2(2, 1)  # what others print must not get between the messages

        def say(message: dict[str, Any]) -> None:
            out.write(json.dumps(message, separators=(",", ":")) + "\n")
            out.flush()

        try:
            asyncio.run(_serve(say))
        except asyncio.CancelledError:
            return CANCELLED
        except OptimasError as error:
            say({"kind": "error", "type": type(error).__name__, "what": error.what, "where": error.where,
                 "line": error.line, "remedy": error.remedy})  # fmt: skip
    return 0


async def _serve(say: Say) -> None:
    lines = asyncio.StreamReader(limit=LONGEST)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    whole = asyncio.current_task()
    if whole is None:  # a coroutine that runs is a task's
        return
    loop.add_signal_handler(signal.SIGTERM, whole.cancel)
    loop.add_signal_handler(signal.SIGINT, whole.cancel)
    try:
        request = Request.model_validate_json(await lines.readline())
    except ValidationError as error:
        raise OptimasError(f"this is no request: {error.errors()[0]['msg']}") from None
    say({"kind": "progress", "stage": "select", "words": f"reading {request.profile.name}"})
    course = await asyncio.to_thread(Course.of, request)
    await _accepted(course, say, lines)
    watching = asyncio.ensure_future(_left(lines, whole))
    try:
        outcome = await course.run(lambda stage, words: say({"kind": "progress", "stage": stage, "words": words}))
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    for note in course.corpus.notes:
        say({"kind": "progress", "stage": "corpus", "words": note.text})
    say({"kind": "outcome", "outcome": outcome.model_dump(mode="json", by_alias=True)})


async def _accepted(course: Course, say: Say, lines: asyncio.StreamReader) -> None:
    """Return when everything was accepted, before or now; raises ConsentError."""
    consents, folder = Consents.of_user(), course.program.folder
    missing = consents.missing(folder, course.actions)
    if not missing:
        return
    actions = [{**each.model_dump(mode="json"), "sentence": each.sentence()} for each in missing]
    say({"kind": "consent", "folder": str(folder), "actions": actions})
    if (await lines.readline()).strip() != b"yes":
        raise ConsentError("this was not accepted, so nothing was sent or run", where=folder)
    consents.grant(folder, missing)


async def _left(lines: asyncio.StreamReader, whole: asyncio.Task[Any]) -> None:
    """Whoever asked keeps our standard input open as long as the answer is wanted."""
    while await lines.read(4096):
        pass
    whole.cancel()


if __name__ == "__main__":
    raise SystemExit(main())
