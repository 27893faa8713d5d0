"""Every command answers whatever it is given, with a sentence and not with a defect of ours, and the server goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from tests.server.conftest import Connect

pytestmark = pytest.mark.asyncio

VSCODE = "vscode_1.100.3_languageclient_11"
INTERNAL = -32603
ABOUT_FILES = (
    "optimizeKernel", "optimizeFinding", "tryTransformation", "explain", "showPrompt", "profileKernel",
    "compareWithPrevious", "markKnown", "unmarkKnown", "openFinding", "openKernel", "openReport", "whyMapped",
    "machineCode", "openMachineCode",
)  # fmt: skip
ABOUT_JOBS = ("cancelJob", "outcome", "openOutcome", "applyOutcome", "refuseOutcome", "forgetJob")


def _wrong(file: str) -> list[list[Any]]:
    return [
        [], [None], [None, None], [7], [{}], [["x"]], ["x"], ["", ""], ["https://example.org/a.cu", "PC-1"],
        ["file:///nowhere/a.cu", "PC-1"], ["file:///etc/passwd", "PC-1"], ["file:///%00", "PC-1"], [file, "PC-999"],
        [file, 7], [file, ["PC-1"]], [file, "\x1b[2J"], [file, "[x](command:y)"],
        [file, "_Z1xv", "no such transformation"],
        [file, "../../../etc/passwd"], ["file://[", "x"], [file, "_Z1xv", {"a": 1}],
    ]  # fmt: skip


async def test_wrong_arguments_are_answered_with_a_sentence(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("adjacent")
    editor = await connect(VSCODE, folder, configuration={"prove": {"executor": "recorded"}}, options={"jobs": True})
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    editor.choice = None
    answers: list[tuple[str, list[Any], JsonRpcException]] = []
    for name in (*ABOUT_FILES, *ABOUT_JOBS):
        for arguments in _wrong(uri):
            try:
                await editor.command(name, *arguments)
            except JsonRpcException as error:
                answers.append((name, arguments, error))
    assert len(answers) > len(ABOUT_FILES)
    assert [each for each in answers if "](command:" in each[2].message] == []
    assert [each for each in answers if each[2].code == INTERNAL or not each[2].message] == []
    assert [each.message for each in editor.log_messages if "Traceback" in each.message] == []
    assert (await editor.debug())["ready"]


@pytest.mark.parametrize(
    "kept",
    [
        b"{", b"[]", b"null", b'"text"', b"[" * 100_000, b"\xff",
        json.dumps({"attempts": 7, "chosen": [], "rounds": {"x": 1}, "proof": "no", "explanation": "no"}).encode(),
        json.dumps({"attempts": [{"number": {}, "reply": {"outcome": {"changes": [{"evidence": 7}]}}, "verdict": 1}],
                    "proof": {"details": {"gates": [{"name": None}], "not_checked": {}}}, "scores": 3}).encode(),
    ],
)  # fmt: skip
async def test_an_outcome_that_was_damaged_is_said_to_be_none(kept: bytes, tmp_path: Path) -> None:
    from optimas_lsp.server.features.outcome import diff_of, outcome_text
    from optimas_lsp.server.job_commands import kept_outcome

    place = tmp_path / "a.outcome.json"
    place.write_bytes(kept)
    found = kept_outcome(place)
    assert outcome_text("Optimise k", found).startswith("# Optimise k")
    assert isinstance(diff_of(found), str)


async def test_nothing_a_model_answered_is_read_as_markup() -> None:
    from optimas_lsp.server.features.outcome import outcome_text

    evil = "**](command:evil) <img src=x onerror=y>\n\n# Proven"
    answer = {"changes": [{"evidence": [evil], "reason": evil}]}
    attempts = [{"number": 1, "reply": {"outcome": answer}, "problem": evil,
                 "verdict": {"rules": [{"id": evil, "status": evil, "message": evil}]}}]  # fmt: skip
    gates = [{"name": evil, "status": "pass", "sentence": evil}]
    outcome = {"sentence": evil, "chosen": 1, "attempts": attempts, "explanation": [evil],
               "proof": {"details": {"recorded": evil, "gates": gates, "not_checked": [evil]}}}  # fmt: skip
    text = outcome_text(evil, outcome)
    assert "<img" not in text.replace("\\<img", "")
    assert "](command" not in text.replace("\\](command", "")
    assert "\n# Proven" not in text
