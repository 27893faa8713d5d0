"""Which settings hold: defaults, then the folder's optimas.toml, then the editor's; mistakes cost only themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.server.configuration import Configuration, reading, watch_patterns


def toml(folder: Path, text: str | bytes) -> None:
    (folder / "optimas.toml").write_bytes(text if isinstance(text, bytes) else text.encode())


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        outcome = Configuration().resolve(folder, None)
        assert outcome.settings == Settings()
        assert outcome.complaints == ()


def test_an_empty_table_of_lua_is_no_wrong_settings() -> None:
    outcome = Configuration().resolve(None, [])
    assert (outcome.settings, outcome.complaints) == (Settings(), ())


def test_the_editors_choice_lies_over_the_folders_file(tmp_path: Path) -> None:
    toml(tmp_path, "[lines]\nminimum_share = 0.1\nactionable_share = 0.2\n[target]\nbuild = 'make'\n")
    outcome = Configuration().resolve(tmp_path, {"lines": {"minimumShare": 0.3}, "trace": {"server": "off"}})
    assert outcome.complaints == ()
    assert outcome.settings.lines.minimum_share == 0.3
    assert outcome.settings.lines.actionable_share == 0.2


@pytest.mark.parametrize("chosen", [None, {"linse": {}, "lines": {"minimumShare": 0.3, "most": 1}}])
def test_unknown_keys_are_named_with_their_place_and_left_out(tmp_path: Path, chosen: Any) -> None:
    toml(tmp_path, "hot_kernel = 1\n[hot_kernels]\nmaximum = 7\n")
    outcome = Configuration().resolve(tmp_path, chosen)
    assert outcome.settings.hot_kernels.maximum == 7
    assert f"{tmp_path / 'optimas.toml'}" in outcome.complaints[0]
    assert "hotKernel'" in outcome.complaints[0]
    assert "did you mean" in outcome.complaints[0]
    assert len(outcome.complaints) == (1 if chosen is None else 2)
    if chosen is not None:
        assert "'linse'" in outcome.complaints[1]
        assert "'lines.most'" in outcome.complaints[1]
        assert outcome.settings.lines.minimum_share == 0.3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[lines]\nminimum_share = 'much'\n", "lines.minimumShare"),
        ("[lines]\nminimum_share = 7\n", "less than or equal to 1"),
        ("lines = 3\n", "lines"),
        ("[lines\n", "not valid TOML"),
        (b"# caf\xe9\n", "not UTF-8"),
        ("[[path_maps]]\nfrom = '/a'\n", "pathMaps.0.to"),
        ("[profiles]\nreports = ['../runs/*.ncu-rep']\n", "'../runs/*.ncu-rep' leads out of the folder"),
        ("[profiles]\nreports = ['a/../../x.ncu-rep']\n", "leads out of the folder, where nothing is searched"),
        ("[profiles]\nreports = ['/data/*.ncu-rep']\n", "name each report there by its whole path"),
    ],
)
def test_a_wrong_value_is_explained_and_the_last_good_settings_stay(
    tmp_path: Path, text: str | bytes, words: str
) -> None:
    configuration = Configuration()
    toml(tmp_path, text)
    first = configuration.resolve(tmp_path, None)
    assert words in first.complaints[0]
    assert "default settings hold" in first.complaints[0]
    assert first.settings == Settings()
    toml(tmp_path, "[hot_kernels]\nmaximum = 5\n")
    assert configuration.resolve(tmp_path, None).complaints == ()
    toml(tmp_path, text)
    last = configuration.resolve(tmp_path, None)
    assert last.settings.hot_kernels.maximum == 5
    assert "stay in force" in last.complaints[0]


def test_a_folder_in_place_of_the_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "optimas.toml").mkdir()
    assert Configuration().resolve(tmp_path, None).complaints == ()


def test_only_settings_that_change_what_is_read_make_reports_be_read_again() -> None:
    plain = Settings()
    shown = Settings.model_validate({"diagnostics": {"enable": False}, "inlayHints": {"enable": False}})
    other = Settings.model_validate({"lines": {"minimumShare": 0.5}})
    assert reading(plain) == reading(shown)
    assert reading(plain) != reading(other)


def test_the_files_to_watch_are_the_folders_file_and_its_reports() -> None:
    settings = Settings.model_validate({"profiles": {"reports": ["runs/*.ncu-rep", "/abs/x.ncu-rep"]}})
    assert watch_patterns([settings, settings]) == ["optimas.toml", "runs/*.ncu-rep"]
