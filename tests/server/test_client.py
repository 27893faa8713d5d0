"""What the three real editors can do, as we understand their capabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lsprotocol import types
from pygls.protocol import default_converter

from optimas_lsp.server.client import Client, resolve

Capabilities = Callable[[str], dict[str, Any]]

VSCODE, NEW_NEOVIM, OLD_NEOVIM = "vscode_1.100.3_languageclient_11", "neovim_0.11.4", "neovim_0.7.2"


def client(able: dict[str, Any], encoding: str = "utf-16") -> Client:
    params = {"processId": None, "rootUri": None, "capabilities": able, "clientInfo": {"name": "x", "version": "1"}}
    return resolve(default_converter().structure(params, types.InitializeParams), encoding)


def test_vscode_pulls_diagnostics_and_watches_files(capabilities: Capabilities) -> None:
    vscode = client(capabilities(VSCODE))
    assert vscode.pull_diagnostics
    assert vscode.watch_files
    assert vscode.watch_relative
    assert vscode.configuration
    assert vscode.register_configuration
    assert vscode.code_description
    assert vscode.diagnostic_data
    assert vscode.related_information
    assert vscode.refresh_code_lenses
    assert vscode.refresh_inlay_hints
    assert vscode.show_document


def test_neovim_that_pulls_but_cannot_be_told_to_pull_again_gets_pushed_diagnostics(capabilities: Capabilities) -> None:
    neovim = client(capabilities(NEW_NEOVIM), "utf-8")
    assert not neovim.pull_diagnostics
    assert not neovim.watch_files
    assert neovim.configuration
    assert neovim.refresh_inlay_hints
    assert not neovim.refresh_code_lenses
    assert neovim.encoding == "utf-8"


def test_an_old_neovim_gets_the_plain_things(capabilities: Capabilities) -> None:
    neovim = client(capabilities(OLD_NEOVIM))
    assert not neovim.pull_diagnostics
    assert not neovim.configuration
    assert not neovim.show_document
    assert neovim.related_information
    assert neovim.hierarchical_symbols
    assert neovim.markdown_hover


def test_a_client_that_says_nothing_can_do_nothing() -> None:
    silent = client({})
    assert silent == Client(name="x", version="1")
    assert not any(value is True for value in silent.described().values())


@pytest.mark.parametrize("refresh", [True, False])
def test_diagnostics_are_pulled_only_by_who_can_refresh(refresh: bool) -> None:
    able = {"workspace": {"diagnostics": {"refreshSupport": refresh}}, "textDocument": {"diagnostic": {}}}
    assert client(able).pull_diagnostics is refresh
