"""Follow events.jsonl while it grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optimas_lsp.prove.executors.outcome import Event, parse_event


class EventTail:
    """Reads whole lines that were appended since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0

    def new(self) -> Iterator[Event]:
        """The events since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            text = stream.read()
        end = text.rfind(b"\n") + 1
        self._offset += end
        for line in text[:end].decode("utf-8", "replace").splitlines():
            event = parse_event(line)
            if event is not None:
                yield event
