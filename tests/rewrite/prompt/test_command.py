"""``optimas prompt`` prints what a model would be asked, and fails in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
from prompt_samples import SAMPLES
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from optimas_lsp.config import AllowanceName
from optimas_lsp.rewrite.guard.model import ALLOWANCES

ACCURACY = SAMPLES["accuracy"]


@pytest.fixture(autouse=True)
def cache(profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))


def ask(*options: str, source: Path = ACCURACY.source) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["prompt", str(source), "--profile", str(ACCURACY.report), *options])
    return found.exit_code, found.stdout, found.stderr


def test_text_and_json_say_the_same() -> None:
    status, text, _ = ask("--kernel", "accuracy", "--evidence", "pc,rl")
    assert status == 0
    _, printed, _ = ask("--kernel", "accuracy", "--evidence", "pc,rl", "--format", "json")
    found = json.loads(printed)
    jsonschema.Draft202012Validator(json_schema("prompt")).validate(found)
    assert text == f"{found['system']}\n{found['user']}"
    assert found["subset"] == "pc+rl"
    assert found["functions"] == ["accuracy_kernel"]


def test_a_limit_leaves_out_evidence_and_says_so() -> None:
    status, printed, _ = ask("--max-tokens", "5500", "--format", "json")
    found = json.loads(printed)
    assert status == 0
    assert found["tokens"] <= 5500
    assert found["dropped"]


def test_what_the_settings_allow_is_told(tmp_path: Path) -> None:
    for name in ("accuracy.cu", "rank.cuh"):
        (tmp_path / name).write_bytes((ACCURACY.folder / name).read_bytes())
    (tmp_path / "optimas.toml").write_text('[rewrite]\nallow = ["helpers"]\n', "utf-8")
    _, text, _ = ask(source=tmp_path / "accuracy.cu")
    assert "Allowed here beyond that\n- helpers" in text
    assert get_args(AllowanceName) == ALLOWANCES


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kernel", "nothing_like_it"), "no kernel matches"),
        (("--evidence", "xx"), "choose one of: pc"),
        (("--evidence", "ia"), "too few to rank counters"),
        (("--max-tokens", "100"), "needs about"),
        (("--folder", "/usr"), "not in the program's folder"),
    ],
)
def test_every_failure_is_one_sentence_with_a_remedy(options: tuple[str, ...], words: str) -> None:
    status, text, error = ask(*options)
    assert (status, text) == (2, "")
    [sentence] = error.splitlines()
    assert words in sentence
    assert ";" in sentence
