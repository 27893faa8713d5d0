"""Servers to talk to: one inside the test's own loop for the protocol, real processes for everything else."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import register_lsp_features

from optimas_lsp.server.hardening import HardenedServer
from optimas_lsp.server.positions import changes_of
from optimas_lsp.source.text import SourceText
from tests.server.jobs import Compiler

CLIENTS = Path(__file__).parent / "clients"
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def capabilities() -> Callable[[str], dict[str, Any]]:
    """What a real client sent as its capabilities, by the client's name."""
    return lambda name: json.loads((CLIENTS / f"{name}.json").read_text("utf-8"))


class Wire:
    """The writing end of a server inside the test: keeps every message it sends, decoded."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    def write(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        assert int(head.split(b"\r\n")[0].split(b":")[1]) == len(body)
        self.sent.append(json.loads(body))
        self._news.set()

    def close(self) -> None:
        """Nothing to close."""

    def answers(self, msg_id: object) -> list[dict[str, Any]]:
        """Every reply to the request with that id."""
        return [message for message in self.sent if message.get("id") == msg_id and "method" not in message]

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait for a message that makes ``found()`` true, and give what it found."""
        while not (result := found()):
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), 60)
        return result

    async def answer(self, msg_id: object) -> dict[str, Any]:
        """The reply to the request with that id."""
        answers = await self.until(lambda: self.answers(msg_id))
        return answers[0]


class Spoken:
    """A hardened server inside the test's loop, spoken to in raw messages."""

    def __init__(self) -> None:
        self.server = HardenedServer("probe", "0")
        self.wire = Wire()
        self.server.protocol.set_writer(self.wire)

    def say(self, message: object) -> None:
        """Give the server one message, as it would arrive."""
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0"} | dict(message)).encode()  # type: ignore[call-overload]
        self.server.protocol.receive(body)

    async def initialize(self, client: dict[str, Any] | None = None) -> dict[str, Any]:
        """The handshake; gives the server's capabilities."""
        params = {"processId": None, "rootUri": None, "capabilities": client or {}}
        self.say({"id": "init", "method": "initialize", "params": params})
        answer = await self.wire.answer("init")
        self.say({"method": "initialized", "params": {}})
        return answer["result"]["capabilities"]


@pytest.fixture
def spoken() -> Spoken:
    """A fresh hardened server; call ``await spoken.initialize()`` first."""
    return Spoken()


def plain(value: Any) -> Any:
    """What a notification of our own holds, as JSON has it; pygls makes tuples with names of its objects."""
    if hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def converter() -> Any:
    """The usual one; lsprotocol 2025.0 takes every code action that holds a command for a command."""
    made = default_converter()

    def action(value: Any, _: Any) -> Any:
        literal = "kind" in value or isinstance(value.get("command"), dict)
        return made.structure(value, types.CodeAction if literal else types.Command)

    made.register_structure_hook(types.Command | types.CodeAction, action)
    return made


class EditorClient(LanguageClient):
    """A client as an editor is one: answers the server's questions, and can wait for what it is told."""

    def __init__(self, configuration: dict[str, Any] | None = None) -> None:
        super().__init__(converter_factory=converter, configuration={"": {"optimas": configuration or {}}})
        self.news = asyncio.Event()
        self.refreshed: Counter[str] = Counter()
        self.published: Counter[str] = Counter()
        self.registered: dict[str, types.Registration] = {}
        self.questions: list[types.ShowMessageRequestParams] = []
        self.choice: str | None = None
        self.hotspots_changes = 0
        self.jobs: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.on_edit = "apply"
        """What it does with an edit of the server: apply it, refuse it, or skip it and say that it applied it."""
        register_lsp_features(self)
        self._register()

    def _register(self) -> None:
        def refreshed(kind: str) -> Callable[[Any], None]:
            def note(params: Any) -> None:
                self.refreshed[kind] += 1
                self.tell()

            return note

        self.feature(types.WORKSPACE_CODE_LENS_REFRESH)(refreshed("codeLens"))
        self.feature(types.WORKSPACE_INLAY_HINT_REFRESH)(refreshed("inlayHint"))
        for method, act in {
            types.WORKSPACE_DIAGNOSTIC_REFRESH: refreshed("diagnostic"),
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._publish,
            types.WINDOW_SHOW_MESSAGE: self._message,
            types.WINDOW_LOG_MESSAGE: self._log,
            types.CLIENT_REGISTER_CAPABILITY: self._on_register,
            types.CLIENT_UNREGISTER_CAPABILITY: self._on_unregister,
            types.WINDOW_SHOW_MESSAGE_REQUEST: self._question,
            types.WINDOW_SHOW_DOCUMENT: self._show,
            types.WORKSPACE_APPLY_EDIT: self._apply,
            types.PROGRESS: self._progress,
        }.items():
            self.protocol.fm.features.pop(method, None)
            self.feature(method)(functools.partial(act))
        self.feature("optimas/hotspotsChanged")(functools.partial(self._hotspots))
        self.feature("optimas/jobsChanged")(functools.partial(self._jobs))

    def tell(self) -> None:
        self.news.set()

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self.diagnostics[params.uri] = params.diagnostics
        self.published[params.uri] += 1
        self.tell()

    def _message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params)
        self.tell()

    def _log(self, params: types.LogMessageParams) -> None:
        self.log_messages.append(params)
        self.tell()

    def _on_register(self, params: types.RegistrationParams) -> None:
        self.registered |= {each.id: each for each in params.registrations}
        self.tell()

    def _on_unregister(self, params: types.UnregistrationParams) -> None:
        for each in params.unregisterations:
            del self.registered[each.id]
        self.tell()

    def _question(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.questions.append(params)
        self.tell()
        return None if self.choice is None else types.MessageActionItem(title=self.choice)

    def _show(self, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        self.shown_documents.append(params)
        self.tell()
        return types.ShowDocumentResult(success=True)

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.edits.append(params)
        self.tell()
        if self.on_edit == "refuse":
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the file was changed")
        if self.on_edit == "apply":
            self.take(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    def take(self, edit: types.WorkspaceEdit) -> None:
        """Apply a workspace edit as an editor does: all of it or nothing, for exactly the version it names."""
        wanted: list[tuple[str, list[Any]]] = []
        for each in edit.document_changes or ():
            assert each.text_document.version in (None, self.versions[each.text_document.uri])
            wanted.append((each.text_document.uri, list(each.edits)))
        wanted += [(uri, list(edits)) for uri, edits in (edit.changes or {}).items()]
        for uri, edits in wanted:
            order = sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True)
            events = [types.TextDocumentContentChangePartial(range=one.range, text=one.new_text) for one in order]
            self.edit(uri, self.versions[uri] + 1, *events)

    def _progress(self, params: types.ProgressParams) -> None:
        kinds = {
            "begin": types.WorkDoneProgressBegin,
            "report": types.WorkDoneProgressReport,
            "end": types.WorkDoneProgressEnd,
        }
        value = default_converter().structure(params.value, kinds[params.value["kind"]])
        self.progress_reports.setdefault(params.token, []).append(value)
        self.tell()

    def _hotspots(self, params: Any) -> None:
        self.hotspots_changes += 1
        self.tell()

    def _jobs(self, params: Any) -> None:
        self.jobs = [plain(each) for each in params.jobs]
        self.tell()

    async def until(self, found: Callable[[], Any], seconds: float = 120) -> Any:
        """Wait for news that make ``found()`` true, and give what it found."""
        while not (result := found()):
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), seconds)
        return result

    async def command(self, name: str, *arguments: Any) -> Any:
        """The answer to one of our commands."""
        return await self.workspace_execute_command_async(
            types.ExecuteCommandParams(command=f"optimas.{name}", arguments=list(arguments))
        )

    async def debug(self, **options: Any) -> dict[str, Any]:
        """What the server says it knows."""
        return await self.command("debugInformation", options)

    async def settled(self) -> dict[str, Any]:
        """Wait until the server has found and read every report."""
        return await self.debug(wait=True)

    def open(self, path: Path, text: str | None = None, language: str = "cuda") -> str:
        """Open a file as an editor does; gives its URI."""
        content = text if text is not None else path.read_bytes().decode("utf-8", "replace")
        item = types.TextDocumentItem(uri=path.as_uri(), language_id=language, version=1, text=content)
        self.texts[item.uri], self.versions[item.uri] = content, 1
        self.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return path.as_uri()

    def edit(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Change an open text."""
        if uri in self.texts:  # otherwise ``open`` did not open it, as a test of strange messages may want
            text = SourceText.of(self.texts[uri])
            for change in changes_of(changes):
                text, _ = text.apply(change, self.encoding)
            self.texts[uri], self.versions[uri] = text.text, version
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=version),
                content_changes=list(changes),
            )
        )

    async def squiggles(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics the user sees in a document, by whichever way this client gets them."""
        if (self.server_capabilities.diagnostic_provider if self.server_capabilities else None) is None:
            return list(await self.until(lambda: uri in self.diagnostics) and self.diagnostics[uri])
        answer = await self.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(text_document=types.TextDocumentIdentifier(uri))
        )
        return list(answer.items)

    @property
    def encoding(self) -> Any:
        """The position encoding of the session."""
        return (self.server_capabilities and self.server_capabilities.position_encoding) or "utf-16"

    def save(self, uri: str) -> None:
        """Write an open text to its file and say so."""
        Path(uri.removeprefix("file://")).write_bytes(self.texts[uri].encode())
        self.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def actions(self, uri: str, line: int, *, only: list[str] | None = None, **more: Any) -> list[Any]:
        """The code actions of a line (from 0), with the diagnostics on it as an editor sends them."""
        found = await self.squiggles(uri)
        here = [each for each in found if each.range.start.line <= line <= each.range.end.line]
        span = types.Range(types.Position(line, 0), types.Position(line, 0))
        context = types.CodeActionContext(diagnostics=here, only=only, **more)
        document = types.TextDocumentIdentifier(uri)
        return list(await self.text_document_code_action_async(types.CodeActionParams(document, span, context)) or [])

    async def job(self, identifier: str, *states: str) -> dict[str, Any]:
        """The job once it is in one of ``states`` (none: over); the client must have asked to be told of jobs."""

        def reached() -> dict[str, Any] | None:
            found = next((each for each in self.jobs if each["id"] == identifier), None)
            live = {"queued", "running", "waiting-for-consent"}
            good = found is not None and (found["state"] in states if states else found["state"] not in live)
            return found if good else None

        return await self.until(reached, 90)

    server_capabilities: types.ServerCapabilities | None = None


Connect = Callable[..., Awaitable[EditorClient]]


async def start(
    cache: Path, client: EditorClient, able: dict[str, Any], folders: Sequence[Path], options: Any = None
) -> EditorClient:
    """Start a server for ``client`` and shake hands."""
    state = os.environ.get("OPTIMAS_STATE_DIR", str(cache / "state"))
    data = os.environ.get("OPTIMAS_DATA_DIR", str(cache / "data"))
    environment = os.environ | {"OPTIMAS_CACHE_DIR": str(cache), "OPTIMAS_STATE_DIR": state, "OPTIMAS_DATA_DIR": data}
    await client.start_io(sys.executable, "-m", "optimas_lsp", env=environment)
    answer = await client.initialize_session(
        types.InitializeParams(
            capabilities=default_converter().structure(able, types.ClientCapabilities),
            workspace_folders=[types.WorkspaceFolder(uri=path.as_uri(), name=path.name) for path in folders],
            root_uri=folders[0].as_uri() if folders else None,
            initialization_options=options,
        )
    )
    client.server_capabilities = answer.capabilities
    return client


async def stop(client: EditorClient) -> None:
    """End a session in the proper order, or with force when a test ended it already."""
    server = client._server
    if server is not None and server.returncode is None:
        await client.shutdown_session()
    await client.stop()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all servers of the run, so that each sample is distilled once."""
    return tmp_path_factory.mktemp("cache")


@pytest_asyncio.fixture
async def connect(cache: Path, capabilities: Callable[[str], dict[str, Any]]) -> AsyncIterator[Connect]:
    """Makes sessions of this test alone: ``await connect(client, folder, …, configuration={…})``.

    A client of None can do nothing that it would have to mention.
    """
    clients: list[EditorClient] = []

    async def one(
        name: str | None, *folders: Path, configuration: dict[str, Any] | None = None, options: Any = None
    ) -> EditorClient:
        client = EditorClient(configuration)
        clients.append(client)
        return await start(cache, client, {} if name is None else capabilities(name), folders, options)

    yield one
    for client in clients:
        await stop(client)


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    """Copies samples into a workspace of this test: ``place("stencil")`` gives the copy's folder."""
    return lambda name: copy_sample(tmp_path, name)


def copy_sample(home: Path, name: str) -> Path:
    """A copy of a sample's sources, settings and reports below ``home``."""
    target = home / name
    shutil.copytree(SAMPLES / name, target, ignore=shutil.ignore_patterns("build", "*.md"))
    return target


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of all samples."""
    return SAMPLES


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds the package, for servers started elsewhere."""
    return SAMPLES.parent


@pytest.fixture(scope="session")
def sample_into() -> Callable[[Path, str], Path]:
    """Copies a sample below a folder."""
    return copy_sample


@pytest.fixture(scope="session")
def start_editor(cache: Path, capabilities: Callable[[str], dict[str, Any]]) -> Connect:
    """Starts a session that several tests share; whoever asks must end it with ``stop_editor``."""

    async def one(
        name: str | None,
        *folders: Path,
        configuration: dict[str, Any] | None = None,
        options: Any = None,
        encodings: list[str] | None = None,
    ) -> EditorClient:
        able = {} if name is None else capabilities(name)
        if encodings is not None:
            able["general"] = {**able.get("general", {}), "positionEncodings": encodings}
        return await start(cache, EditorClient(configuration), able, folders, options)

    return one


@pytest.fixture(scope="session")
def stop_editor() -> Callable[[EditorClient], Awaitable[None]]:
    """Ends a shared session."""
    return stop


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """The script that stands for nvcc."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Compiler(folder)


@pytest.fixture
def recorded(samples: Path) -> dict[str, Any]:
    """Settings under which proofs are those recorded for the samples on an H200."""
    return {"prove": {"executor": "recorded", "records": str(samples)}}
