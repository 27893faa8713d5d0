"""``optimas demo``: a sample's source as an editor shows it, through the real server and a real report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from optimas_lsp.errors import SourceError

if TYPE_CHECKING:
    from rich.console import Console

    from optimas_lsp.cli.editor import Editor

LANGUAGES = {".cu": "cuda-cpp", ".cuh": "cuda-cpp", ".py": "python"}
SEVERITIES = {1: ("red", "error"), 2: ("yellow", "warning"), 3: ("cyan", "information"), 4: ("dim", "hint")}
CONTEXT_LINES = 2

NEOVIM = (
    "nvim --cmd \"set rtp+=editors/neovim\" --cmd \"lua require('optimas').setup({{ cmd = {{ '{bin}optimas-lsp' }}, "
    "settings = {{ prove = {{ executor = 'recorded', records = '..' }} }} }})\" {folder}/{file}"
)

HOW_TO_SEE_IT = (
    ("On the command line:", "{bin}optimas analyze {report} --source {folder}"),
    ("Its machine code, and what waits for what in it:", "{bin}optimas sass {report}"),
    ("In Neovim, without touching its configuration:", NEOVIM),
    (
        "In VS Code, then open the folder {folder}:",
        "cd vscode-client && npm ci && npm run package && code --install-extension optimas-*.vsix",
    ),
    (
        "Your own program, on a machine with a GPU; then open its sources with the report beside them:",
        "{bin}optimas profile -- ./program arguments",
    ),
)
"""What to do next and the command for it, to be copied."""

MORE = """\
In an editor, on a line with a squiggle or on the kernel, open the light bulb (VS Code: Ctrl+.; Neovim:
:lua vim.lsp.buf.code_action()): *Optimise this hotspot*, *Optimise the kernel* and, when that is done, *Apply the
rewrite* and *Show the outcome*. Without a GPU only the samples' recorded proofs can be shown: set
`prove.executor = "recorded"` and `prove.records = ".."`. Every editor: docs/editors/. Every command:
docs/command-line.md.
"""


def demo(
    sample: Annotated[str, typer.Argument(metavar="[SAMPLE]", help="A folder under samples/.")] = "accuracy",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait for the server.")] = 60.0,
) -> None:
    """Show findings on a sample's lines, and a rewrite of its kernel with its recorded proof (no GPU, no network)."""
    import sys

    from optimas_lsp.cli.demo_rewrite import show_rewrite
    from optimas_lsp.cli.editor import Editor
    from optimas_lsp.report.text import console

    folder, sources = _sample(sample)
    target = console()
    with Editor([sys.executable, "-m", "optimas_lsp"], folder) as editor:
        editor.start(timeout)
        uris = [editor.open(path, LANGUAGES[path.suffix], path.read_text("utf-8")) for path in sources]
        editor.wait_for_diagnostics(timeout)
        lenses = [_lenses(editor, uri, timeout) for uri in uris]
        found = [editor.diagnostics.get(uri, []) for uri in uris]
        hottest, at = min(
            ((item, at) for at, items in enumerate(found) for item in items), key=lambda each: _cost(each[0])
        )
        where = {"textDocument": {"uri": uris[at]}, "position": hottest["range"]["start"]}
        hover = cast("dict[str, Any] | None", editor.request("textDocument/hover", where, timeout))
        status = editor.stop(timeout)
    for path, items, titles in zip(sources, found, lenses, strict=True):
        if items or titles:
            _print_source(target, path, path.read_text("utf-8"), items, titles)
    _heading(target, f"Hover on {sources[at].name}, line {hottest['range']['start']['line'] + 1}")
    _markdown(target, _hover_text(hover))
    report = next(iter(sorted(folder.glob("profile.ncu-rep*"))), folder / "profile.ncu-rep")
    rewrite = ""
    if sources[0].suffix != ".py":
        _heading(target, "A rewrite, from these findings to a proof")
        rewrite = show_rewrite(target, sources[0], report)
    _heading(target, "In short")
    place = f"{sources[at].name}:{hottest['range']['start']['line'] + 1}"
    _sentence(target, f"{place}  {hottest['message']}")
    if rewrite:
        _sentence(target, rewrite)
    _heading(target, "Next")
    _next_steps(target, folder, sources[0], report)
    if status != 0:
        raise typer.Exit(1)


def _next_steps(target: Console, folder: Path, source: Path, report: Path) -> None:
    """The commands to go on with, each on a line of its own, however long, so that it can be copied."""
    import sys

    from rich.text import Text

    from optimas_lsp.report.rows import plain

    root, scripts = folder.parents[1], Path(sys.executable).parent
    inside = f"{scripts.relative_to(root)}/" if scripts.is_relative_to(root) else f"{scripts}/"
    words = {
        "bin": inside if (scripts / "optimas").is_file() else "",
        "folder": folder.relative_to(root),
        "report": report.relative_to(root),
        "file": source.name,
    }
    if root != Path.cwd():
        target.print(Text(f"The commands are for the folder {plain(str(root))}."), highlight=False)
    for what, command in HOW_TO_SEE_IT:
        target.print(Text(what.format(**words)), highlight=False)
        target.print(Text("  " + command.format(**words), "bold cyan"), highlight=False, soft_wrap=True)
    _markdown(target, MORE)


def _sentence(target: Console, text: str) -> None:
    from rich.text import Text

    from optimas_lsp.report.rows import paragraph, plain

    paragraph(target, Text(plain(text)))


def _sample(name: str) -> tuple[Path, list[Path]]:
    """The sample's folder and source files, the main one first.

    Raises SourceError when this is no checkout or has no such sample.
    """
    import optimas_lsp

    samples = Path(optimas_lsp.__file__).resolve().parent.parent / "samples"
    if not samples.is_dir():
        samples = Path("samples").absolute()
    if not samples.is_dir():
        raise SourceError("the samples are only in a checkout", remedy="clone the repository and run make demo there")
    folder = samples / name
    sources = sorted(path for path in folder.glob("*") if path.suffix in LANGUAGES)
    if not sources:
        names = sorted(each.name for each in samples.iterdir() if (each / "optimas.toml").is_file())
        raise SourceError(f"there is no sample '{name}'", remedy=f"choose one of: {', '.join(names)}")
    return folder, sorted(sources, key=lambda path: (path.stem != name, path.name))


def _cost(diagnostic: dict[str, Any]) -> tuple[int, int]:
    """Sort key: the most severe first, then the lowest number of its evidence (PC-1 before PC-2)."""
    data = cast("dict[str, Any]", diagnostic.get("data") or {})
    ids = cast("list[str]", data.get("evidence", []))
    numbers = [int(each.rpartition("-")[2]) for each in ids]
    return (diagnostic.get("severity", 1), min(numbers, default=0))


def _lenses(editor: Editor, uri: str, timeout: float) -> dict[int, list[str]]:
    """Titles of the code lenses by line, resolved where the server left that for later."""
    found: dict[int, list[str]] = {}
    answer = editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}}, timeout)
    for lens in cast("list[dict[str, Any]]", answer or []):
        whole = lens if lens.get("command") else editor.request("codeLens/resolve", lens, timeout)
        command = cast("dict[str, Any]", whole).get("command")
        if command:
            found.setdefault(lens["range"]["start"]["line"], []).append(command["title"])
    return found


def _print_source(
    target: Console, source: Path, text: str, found: list[dict[str, Any]], lenses: dict[int, list[str]]
) -> None:
    """The lines with findings and lenses, some lines around them, squiggles under the exact ranges."""
    from rich.text import Text

    from optimas_lsp.report.rows import plain

    lines = text.replace("\r\n", "\n").split("\n")
    by_line: dict[int, list[dict[str, Any]]] = {}
    for diagnostic in found:
        by_line.setdefault(diagnostic["range"]["start"]["line"], []).append(diagnostic)
    wanted = {
        near
        for line in [*by_line, *lenses]
        for near in range(line - CONTEXT_LINES, line + CONTEXT_LINES + 1)
        if 0 <= near < len(lines)
    }
    _heading(target, _short(source))
    previous = -1
    for number in sorted(wanted):
        if number > previous + 1:
            target.print(Text("     ⋮", "dim"))
        previous = number
        for title in lenses.get(number, []):
            target.print(Text.assemble("       ", (title, "italic magenta")), highlight=False)
        target.print(Text.assemble((f"{number + 1:5} │ ", "dim"), plain(lines[number])), highlight=False)
        for diagnostic in by_line.get(number, []):
            colour, word = SEVERITIES[diagnostic.get("severity", 1)]
            start, end = _cells(lines[number], diagnostic["range"], number)
            squiggle = " " * start + "~" * max(end - start, 1)
            target.print(Text.assemble(("      │ ", "dim"), (squiggle, f"bold {colour}")), highlight=False)
            code = diagnostic.get("code", "")
            message = Text.assemble((f"{word} {code}: ", f"bold {colour}"), plain(diagnostic["message"]))
            for row in message.wrap(target, max(target.width - 8, 20)):
                row.rstrip()
                target.print(Text.assemble(("      │ ", "dim"), row), highlight=False)


def _cells(line: str, span: dict[str, Any], number: int) -> tuple[int, int]:
    """First and last column of a UTF-16 range as printed (tabs are four wide), within the line ``number``."""
    from rich.cells import cell_len

    from optimas_lsp.report.rows import plain

    units = line.encode("utf-16-le")
    before = units[: 2 * span["start"]["character"]].decode("utf-16-le", "replace")
    end = span["end"]["character"] if span["end"]["line"] == number else len(units) // 2
    upto = units[: 2 * end].decode("utf-16-le", "replace")
    return cell_len(plain(before)), cell_len(plain(upto))


def _hover_text(hover: dict[str, Any] | None) -> str:
    contents = hover.get("contents") if hover else None
    return cast("str", contents["value"]) if isinstance(contents, dict) else str(contents or "(no hover)")


def _heading(target: Console, title: str) -> None:
    from rich.rule import Rule

    target.print()
    target.print(Rule(title, style="dim"))


def _markdown(target: Console, text: str) -> None:
    from rich.markdown import Markdown

    target.print(Markdown(text))


def _short(path: Path) -> str:
    """The path relative to the working folder where it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
