"""textDocument/codeAction: what can be done about the findings, kernels and rewrites on the chosen lines.

Nothing is computed here: which transformations apply and which outcomes fit stands in the snapshot. What cannot be done
now is disabled with the reason where the client shows that, else left out. A request that no user made gets only what
is ready or worth acting on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from optimas_lsp.server import names
from optimas_lsp.server.features.job_actions import job_actions, rewrite_hindrance
from optimas_lsp.server.features.proposed import Proposed
from optimas_lsp.server.positions import lines_within
from optimas_lsp.server.snapshot import Snapshot

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import KernelAnalysis
    from optimas_lsp.server.views import FileView, Finding

TRANSFORMATIONS_SHOWN = 8

QUICKFIX = types.CodeActionKind.QuickFix.value

Answer = list[types.Command | types.CodeAction]


def code_actions(snapshot: Snapshot, params: types.CodeActionParams) -> Answer:
    """The actions of the chosen range, those that apply a finished rewrite first."""
    view = snapshot.view(params.text_document.uri)
    about = _About(snapshot, params, view, lines_within(params.range))
    asked = params.context.trigger_kind != types.CodeActionTriggerKind.Automatic
    proposed = [*job_actions(snapshot, params.text_document.uri, about.lines, about.kernels)]
    if view is not None:
        proposed += about.rewrites()
        if asked:
            proposed += [*about.transformations(), *about.readings()]
    if not asked:
        proposed = [each for each in proposed if not each.hindrance]
    shown = (each for each in proposed if _wanted(each, about, params.context.only))
    return [made for each in shown if (made := _made(snapshot, each, about)) is not None]


@dataclass(frozen=True)
class _About:
    """What stands on the chosen lines."""

    snapshot: Snapshot
    params: types.CodeActionParams
    view: FileView | None
    lines: range
    findings: list[Finding] = field(default_factory=list["Finding"])
    kernels: list[KernelAnalysis] = field(default_factory=list["KernelAnalysis"])
    defined: list[KernelAnalysis] = field(default_factory=list["KernelAnalysis"])

    def __post_init__(self) -> None:
        view = self.view
        if view is None:
            return
        known = self.snapshot.known_in(view.index)
        touched: dict[str, KernelAnalysis] = {}
        self.defined.extend(kernel for line, kernel in view.kernels if line in self.lines)
        for line in range(self.lines.start, min(self.lines.stop, view.document.text.line_count + 1)):
            profiled = view.anchors.profiled(line)
            if profiled is None:
                continue
            found = [each for each in view.index.findings_at.get(profiled, ()) if each not in known]
            self.findings.extend(found)
            touched |= {each.kernel.mangled: each.kernel for each in found}
            touched |= {each.kernel.mangled: each.kernel for each in view.index.heats_at.get(profiled, ())}
        touched |= {each.mangled: each for each in self.defined}
        self.kernels.extend(sorted(touched.values(), key=lambda kernel: -(kernel.share or 0.0)))

    @property
    def uri(self) -> str:
        return self.params.text_document.uri

    def diagnostics(self, identifiers: Sequence[str]) -> list[types.Diagnostic]:
        """The diagnostics of the request that are about one of these findings."""
        wanted = set(identifiers)
        given = self.params.context.diagnostics
        return [each for each in given if each.source == "optimas" and wanted & set(_evidence(each.data))]

    def rewrites(self) -> Iterator[Proposed]:
        """Optimise a hot spot, optimise a kernel."""
        for finding in self.findings:
            if finding.evidence.level == "note" or finding.evidence.location is None:
                continue
            identifier = finding.evidence.id
            title = f"Optimise this hotspot of {finding.kernel.base_name} ({identifier})"
            hindrance = rewrite_hindrance(self.snapshot, self.uri, finding.kernel)
            command = (names.OPTIMIZE_FINDING, [self.uri, identifier])
            yield Proposed(title, names.KIND_HOTSPOT, command, hindrance, evidence=(identifier,))
        for kernel in self.kernels:
            title = f"Optimise the kernel {kernel.base_name}"
            hindrance = rewrite_hindrance(self.snapshot, self.uri, kernel)
            command = (names.OPTIMIZE_KERNEL, [self.uri, kernel.mangled])
            yield Proposed(title, names.KIND_KERNEL, command, hindrance)

    def transformations(self) -> Iterator[Proposed]:
        """The catalogue's transformations that apply, as found for this very version of the text."""
        possible = self.snapshot.possible.get(self.uri)
        if possible is None or self.view is None or possible.version != self.view.document.version:
            return
        for kernel in self.kernels:
            hindrance = rewrite_hindrance(self.snapshot, self.uri, kernel)
            for each in possible.of(kernel.mangled)[:TRANSFORMATIONS_SHOWN]:
                title = f"Try on {kernel.base_name}: {each.title}"
                command = (names.TRY_TRANSFORMATION, [self.uri, kernel.mangled, each.name])
                yield Proposed(title, names.KIND_TRANSFORMATION, command, hindrance)

    def readings(self) -> Iterator[Proposed]:
        """What explains, and what profiles and compares."""
        for finding in self.findings:
            identifier = (finding.evidence.id,)
            yield Proposed(f"Explain {finding.evidence.id}", QUICKFIX,
                           (names.EXPLAIN, [self.uri, finding.evidence.id]), evidence=identifier)  # fmt: skip
            yield Proposed(f"Mark {finding.evidence.id} as known", QUICKFIX,
                           (names.MARK_KNOWN, [self.uri, finding.evidence.id]), evidence=identifier)  # fmt: skip
        for kernel in self.kernels:
            name, here = kernel.base_name, [self.uri, kernel.mangled]
            if kernel in self.defined:
                yield Proposed(f"Explain {name}", QUICKFIX, (names.EXPLAIN, here))
            code = (names.OPEN_MACHINE_CODE, here if kernel in self.defined else [*here, self.lines.start])
            yield Proposed(f"Show the machine code of {name}", QUICKFIX, code)
            yield Proposed(f"Show what a model would be asked about {name}", QUICKFIX, (names.SHOW_PROMPT, here))
            yield Proposed(f"Profile {name}", QUICKFIX, (names.PROFILE_KERNEL, here))
        if self.kernels and self.view is not None:
            older = self.snapshot.earlier_report(self.view.index.path, self.view.index.report)
            hindrance = "" if older is not None else "there is no earlier report about this file"
            yield Proposed("Compare with the previous profile", QUICKFIX, (names.COMPARE, [self.uri]), hindrance)


def _evidence(data: object) -> Sequence[str]:
    """The ids of findings in the data of one of our diagnostics, as the client sends it back."""
    value: object = cast("Mapping[str, Any]", data).get("evidence") if isinstance(data, Mapping) else ()
    return [each for each in cast("list[object]", value) if isinstance(each, str)] if isinstance(value, list) else []


def _wanted(proposed: Proposed, about: _About, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    if not only:
        return True
    kind = _kind(proposed, about)
    asked = [each.value if isinstance(each, types.CodeActionKind) else each for each in only]
    return any(each in {"", kind} or kind.startswith(each + ".") for each in asked)


def _kind(proposed: Proposed, about: _About) -> str:
    """Something about a diagnostic that the request names is a quick fix of it."""
    return QUICKFIX if proposed.evidence and about.diagnostics(proposed.evidence) else proposed.kind


def _made(snapshot: Snapshot, proposed: Proposed, about: _About) -> types.Command | types.CodeAction | None:
    """The action as this client can have it; None for one that it cannot."""
    client = snapshot.client
    command = None
    if proposed.command is not None:
        name, arguments = proposed.command
        command = types.Command(title=proposed.title, command=name, arguments=arguments)
    if not client.action_literals:
        return None if proposed.hindrance else command
    if proposed.hindrance and not client.action_disabled:
        return None
    tagged = proposed.by_model and client.action_model_tag
    return types.CodeAction(
        title=proposed.title,
        kind=_kind(proposed, about),
        diagnostics=about.diagnostics(proposed.evidence) or None,
        is_preferred=True if proposed.preferred and client.action_preferred else None,
        disabled=types.CodeActionDisabled(proposed.hindrance) if proposed.hindrance else None,
        edit=None if proposed.hindrance else proposed.edit,
        command=None if proposed.hindrance else command,
        tags=[types.CodeActionTag.LlmGenerated] if tagged else None,
    )
