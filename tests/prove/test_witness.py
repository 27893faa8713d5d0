"""What the witness wrote is read whole or not believed. The records are written by hand in the format it prints."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from optimas_lsp.prove.runner import compare, tools, witness
from optimas_lsp.prove.runner.witness import Testimony

START = {"event": "start", "witness": 1, "pid": 7, "loaded": True, "why": "", "launch": True, "time": True}
END = {"event": "end", "launches": 1, "allocations": 2, "uncovered": {"managed memory": 2, "graph launch": 1}}


def _memory(allocation: int, digest: str, *, nonzero: int = 8, nans: int = 0) -> dict[str, object]:
    return {"allocation": allocation, "bytes": 64, "digest": digest, "nonzero": nonzero, "nans": nans}


def _launch(*memory: dict[str, object], number: int = 0, kernel: str = "_Z1kv") -> dict[str, object]:
    return {"event": "launch", "launch": number, "kernel": kernel, "grid": [1, 1, 1], "status": 0, "memory": memory}


def _copy(kind: str, digest: str, size: int = 64, *, nonzero: int = 8, nans: int = 0) -> dict[str, object]:
    return {"event": kind, "number": 0, "bytes": size, "digest": digest, "nonzero": nonzero, "nans": nans}


def _testimony(folder: Path, *entries: object, name: str = "witness-7.jsonl", tail: str = "") -> Testimony:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(entry) + "\n" for entry in entries) + tail, "utf-8")
    return Testimony(folder)


def test_a_whole_record_is_read(tmp_path: Path) -> None:
    time = {"event": "time", "kernel": "_Z1kv", "duration_ns": 1200}
    other = {"event": "time", "kernel": "_Z1lv", "duration_ns": 300}
    found = _testimony(tmp_path / "w", START, _launch(_memory(0, "aa")), _copy("readback", "bb"), time, other, END)
    assert found.present
    assert found.kernel_ns(["_Z1kv"]) == (1200, 1500)
    assert found.uncovered() == {"managed memory": 2, "graph launch": 1}


def test_no_record_and_half_a_record_are_not_testimony(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert not Testimony(tmp_path / "empty").present
    assert "was not loaded" in Testimony(tmp_path / "empty").why_absent()
    half = _testimony(tmp_path / "half", START, _launch(_memory(0, "aa")))
    assert not half.present
    assert "before the witness could finish" in half.why_absent()
    sick = _testimony(tmp_path / "sick", {**START, "loaded": False, "why": "no CUPTI"}, END)
    assert "no CUPTI" in sick.why_absent()
    assert not Testimony(None).used


@pytest.mark.parametrize("tail", ['{"event": "laun', "5\n", '"text"\n', "{}\n", "[]\n"])
def test_a_broken_line_is_an_error_and_no_crash(tmp_path: Path, tail: str) -> None:
    found = _testimony(tmp_path / "w", START, END, tail=tail)
    assert [error["what"] for error in found.errors] == ["a line of the record is broken"]


def test_a_record_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    real = _testimony(tmp_path / "real", START, END)
    assert real.present
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "witness-1.jsonl").symlink_to(tmp_path / "real" / "witness-7.jsonl")
    assert not Testimony(tmp_path / "w").present


def test_memory_that_differs_names_launch_and_allocation(tmp_path: Path) -> None:
    a = _testimony(tmp_path / "a", START, _launch(_memory(0, "aa"), _memory(1, "bb"), number=4), END)
    b = _testimony(tmp_path / "b", START, _launch(_memory(0, "aa"), _memory(1, "00", nonzero=0), number=4), END)
    assert compare.launch_difference(a, a) is None
    sentence, launch, allocation = compare.launch_difference(a, b) or ("", None, None)
    assert sentence == "allocation 1 (64 bytes) differs after launch 4 of _Z1kv: it is all zero"
    assert (launch, allocation) == (4, 1)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([_copy("readback", "cc")], "copy 0 to the host (64 bytes) differs"),
        ([_copy("readback", "cc", nans=3)], "3 words read as NaN"),
        ([_copy("readback", "aa", 32)], "copy 0 to the host has 32 bytes instead of 64"),
        ([], "0 copies to the host instead of 1"),
        ([_copy("upload", "aa"), _copy("readback", "aa")], "1 copies from the host instead of 0"),
    ],
)
def test_copies_must_be_the_same_both_ways(tmp_path: Path, found: list[object], words: str) -> None:
    a = _testimony(tmp_path / "a", START, _copy("readback", "aa"), END)
    b = _testimony(tmp_path / "b", START, *found, END)
    assert words in str(compare.copies_difference(a, b))


@pytest.mark.full
def test_the_witness_compiles_and_offers_its_entry(tmp_path: Path) -> None:
    nvcc = tools.find("nvcc")
    if nvcc is None:
        pytest.skip("nvcc was not found (install cuda-toolkit[nvcc,cudart,crt,cccl,cupti])")
    sources = Path(witness.__file__).parents[1] / "witness"
    built = witness.build(sources, tmp_path, nvcc)
    symbols = subprocess.run(["nm", "-D", "--defined-only", str(built)], capture_output=True, text=True, check=True)
    assert "InitializeInjection" in symbols.stdout
    assert witness.build(sources, tmp_path, nvcc) == built
