"""The main job in three editors: open a source beside its report and see where warps wait, on the right lines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lsprotocol import types

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.source.paths import PathMapper

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

EDITORS = ["vscode_1.100.3_languageclient_11", "neovim_0.11.4", "neovim_0.7.2"]
WHOLE = types.Range(types.Position(0, 0), types.Position(100_000, 0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_into: Callable[[Path, str], Path]) -> Path:
    return sample_into(tmp_path_factory.mktemp("workspace"), "stencil")


@pytest.fixture(scope="module")
def truth(folder: Path, cache: Path) -> Analysis:
    """What the report says, found without any server."""
    report = next(folder.glob("profile.ncu-rep*"))
    _, analysis = load_analysis(report, Settings(), resolve=PathMapper([folder]).path_of, cache_dir=cache)
    return analysis


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=EDITORS)
async def editor(
    request: pytest.FixtureRequest,
    folder: Path,
    start_editor: Callable[..., Any],
    stop_editor: Callable[..., Any],
) -> AsyncIterator[EditorClient]:
    client = await start_editor(request.param, folder)
    client.open(folder / "stencil.cu")
    client.open(folder / "derivatives.cuh")
    await client.settled()
    yield client
    await stop_editor(client)


def shown(truth: Analysis, path: Path) -> dict[str, tuple[int, str]]:
    """Line and rule of every finding shown in a file, by id."""
    found: dict[str, tuple[int, str]] = {}
    for kernel in truth.kernels:
        for evidence in kernel.evidence:
            place = evidence.shown or evidence.location
            if place is None:  # about the kernel as a whole: shown where it is defined
                found[evidence.id] = (definition(path, kernel), evidence.rule)
            elif place.path == str(path):
                found[evidence.id] = (place.line, evidence.rule)
    return {identifier: where for identifier, where in found.items() if where[0]}


def definition(path: Path, kernel: KernelAnalysis) -> int:
    """The line in a file on which the kernel's name stands in its definition within its namespace, 0 for none."""
    space = kernel.name.partition("::")[0]
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        inside |= line == f"namespace {space} {{"
        if inside and "__global__" in line and f" {kernel.base_name}(" in line:
            return number
    return 0


@pytest.mark.parametrize("name", ["stencil.cu", "derivatives.cuh"])
async def test_every_finding_squiggles_on_the_line_it_was_measured_on(
    editor: EditorClient, folder: Path, truth: Analysis, name: str
) -> None:
    expected = shown(truth, folder / name)
    assert expected
    diagnostics = await editor.squiggles((folder / name).as_uri())
    assert len(diagnostics) == len(expected)
    assert sorted((each.range.start.line + 1, each.code) for each in diagnostics) == sorted(expected.values())
    lines = (folder / name).read_text().splitlines()
    for each in diagnostics:
        line = lines[each.range.start.line]
        assert each.range.end.line == each.range.start.line
        assert line[each.range.start.character : each.range.end.character] == line.strip()
        assert each.source == "optimas"


async def test_no_finding_shows_twice(editor: EditorClient, folder: Path) -> None:
    uri = (folder / "stencil.cu").as_uri()
    pulls = editor.server_capabilities.diagnostic_provider is not None
    await editor.squiggles(uri)
    assert (uri in editor.diagnostics) is not pulls


async def test_severity_says_whether_acting_is_worth_it(editor: EditorClient, folder: Path, truth: Analysis) -> None:
    level = {evidence.id: evidence.level for kernel in truth.kernels for evidence in kernel.evidence}
    severity = {"act": 2, "hot": 3, "note": 4}
    diagnostics = await editor.squiggles((folder / "derivatives.cuh").as_uri())
    if not diagnostics[0].data:
        pytest.skip("this editor does not keep the data of a diagnostic")
    assert {each.data["evidence"][0]: each.severity for each in diagnostics} == {
        each.data["evidence"][0]: severity[level[each.data["evidence"][0]]] for each in diagnostics
    }
    shares = [each.severity for each in diagnostics]
    assert shares == sorted(shares)


async def test_a_diagnostic_carries_only_what_the_editor_understands(editor: EditorClient, folder: Path) -> None:
    first = (await editor.squiggles((folder / "derivatives.cuh").as_uri()))[0]
    publish = editor.capabilities.text_document.publish_diagnostics
    assert (first.data is not None) == bool(publish.data_support)
    assert (first.code_description is not None) == bool(publish.code_description_support)
    if first.code_description is not None:
        page = Path(first.code_description.href.removeprefix("file://"))
        with open(page, encoding="utf-8") as stream:  # noqa: ASYNC230, PTH123
            assert stream.readline().startswith("# ")


async def test_the_hover_of_a_hot_line_explains_the_wait(editor: EditorClient, folder: Path, truth: Analysis) -> None:
    uri = (folder / "derivatives.cuh").as_uri()
    stalls = {each.text: each for kernel in truth.kernels for each in kernel.evidence if each.source == "pc"}
    first = next(each for each in await editor.squiggles(uri) if each.message in stalls)
    hover = await editor.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), first.range.start)
    )
    text = hover.contents.value
    assert hover.contents.kind == "markdown"
    assert hover.range == first.range
    assert f"| `{first.code}` |" in text
    assert "█" in text
    assert "± " in text
    assert "of `update`'s" in text
    assert stalls[first.message].id in text


async def test_the_hover_of_a_kernel_gives_its_facts(editor: EditorClient, folder: Path, truth: Analysis) -> None:
    uri = (folder / "stencil.cu").as_uri()
    kernel = truth.kernels[0]
    at = types.Position(definition(folder / "stencil.cu", kernel) - 1, 20)
    hover = await editor.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), at))
    text = hover.contents.value
    for words in ("`interior::update(", "registers per thread", "block", "of GPU time", f"{kernel.samples.total:,}"):
        assert words in text


async def test_a_line_that_was_never_sampled_has_no_hover(editor: EditorClient, folder: Path) -> None:
    uri = (folder / "stencil.cu").as_uri()
    for line in (0, 10_000):
        hover = await editor.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, 0))
        )
        assert hover is None


async def test_a_lens_above_each_kernel_says_what_it_costs(editor: EditorClient, folder: Path, truth: Analysis) -> None:
    uri = (folder / "stencil.cu").as_uri()
    lenses = await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    kernels = {kernel.mangled: kernel for kernel in truth.kernels}
    assert {lens.command.arguments[1] for lens in lenses} == set(kernels)
    for lens in lenses:
        kernel = kernels[lens.command.arguments[1]]
        assert lens.range.start.line + 1 == definition(folder / "stencil.cu", kernel)
        if lens.command.command == "optimas.openReport":
            assert lens.command.title == "HTML report"
            continue
        if lens.command.command == "optimas.optimizeKernel":
            assert lens.command.title == "Optimise"
            continue
        assert "of GPU time" in lens.command.title
        assert "launch" in lens.command.title
        assert f"{kernel.roofline.verdict}-bound" in lens.command.title
        assert f"at most {kernel.roofline.ceiling.speedup:.2f}× left" in lens.command.title


async def test_inlay_hints_stand_at_the_ends_of_the_hottest_lines(
    editor: EditorClient, folder: Path, truth: Analysis
) -> None:
    if editor.capabilities.text_document.inlay_hint is None:
        pytest.skip("this editor has no inlay hints")
    path = folder / "derivatives.cuh"
    uri = path.as_uri()
    document = types.TextDocumentIdentifier(uri)
    hints = await editor.text_document_inlay_hint_async(types.InlayHintParams(document, WHOLE))
    lines = path.read_text().splitlines()
    assert hints
    for hint in hints:
        assert hint.position.character == len(lines[hint.position.line].rstrip())
        assert "%" in hint.label
    hottest = max(
        (line for kernel in truth.kernels for line in kernel.lines if (line.shown or line.location).path == str(path)),
        key=lambda line: line.share,
    )
    place = hottest.shown or hottest.location
    label = next(hint.label for hint in hints if hint.position.line + 1 == place.line)
    assert hottest.reasons[0].reason in label
    some = await editor.text_document_inlay_hint_async(
        types.InlayHintParams(document, types.Range(hints[0].position, hints[0].position))
    )
    assert some == hints[:1]


async def test_kernels_are_the_symbols_of_a_document(editor: EditorClient, folder: Path) -> None:
    uri = (folder / "stencil.cu").as_uri()
    symbols = await editor.text_document_document_symbol_async(
        types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
    )
    update = next(each for each in symbols if each.detail.startswith("97 %"))
    assert update.name == "update"
    assert update.kind == types.SymbolKind.Function
    assert "of GPU time" in update.detail
    line = (folder / "stencil.cu").read_text().splitlines()[update.selection_range.start.line]
    assert line[update.selection_range.start.character : update.selection_range.end.character] == "update"


async def test_a_file_that_no_report_concerns_shows_nothing(editor: EditorClient, folder: Path) -> None:
    path = folder / "other.cu"
    uri = editor.open(path, "__global__ void update() {}\n")
    document = types.TextDocumentIdentifier(uri)
    assert await editor.text_document_code_lens_async(types.CodeLensParams(document)) == ()
    assert await editor.text_document_hover_async(types.HoverParams(document, types.Position(0, 0))) is None
    assert uri not in editor.diagnostics


async def test_every_refresh_is_one_the_editor_offered(editor: EditorClient) -> None:
    workspace = editor.capabilities.workspace
    offered = {
        "codeLens": bool(workspace.code_lens and workspace.code_lens.refresh_support),
        "inlayHint": bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
        "diagnostic": bool(workspace.diagnostics and workspace.diagnostics.refresh_support),
    }
    for kind, able in offered.items():
        assert bool(editor.refreshed[kind]) == able
    assert sum(editor.refreshed.values()) <= 24


async def test_progress_is_shown_to_its_end_and_its_token_forgotten(editor: EditorClient) -> None:
    assert editor.progress_reports
    for steps in editor.progress_reports.values():
        assert steps[0].kind == "begin"
        assert steps[0].cancellable
        percentages = [step.percentage for step in steps if step.kind == "report"]
        assert percentages == sorted(percentages)
        assert steps[-1].kind == "end"
    known = await editor.debug()
    assert known["progressTokens"] == 0
    assert known["inFlight"] == 0


async def test_nothing_was_written_into_the_folder(editor: EditorClient, folder: Path, samples: Path) -> None:
    await editor.debug()
    kept = {name for name in os.listdir(samples / "stencil") if name != "build" and not name.endswith(".md")}  # noqa: PTH208
    assert set(os.listdir(folder)) == kept  # noqa: PTH208
