"""What the client can do, resolved once into named booleans that the debug command prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from lsprotocol import types

Encoding = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True)
class Client:
    """The abilities of one client that any behaviour of ours depends on, and nothing else."""

    name: str = "unknown"
    version: str = ""
    encoding: Encoding = "utf-16"
    pull_diagnostics: bool = False
    related_information: bool = False
    code_description: bool = False
    diagnostic_data: bool = False
    diagnostic_version: bool = False
    markdown_hover: bool = False
    hierarchical_symbols: bool = False
    refresh_code_lenses: bool = False
    refresh_inlay_hints: bool = False
    configuration: bool = False
    register_configuration: bool = False
    watch_files: bool = False
    watch_relative: bool = False
    workspace_folders: bool = False
    work_done_progress: bool = False
    show_document: bool = False
    ask: bool = False
    apply_edit: bool = False
    document_changes: bool = False
    change_annotations: bool = False
    action_literals: bool = False
    action_disabled: bool = False
    action_preferred: bool = False
    action_model_tag: bool = False

    def described(self) -> dict[str, Any]:
        """Every field by name, for the debug command."""
        return asdict(self)


def resolve(params: types.InitializeParams, encoding: str) -> Client:
    """The abilities in ``params``; what a client does not mention it cannot do.

    Versioned edits are for those that name ``documentChanges`` and for those that name resource operations: Neovim
    omits the first and honours it.
    Diagnostics are pulled only where the client can also be told to pull again: otherwise a report that arrives
    after a file was opened would never be seen. Never both, or every finding shows twice.
    """
    capabilities = params.capabilities
    workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
    document = capabilities.text_document or types.TextDocumentClientCapabilities()
    window = capabilities.window or types.WindowClientCapabilities()
    pull = document.diagnostic is not None and _yes(workspace.diagnostics, "refresh_support")
    shown = document.diagnostic if pull else document.publish_diagnostics
    action = document.code_action
    edits = workspace.workspace_edit
    tags = action.tag_support if action else None
    formats = document.hover.content_format if document.hover else None
    return Client(
        name=params.client_info.name if params.client_info else "unknown",
        version=(params.client_info.version or "") if params.client_info else "",
        encoding=_encoding(encoding),
        pull_diagnostics=pull,
        related_information=_yes(shown, "related_information"),
        code_description=_yes(shown, "code_description_support"),
        diagnostic_data=_yes(shown, "data_support"),
        diagnostic_version=_yes(document.publish_diagnostics, "version_support"),
        markdown_hover=types.MarkupKind.Markdown in (formats or ()),
        hierarchical_symbols=_yes(document.document_symbol, "hierarchical_document_symbol_support"),
        refresh_code_lenses=_yes(workspace.code_lens, "refresh_support"),
        refresh_inlay_hints=_yes(workspace.inlay_hint, "refresh_support"),
        configuration=bool(workspace.configuration),
        register_configuration=_yes(workspace.did_change_configuration, "dynamic_registration"),
        watch_files=_yes(workspace.did_change_watched_files, "dynamic_registration"),
        watch_relative=_yes(workspace.did_change_watched_files, "relative_pattern_support"),
        workspace_folders=bool(workspace.workspace_folders),
        work_done_progress=bool(window.work_done_progress),
        show_document=_yes(window.show_document, "support"),
        ask=window.show_message is not None,
        apply_edit=bool(workspace.apply_edit),
        document_changes=_yes(edits, "document_changes") or _yes(edits, "resource_operations"),
        change_annotations=edits is not None and edits.change_annotation_support is not None,
        action_literals=action is not None and action.code_action_literal_support is not None,
        action_disabled=_yes(action, "disabled_support"),
        action_preferred=_yes(action, "is_preferred_support"),
        action_model_tag=tags is not None and types.CodeActionTag.LlmGenerated in tags.value_set,
    )


def _yes(owner: object, name: str) -> bool:
    return bool(getattr(owner, name, None))


def _encoding(name: str) -> Encoding:
    if name == "utf-8":
        return "utf-8"
    return "utf-32" if name == "utf-32" else "utf-16"
