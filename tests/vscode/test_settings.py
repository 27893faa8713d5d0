"""The extension's settings are the server's settings, generated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from optimas_lsp.config import known_keys

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"


def _package() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((CLIENT / "package.json").read_text("utf-8")))


def _declared() -> dict[str, dict[str, Any]]:
    groups = _package()["contributes"]["configuration"]
    return {key: value for group in groups for key, value in group["properties"].items()}


def test_package_json_is_what_the_generator_makes_of_config() -> None:
    ran = subprocess.run(
        [sys.executable, str(CLIENT / "scripts" / "settings.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert ran.returncode == 0, ran.stderr


def test_every_server_setting_is_declared_with_a_default_and_a_description() -> None:
    declared = _declared()
    for key in known_keys():
        assert f"optimas.{key}" in declared
        assert declared[f"optimas.{key}"]["markdownDescription"], key
        assert "default" in declared[f"optimas.{key}"], key


def test_the_generated_schema_has_no_unresolved_reference() -> None:
    assert "$ref" not in json.dumps(_declared())


def test_settings_that_only_the_extension_reads_are_kept_from_the_server() -> None:
    ours = set(_declared()) - {f"optimas.{key}" for key in known_keys()}
    source = (CLIENT / "src" / "settings.ts").read_text("utf-8")
    kept = source.split("CLIENT_ONLY = new Set([", 1)[1].split("]", 1)[0]
    assert {item.strip().strip('"') for item in kept.split(",")} == ours


def test_what_an_untrusted_folder_must_not_choose_is_restricted() -> None:
    untrusted = _package()["capabilities"]["untrustedWorkspaces"]
    assert untrusted["supported"] == "limited"
    restricted = set(untrusted["restrictedConfigurations"])
    assert {"optimas.python", "optimas.rewrite.baseUrl", "optimas.prove.host", "optimas.prove.sshOptions"} <= restricted
    assert {"optimas.jobs.build", "optimas.guard.lines"} <= restricted
    assert restricted <= set(_declared())
