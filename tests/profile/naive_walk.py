"""A plain walk of a report over the ncu_report API, nothing shared with the package: what tests compare with.

Run as ``python naive_walk.py REPORT``; prints JSON. It looks at everything, the slow way.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter

import ncu_report

STALL = "smsp__pcsamp_warps_issue_stalled_"


def instances(metric):
    """Pairs of address and value."""
    ids = metric.correlation_ids()
    return [(ids.as_uint64(at), metric.as_uint64(at)) for at in range(metric.num_instances())]


def launch(action):
    """Everything of one launch that a Profile must agree with."""
    metrics = {name: action.metric_by_name(name) for name in action.metric_names()}
    lines: Counter[tuple[str, int]] = Counter()
    reasons: dict[str, Counter[str]] = {"all": Counter(), "not_issued": Counter()}
    addresses = set()
    for name, metric in metrics.items():
        if name.startswith(STALL):
            part = "not_issued" if name.endswith("_not_issued") else "all"
            for address, value in instances(metric):
                reasons[part][name[len(STALL) :].removesuffix("_not_issued")] += value
                if value:
                    addresses.add(address)
                if part == "all" and value:
                    found = action.source_info(address)
                    lines[(found.file_name(), found.line()) if found else ("", 0)] += value
    executed = {}
    for name in ("inst_executed", "thread_inst_executed_true", "memory_l2_theoretical_sectors_global"):
        if name in metrics:
            executed[name] = sum(value for _, value in instances(metrics[name]))
    numbers = {
        name: metric.as_double()
        for name, metric in metrics.items()
        if metric.has_value() and metric.kind() != metric.ValueKind_STRING and math.isfinite(metric.as_double())
    }
    return {
        "mangled": action.name(action.NameBase_MANGLED),
        "demangled": action.name(action.NameBase_DEMANGLED),
        "base": action.name(action.NameBase_FUNCTION),
        "grid": [metrics[f"launch__grid_dim_{axis}"].as_uint64() for axis in "xyz"],
        "block": [metrics[f"launch__block_dim_{axis}"].as_uint64() for axis in "xyz"],
        "lines": [[*key, value] for key, value in sorted(lines.items())],
        "reasons": reasons,
        "executed": executed,
        "numbers": numbers,
        "units": {name: metrics[name].unit() for name in numbers},
        "descriptions": {name: metrics[name].description() for name in numbers},
        "rules": [
            [item["rule_identifier"], item.get("speedup_estimation", {}).get("speedup")]
            for item in action.rule_results_as_dicts()
            if item["rule_message"]["title"] or item["rule_message"]["message"]
        ],
        "files": dict(action.source_files()),
        "sampled_addresses": len(addresses),
    }


def main() -> None:
    """Walk the report named on the command line."""
    report = ncu_report.load_report(sys.argv[1])
    ranges = [report.range_by_idx(at) for at in range(report.num_ranges())]
    sys.stdout.write(json.dumps([launch(one.action_by_idx(at)) for one in ranges for at in range(one.num_actions())]))


if __name__ == "__main__":
    main()
