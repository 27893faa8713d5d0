"""A proof says what it cost, and what of that others took: the user's builds and runs, tools, waiting for the GPU."""

from __future__ import annotations

from typing import Any

NAP = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { usleep(50000); puts("sum 42"); return 0; }\n'


def test_builds_and_runs_are_told_from_the_runners_own_time(packed: Any, claimed_gpu: dict[str, str]) -> None:
    job = packed(NAP, NAP + "\n")
    job.environment = claimed_gpu
    job.run()
    cost = job.result["cost"]
    assert cost["build"]["spent"]["build"]["count"] == 2
    assert cost["runs"]["spent"]["run"]["count"] == 4
    assert cost["runs"]["spent"]["run"]["seconds"] >= 4 * 0.05
    for stage in cost.values():
        assert stage["wall_s"] >= sum(entry["seconds"] for entry in stage["spent"].values()) - 0.001


def test_a_resumed_proof_adds_up_what_it_cost(packed: Any) -> None:
    job = packed()
    job.run()
    assert set(job.result["cost"]) == {"copies", "static", "build", "provenance"}
    from optimas_lsp.prove.runner import process
    from optimas_lsp.prove.runner.record import Record

    record = Record(job.folder, job.result["job"])
    before = record.data["cost"]["build"]["spent"]["build"]["seconds"]
    with record.cost("build"):
        process.charge("build", 1.0)
    assert record.data["cost"]["build"]["spent"]["build"] == {"count": 3, "seconds": round(before + 1.0, 4)}
