"""``optimas schema``: the published JSON schemas of everything Optimas writes and reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _profile() -> type[BaseModel]:
    from optimas_lsp.profile.model import Profile

    return Profile


def _analysis() -> type[BaseModel]:
    from optimas_lsp.insight.evidence import Analysis

    return Analysis


def _sass() -> type[BaseModel]:
    from optimas_lsp.insight.machine_code import MachineCode

    return MachineCode


def _compare() -> type[BaseModel]:
    from optimas_lsp.insight.changes import Comparison

    return Comparison


def _settings() -> type[BaseModel]:
    from optimas_lsp.config import Settings

    return Settings


def _doctor() -> type[BaseModel]:
    from optimas_lsp.cli.checkup import Checkup

    return Checkup


def _proposal() -> type[BaseModel]:
    from optimas_lsp.rewrite.proposal import Proposal

    return Proposal


def _prompt() -> type[BaseModel]:
    from optimas_lsp.rewrite.prompt import Prompt

    return Prompt


def _verdict() -> type[BaseModel]:
    from optimas_lsp.rewrite.guard.model import Verdict

    return Verdict


def _rewrite() -> type[BaseModel]:
    from optimas_lsp.rewrite.outcome import Rewriting

    return Rewriting


def _proof() -> type[BaseModel]:
    from optimas_lsp.prove.report import Proof

    return Proof


def _ear() -> type[BaseModel]:
    from optimas_lsp.score.model import Scores

    return Scores


def _attempt() -> type[BaseModel]:
    from optimas_lsp.corpus.model import Entry

    return Entry


def _corpus() -> type[BaseModel]:
    from optimas_lsp.corpus.dataset import Manifest

    return Manifest


def _experiment() -> type[BaseModel]:
    from optimas_lsp.campaign.row import Row

    return Row


def _campaign() -> type[BaseModel]:
    from optimas_lsp.campaign.design import Campaign

    return Campaign


SCHEMAS: dict[str, tuple[Callable[[], type[BaseModel]], str]] = {
    "profile": (_profile, "optimas.profile/1: the distilled profile, *.optimas.json"),
    "analysis": (_analysis, "optimas.analysis/1: what analyze --format json writes (an array for several reports)"),
    "compare": (_compare, "optimas.compare/1: what compare --format json writes"),
    "sass": (_sass, "optimas.sass/1: what sass --format json writes"),
    "settings": (_settings, "the editor's settings under 'optimas', and optimas.toml"),
    "prompt": (_prompt, "optimas.prompt/1: what prompt --format json writes"),
    "rewrite": (_rewrite, "optimas.rewrite/1: what optimize --format json writes"),
    "proposal": (_proposal, "optimas.proposal/1: what a backend answers, and what guard reads"),
    "verdict": (_verdict, "optimas.verdict/1: what guard --format json writes"),
    "proof": (_proof, "optimas.proof/1: what prove --format json writes"),
    "ear": (_ear, "optimas.ear/1: what score --format json writes, and the field scores of optimas.rewrite/1"),
    "campaign": (_campaign, "campaign.toml, what campaign plan and run read"),
    "experiment": (
        _experiment,
        "optimas.experiment/1: a row of what campaign export writes (CSV, Parquet: gates apart)",
    ),
    "attempt": (_attempt, "optimas.attempt/1: what corpus show --format json writes, and a row of a dataset"),
    "corpus": (_corpus, "optimas.corpus/1: a dataset's manifest, dataset.json"),
    "doctor": (_doctor, "optimas.doctor/1: what doctor --format json writes"),
}
"""Name, model and what the schema is of."""


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) called ``name``; raises ConfigError that lists the known names."""
    if name not in SCHEMAS:
        raise ConfigError(f"there is no schema '{name}'", remedy=f"choose one of: {', '.join(SCHEMAS)}")
    model, title = SCHEMAS[name]
    mode = "validation" if name == "settings" else "serialization"
    return {"$schema": DIALECT, **model().model_json_schema(by_alias=True, mode=mode), "title": title}


def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(SCHEMAS)}.")],
) -> None:
    """Print a JSON schema."""
    typer.echo(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
