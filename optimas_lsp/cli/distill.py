"""``optimas distill``: a report in its portable form, which opens where no NVIDIA package is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.errors import ConfigError


def distill(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A .ncu-rep or .ncu-repz file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="OUT.optimas.json, or .optimas.json.zst to compress.")
    ],
) -> None:
    """Write the distilled profile of a report (schema optimas.profile/1): small, portable, fit to be committed."""
    from optimas_lsp.cli.reading import Reader
    from optimas_lsp.profile.distilled import SUFFIXES, write

    if not output.name.endswith(SUFFIXES):
        raise ConfigError(
            f"-o {output.name}: a distilled profile is recognised by its name",
            remedy="let it end in .optimas.json or .optimas.json.zst",
        )
    output_file.check(output, [report])
    profile = Reader.of().open(report)
    write(profile, output)
    size = output.stat().st_size
    less = 100 * (1 - size / max(profile.report_bytes, 1))
    typer.echo(f"{output}: {size:,} bytes, {abs(less):.1f} % {'less' if less >= 0 else 'more'} than the report")
