"""``optimas profile``: run ncu on a program with the sections every insight needs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from optimas_lsp.errors import ConfigError

EXPECTED_PASSES = "about 34 passes"
"""Of the default sections, counted with ncu 2025.3.1 on compute capability 9.0; the real number comes with a launch."""


def profile(
    context: typer.Context,
    sweep: Annotated[
        Path | None,
        typer.Option(help="File with one list of further arguments a line: the program is profiled once with each."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Report to write; default: profiles/PROGRAM-DATE.ncu-rep.")
    ] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", "-k", help="Profile only kernels whose base name this regular expression finds.")
    ] = "",
    skip: Annotated[int, typer.Option(min=0, help="Launches (of the chosen kernels) to let pass first.")] = 0,
    count: Annotated[int, typer.Option(min=0, help="Launches to profile in each run at most; 0: all.")] = 5,
    section: Annotated[
        list[str] | None, typer.Option(help="Section to collect instead of the default ones (may be repeated).")
    ] = None,
    replay: Annotated[
        Literal["kernel", "application"],
        typer.Option(help="Repeat each kernel for its passes, or the whole program (for kernels that cannot repeat)."),
    ] = "kernel",
    clocks: Annotated[
        Literal["base", "none"], typer.Option(help="Lock the GPU to its base clock while measuring, or leave it alone.")
    ] = "base",
    source: Annotated[bool, typer.Option(help="Put the program's sources into the report.")] = True,
    ncu: Annotated[str, typer.Option(help="The ncu to use; default: the one on PATH or in the CUDA toolkit.")] = "",
    time_limit: Annotated[float, typer.Option(min=1, help="Seconds one run may take.")] = 3600.0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace reports that exist.")] = False,
) -> None:
    """Profile PROGRAM ARGS with Nsight Compute: optimas profile [OPTIONS] -- PROGRAM ARGS."""
    from rich.console import Console

    from optimas_lsp.profile import collect
    from optimas_lsp.profile.ncu import SECTIONS, Filter
    from optimas_lsp.profile.provenance import Request

    console = Console(stderr=True)
    program = tuple(context.args)
    if not program:
        raise ConfigError("no program was named", remedy="optimas profile [OPTIONS] -- PROGRAM ARGUMENTS")
    folder, stem = _place(output, program[0] if program else "program")
    chosen = Filter(
        kernels=kernel,
        skip=skip,
        count=count,
        replay=replay,
        clocks=clocks,
        sections=tuple(section) if section else SECTIONS,
        import_source=source,
    )
    request = Request(
        program=program,
        folder=folder,
        stem=stem,
        sweep=collect.read_sweep(sweep) if sweep is not None else (),
        chosen=chosen,
        ncu=collect.find_ncu(ncu),
        time_limit_seconds=time_limit,
        replace=force,
    )
    runs = len(request.sweep) or 1
    limit = f"at most {count} launches" if count else "every launch"
    expected = EXPECTED_PASSES if not section else "a pass or more"
    console.print(f"Profiling {runs} run{'s' * (runs > 1)}, {limit} each, {expected} a launch.", highlight=False)
    with console.status("waiting for the first kernel", spinner="dots") as status:

        def show(step: collect.Step) -> None:
            passes = f", {step.passes} passes" if step.passes else ""
            status.update(f"run {step.run} of {step.runs}, launch {step.launch}: {step.kernel}{passes}")

        measured = collect.collect(request, show)
    for one in measured:
        console.print(
            f"{one.report}: {len(one.passes)} launches in {one.seconds:.1f} s, {one.report.stat().st_size:,} bytes",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    names = " ".join(str(one.report) for one in measured[:3]) + (" …" if len(measured) > 3 else "")
    console.print(f"Next: optimas analyze {names}", highlight=False, markup=False, soft_wrap=True)


def _place(output: Path | None, program: str) -> tuple[Path, str]:
    if output is not None:
        return output.parent, output.name.removesuffix(".ncu-rep")
    stamp = datetime.datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path("profiles"), f"{Path(program).stem}-{stamp}"
