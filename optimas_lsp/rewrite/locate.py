"""The definition that a proposal means by a function's name: exactly one, or an error that says which there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.heading import Heading, heading_in, heading_of
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax

_ARGUMENTS = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*$")
_PARAMETERS = re.compile(r"\(.*\)(?:\s*const)?\s*$", re.DOTALL)


class LocationError(OptimasError):
    """A proposal names a function that cannot be found, or that several definitions could be."""


class MissingFunctionError(LocationError):
    """No definition has the name."""


class AmbiguousFunctionError(LocationError):
    """Several definitions fit, and the new text's heading does not decide between them."""


def path_of(name: str) -> tuple[str, ...]:
    """The parts of a qualified name without template arguments, parameters and anonymous namespaces."""
    plain = name.strip()
    if not plain.startswith("("):
        plain = _PARAMETERS.sub("", plain) or plain
    plain = plain.replace("(anonymous namespace)::", "").replace("(anonymous)::", "").removeprefix("::")
    if "operator" not in plain:
        plain = _ARGUMENTS.sub("", plain)
    return tuple(part.split("<")[0].strip() for part in plain.split("::") if part.strip())


def locate(syntax: Syntax, name: str, new_text: str = "") -> Function:
    """The one definition called ``name``: by its whole path, else by a path that leaves outer namespaces out.

    Overloads are told apart by the heading of ``new_text``, which must be the old one. Raises MissingFunctionError or
    AmbiguousFunctionError.
    """
    path = path_of(name)
    known = [(function, tuple(part for part in function.qualified if part)) for function in syntax.functions]
    found = [function for function, qualified in known if qualified == path]
    if not found and path:
        found = [function for function, qualified in known if qualified[-len(path) :] == path]
    if not found:
        names = ", ".join(dict.fromkeys(function.shown_name for function in syntax.functions)) or "none"
        raise MissingFunctionError(
            f"there is no function '{name}' in the source",
            remedy=f"the functions it defines are: {names[:400]}",
        )
    if len(found) > 1 and new_text:
        wanted = heading_of(new_text)
        for same in _likeness(wanted):
            found = [function for function in found if same(heading_in(syntax, function))] or found
    if len(found) > 1:
        places = ", ".join(f"line {function.first_line}" for function in found)
        raise AmbiguousFunctionError(
            f"'{name}' may be any of {len(found)} definitions ({places})",
            remedy="name it with its namespaces and keep its heading as it is",
        )
    return found[0]


def _likeness(wanted: Heading) -> Sequence[Callable[[Heading], bool]]:
    return (
        lambda heading: heading.parameters == wanted.parameters,
        lambda heading: heading.template == wanted.template,
        lambda heading: heading.same_as(wanted),
    )
