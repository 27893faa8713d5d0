"""Settings from plain data: the editor's configuration or an ``optimas.toml``, and what is wrong with it, in words."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from optimas_lsp.config.settings import Section, Settings
from optimas_lsp.errors import ConfigError

FILE_NAME = "optimas.toml"


def parse(values: object, *, where: str, base: Settings | None = None) -> Settings:
    """Settings from plain data, laid over ``base``.

    Raises ConfigError that names ``where``, the key, what was wrong and, for an unknown key, the nearest known one.
    """
    if values == []:  # how Lua's empty table is written in JSON
        values = {}
    if not isinstance(values, dict):
        raise ConfigError(f"the settings must be a table, not {type(values).__name__}", where=where)
    merged = _overlay((base or Settings()).model_dump(by_alias=True), _camel(cast("dict[str, Any]", values)))
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise _explain(error, where) from None


def load_toml(path: Path) -> dict[str, Any]:
    """The whole ``optimas.toml`` at ``path`` as plain data; raises ConfigError with the line of a syntax error."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=path, remedy="correct the line it names") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error.reason} at byte {error.start}", where=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path, remedy="check its permissions") from None


PROGRAM_TABLES = frozenset({"target", "profile"})
"""Tables of ``optimas.toml`` that describe a program, not settings; their own rooms read them."""


def from_toml(path: Path, *, base: Settings | None = None) -> Settings:
    """Settings in the ``optimas.toml`` at ``path``, laid over ``base``; tables that describe a program are skipped."""
    values = {key: value for key, value in load_toml(path).items() if key not in PROGRAM_TABLES}
    return parse(values, where=str(path), base=base)


def _camel(values: dict[str, Any]) -> dict[str, Any]:
    return {
        to_camel(key): _camel(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for key, value in values.items()
    }


def _overlay(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _overlay(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


def known_keys(section: type[BaseModel] = Settings, prefix: str = "") -> list[str]:
    """Every setting's dotted camelCase key, e.g. ``hotKernels.coverage``."""
    keys: list[str] = []
    for name, field in section.model_fields.items():
        key = prefix + (field.alias or name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            keys += known_keys(kind, key + ".")
        else:
            keys.append(key)
    return keys


def _likely(key: str) -> list[str]:
    """The key that was probably meant, if any: one that only lacks its table, else the most alike."""
    bare = key.replace("_", "").lower()
    inner = [each for each in known_keys() if each.rpartition(".")[2].lower() == bare]
    return inner if len(inner) == 1 else difflib.get_close_matches(key, known_keys(), n=1, cutoff=0.6)


def _explain(error: ValidationError, where: str) -> ConfigError:
    sentences: list[str] = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            near = _likely(key)
            sentences.append(f"unknown key '{key}'" + (f" (did you mean '{near[0]}'?)" if near else ""))
        else:
            sentences.append(f"'{key}': {item['msg'].removeprefix('Value error, ')} (found {item['input']!r})")
    return ConfigError("; ".join(sentences), where=where, remedy="see docs/settings.md for every key and its type")
