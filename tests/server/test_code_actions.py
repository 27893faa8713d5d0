"""Code actions: what is offered where, to whom, of which kind; and the commands behind those that need no job."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.export import merge

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
VSCODE, NEOVIM = "vscode_1.100.3_languageclient_11", "neovim_0.11.4"
KERNEL = "_Z15adjacent_kernelPKiPixx"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_into: Callable[[Path, str], Path]) -> Path:
    return sample_into(tmp_path_factory.mktemp("actions"), "adjacent")


@pytest.fixture(scope="module")
def uri(folder: Path) -> str:
    return (folder / "adjacent.cu").as_uri()


@pytest.fixture(scope="module")
def definition(folder: Path) -> int:
    lines = (folder / "adjacent.cu").read_text().splitlines()
    return next(at for at, line in enumerate(lines) if line.startswith("__global__"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A corpus of this module's own: what other tests kept is no past of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[VSCODE, NEOVIM])
async def editor(
    request: pytest.FixtureRequest,
    folder: Path,
    start_editor: Callable[..., Any],
    stop_editor: Callable[..., Any],
    data: None,
) -> AsyncIterator[EditorClient]:
    client = await start_editor(request.param, folder, options={"jobs": True})
    client.open(folder / "adjacent.cu")
    await client.settled()
    await looked(client)
    yield client
    await stop_editor(client)


async def looked(client: EditorClient) -> dict[str, Any]:
    """Wait until it is known which transformations apply to the text as it is."""
    while True:
        known = await client.debug()
        if known["possible"] and not known["lookingAhead"]:
            return known


async def hot(client: EditorClient, uri: str) -> types.Diagnostic:
    """The costliest finding on a line."""
    return next(each for each in await client.squiggles(uri) if each.code == "long_scoreboard")


async def test_a_hot_line_offers_its_findings_its_kernel_and_what_applies(editor: EditorClient, uri: str) -> None:
    finding = await hot(editor, uri)
    found = await editor.actions(uri, finding.range.start.line)
    titles = [each.title for each in found]
    identifier = next(title for title in titles if title.startswith("Optimise this hotspot"))[-5:-1]
    for title in (
        f"Optimise this hotspot of adjacent_kernel ({identifier})",
        "Optimise the kernel adjacent_kernel",
        "Try on adjacent_kernel: unroll a hot loop",
        f"Explain {identifier}",
        f"Mark {identifier} as known",
        "Show what a model would be asked about adjacent_kernel",
        "Profile adjacent_kernel",
    ):
        assert title in titles
    assert not any("pad" in title for title in titles)  # no shared memory here: its precondition does not hold
    quick = [each for each in found if each.kind == "quickfix" and each.title.startswith("Optimise this hotspot")]
    assert all(each.diagnostics for each in quick)
    assert bool(quick) == (await editor.debug())["client"]["diagnostic_data"]


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (["refactor.rewrite.optimas"], {"kernel", "hotspot", "transformation"}),
        (["refactor.rewrite.optimas.kernel"], {"kernel"}),
        (["refactor"], {"kernel", "hotspot", "transformation"}),
        (["refactor.extract"], set()),
        (["refactor.rewrite.optimas.kern"], set()),
        (["source"], set()),
    ],
)
async def test_only_what_was_asked_for_is_offered(
    editor: EditorClient, uri: str, definition: int, only: list[str], kinds: set[str]
) -> None:
    found = await editor.actions(uri, definition + 5, only=only)
    prefix = "refactor.rewrite.optimas."
    assert {each.kind.removeprefix(prefix) for each in found} <= kinds
    assert ("kernel" in kinds) == any(each.kind == prefix + "kernel" for each in found)


async def test_a_request_nobody_made_gets_only_what_is_worth_acting_on(
    editor: EditorClient, uri: str, definition: int
) -> None:
    found = await editor.actions(uri, definition, trigger_kind=types.CodeActionTriggerKind.Automatic)
    assert [each.title for each in found] == ["Optimise the kernel adjacent_kernel"]
    assert await editor.actions(uri, 0, trigger_kind=types.CodeActionTriggerKind.Automatic) == []


async def test_what_cannot_be_done_says_why_or_is_left_out(editor: EditorClient, uri: str, definition: int) -> None:
    end = types.Position(0, 0)
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=types.Range(end, end), text="// x\n"))
    found = await editor.actions(uri, definition + 1, only=["refactor.rewrite.optimas.kernel"])
    if (await editor.debug())["client"]["action_disabled"]:
        (action,) = found
        assert action.disabled.reason.startswith("save the file first")
        assert action.command is None
    else:
        assert found == []
    undone = types.Range(end, types.Position(1, 0))
    editor.edit(uri, 3, types.TextDocumentContentChangePartial(range=undone, text=""))
    while (await editor.debug())["unsaved"]:  # it is as on disk again, which is looked up a moment later
        pass
    (action,) = await editor.actions(uri, definition, only=["refactor.rewrite.optimas.kernel"])
    assert action.command.command == "optimas.optimizeKernel"
    assert action.command.arguments == (uri, KERNEL)


async def test_transformations_follow_the_text(editor: EditorClient, uri: str, definition: int) -> None:
    before = (await looked(editor))["possible"][uri][KERNEL]
    assert "unroll-loop" in before
    lines = editor.texts[uri].split("\n")
    loop = next(at for at, line in enumerate(lines) if "for (int k = 0; k < kItemsPerThread" in line)
    span = types.Range(types.Position(loop, 0), types.Position(loop, 0))
    editor.edit(uri, 4, types.TextDocumentContentChangePartial(range=span, text="#pragma unroll 1\n"))
    kind = "refactor.rewrite.optimas.transformation"
    assert await editor.actions(uri, definition, only=[kind]) == []  # not known for this text, which must be saved
    editor.save(uri)
    while (await looked(editor))["possible"][uri][KERNEL] == before:
        pass
    assert "unroll-loop" not in (await editor.debug())["possible"][uri][KERNEL]
    undone = types.Range(types.Position(loop, 0), types.Position(loop + 1, 0))
    editor.edit(uri, 5, types.TextDocumentContentChangePartial(range=undone, text=""))
    editor.save(uri)
    while (await looked(editor))["possible"][uri][KERNEL] != before:
        pass


async def test_a_finding_is_explained_with_what_can_and_cannot_be_tried(editor: EditorClient, uri: str) -> None:
    text = await editor.command("explain", uri, "PC-1")
    assert text.startswith("# PC-1: long_scoreboard")
    assert "What usually helps" in text
    assert "## What can be tried on adjacent_kernel without a model" in text
    assert "### What does not apply, and why" in text
    assert "# adjacent_kernel" in await editor.command("explain", uri, KERNEL)


async def test_a_finding_is_explained_with_what_was_tried_before(editor: EditorClient, uri: str) -> None:
    assert "What was tried before" not in await editor.command("explain", uri, "PC-1")
    corpus = Corpus.of_user()  # the server's
    file = corpus.store.database.path
    assert not file.exists()
    try:
        merge(corpus.store, SAMPLES / "corpus")
        for what in ("PC-1", KERNEL):
            text = await editor.command("explain", uri, what)
            assert "## What was tried before" in text
            assert "- batched-loads was tried on long_scoreboard before and proven 4 of 4 times" in text.replace(
                "\\", ""
            )
        file.write_bytes(b"damaged " * 5000)
        assert "was damaged; it is kept as" in (await editor.command("explain", uri, "PC-1")).replace("\\", "")
    finally:
        for each in file.parent.glob("corpus*"):
            each.unlink()


async def test_the_prompt_is_shown_and_nothing_is_sent(editor: EditorClient, uri: str) -> None:
    text = await editor.command("showPrompt", uri, KERNEL, None)
    assert "adjacent_kernel" in text
    assert "PC-1" in text
    narrow = await editor.command("showPrompt", uri, KERNEL, "PC-2")
    assert "PC-1" not in narrow


async def test_profiling_where_there_is_no_gpu_gives_the_commands(editor: EditorClient, uri: str) -> None:
    text = await editor.command("profileKernel", uri, KERNEL)
    assert "nvcc -O3 -arch=sm_90" in text
    assert "optimas profile --kernel '^adjacent_kernel$'" in text
    assert "--kernel-name 'regex:^adjacent_kernel$'" in text
    assert "build/adjacent default" in text
    assert (await editor.command("jobs"))["jobs"] == []


async def test_a_known_finding_is_hidden_counted_and_shown_again(editor: EditorClient, uri: str) -> None:
    before = await editor.squiggles(uri)
    identifier = "PC-1"
    assert (await editor.command("markKnown", uri, identifier))["known"] == 1
    after = await editor.until(lambda: len(editor.diagnostics.get(uri, ())) == len(before) - 1 or _pulls(editor))
    after = await editor.squiggles(uri)
    assert len(after) == len(before) - 1
    document = types.TextDocumentIdentifier(uri)
    lenses = await editor.text_document_code_lens_async(types.CodeLensParams(document))
    (shown,) = [each for each in lenses if each.command.command == "optimas.unmarkKnown"]
    assert shown.command.title == "1 known finding hidden: show again"
    assert (await editor.command("unmarkKnown", *shown.command.arguments))["known"] == 0
    while len(await editor.squiggles(uri)) != len(before):
        await editor.debug()
    with pytest.raises(JsonRpcException, match="no finding 'PC-99'"):
        await editor.command("markKnown", uri, "PC-99")


def _pulls(editor: EditorClient) -> bool:
    return bool(editor.server_capabilities and editor.server_capabilities.diagnostic_provider)


async def test_without_an_older_report_there_is_nothing_to_compare_with(editor: EditorClient, uri: str) -> None:
    with pytest.raises(JsonRpcException, match="no earlier report about this file"):
        await editor.command("compareWithPrevious", uri)


async def test_known_findings_stay_known_for_the_next_server(
    folder: Path, uri: str, start_editor: Callable[..., Any], stop_editor: Callable[..., Any]
) -> None:
    first = await start_editor(NEOVIM, folder)
    first.open(folder / "adjacent.cu")
    await first.settled()
    await first.command("markKnown", uri, "PC-1")
    await stop_editor(first)
    again = await start_editor(NEOVIM, folder, configuration={"diagnostics": {"known": "hint"}})
    again.open(folder / "adjacent.cu")
    await again.settled()
    while not (await again.debug())["known"]:
        pass
    while not any("marked as known" in each.message for each in await again.squiggles(uri)):
        await again.debug()
    (known,) = [each for each in await again.squiggles(uri) if "marked as known" in each.message]
    assert known.severity == types.DiagnosticSeverity.Hint
    await again.command("unmarkKnown", uri)
    await stop_editor(again)


async def test_two_reports_of_a_file_are_compared(
    tmp_path: Path,
    sample_into: Callable[[Path, str], Path],
    start_editor: Callable[..., Any],
    stop_editor: Callable[..., Any],
) -> None:
    folder = sample_into(tmp_path, "accuracy")
    for at, name in enumerate(("sweep.ncu-repz", "profile-basic.ncu-rep", "profile-nolineinfo.ncu-repz")):
        os.utime(folder / name, (1000.0 + at, 1000.0 + at))
    os.utime(folder / "profile.ncu-rep", (2000.0, 2000.0))
    client = await start_editor(VSCODE, folder)
    uri = client.open(folder / "accuracy.cu")
    known = await client.settled()
    reports = [Path(each["path"]).name for each in known["reports"]]
    assert len(reports) > 1
    text = await client.command("compareWithPrevious", uri)
    before, after = text.splitlines()[:2]
    assert before.startswith("before ")
    assert after.endswith("accuracy/profile.ncu-rep")
    assert "accuracy_kernel" in text
    assert client.shown_documents[-1].uri.endswith(".html")
    await stop_editor(client)


async def test_a_client_without_literals_gets_commands(
    folder: Path, uri: str, start_editor: Callable[..., Any], stop_editor: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "plain")
    client = await start_editor(None, tmp_path / "plain")
    uri = client.open(tmp_path / "plain" / "adjacent.cu")
    await client.until(lambda: client.diagnostics.get(uri))
    line = client.diagnostics[uri][0].range.start.line
    found = await client.actions(uri, line)
    assert found
    assert {type(each) for each in found} == {types.Command}
    assert json.dumps([each.arguments for each in found], default=list)
    await stop_editor(client)
