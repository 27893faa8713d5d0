"""Commands: what they answer, what they open, and the sentence for arguments they cannot use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from optimas_lsp.server import names

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDITORS = ["vscode_1.100.3_languageclient_11", "neovim_0.7.2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_into: Callable[[Path, str], Path]) -> Path:
    return sample_into(tmp_path_factory.mktemp("commands"), "stencil")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=EDITORS)
async def editor(
    request: pytest.FixtureRequest, folder: Path, start_editor: Callable[..., Any], stop_editor: Callable[..., Any]
) -> AsyncIterator[EditorClient]:
    client = await start_editor(request.param, folder, options={"hotspots": True, "trusted": True})
    client.open(folder / "stencil.cu")
    await client.settled()
    yield client
    await stop_editor(client)


async def test_every_command_is_announced(editor: EditorClient) -> None:
    provider = editor.server_capabilities.execute_command_provider
    named = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("optimas.")}
    assert set(provider.commands) == named - {names.__name__}
    assert provider.work_done_progress


async def test_the_text_of_a_finding_opens_as_a_document_or_a_message(editor: EditorClient, folder: Path) -> None:
    uri = (folder / "stencil.cu").as_uri()
    known = await editor.debug()
    identifier = known["views"][uri]["findings"][0][2]
    shown, told = len(editor.shown_documents), len(editor.messages)
    text = await editor.command("openFinding", identifier, uri)
    assert text.startswith(f"# {identifier}:")
    assert "## The kernel" in text
    assert "NVIDIA H200" in text
    if known["client"]["show_document"]:
        page = Path(editor.shown_documents[-1].uri.removeprefix("file://"))
        assert page.suffix == ".md"
        assert not page.is_relative_to(folder)
        assert len(editor.shown_documents) == shown + 1
        assert len(editor.messages) == told
    else:
        assert editor.messages[-1].message == text


async def test_the_lens_opens_the_text_of_its_kernel(editor: EditorClient, folder: Path) -> None:
    uri = (folder / "stencil.cu").as_uri()
    mangled = (await editor.debug())["views"][uri]["kernels"][0][1]
    text = await editor.command("openKernel", uri, mangled)
    assert text.startswith("# update")
    assert "## Findings" in text
    assert await editor.command("openKernel", None, mangled) == text


async def test_why_a_file_is_mapped_or_not_is_told_in_words(editor: EditorClient, folder: Path) -> None:
    answer = await editor.command("whyMapped", (folder / "derivatives.cuh").as_uri())
    assert answer["shown"] == answer["reports"][0]["report"]
    assert answer["reports"][0]["rule"] == "suffix"
    assert answer["reports"][0]["why"].endswith(".")
    answer = await editor.command("whyMapped", (folder / "nothing.cu").as_uri())
    assert answer["shown"] is None
    assert "names no file called nothing.cu" in answer["reports"][0]["why"]


async def test_debug_information_names_what_the_client_can_do_and_what_is_open(
    editor: EditorClient, folder: Path
) -> None:
    known = await editor.debug()
    assert known["client"]["name"] in ("unknown", "pytest-lsp-client")
    assert known["diagnostics"] == ("pull" if known["client"]["pull_diagnostics"] else "push")
    assert [each["path"] for each in known["folders"]] == [str(folder)]
    assert known["reports"][0]["device"] == "NVIDIA H200"
    assert "text" not in known
    assert (await editor.debug(text="file:///not/open.cu"))["text"] is None


async def test_hotspots_hold_places_of_today_and_heat_that_sums_to_at_most_one(
    editor: EditorClient, folder: Path
) -> None:
    uri = (folder / "stencil.cu").as_uri()
    answer = await editor.command("hotspots")
    assert answer["schema"] == "optimas.hotspots/1"
    (report,) = answer["reports"]
    assert report["shown"]
    assert not report["stale"]
    hottest = report["kernels"][0]
    assert hottest["hot"]
    assert hottest["place"]["uri"] == uri
    lines = (folder / "stencil.cu").read_text().splitlines()
    assert "update(" in lines[hottest["place"]["line"]]
    for finding in hottest["findings"]:
        assert finding["place"]["uri"].endswith(finding["where"].split(":")[0])
        assert finding["place"]["line"] + 1 == int(finding["where"].split(":")[1])
    (heat,) = answer["heat"]
    assert heat["uri"] == uri
    assert 0 < sum(share for _, share in heat["lines"]) <= 1
    assert editor.hotspots_changes > 0


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("openFinding", [], "id of a finding"),
        ("openFinding", ["PC-999"], "no finding 'PC-999'"),
        ("openFinding", [{"id": 1}], "not dict"),
        ("openKernel", [], "mangled name"),
        ("openKernel", [None, "_Znothing"], "no kernel"),
        ("whyMapped", [], "URI"),
        ("whyMapped", ["untitled:Untitled-1"], "no file"),
        ("whyMapped", [3], "not int"),
        ("chooseReport", ["/no/such.ncu-rep"], "no open report"),
        ("hideFindings", [["list"]], "not list"),
        ("debugInformation", ["text"], "object"),
        ("noSuchCommand", [], "not defined"),
    ],
)
async def test_arguments_a_command_cannot_use_are_refused_with_a_sentence(
    editor: EditorClient, name: str, arguments: list[Any], words: str
) -> None:
    with pytest.raises(JsonRpcException) as refused:
        await editor.command(name, *arguments)
    assert refused.value.code == -32602
    assert words in refused.value.message


async def test_the_html_report_is_made_and_opened_outside_of_the_editor(editor: EditorClient, folder: Path) -> None:
    shown = len(editor.shown_documents)
    page = Path(await editor.command("openReport", (folder / "stencil.cu").as_uri()))
    assert page.suffix == ".html"
    assert not page.is_relative_to(folder)
    assert page.stat().st_size > 20_000  # noqa: ASYNC240
    if (await editor.debug())["client"]["show_document"]:
        assert len(editor.shown_documents) == shown + 1
        assert editor.shown_documents[-1].external
    else:
        assert str(page) in editor.messages[-1].message
