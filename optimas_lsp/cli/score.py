"""``optimas score``: how well an outcome's reasoning followed the evidence, with intervals."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Format, HtmlPage, Output, TextOrJson
from optimas_lsp.errors import OptimasError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from optimas_lsp.insight.changes import Comparison
    from optimas_lsp.rewrite.outcome import Rewriting
    from optimas_lsp.score import Scores


def score(
    outcome: Annotated[
        Path, typer.Argument(metavar="OUTCOME", help="What optimize or prove wrote with --format json.")
    ],
    *,
    source: Annotated[
        Path | None,
        typer.Option("--source", metavar="FILE", help="The file before the change, if the outcome does not tell it."),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="REPORT", help="The report, to lead its lines through its text."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--compare", metavar="FILE", help="What compare --format json says of both versions' reports."),
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt", metavar="N", min=1, help="Which answer; without it the one that stands, or the last."
        ),
    ] = None,
    round_: Annotated[
        int | None, typer.Option("--round", metavar="N", min=1, help="One of several rounds; without it the whole.")
    ] = None,
    html: HtmlPage = None,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Score an outcome: evidence coverage, localisation and direction, each with its interval (docs/ear.md).

    What cannot be measured says why and is no zero. JSON is the schema optimas.ear/1.
    """
    from optimas_lsp.rewrite.outcome import Rewriting
    from optimas_lsp.score.outcomes import score_proof
    from optimas_lsp.score.words import as_text

    inputs = [each for each in (outcome, source, profile, compare) if each is not None]
    for each in (output, html):
        if each is not None:
            output_file.check(each, inputs)
    if html is not None and attempt is not None:
        raise OptimasError("a page shows the answer that stands", remedy="give --html or --attempt, not both")
    given = _read(outcome)
    compared = None if compare is None else _comparison(compare)
    scores: Scores
    file = ""
    if given.get("schema") == "optimas.proof/1":
        if html is not None or attempt is not None or round_ is not None:
            raise OptimasError(
                "a proof holds no answers or rounds",
                where=outcome,
                remedy="--html, --attempt and --round need what optimas optimize --format json writes",
            )
        from optimas_lsp.prove.report import Proof

        scores = score_proof(_valid(Proof, given, outcome), compared)
    else:
        rewriting = _valid(Rewriting, given, outcome)
        file = PurePosixPath(rewriting.source.replace("\\", "/")).name
        if round_ is not None:
            rewriting = _round(rewriting, round_, outcome)
        scores = _scores(rewriting, source, profile, compared, attempt)
        if html is not None:
            from optimas_lsp.report.html import outcome_page

            update: dict[str, Any] = {"scores": scores.model_dump(mode="json")}
            update |= {} if compared is None else {"compared": compared.model_dump(mode="json")}
            output_file.emit(outcome_page(rewriting.model_copy(update=update)), html)
    text = (
        scores.model_dump_json(by_alias=True, indent=2) + "\n"
        if format_ is Format.json
        else output_file.readable(as_text(scores, file))
    )
    output_file.emit(text, output)


def _scores(
    rewriting: Rewriting,
    source: Path | None,
    profile: Path | None,
    compared: Comparison | None,
    attempt: int | None,
) -> Scores:
    from optimas_lsp import score as scoring
    from optimas_lsp.score.answer import original_of
    from optimas_lsp.score.places import aligned

    original = original_of(rewriting) if source is None else _text(source, rewriting.base_sha256)
    places = None
    if profile is not None and original is not None:
        from optimas_lsp.cli.rewriting import open_report
        from optimas_lsp.config import Settings

        opened = open_report(profile, Settings())
        if opened.report_sha256 != rewriting.report_sha256:
            raise OptimasError(
                "this is not the report that the rewrite was made from", where=profile, remedy="give that one"
            )
        places = aligned(opened, rewriting.source, original)
    return scoring.score(rewriting, original=original, places=places, compared=compared, attempt=attempt)


def _round(whole: Rewriting, number: int, path: Path) -> Rewriting:
    if number > len(whole.rounds):
        made = len(whole.rounds) or 1
        raise OptimasError(f"there is no round {number}", where=path, remedy=f"the outcome is of {made}; leave --round")
    return whole.rounds[number - 1]


def _text(path: Path, sha256: str) -> str:
    import hashlib

    from optimas_lsp.errors import SourceError
    from optimas_lsp.source.text import decode

    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=path, remedy="give another --source") from None
    if sha256 not in {"", hashlib.sha256(data).hexdigest()}:
        raise SourceError(
            "this is not the text that the rewrite was made for", where=path, remedy="give the file as it was then"
        )
    return decode(data).text


def _read(path: Path) -> dict[str, Any]:
    try:
        found: object = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptimasError(f"cannot be read: {error.strerror}", where=path, remedy="check the path") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("schema") not in READS:
        raise OptimasError(
            "this is no outcome", where=path, remedy=f"give JSON with one of the schemas {', '.join(sorted(READS))}"
        )
    return cast("dict[str, Any]", found)


READS = frozenset({"optimas.rewrite/1", "optimas.proof/1"})


def _comparison(path: Path) -> Comparison:
    from optimas_lsp.insight.changes import Comparison

    try:
        found: object = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptimasError(f"cannot be read: {error.strerror}", where=path, remedy="check the path") from None
    except ValueError:
        found = None
    return _valid(Comparison, found, path)


Model = TypeVar("Model", bound="BaseModel")


def _valid(model: type[Model], found: object, path: Path) -> Model:
    from pydantic import ValidationError

    try:
        return model.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise OptimasError(
            f"this is not what it should be: {place}: {first['msg']}",
            where=path,
            remedy="write it again with this version",
        ) from None
