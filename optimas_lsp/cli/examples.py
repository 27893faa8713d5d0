"""What stands below the help of each command: examples to copy, and the exit status where 0 and 2 are not all."""

from __future__ import annotations

import inspect
import re

import typer

FAILURES = "2: a failure, said in one sentence. 130: interrupted with Ctrl-C."

START = """\
Begin with:
  optimas demo                              a sample, shown (in a clone)
  optimas doctor                            what works on this machine
  optimas profile -- ./app arguments        make a report, on the GPU machine
  optimas analyze app.ncu-rep --source .    where it waits and why
  optimas optimize app.cu --profile app.ncu-rep
optimas COMMAND --help has examples; docs/command-line.md is the manual.
"""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "analyze": (
        "optimas analyze app.ncu-rep --source .",
        "optimas analyze app.ncu-rep --source . --format html -o report.html",
        "optimas analyze app.ncu-rep --kernel 'reduce.*' --all",
    ),
    "distill": ("optimas distill app.ncu-rep -o app.optimas.json.zst",),
    "compare": ("optimas compare before.ncu-rep after.ncu-rep --source .",),
    "demo": ("optimas demo", "optimas demo stencil"),
    "doctor": ("optimas doctor", "optimas doctor --report app.ncu-rep --source ."),
    "guard": (
        "optimas guard app.cu --proposal answer.json --profile app.ncu-rep",
        "optimas guard app.cu --proposal answer.json --function my_kernel --allow helpers",
    ),
    "lsp": ("optimas lsp", "optimas lsp --tcp 127.0.0.1:2087"),
    "optimize": (
        "optimas optimize app.cu --profile app.ncu-rep --dry-run",
        "optimas optimize app.cu --profile app.ncu-rep --html outcome.html",
        "optimas optimize app.cu --profile app.ncu-rep --backend ollama --model NAME",
        "optimas optimize app.cu --profile app.ncu-rep --executor ssh --host gpu1",
    ),
    "profile": (
        "optimas profile -- ./app arguments",
        "optimas profile -k my_kernel --count 2 -o app.ncu-rep -- ./app arguments",
        "optimas profile --sweep sizes.txt -- ./app",
    ),
    "prompt": ("optimas prompt app.cu --profile app.ncu-rep --evidence pc,rl -o prompt.txt",),
    "prove": (
        "optimas prove app.cu --proposal answer.json --profile app.ncu-rep",
        "optimas prove app.cu --proposal answer.json --profile app.ncu-rep --executor slurm --partition gpu",
    ),
    "schema": ("optimas schema analysis",),
    "score": (
        "optimas optimize app.cu --profile app.ncu-rep --format json -o outcome.json",
        "optimas score outcome.json --html outcome.html",
    ),
    "target": ("optimas target app.cu --profile app.ncu-rep",),
    "campaign plan": ("optimas campaign plan campaign.toml",),
    "campaign run": (
        "optimas campaign run campaign.toml --accept",
        "optimas campaign run campaign.toml --again not-proven",
    ),
    "campaign status": ("optimas campaign status campaign.toml",),
    "campaign export": ("optimas campaign export campaign.toml -o rows.csv",),
    "campaign report": ("optimas campaign report rows.csv --format html -o report.html",),
    "consent revoke": ("optimas consent revoke .", "optimas consent revoke --all"),
    "corpus search": (
        "optimas corpus search my_kernel --ending proven",
        "optimas corpus search --source app.cu --profile app.ncu-rep",
    ),
    "corpus reject": ("optimas corpus reject 212662 --reason 'harder to read'",),
    "corpus export": ("optimas corpus export dataset --licence Apache-2.0",),
    "corpus import": ("optimas corpus import dataset",),
    "corpus remove": ("optimas corpus remove 'Our kernels' --dry-run",),
    "corpus validate": ("optimas corpus validate dataset",),
}

STATUS: dict[str, str] = {
    "doctor": "0: all that reading and serving need is there. 1: something of it is amiss.",
    "guard": "0: accepted, perhaps with flags for the proof. 1: refused.",
    "optimize": "0: a candidate stands, or nothing to change. 1: no proposal, refuted, or a person has to look.",
    "prove": "0: proven. 1: rejected, or not proven, for instance without a GPU.",
    "campaign run": "0: every experiment has a result, whatever it is.",
    "corpus validate": "0: nothing is wrong. 1: something is.",
}


def add(app: typer.Typer, before: str = "") -> None:
    """Put examples and exit status below each command of ``app`` and its groups; prose loses its line ends."""
    for command in app.registered_commands:
        if command.callback is None or command.hidden:
            continue
        name = f"{before}{command.name}"
        command.help = one_line_a_paragraph(command.help or inspect.getdoc(command.callback) or "")
        command.epilog = below(name)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add(group.typer_instance, f"{before}{group.name} ")


def below(name: str) -> str:
    """What stands below the help of the command ``name``."""
    shown = EXAMPLES.get(name, ())
    lines = ["Example:" if len(shown) == 1 else "Examples:", *(f"  {each}" for each in shown)] if shown else []
    return "\n".join([*lines, f"Exit status {STATUS.get(name, '0: done.')} {FAILURES}"])


def one_line_a_paragraph(text: str) -> str:
    """``text`` with the line ends inside of a paragraph as blanks: a terminal wraps them at its own width."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)
