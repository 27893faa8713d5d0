"""Tables of how it went: answers and correctness, failures by gate, EAR scores, overhead, where results are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from optimas_lsp.campaign.ending import UNANSWERED, WITHOUT_OUTCOME
from optimas_lsp.campaign.outcomes import BOOTSTRAP, ENDED, WRONG, clusters, ends, grouped, model_of, together
from optimas_lsp.campaign.row import GATES, Row
from optimas_lsp.campaign.statistics import mean, percentile
from optimas_lsp.campaign.table import Chart, Column, Table, Value

NO_MORE = "propose:empty"
"""The catalogue's answer when it has no further candidate."""


def correctness(rows: Sequence[Row]) -> Table:
    """What became of every answer, and whether anything wrong was offered; one line a backend."""
    columns = (
        Column("backend"),
        Column("not answered", "count"),
        Column("answers", "count"),
        Column("no proposal", "count"),
        Column("refused", "count"),
        Column("not built", "count"),
        Column("not run", "count"),
        Column("run", "count"),
        Column("wrong", "count"),
        Column("not faster", "count"),
        Column("implausible", "count"),
        Column("only compared", "count"),
        Column("proven", "count"),
        Column("right of run", "percent"),
        Column("offered", "count"),
        Column("wrong offered", "count"),
    )
    body: list[tuple[Value, ...]] = []
    judged = [row for row in rows if row.ending != "program-failed"]
    for name, group in grouped(judged, model_of):
        tries = Counter(each for row in group for each in row.tries.split())
        stages = Counter(each.partition(":")[0] for each in tries.elements())
        unanswered = sum(tries[f"propose:{kind}"] for kind in UNANSWERED)
        wrong = sum(tries[f"prove:{gate}"] for gate in WRONG)
        run = stages["prove"] + stages["proven"] + stages["compared"] - tries["prove:static"]
        offered = [row for row in group if row.ending == "proven"]
        body.append(
            (
                name,
                unanswered,
                tries.total() - unanswered,
                stages["propose"] - unanswered,
                stages["guard"],
                stages["compile"],
                stages["not-proven"] + stages["stands"] + stages["program"],
                run,
                wrong,
                tries["prove:time"],
                tries["prove:plausible"],
                stages["compared"],
                stages["proven"],
                (run - wrong) / run if run else None,
                len(offered),
                sum(row.gates.get("compare") != "pass" for row in offered),
            )
        )
    notes = (
        "An experiment asks again after an answer that did not hold, so there are more answers than experiments.",
        "Experiments whose program failed unchanged are left out: they say nothing of their answers.",
        "not answered: the model's service gave an error, a limit or nothing in time; the experiment counts as failed.",
        "refused: by a guardrail. wrong: did not build, run or compute bit for bit the same in the proof.",
        "only compared: right and timed in a short proof, another was better. offered: experiments that ended proven.",
    )
    return Table("correctness", "Answers and correctness", columns, tuple(body), notes)


def failures(rows: Sequence[Row]) -> Table:
    """Which check stopped answers, most frequent first."""
    counts: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    stops = ("propose", "guard", "compile", "prove")
    for row in rows:
        if row.ending == "program-failed":
            continue
        tries = [each for each in row.tries.split() if each.partition(":")[0] in stops]
        counts.update(tries)
        if row.ending in ENDED and tries:
            judged = [each for each in tries if each != NO_MORE]
            ends[judged[-1] if judged else NO_MORE] += 1
    body = tuple(
        (name.partition(":")[0], name.partition(":")[2], count, ends[name])
        for name, count in sorted(counts.items(), key=_often)
    )
    columns = (Column("stage"), Column("gate"), Column("answers", "count"), Column("ended with it", "count"))
    notes = (
        f"gates of the proof: {', '.join(GATES)}. ended with it: experiments whose last judged answer stopped there.",
        "Failures of candidates only; experiments whose program failed unchanged are left out.",
    )
    return Table("failures", "Failures by gate", columns, body, notes, Chart(("stage", "gate"), "answers"))


def programs(rows: Sequence[Row]) -> Table:
    """Programs that failed without any change, and how; one line a program, device and reason."""
    broken = [row for row in rows if row.ending == "program-failed"]
    body: list[tuple[Value, ...]] = []
    for _, group in grouped(broken, lambda row: f"{row.program}\0{row.device}\0{row.gate}\0{row.sentence}"):
        one, ran = group[0], sum(row.total_s is not None for row in group)
        body.append((one.program, one.device, one.gate, len(group), ran, one.sentence))
    columns = (
        Column("program"),
        Column("device"),
        Column("gate"),
        Column("experiments", "count"),
        Column("of which run", "count"),
        Column("what failed"),
    )
    notes = (
        "The program as it is, not a candidate. Once one experiment has found that out, the others are not run.",
        "optimas campaign run --again program-failed tries them again; so does a change of the program.",
    )
    return Table("programs", "Programs that failed unchanged", columns, tuple(body), notes)


EAR: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
    ("coverage", lambda row: row.ear_coverage),
    ("precision", lambda row: row.ear_precision),
    ("hot samples edited", lambda row: row.ear_hot_samples),
    ("edited lines hot", lambda row: row.ear_edited_lines),
    ("moved as implied", lambda row: row.ear_direction),
)


def alignment(rows: Sequence[Row]) -> Table:
    """EAR scores by model: the mean of each, with its interval and how many could be measured."""
    columns = (
        Column("backend"),
        Column("score"),
        Column("measured", "count"),
        Column("mean", "share"),
        Column("low", "share"),
        Column("high", "share"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, model_of):
        for score, of in EAR:
            values = clusters(group, of)
            body.append((name, score, sum(map(len, values)), *ends(mean(values))))
    notes = (
        "coverage: given evidence that a change cites; precision: cited evidence that was given.",
        f"An answer that could not be scored is left out. low, high: 95 % interval ({BOOTSTRAP}).",
        "moved as implied needs a second profile of the candidate.",
        *together(rows, "device"),
    )
    chart = Chart(("backend", "score"), "mean", "low", "high")
    return Table("alignment", "Evidence-Aligned Reasoning", columns, tuple(body), notes, chart)


STAGES: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
    ("start of the process", lambda row: row.start_s),
    ("summary", lambda row: row.summary_s),
    ("model or catalogue", lambda row: row.model_s),
    ("guardrails", lambda row: row.guard_s),
    ("build", lambda row: row.build_s),
    ("proof", lambda row: row.proof_s),
    ("proof, where it was recorded", lambda row: row.proof_recorded_s),
    ("whole experiment", lambda row: row.total_s),
)


def overhead(rows: Sequence[Row]) -> Table:
    """Where the time of an experiment goes."""
    columns = (
        Column("backend"),
        Column("stage"),
        Column("experiments", "count"),
        Column("median", "seconds"),
        Column("mean", "seconds"),
        Column("90 %", "seconds"),
        Column("greatest", "seconds"),
        Column("share of all time", "percent"),
    )
    body: list[tuple[Value, ...]] = []
    asked = [row for row in rows if row.ending not in WITHOUT_OUTCOME]
    for name, group in grouped(asked, model_of):
        whole = sum(row.total_s or 0.0 for row in group)
        for stage, of in STAGES:
            values = [each for row in group if (each := of(row)) is not None]
            if values:
                part = None if stage.startswith("proof, ") or not whole else sum(values) / whole
                middle, late = percentile(values, 0.5), percentile(values, 0.9)
                body.append((name, stage, len(values), middle, sum(values) / len(values), late, max(values), part))
    notes = (
        "Seconds of the wall, all answers of an experiment together; those that ran side by side slow each other.",
        "A recorded proof took its time on the machine where it was made, and none here.",
        "Experiments without evidence and those that failed, or whose program did, are left out.",
        *together(rows, "device"),
    )
    return Table("overhead", "Overhead", columns, tuple(body), notes, Chart(("backend", "stage"), "mean"))


def provenance(rows: Sequence[Row]) -> Table:
    """What the outcomes rest on: the GPUs, whether results were recorded and how, the versions of this tool."""
    counts = Counter(
        (row.gpu or "none", *_recorded(row.recorded), row.optimas) for row in rows if row.ending not in WITHOUT_OUTCOME
    )
    columns = (
        Column("GPU"),
        Column("recorded"),
        Column("how"),
        Column("optimas"),
        Column("experiments", "count"),
    )
    body = tuple((*each, count) for each, count in sorted(counts.items(), key=_often))
    notes = (
        "how: in what the recorded proof differs from one that would be made now; each row of the dataset has it.",
    )
    return Table("provenance", "Where the results are from", columns, body, notes)


def _recorded(label: str) -> tuple[str, str]:
    """Machine and day, and by which version, of a label such as "recorded on NVIDIA H200, 2026-12-01, by …"."""
    parts = label.split(", ")
    return ", ".join(parts[:2]), ", ".join(each for each in parts[2:] if each.startswith("by "))


def _often(pair: tuple[object, int]) -> tuple[int, str]:
    """The most frequent first, and always in the same order."""
    return -pair[1], str(pair[0])
