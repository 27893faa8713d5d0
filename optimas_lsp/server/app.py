"""Registers every handler; the only module that does. Requests answer from a snapshot, notifications move a session.

Until the client has its answer to ``initialize`` nothing is imported that the answer does not need: what handles the
rest comes with the first message after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp import __version__
from optimas_lsp.errors import OptimasError
from optimas_lsp.server import names
from optimas_lsp.server.client import resolve
from optimas_lsp.server.hardening import HardenedServer
from optimas_lsp.server.messages import Encoded
from optimas_lsp.server.transport import run_stdio, run_tcp

if TYPE_CHECKING:
    from optimas_lsp.server.actions import Actions
    from optimas_lsp.server.job_commands import JobCommands
    from optimas_lsp.server.machine_code import MachineCodeCommands
    from optimas_lsp.server.reading_commands import ReadingCommands
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.snapshot import Snapshot
    from optimas_lsp.server.workspace import Workspace

NAME = "optimas-lsp"


@dataclass
class _Core:
    """What handles messages after the handshake, made when the first of them arrives."""

    server: HardenedServer
    handshake: types.InitializeParams | None = None

    @cached_property
    def session(self) -> Session:
        from optimas_lsp.server.session import Session

        session = Session(self.server)
        if self.handshake is not None:
            session.initialize(self.handshake, self.server.position_encoding(self.handshake.capabilities))
        return session

    @cached_property
    def workspace(self) -> Workspace:
        from optimas_lsp.server.workspace import Workspace

        workspace = Workspace(self.session)
        if self.handshake is not None:
            workspace.initial_settings(self.handshake.initialization_options)
        return workspace

    @cached_property
    def job_commands(self) -> JobCommands:
        from optimas_lsp.server.job_commands import JobCommands

        return JobCommands(self.session, self.workspace)

    @cached_property
    def reading_commands(self) -> ReadingCommands:
        from optimas_lsp.server.reading_commands import ReadingCommands

        return ReadingCommands(self.session, self.workspace, self.job_commands)

    @cached_property
    def machine_code(self) -> MachineCodeCommands:
        from optimas_lsp.server.machine_code import MachineCodeCommands

        return MachineCodeCommands(self.session, self.job_commands, self.reading_commands.show)

    @cached_property
    def actions(self) -> Actions:
        from optimas_lsp.server.actions import Actions

        return Actions(self.session, self.workspace)

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot

    def close(self) -> None:
        if "session" in vars(self):
            self.session.close()

    async def finish(self) -> None:
        if "session" in vars(self):
            await self.session.finish()


def build() -> HardenedServer:
    """A server with every handler registered, not yet connected."""
    server = HardenedServer(NAME, __version__)
    core = _Core(server)
    server.on_leave = core.close
    server.finish = core.finish
    _life(server, core)
    _documents(server, core)
    _features(server, core)
    _commands(server, core)
    return server


def _life(server: HardenedServer, core: _Core) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        core.handshake = params
        if resolve(params, server.position_encoding(params.capabilities)).pull_diagnostics:
            _pull_diagnostics(server, core)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        core.session.spawn(core.workspace.start())

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None = None) -> None:
        core.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        core.workspace.configuration_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        core.workspace.folders_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        core.workspace.files_changed(params)


def _documents(server: HardenedServer, core: _Core) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        core.session.did_open(params)
        core.workspace.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        core.session.did_change(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        core.session.did_close(params)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        core.session.did_save(params)


def _features(server: HardenedServer, core: _Core) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        from optimas_lsp.server.features.hover import hover

        return hover(core.snapshot, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        from optimas_lsp.server.features.code_lens import code_lens

        return code_lens(core.snapshot, params)

    kinds = [types.CodeActionKind.QuickFix, names.REWRITE_KIND]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def code_action(params: types.CodeActionParams) -> list[types.Command | types.CodeAction]:
        from optimas_lsp.server.features.code_actions import code_actions

        return code_actions(core.snapshot, params)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions())
    def inlay_hints(params: types.InlayHintParams) -> Encoded:
        from optimas_lsp.server.features.inlay_hints import inlay_hints

        return inlay_hints(core.snapshot, params)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolOptions(label=NAME))
    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
        from optimas_lsp.server.features.document_symbols import document_symbols

        return document_symbols(core.snapshot, params)


def _pull_diagnostics(server: HardenedServer, core: _Core) -> None:
    options = types.DiagnosticOptions(identifier=NAME, inter_file_dependencies=False, workspace_diagnostics=False)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    def diagnostics(params: types.DocumentDiagnosticParams) -> Encoded:
        from optimas_lsp.server.features.diagnostics import document_diagnostic

        return document_diagnostic(core.snapshot, params)


def _commands(server: HardenedServer, core: _Core) -> None:
    def command(name: str, choose: Callable[[Actions], Callable[[list[Any]], Awaitable[Any]]]) -> None:
        _command(server, name, lambda: choose(core.actions))

    command(names.SHOW, lambda actions: actions.show)
    command(names.HIDE, lambda actions: actions.hide)
    command(names.RELOAD, lambda actions: actions.reload)
    command(names.CHOOSE, lambda actions: actions.choose)
    command(names.OPEN_FINDING, lambda actions: actions.open_finding)
    command(names.OPEN_KERNEL, lambda actions: actions.open_kernel)
    command(names.OPEN_REPORT, lambda actions: actions.open_report)
    command(names.DEBUG, lambda actions: actions.debug)
    command(names.WHY_MAPPED, lambda actions: actions.why_mapped)
    command(names.HOTSPOTS, lambda actions: actions.hotspots)
    _job_commands(server, core)


def _job_commands(server: HardenedServer, core: _Core) -> None:
    def command(name: str, choose: Callable[[JobCommands], Callable[[list[Any]], Awaitable[Any]]]) -> None:
        _command(server, name, lambda: choose(core.job_commands))

    command(names.OPTIMIZE_KERNEL, lambda jobs: jobs.optimize_kernel)
    command(names.OPTIMIZE_FINDING, lambda jobs: jobs.optimize_finding)
    command(names.TRY_TRANSFORMATION, lambda jobs: jobs.try_transformation)
    command(names.JOBS, lambda jobs: jobs.jobs)
    command(names.CANCEL_JOB, lambda jobs: jobs.cancel)
    command(names.OUTCOME, lambda jobs: jobs.outcome)
    command(names.OPEN_OUTCOME, lambda jobs: jobs.open_outcome)
    command(names.APPLY_OUTCOME, lambda jobs: jobs.apply)
    command(names.REFUSE_OUTCOME, lambda jobs: jobs.refuse)
    command(names.FORGET_JOB, lambda jobs: jobs.forget)

    def reading(name: str, choose: Callable[[ReadingCommands], Callable[[list[Any]], Awaitable[Any]]]) -> None:
        _command(server, name, lambda: choose(core.reading_commands))

    reading(names.EXPLAIN, lambda commands: commands.explain)
    reading(names.SHOW_PROMPT, lambda commands: commands.show_prompt)
    reading(names.PROFILE_KERNEL, lambda commands: commands.profile_kernel)
    reading(names.COMPARE, lambda commands: commands.compare)
    reading(names.MARK_KNOWN, lambda commands: commands.mark)
    reading(names.UNMARK_KNOWN, lambda commands: commands.unmark)
    _command(server, names.MACHINE_CODE, lambda: core.machine_code.data)
    _command(server, names.OPEN_MACHINE_CODE, lambda: core.machine_code.open)


def _command(server: HardenedServer, name: str, choose: Callable[[], Callable[[list[Any]], Awaitable[Any]]]) -> None:
    """Register a command; a failure the user can meet becomes the error of its answer."""

    @server.command(name)
    async def run(*arguments: Any) -> Any:
        try:
            return await choose()(list(arguments))
        except OptimasError as error:
            from optimas_lsp.server.wording import without_links

            raise JsonRpcException(without_links(str(error)), code=types.LSPErrorCodes.RequestFailed.value) from error


def serve_stdio() -> int:
    """Serve over standard input and output until the client leaves; returns the exit status."""
    return run_stdio(build())


def serve_tcp(host: str, port: int) -> int:
    """Serve one client over loopback TCP until it leaves; returns the exit status.

    Raises OptimasError for an address others could reach, and when the port cannot be had.
    """
    return run_tcp(build(), host, port)
