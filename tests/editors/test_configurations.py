"""The configuration texts for editors: valid, and the same in the manual as in the files."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from optimas_lsp.config import known_keys, parse

ROOT = Path(__file__).resolve().parents[2]


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / "editors" / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_helix_file_starts_the_server_for_every_language_it_serves() -> None:
    config = tomllib.loads((ROOT / "editors" / "helix" / "languages.toml").read_text("utf-8"))
    assert config["language-server"]["optimas"]["command"] == "optimas-lsp"
    served = {entry["name"] for entry in config["language"] if "optimas" in entry["language-servers"]}
    assert served == {"c", "cpp", "python"}


def test_the_helix_page_shows_the_file() -> None:
    shown = tomllib.loads(_blocks("helix.md", "toml")[0])
    assert shown == tomllib.loads((ROOT / "editors" / "helix" / "languages.toml").read_text("utf-8"))


def test_the_settings_in_the_helix_page_are_settings() -> None:
    shown = tomllib.loads(_blocks("helix.md", "toml")[1])
    settings = parse(shown["language-server"]["optimas"]["config"]["optimas"], where="helix.md")
    assert settings.hot_kernels.maximum == 5
    more = tomllib.loads(_blocks("helix.md", "toml")[2])
    assert parse(more["language-server"]["optimas"]["config"]["optimas"], where="helix.md").jobs.offer == "edit"


def test_the_text_for_sublime_names_the_program_and_settings_that_exist() -> None:
    client = json.loads(_blocks("sublime.md", "json")[0])["clients"]["optimas"]
    assert client["command"] == ["optimas-lsp"]
    assert {key.removeprefix("optimas.") for key in client["settings"]} <= set(known_keys())


def test_the_neovim_page_names_what_the_command_takes_and_nothing_else() -> None:
    module = (ROOT / "editors" / "neovim" / "lua" / "optimas.lua").read_text("utf-8")
    table = module.split("M.commands = {", 1)[1].split("\n}", 1)[0]
    takes = set(re.findall(r"^  (?:\['([\w-]+)'\]|(\w+)) =", table, re.MULTILINE))
    page = (ROOT / "docs" / "editors" / "neovim.md").read_text("utf-8").split("`:Optimas …`", 1)[1].split("\n\n", 1)[0]
    shown = {
        name
        for row in page.splitlines()
        for name in re.findall(r"`([\w-]+)(?: \[\w+\])?`", row.split("|")[1:2][0] if "|" in row else "")
    }
    assert shown == {one or other for one, other in takes}


def test_the_neovim_page_names_only_options_that_the_module_has() -> None:
    module = (ROOT / "editors" / "neovim" / "lua" / "optimas.lua").read_text("utf-8")
    defaults = module.split("M.options = {", 1)[1].split("\n}", 1)[0]
    known = set(re.findall(r"^  (\w+) =", defaults, re.MULTILINE))
    used = set(re.findall(r"^  (\w+) =", _blocks("neovim.md", "lua")[0], re.MULTILINE))
    assert used
    assert used <= known
