"""Keeps everything of a rewrite that failed, for a person to look at."""

from __future__ import annotations

import re
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.outcome import Rewriting


def keep(rewriting: Rewriting, folder: Path) -> Rewriting:
    """Write everything of a failed rewrite under ``folder`` for a person to look at; returns it with the place.

    Raises OptimasError when it cannot be written.
    """
    name = re.sub(r"[^\w.+-]+", "-", f"{rewriting.prompt.source}-{rewriting.prompt.kernel[:60]}")[-120:].lstrip(".-")
    place = folder / name
    number = 1
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            try:
                place.mkdir()
                break
            except FileExistsError:
                number += 1
                place = folder / f"{name}-{number}"
        kept = rewriting.model_copy(update={"kept": str(place)})
        (place / "rewrite.json").write_text(kept.model_dump_json(by_alias=True, indent=1), "utf-8")
        (place / "prompt.txt").write_text(rewriting.prompt.text, "utf-8", "replace")
        for attempt in rewriting.attempts:
            (place / f"answer-{attempt.number}.txt").write_text(attempt.reply.text, "utf-8", "replace")
            (place / f"change-{attempt.number}.diff").write_text(attempt.diff, "utf-8", "replace")
            if attempt.compiled is not None:
                log = "".join(f"$ {' '.join(step.command)}\n{step.log}\n" for step in attempt.compiled.steps)
                (place / f"build-{attempt.number}.log").write_text(log, "utf-8", "replace")
    except OSError as error:
        raise OptimasError(
            f"what is to be looked at cannot be kept: {error.strerror}",
            where=place,
            remedy="give another --keep folder",
        ) from None
    return kept
