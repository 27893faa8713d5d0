"""Generates the ``contributes.configuration`` of ``package.json`` from ``optimas_lsp.config``.

``python scripts/settings.py`` writes it, ``python scripts/settings.py --check`` exits 1 when it is out of date.
Settings that only the extension reads are in ``CLIENT_ONLY`` here; it never sends them to the server. What decides what
is run, sent or let pass is restricted: a folder that is not trusted cannot choose it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from optimas_lsp.config import Section, Settings

PACKAGE = Path(__file__).resolve().parent.parent / "package.json"

RESTRICTED = ("rewrite", "guard", "prove", "search", "jobs")
"""Sections that decide what is run or sent, and what passes."""

CLIENT_ONLY: dict[str, dict[str, Any]] = {
    "optimas.python": {
        "type": "string",
        "default": "",
        "scope": "machine-overridable",
        "order": 0,
        "markdownDescription": (
            "Python (3.11 or newer) that runs the language server: a path or a program name. Empty: the environment "
            "made by this extension, then the interpreter chosen in the Python extension, then `python3` on PATH."
        ),
    },
    "optimas.heat": {
        "type": "string",
        "enum": ["gutterAndRuler", "gutter", "ruler", "off"],
        "enumDescriptions": [
            "Bars in the gutter and marks in the overview ruler.",
            "Bars in the gutter only.",
            "Marks in the overview ruler only.",
            "No heat.",
        ],
        "default": "gutterAndRuler",
        "scope": "window",
        "order": 1,
        "markdownDescription": "Where sampled lines show how much of the GPU time of the report they hold.",
    },
    "optimas.trace.server": {
        "type": "string",
        "enum": ["off", "messages", "compact", "verbose"],
        "default": "off",
        "scope": "window",
        "order": 2,
        "markdownDescription": "Writes the traffic between editor and server to the output channel *Optimas*.",
    },
}


def configuration() -> list[dict[str, Any]]:
    """The value of ``contributes.configuration``: one titled group a section, in the order of the model."""
    document = Settings.model_json_schema(by_alias=True, mode="validation")
    definitions = cast("dict[str, Any]", document.get("$defs", {}))
    groups: list[dict[str, Any]] = [{"title": "Optimas", "properties": dict(CLIENT_ONLY)}]
    loose: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        key = field.alias or name
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            properties = dict(_flatten(kind, f"optimas.{key}.", definitions))
            groups.append({"title": _title(key), "properties": properties})
        else:
            loose[f"optimas.{key}"] = _property(document["properties"][key], definitions, _plain(field.default))
    cast("dict[str, Any]", groups[0]["properties"]).update(loose)
    return groups


def _flatten(section: type[BaseModel], prefix: str, definitions: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    schema = section.model_json_schema(by_alias=True, mode="validation")
    inner = definitions | cast("dict[str, Any]", schema.get("$defs", {}))
    found: list[tuple[str, dict[str, Any]]] = []
    for name, field in section.model_fields.items():
        key = field.alias or name
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            found += _flatten(kind, f"{prefix}{key}.", inner)
        else:
            found.append((prefix + key, _property(schema["properties"][key], inner, _plain(field.default))))
    return found


def _property(schema: dict[str, Any], definitions: dict[str, Any], default: object) -> dict[str, Any]:
    """One setting as VS Code wants it: references resolved, titles gone, Markdown description, scope."""
    clean = cast("dict[str, Any]", _resolve(schema, definitions))
    text = cast("str", clean.pop("description", ""))
    clean["default"] = default
    clean["scope"] = "resource"
    clean["markdownDescription"] = re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))
    return clean


def _resolve(value: object, definitions: dict[str, Any]) -> object:
    if isinstance(value, list):
        return [_resolve(item, definitions) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    if "$ref" in table:
        name = cast("str", table["$ref"]).rsplit("/", 1)[1]
        rest = {key: item for key, item in table.items() if key != "$ref"}
        return _resolve({**definitions[name], **rest}, definitions)
    return {
        key: _resolve(item, definitions)
        for key, item in table.items()
        # "title" is dropped where it is the model's own name of a field or class, kept where it is a property's name
        if not (key == "title" and isinstance(item, str))
    }


def _plain(default: object) -> object:
    if isinstance(default, BaseModel):
        return default.model_dump(by_alias=True, mode="json")
    if isinstance(default, tuple | list):
        return [_plain(item) for item in cast("tuple[object, ...]", default)]
    return default


def _title(key: str) -> str:
    words = re.sub(r"([A-Z])", r" \1", key).lower()
    return words[0].upper() + words[1:]


def render(package: str) -> str:
    """``package.json``'s text with the generated settings in place."""
    data = cast("dict[str, Any]", json.loads(package))
    data["contributes"]["configuration"] = configuration()
    keys = [key for group in configuration() for key in group["properties"] if key.split(".")[1] in RESTRICTED]
    data["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = ["optimas.python", *keys]
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Writes or checks ``package.json``; returns the exit status."""
    before = PACKAGE.read_text("utf-8")
    after = render(before)
    if "--check" in sys.argv[1:]:
        if before != after:
            sys.stderr.write(f"{PACKAGE.name} is out of date: run python vscode-client/scripts/settings.py\n")
        return int(before != after)
    PACKAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
