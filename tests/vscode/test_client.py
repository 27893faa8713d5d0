"""The extension's own shape, without an editor: commands, types, bundle."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (CLIENT / "node_modules").is_dir(),
    reason="the extension's Node packages are not here: cd vscode-client && npm ci",
)


def _contributes() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((CLIENT / "package.json").read_text("utf-8")))["contributes"]


def _registered_by_the_client() -> set[str]:
    own = re.findall(r'register\("(\w+)"', (CLIENT / "src" / "extension.ts").read_text("utf-8"))
    acting = (CLIENT / "src" / "acts.ts").read_text("utf-8").split("\n  return {\n", 1)[1].split("\n  };\n", 1)[0]
    return {f"optimas.client.{name}" for name in (*own, *re.findall(r"^    (\w+): ", acting, re.MULTILINE))}


def test_every_declared_command_is_either_the_clients_or_the_servers() -> None:
    from optimas_lsp.server import names

    servers = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("optimas.")}
    ours = _registered_by_the_client()
    declared = {entry["command"] for entry in _contributes()["commands"]}
    assert declared <= ours | servers
    assert not ours & servers, "the language client registers the server's commands itself"


def test_commands_in_menus_are_declared() -> None:
    contributes = _contributes()
    declared = {entry["command"] for entry in contributes["commands"]}
    entries = [entry for menu in contributes["menus"].values() for entry in menu]
    assert {entry["command"] for entry in entries if "command" in entry} <= declared
    assert {entry["submenu"] for entry in entries if "submenu" in entry} <= {
        each["id"] for each in contributes["submenus"]
    }


def test_keys_for_machine_code_are_active_nowhere_else() -> None:
    contributes = _contributes()
    language, *_ = (each["language"] for each in contributes["grammars"])
    declared = {entry["command"] for entry in contributes["commands"]}
    assert contributes["keybindings"]
    for each in contributes["keybindings"]:
        assert each["command"] in declared
        assert each["when"] == f"editorTextFocus && editorLangId == {language}"


def test_whatever_a_row_offers_can_be_reached_by_keyboard() -> None:
    menus = _contributes()["menus"]
    rows = menus["view/item/context"]
    listed = {entry["command"] for entry in rows if not entry["group"].startswith("inline")}
    assert {entry["command"] for entry in rows} == listed, "an icon in a row is no place for a keyboard; its menu is"
    hidden = {entry["command"] for entry in menus["commandPalette"] if entry["when"] == "false"}
    assert listed & hidden == {"optimas.client.showReport"}, "“Choose the Report to Show…” does the same"


def test_what_runs_sends_or_changes_something_is_offered_in_trusted_folders_only() -> None:
    enabled = {entry["command"]: entry.get("enablement", "") for entry in _contributes()["commands"]}
    acting = ("optimizeKernel", "optimizeFinding", "tryTransformation", "profileKernel", "applyOutcome")
    for name in acting:
        assert "isWorkspaceTrusted" in enabled[f"optimas.client.{name}"], name


def test_commands_of_the_server_are_offered_only_while_it_runs() -> None:
    for entry in _contributes()["commands"]:
        if not entry["command"].startswith("optimas.client."):
            assert entry["enablement"] == "optimas.running", entry["command"]


def test_what_the_walkthrough_shows_is_in_the_package() -> None:
    for step in _contributes()["walkthroughs"][0]["steps"]:
        assert (CLIENT / step["media"]["markdown"]).is_file()


@needs_node
@pytest.mark.timeout(450)
def test_the_client_is_strictly_typed_and_lints_clean() -> None:
    ran = subprocess.run(
        ["npm", "run", "--silent", "check"], cwd=CLIENT, capture_output=True, text=True, timeout=400, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_node
@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_package_is_made_without_network_and_carries_no_node_modules(tmp_path: Path) -> None:
    import zipfile

    from tests.vscode.code_server import package

    made = package(tmp_path)
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
    assert "extension/out/extension.js" in names
    assert "extension/out/THIRD_PARTY.txt" in names
    assert not any("node_modules" in name or name.endswith(".ts") for name in names)
    assert made.stat().st_size < 2_000_000
