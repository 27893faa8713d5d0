"""What ``--help`` shows is what was written: nothing in it is taken for markup, and shared options read the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest
import typer.main
from rich.text import Text

from optimas_lsp.cli.app import app
from optimas_lsp.cli.examples import EXAMPLES, STATUS

ROOT = typer.main.get_command(app)


def commands(command: object, name: str = "optimas") -> Iterator[tuple[str, click.Command]]:
    yield name, command  # pyright: ignore[reportReturnType] - typer's own subclass of click's
    for each, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {each}")


ALL = dict(commands(ROOT))


@pytest.mark.parametrize("name", ALL)
def test_nothing_in_a_help_text_is_swallowed_as_markup(name: str) -> None:
    command = ALL[name]
    for text in (command.help or "", *(getattr(each, "help", None) or "" for each in command.params)):
        assert Text.from_markup(text).plain == text


@pytest.mark.parametrize("name", ALL)
def test_below_each_command_stand_its_exit_status_and_examples_it_would_take(name: str) -> None:
    command = ALL[name]
    if hasattr(command, "commands") or command.hidden:
        return
    below = command.epilog or ""
    assert "Exit status 0: " in below
    assert Text.from_markup(below).plain == below
    for line in below.splitlines():
        if line.startswith("  optimas "):
            words = shlex.split(line)[1:]
            inner = " ".join(
                word for word in words[:2] if f"optimas {word}" in ALL or f"optimas {' '.join(words[:2])}" in ALL
            )
            ALL[f"optimas {inner}"].make_context(inner, words[len(inner.split()) :])


def test_every_example_is_of_a_command() -> None:
    assert {f"optimas {name}" for name in (*EXAMPLES, *STATUS)} <= set(ALL)


@pytest.mark.parametrize("option", ["--profile", "--folder", "--proposal", "--evidence", "--allow", "--output"])
def test_an_option_that_commands_about_rewrites_share_means_the_same_in_all(option: str) -> None:
    said = {
        each.help  # pyright: ignore[reportAttributeAccessIssue]
        for name in ("prompt", "optimize", "prove", "guard")
        for each in ALL[f"optimas {name}"].params
        if option in each.opts and not (name == "guard" and option == "--profile")
    }
    assert len(said) == 1
