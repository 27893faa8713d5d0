"""result.json and events.jsonl: written as the job goes, so that a killed job resumes and a watcher sees progress."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import time
from pathlib import Path
from typing import Any, Generator, Iterable

from . import process

SCHEMA = "optimas.result/1"


KEY = "OPTIMAS_SEAL"
"""The variable that brings the key of the seal; whoever started the runner keeps it."""


def take_key() -> bytes:
    """The seal's key, taken out of the environment so that nothing started from here sees it; b'' without one."""
    return os.environ.pop(KEY, "").encode()


def seal(data: dict[str, Any], key: bytes) -> str:
    """HMAC-SHA-256 of a result without its own seal, hexadecimal; '' without a key.

    A candidate can write into the job's folder, but not what only the runner and its starter can seal.
    """
    if not key:
        return ""
    text = json.dumps({k: v for k, v in data.items() if k != "seal"}, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Record:
    """The result under way. Every change is on disk before the next step starts."""

    def __init__(self, folder: Path, job_hash: str, key: bytes = b"") -> None:
        self.folder = Path(folder)
        self.path = self.folder / "result.json"
        self._key = key
        self.data: dict[str, Any] = self._previous(job_hash) or {
            "schema": SCHEMA,
            "job": job_hash,
            "machine": {},
            "gates": [],
            "timing": None,
            "resources": None,
            "cost": {},
            "not_checked": [],
            "verdict": None,
        }
        self.data["resumed"] = bool(self.data["gates"])

    def _previous(self, job_hash: str) -> dict[str, Any] | None:
        try:
            data: dict[str, Any] = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if data.get("schema") != SCHEMA or data.get("job") != job_hash:
            return None
        return data if hmac.compare_digest(str(data.get("seal", "")), seal(data, self._key)) else None

    def save(self) -> None:
        """Write result.json whole or not at all."""
        self.data["seal"] = seal(self.data, self._key)
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(self.data, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.path)

    def event(self, stage: str, text: str, done: int | None = None, total: int | None = None) -> None:
        """One line for whoever watches: stage, a sentence, and counts where they are known."""
        entry: dict[str, Any] = {"time": round(time.time(), 3), "stage": stage, "text": text}
        if total is not None:
            entry.update(done=done, total=total)
        with (self.folder / "events.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")

    def gate(self, name: str) -> dict[str, Any] | None:
        """The finished gate of this name, or None."""
        return next((gate for gate in self.data["gates"] if gate["name"] == name), None)

    def finish(
        self,
        name: str,
        status: str,
        sentence: str,
        seconds: float = 0.0,
        files: Iterable[Path] = (),
        **facts: object,
    ) -> dict[str, Any]:
        """Record a gate: ``status`` is pass, fail or skipped; ``sentence`` is what a person reads."""
        gate = {
            "name": name,
            "status": status,
            "sentence": sentence,
            "seconds": round(seconds, 3),
            "files": [str(Path(f).relative_to(self.folder)) for f in files],
            "facts": facts,
        }
        self.data["gates"] = [g for g in self.data["gates"] if g["name"] != name] + [gate]
        self.save()
        self.event(name, f"{status}: {sentence}")
        return gate

    @contextlib.contextmanager
    def cost(self, stage: str) -> Generator[None, None, None]:
        """Keep what a stage takes: seconds of wall time, and of it those that others took (``process.SPENT``)."""
        began, before = time.monotonic(), {what: list(entry) for what, entry in process.SPENT.items()}
        try:
            yield
        finally:
            kept = self.data.setdefault("cost", {}).setdefault(stage, {"wall_s": 0.0, "spent": {}})
            kept["wall_s"] = round(kept["wall_s"] + time.monotonic() - began, 4)
            for what, (count, seconds) in process.SPENT.items():
                old = before.get(what, [0, 0.0])
                if count > old[0]:
                    entry = kept["spent"].setdefault(what, {"count": 0, "seconds": 0.0})
                    entry["count"] += int(count - old[0])
                    entry["seconds"] = round(entry["seconds"] + seconds - old[1], 4)

    def unchecked(self, sentence: str) -> None:
        """Remember something that this proof did not check."""
        if sentence not in self.data["not_checked"]:
            self.data["not_checked"].append(sentence)
