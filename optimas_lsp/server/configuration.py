"""Which settings hold where: defaults, then the folder's ``optimas.toml``, then what the user chose in the editor.

What cannot be used is said once and never undoes what worked before: unknown keys are left out, a wrong value keeps
the last good settings of its folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from optimas_lsp.config import FILE_NAME, PROGRAM_TABLES, Settings, known_keys, load_toml, parse
from optimas_lsp.errors import ConfigError

EDITOR = "the editor's settings"
CLIENT_KEYS = frozenset({"trace", "python", "heat", "trusted", "hotspots"})
"""Keys of our section that belong to the editor's extension."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Settings for a folder and the sentences the user must read about them."""

    settings: Settings
    complaints: tuple[str, ...] = ()


@dataclass(slots=True)
class Configuration:
    """Remembers the last good settings of each folder (None: outside every folder)."""

    _good: dict[Path | None, Settings] = field(default_factory=dict[Path | None, Settings])

    def resolve(self, folder: Path | None, chosen: object) -> Outcome:
        """The settings of ``folder``; ``chosen`` is what the editor said. Reads a file, so not on the loop."""
        complaints: list[str] = []
        base = Settings()
        try:
            if folder is not None and (folder / FILE_NAME).is_file():
                values = load_toml(folder / FILE_NAME)
                values = {key: value for key, value in values.items() if key not in PROGRAM_TABLES}
                base = _lenient(values, str(folder / FILE_NAME), base, complaints)
            if isinstance(chosen, dict):
                mine = {key: value for key, value in cast("dict[str, Any]", chosen).items() if key not in CLIENT_KEYS}
                base = _lenient(mine, EDITOR, base, complaints)
            elif chosen is not None:
                base = parse(chosen, where=EDITOR, base=base)
        except ConfigError as error:
            last = self._good.get(folder)
            kept = "the settings from before stay in force" if last else "the default settings hold until then"
            return Outcome(last or Settings(), (*complaints, f"{error}; {kept}"))
        self._good[folder] = base
        return Outcome(base, tuple(complaints))


def _lenient(values: dict[str, Any], where: str, base: Settings, complaints: list[str]) -> Settings:
    """Parse; when there are unknown keys, say so and parse without them."""
    try:
        return parse(values, where=where, base=base)
    except ConfigError as error:
        known, unknown = _sorted_out(values)
        if not unknown:
            raise
        settings = parse(known, where=where, base=base)
        complaints.append(str(error))
        return settings


def _sorted_out(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The part of ``values`` under known keys, and the unknown keys (dotted)."""
    keys = set(known_keys())
    groups = {key.rpartition(".")[0] for key in keys if "." in key}
    unknown: list[str] = []

    def keep(table: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in table.items():
            dotted = prefix + _camel(key)
            if dotted in groups and isinstance(value, dict):
                kept[key] = keep(cast("dict[str, Any]", value), dotted + ".")
            elif dotted in keys or dotted in groups:
                kept[key] = value
            else:
                unknown.append(dotted)
        return kept

    return keep(values, ""), unknown


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def reading(settings: Settings) -> str:
    """What of the settings changes how a report is read and analysed; equal text, nothing to do again."""
    return settings.model_dump_json(include={"hot_kernels": True, "lines": True, "profiles": True, "path_maps": True})


def watch_patterns(settings: Sequence[Settings]) -> list[str]:
    """The relative glob patterns of the files whose changes matter."""
    patterns = [FILE_NAME]
    for each in settings:
        patterns += [pattern for pattern in each.profiles.reports if not Path(pattern).is_absolute()]
    return list(dict.fromkeys(patterns))
