"""The application that gathers every command; importing it loads nothing that a command needs only when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from optimas_lsp.cli import (
    analyze,
    campaign,
    compare,
    consent,
    corpus,
    demo,
    distill,
    docs,
    doctor,
    examples,
    guard,
    lsp,
    optimize,
    profile,
    prompt,
    prove,
    sass,
    schema,
    score,
    target,
    version,
)
from optimas_lsp.cli.failures import SentenceGroup

app = typer.Typer(
    name="optimas",
    cls=SentenceGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples.START,
)


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=version.eager, is_eager=True)
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure, too.")] = False,
) -> None:
    """GPU profiles as evidence on source lines."""


app.command("analyze")(analyze.analyze)
app.add_typer(campaign.app, name="campaign")
app.add_typer(consent.app, name="consent")
app.add_typer(corpus.app, name="corpus")
app.command("distill")(distill.distill)
app.command("compare")(compare.compare)
app.command("demo")(demo.demo)
app.command("docs", hidden=True)(docs.docs)
app.command("doctor")(doctor.doctor)
app.command("guard")(guard.guard)
app.command("lsp")(lsp.lsp)
app.command("optimize")(optimize.optimize)
app.command("profile", context_settings={"allow_extra_args": True, "ignore_unknown_options": False})(profile.profile)
app.command("prompt")(prompt.prompt)
app.command("prove")(prove.prove)
app.command("sass")(sass.sass)
app.command("schema")(schema.schema)
app.command("score")(score.score)
app.command("target")(target.target)
app.command("version")(version.version)
examples.add(app)
