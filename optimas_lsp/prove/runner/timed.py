"""Gate 6, time: both versions in turn until the interval of the ratio is tight, on one input or on several."""

from __future__ import annotations

import time
from statistics import median
from typing import Any, Dict, List, Tuple

from . import timing, tools
from .blame import BASELINE
from .gates import FAIL, PASS, SKIPPED, Gate, outputs_difference, tolerance_of
from .job import SIDES, Job
from .record import Record

Series = Dict[str, Dict[str, List[float]]]
Summary = Dict[str, Any]
RACE_LEVEL = 0.99
"""Level of the intervals that a race is stopped by: it looks after every pair, so each look must err less often."""
RACE_PAIRS = 5
"""Pairs from which on any gap between the intervals loses a race. Fewer times hardly show how they scatter, so before
that the gap must be the smallest effect that counts."""
NOISY = 0.05
"""Half the distance between the quartiles, as a share of the median, from which on a series is called noisy."""
DRIFT, CLOCKS, WARMER = 0.03, 0.03, 10.0
"""Changes during a measurement that are told: of the original's time, of the SM clock (shares), of temperature (°C)."""
_THROTTLES = {
    0x4: "the power limit",
    0x8: "a hardware slowdown",
    0x20: "the temperature (software)",
    0x40: "the temperature (hardware)",
    0x80: "the power brake",
}
_WHO = {"baseline": "the original", "candidate": "the candidate"}


def measure_time(job: Job, record: Record) -> Gate:
    """Time the input that decides and, where it passes, the others that the job's ``time_inputs`` names.

    ``every_input`` times those also where it does not pass: for a record, which others ask about another input.
    """
    began, plan = time.monotonic(), job.timing
    modes = ("time",) if job.witness_library else ()
    first: str = job.data["target"].get("time_input") or next(iter(job.inputs))
    others = [name for name in job.data.get("time_inputs") or () if name != first and name in job.inputs]
    with tools.gpu_turn(True, job.gpu_uuid):
        why, series, summary = _measured(job, record, first, modes)
        if why:
            return record.finish("time", FAIL, why, time.monotonic() - began, **summary)
        record.data["timing"] = summary
        status, sentence = judge(summary, series, plan, modes)
        status, sentence = _raced(summary, plan, modes, (status, sentence))
        if summary["warnings"]:
            sentence += "; beware: " + "; ".join(summary["warnings"])
        facts: dict[str, Any] = {"pairs": summary["pairs"], "stopped": summary["stopped"]}
        if others and (status == PASS or plan.get("every_input")):
            summaries = {first: dict(summary)}
            for name in others:
                why, _series, summaries[name] = _measured(job, record, name, modes)
                if why:
                    facts = summaries[name]
                    return record.finish("time", FAIL, f"input {name}: {why}", time.monotonic() - began, **facts)
            summary["inputs"] = {name: _short(found) for name, found in summaries.items()}
            facts["inputs"] = {name: result_of(found, plan, modes) for name, found in summaries.items()}
            over, words = _over_inputs(summaries, facts["inputs"], plan, modes)
            status, sentence = over if status == PASS else status, sentence + words
    return record.finish("time", status, sentence, time.monotonic() - began, **facts)


def _measured(job: Job, record: Record, name: str, modes: tuple[str, ...]) -> Tuple[str, Series, Summary]:
    """(what went wrong or '', the times, their summary) of one input: a warm-up, then pairs in changing order.

    Where something went wrong, the summary only says on which ``side``, and of the original whether it did so again.
    """
    plan, tolerance = job.timing, tolerance_of(job, record, name)
    series: Series = {side: {"kernel_ns": [], "gpu_ns": [], "program_s": []} for side in SIDES}
    for side in SIDES:
        job.run(side, name, "warm-up", modes=modes)
    before, began, stopped, pair = tools.state(), time.monotonic(), "", 0
    while not stopped:
        record.event("time", f"input {name}, pair {pair + 1}", pair, int(plan["max_pairs"]))
        for side in SIDES if pair % 2 == 0 else SIDES[::-1]:
            why = _time_once(job, side, name, f"time-{pair}", modes, series[side], tolerance)
            if why:
                facts: Summary = {"side": side}
                if side == BASELINE:
                    spare: Dict[str, List[float]] = {key: [] for key in series[side]}
                    facts["steady"] = bool(_time_once(job, side, name, "time-again", modes, spare, tolerance))
                    why += "" if facts["steady"] else "; once more it did not"
                return why, series, facts
        pair += 1
        stopped = _enough(series, plan, modes, pair, time.monotonic() - began)
    summary = summarise(series, modes, plan)
    summary.update(input=name, before=before, after=tools.state(), stopped=stopped)
    summary["warnings"] = warnings(summary, plan, modes)
    return "", series, summary


def _enough(series: Series, plan: dict[str, Any], modes: tuple[str, ...], pairs: int, seconds: float) -> str:
    """Why no further pair is needed: race, tight, pairs (their limit) or seconds (theirs); '' to go on."""
    key = "kernel_ns" if modes else "program_s"
    a, b = series["baseline"][key], series["candidate"][key]
    if pairs < min(plan["min_pairs"], plan["max_pairs"]):
        return ""
    race = plan.get("race")
    if race is not None:
        high = timing.ratio(a, b, resamples=1000, level=RACE_LEVEL)[2]
        least = max(1.0, race.get("best") or 1.0) / (1 if pairs >= RACE_PAIRS else 1 + plan["min_effect"])
        if high < least:
            return "race"
    if timing.tight(a, b, plan["precision"], plan["level"]):
        return "tight"
    if pairs >= plan["max_pairs"]:
        return "pairs"
    return "seconds" if seconds > plan["budget_s"] else ""


def _time_once(
    job: Job,
    side: str,
    name: str,
    label: str,
    modes: tuple[str, ...],
    series: dict[str, list[float]],
    tolerance: dict[str, float] | None,
) -> str | None:
    finished, testimony, folder = job.run(side, name, label, modes=modes)
    if not finished.good:
        return finished.sentence(f"{_WHO[side]} while it was timed")
    reference = job.run(side, name, "1")
    why = outputs_difference(job, (reference[0], reference[2]), (finished, folder), tolerance)
    if why:
        return f"while it was timed {_WHO[side]} gave another output: {why}"
    if testimony.used:
        if not testimony.present:
            return testimony.why_absent()
        kernel, everything = testimony.kernel_ns(job.kernels)
        if not kernel:
            return f"no time was recorded for the kernel in {_WHO[side]}"
        series["kernel_ns"].append(kernel)
        series["gpu_ns"].append(everything)
    series["program_s"].append(finished.seconds)
    return None


def summarise(series: Series, modes: tuple[str, ...], plan: dict[str, Any]) -> Summary:
    """Medians, speed-ups with their intervals and noise of what was timed; ``modes`` is empty without a witness."""
    result: Summary = {
        "pairs": len(series["baseline"]["program_s"]),
        "runs": series,
        "source": "cupti" if modes else "wall clock",
        "level": plan["level"],
    }
    for key in ("kernel_ns", "gpu_ns", "program_s"):
        a, b = series["baseline"][key], series["candidate"][key]
        if a and b:
            speedup, low, high = timing.ratio(a, b, level=plan["level"])
            result[key] = {
                "baseline": median(a),
                "candidate": median(b),
                "speedup": speedup,
                "low": low,
                "high": high,
                "noise": [timing.spread(a), timing.spread(b)],
            }
    return result


def _numbers(summary: Summary, plan: dict[str, Any], modes: tuple[str, ...]) -> str:
    main = summary["kernel_ns" if modes else "program_s"]
    return "{} time {:.4g} times shorter ({:g} % interval {:.4g} to {:.4g}, {} pairs)".format(
        "kernel" if modes else "program",
        main["speedup"],
        100 * plan["level"],
        main["low"],
        main["high"],
        summary["pairs"],
    )


def judge(summary: Summary, series: Series, plan: dict[str, Any], modes: tuple[str, ...]) -> tuple[str, str]:
    """The gate's status and sentence by the thresholds of ``plan``."""
    key = "kernel_ns" if modes else "program_s"
    main, numbers = summary[key], _numbers(summary, plan, modes)
    values = series["baseline"][key] + series["candidate"][key]
    if len(set(values)) == 1:
        return FAIL, "every run took exactly the same time, which no real measurement does"
    if main["high"] < 1:
        return FAIL, "slower: " + numbers
    if main["low"] <= 1:
        return FAIL, "no clear difference: " + numbers
    if main["speedup"] < 1 + plan["min_effect"]:
        return FAIL, "faster by less than {:.0%}: {}".format(plan["min_effect"], numbers)
    everything = summary.get("gpu_ns")
    if everything and everything["high"] < 1:
        return FAIL, "the kernel is faster but all GPU work together is slower: work was moved elsewhere"
    program = summary["program_s"]
    if program["high"] < 1 / (1 + plan["min_effect"]):
        return FAIL, "the kernel is faster but the whole program is slower ({:.4g} times)".format(program["speedup"])
    return PASS, numbers


def _raced(summary: Summary, plan: dict[str, Any], modes: tuple[str, ...], judged: tuple[str, str]) -> tuple[str, str]:
    """A candidate that lost its race passes nothing: its times are too few, and others are better."""
    if summary["stopped"] != "race" or judged[0] == FAIL:
        return judged
    numbers = _numbers(summary, plan, modes)
    best: float | None = plan["race"].get("best")
    return SKIPPED, "stopped early: {}, clearly less than the best so far, {:.4g} times".format(numbers, best or 1.0)


def result_of(summary: Summary, plan: dict[str, Any], modes: tuple[str, ...]) -> str:
    """Wins, ties or loses: the interval on one side of 1, and the difference at least the smallest that counts."""
    main, least = summary["kernel_ns" if modes else "program_s"], 1 + plan["min_effect"]
    if main["low"] > 1 and main["speedup"] >= least:
        return "wins"
    return "loses" if main["high"] < 1 and main["speedup"] <= 1 / least else "ties"


def _over_inputs(
    summaries: Dict[str, Summary], results: dict[str, str], plan: dict[str, Any], modes: tuple[str, ...]
) -> tuple[str, str]:
    """The gate's status and the words about all inputs; slower somewhere fails only where that was configured."""
    slower = [name for name, result in results.items() if result == "loses"]
    words = "; over inputs: " + ", ".join(
        "{} {}".format(result, " and ".join(name for name in results if results[name] == result))
        for result in ("wins", "ties", "loses")
        if result in results.values()
    )
    for name in slower:
        words += f"; SLOWER on input {name}: {_numbers(summaries[name], plan, modes)}"
    return (FAIL if slower and plan.get("any_slower") == "reject" else PASS), words


def _short(summary: Summary) -> Summary:
    return {key: value for key, value in summary.items() if key not in {"inputs", "source", "level"}}


def warnings(summary: Summary, plan: dict[str, Any], modes: tuple[str, ...]) -> List[str]:
    """What makes these times less trustworthy, each as part of a sentence."""
    key = "kernel_ns" if modes else "program_s"
    found: List[str] = []
    for side, noise in zip(SIDES, summary[key]["noise"]):
        if noise > NOISY:
            found.append(f"times of {_WHO[side]} scatter by {noise:.0%}")
    constant = [side for side in SIDES if len(set(summary["runs"][side][key])) == 1]
    found += [f"every run of {_WHO[side]} took exactly the same time" for side in constant]
    if summary["stopped"] in {"pairs", "seconds"}:
        main = summary[key]
        wide = max(main["high"] - main["speedup"], main["speedup"] - main["low"]) / main["speedup"]
        found.append(
            "the interval is {:.1%} wide to one side and not {:.1%}: the limit of {} was reached".format(
                wide, plan["precision"], summary["stopped"]
            )
        )
    values = summary["runs"]["baseline"][key]
    half = len(values) // 2
    if half >= 3:
        drift = median(values[half:]) / median(values[:half]) - 1
        if abs(drift) > DRIFT:
            found.append("the original became {:.0%} {}".format(abs(drift), "slower" if drift > 0 else "faster"))
    return found + _machine_warnings(summary["before"], summary["after"])


def _machine_warnings(before: dict[str, Any], after: dict[str, Any]) -> List[str]:
    found: List[str] = []
    if not before or not after:
        return ["clocks and temperature could not be read"]
    clocks = before.get("sm_mhz"), after.get("sm_mhz")
    if clocks[0] and clocks[1] and abs(clocks[1] / clocks[0] - 1) > CLOCKS:
        found.append("the SM clock went from {:g} to {:g} MHz".format(*clocks))
    degrees = before.get("temperature_c"), after.get("temperature_c")
    if degrees[0] is not None and degrees[1] is not None and abs(degrees[1] - degrees[0]) > WARMER:
        found.append("the GPU went from {:g} to {:g} °C".format(*degrees))
    active = 0
    for state in (before, after):
        try:
            active |= int(str(state.get("throttle", "0")), 16)
        except ValueError:
            found.append("what limits the clocks could not be read")
    return found + [f"clocks were limited by {words}" for bit, words in _THROTTLES.items() if active & bit]
