"""Registers every handler; the only module that does. Requests answer from a snapshot, notifications move a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from lsprotocol import types

from optimas_lsp import __version__
from optimas_lsp.server.actions import Actions
from optimas_lsp.server.features import commands
from optimas_lsp.server.features.code_lens import code_lens
from optimas_lsp.server.features.diagnostics import document_diagnostic
from optimas_lsp.server.features.document_symbols import document_symbols
from optimas_lsp.server.features.hover import hover
from optimas_lsp.server.features.inlay_hints import inlay_hints
from optimas_lsp.server.hardening import HardenedServer
from optimas_lsp.server.session import Session
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.transport import run_stdio, run_tcp
from optimas_lsp.server.workspace import Workspace

NAME = "optimas-lsp"


def build() -> HardenedServer:
    """A server with every handler registered, not yet connected."""
    server = HardenedServer(NAME, __version__)
    session = Session(server)
    workspace = Workspace(session)
    _life(server, session, workspace)
    _documents(server, session, workspace)
    _features(server, session)
    _commands(server, session, workspace)
    return server


def _life(server: HardenedServer, session: Session, workspace: Workspace) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        session.initialize(params, server.position_encoding(params.capabilities))
        workspace.initial_settings(params.initialization_options)
        if session.editor.client.pull_diagnostics:
            _register(
                server,
                session,
                types.TEXT_DOCUMENT_DIAGNOSTIC,
                document_diagnostic,
                types.DiagnosticOptions(identifier=NAME, inter_file_dependencies=False, workspace_diagnostics=False),
            )

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        del params
        session.spawn(workspace.start())

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None = None) -> None:
        del params
        session.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        workspace.configuration_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        workspace.folders_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        workspace.files_changed(params)

    server.on_leave = session.close


def _documents(server: HardenedServer, session: Session, workspace: Workspace) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        session.did_open(params)
        if session.ready.is_set():
            workspace.opened(session.snapshot.documents[params.text_document.uri].path)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        session.did_change(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        session.did_close(params)


def _features(server: HardenedServer, session: Session) -> None:
    _register(server, session, types.TEXT_DOCUMENT_HOVER, hover)
    _register(server, session, types.TEXT_DOCUMENT_CODE_LENS, code_lens, types.CodeLensOptions())
    _register(server, session, types.TEXT_DOCUMENT_INLAY_HINT, inlay_hints, types.InlayHintOptions())
    _register(
        server, session, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, document_symbols, types.DocumentSymbolOptions(label=NAME)
    )


def _register(
    server: HardenedServer,
    session: Session,
    method: str,
    feature: Callable[[Snapshot, Any], Any],
    options: object | None = None,
) -> None:
    """Answer ``method`` with a pure function of the snapshot there is when the request arrives."""

    def answer(params: Any) -> Any:
        return feature(session.snapshot, params)

    server.feature(method, options)(answer)


def _commands(server: HardenedServer, session: Session, workspace: Workspace) -> None:
    actions = Actions(session, workspace)
    for name, act in {
        commands.SHOW: actions.show,
        commands.HIDE: actions.hide,
        commands.RELOAD: actions.reload,
        commands.CHOOSE: actions.choose,
        commands.OPEN_FINDING: actions.open_finding,
        commands.OPEN_KERNEL: actions.open_kernel,
        commands.DEBUG: actions.debug,
        commands.WHY_MAPPED: actions.why_mapped,
        commands.HOTSPOTS: actions.hotspots,
    }.items():
        server.command(name)(_command(act))


def _command(act: Callable[[list[Any]], Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A handler for whatever arguments the client sends: the action itself says what is wrong with them."""

    async def run(*arguments: Any) -> Any:
        return await act(list(arguments))

    return run


def serve_stdio() -> int:
    """Serve over standard input and output until the client leaves; returns the exit status."""
    return run_stdio(build())


def serve_tcp(host: str, port: int) -> int:
    """Serve one client over loopback TCP until it leaves; returns the exit status.

    Raises OptimasError for an address others could reach, and when the port cannot be had.
    """
    return run_tcp(build(), host, port)
