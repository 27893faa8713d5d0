"""What the commands do: each checks its arguments, acts on the session, and answers with plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pygls.exceptions import JsonRpcInvalidParams

from optimas_lsp.server import html_page, rule_pages
from optimas_lsp.server.features import commands
from optimas_lsp.server.features.commands import CommandError
from optimas_lsp.server.features.hotspots import hotspots
from optimas_lsp.server.hardening import tokens_of
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.server.wording import without_links

if TYPE_CHECKING:
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.workspace import Workspace


class Actions:
    """The commands of one session. Each takes the list of arguments the client sent."""

    def __init__(self, session: Session, workspace: Workspace) -> None:
        self._session = session
        self._workspace = workspace

    async def show(self, arguments: list[Any]) -> None:
        """Show findings again: of the file in the first argument, or of every file."""
        self._hide(_optional_uri(arguments), hide=False)

    async def hide(self, arguments: list[Any]) -> None:
        """Hide findings: of the file in the first argument, or of every file."""
        self._hide(_optional_uri(arguments), hide=True)

    def _hide(self, uri: str | None, *, hide: bool) -> None:
        session = self._session
        if uri is None:
            session.snapshot = replace(session.snapshot, all_hidden=hide, hidden=frozenset())
        else:
            hidden = session.snapshot.hidden | {uri} if hide else session.snapshot.hidden - {uri}
            session.snapshot = replace(session.snapshot, hidden=hidden)
        session.show_all_again()

    async def reload(self, arguments: list[Any]) -> None:
        """Search the folders and read every report again."""
        del arguments
        self._workspace.look(again=True)

    async def choose(self, arguments: list[Any]) -> str | None:
        """Show another report: the path in the arguments, or the user's choice; answers with its path.

        A first argument that is a URI of a source file narrows the choice to the reports about it.
        """
        session = self._session
        words = [_string(argument, "a path or a URI") for argument in arguments if argument is not None]
        source = next((path_of(word) for word in words if word.startswith("file:")), None)
        wish = next((word for word in words if not word.startswith("file:")), None)
        reports = commands.choices(session.snapshot, None if source is None else same_place(source))
        by_name = {str(report.path): report.path for report in reports}
        if not by_name:
            session.editor.tell("No report is open: put one into the folder, or see optimas.debugInformation for why.")
            return None
        if wish is None:
            wish = await session.editor.ask("Which report should be shown?", list(by_name))
            if wish is None:
                return None
        if wish not in by_name:
            raise _invalid(f"'{wish}' is no open report; there are: {', '.join(by_name)}")
        session.snapshot = replace(session.snapshot, preferred=by_name[wish])
        session.look_again()
        return wish

    async def open_finding(self, arguments: list[Any]) -> str:
        """Show everything about the finding with the id in the first argument; the second may be a file's URI."""
        if not arguments:
            raise _invalid("the first argument must be the id of a finding, such as PC-1")
        uri = _string(arguments[1], "a URI") if len(arguments) > 1 and arguments[1] is not None else None
        identifier = _string(arguments[0], "the id of a finding")
        return await self._open(_or_invalid(commands.finding_text, self._session.snapshot, identifier, uri))

    async def open_kernel(self, arguments: list[Any]) -> str:
        """Show everything about a kernel: a file's URI (or null) and the mangled name."""
        if len(arguments) < 2:
            raise _invalid("the arguments must be a URI (or null) and the kernel's mangled name")
        uri = None if arguments[0] is None else _string(arguments[0], "a URI")
        mangled = _string(arguments[1], "a mangled name")
        return await self._open(_or_invalid(commands.kernel_text, self._session.snapshot, uri, mangled))

    async def open_report(self, arguments: list[Any]) -> str:
        """Make the HTML page of the report that the file in the first argument shows (or of the newest), and open it.

        A second argument may be a kernel's mangled name, as code lenses send it. Answers with the page's path.
        """
        uri = _optional_uri(arguments)
        report = _or_invalid(commands.report_of, self._session.snapshot, uri)
        source = None if uri is None else path_of(uri)
        page = await html_page.make(report.path, source)
        if not await self._session.editor.open(page, external=True):
            self._session.editor.tell(f"The report is at {page}: open it in a browser.")
        return str(page)

    async def debug(self, arguments: list[Any]) -> dict[str, Any]:
        """What the server knows. The first argument may be an object: ``text``, a URI, asks for that document's text;
        ``wait``, if true, has the answer wait until every report is found and read.
        """
        given: Any = arguments[0] if arguments else None
        if not (given is None or isinstance(given, Mapping)):
            raise _invalid('the argument must be an object such as {"text": URI}')
        options = cast("Mapping[str, Any]", given or {})
        if options.get("wait") is True:
            await self._workspace.settled()
        text_of = options.get("text")
        information = commands.debug_information(self._session.snapshot, text_of=text_of)
        protocol = self._session.editor.server.protocol
        information["inFlight"] = protocol.in_flight - 2  # this command counts itself twice: request and handler
        information["progressTokens"] = len(tokens_of(protocol.progress))
        ahead = self._workspace.looking_ahead
        information["lookingAhead"] = ahead is not None and ahead.busy
        information["ready"] = self._session.ready.is_set()
        information["settled"] = self._session.settled and not self._workspace.looking
        return information

    async def why_mapped(self, arguments: list[Any]) -> dict[str, Any]:
        """For the file whose URI is the first argument: by which rule each report led to it, or why none did."""
        uri = _optional_uri(arguments)
        if uri is None:
            raise _invalid("the first argument must be a file's URI")
        return _or_invalid(commands.why_mapped, self._session.snapshot, uri)

    async def hotspots(self, arguments: list[Any]) -> dict[str, Any]:
        """Reports, kernels and findings for a tree beside the text."""
        del arguments
        return hotspots(self._session.snapshot)

    async def _open(self, text: str) -> str:
        """Show a text as a document where the client can, else as a message; the text is the answer in any case."""
        session = self._session
        if session.editor.client.show_document:
            path = await session.background.run(rule_pages.text_file, text)
            if path is not None and await session.editor.open(path):
                return text
        session.editor.tell(text)
        return text


def _optional_uri(arguments: list[Any]) -> str | None:
    return None if not arguments or arguments[0] is None else _string(arguments[0], "a file's URI")


def _string(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _invalid(f"{what} was expected, not {type(value).__name__}")
    return value


def _or_invalid(answer: Any, *arguments: object) -> Any:
    try:
        return answer(*arguments)
    except CommandError as error:
        raise _invalid(str(error)) from None


def _invalid(sentence: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(without_links(sentence))
