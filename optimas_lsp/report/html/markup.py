"""HTML and SVG as values: every string is escaped once, where it enters, so that no name in a report becomes markup."""

from __future__ import annotations

from collections.abc import Iterable

VOID = frozenset(
    {"br", "col", "hr", "img", "input", "link", "meta", "circle", "line", "path", "rect", "polygon", "polyline"}
)
"""Elements without an end tag in HTML, and SVG shapes written as one tag."""

_SVG_SHAPES = frozenset({"circle", "line", "path", "rect", "polygon", "polyline"})


class Markup(str):
    """Text that is markup already; only this module makes it."""

    __slots__ = ()


Child = str | int | None
Attribute = str | float | bool | None


def escape(text: str) -> str:
    """``text`` so that it is itself in HTML, inside and outside of quotes; what HTML cannot hold becomes U+FFFD."""
    clean = "".join(char if _allowed(char) else "\N{REPLACEMENT CHARACTER}" for char in text)
    return (
        clean.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def _allowed(char: str) -> bool:
    code = ord(char)
    if code < 0x20:
        return char in "\t\n"
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return False  # bidirectional overrides could make a line read as another
    return not (0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF or code in {0xFFFE, 0xFFFF})


def join(children: Iterable[Child]) -> Markup:
    """Children one after another, text escaped."""
    return Markup("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    return child if isinstance(child, Markup) else escape(str(child))


def el(tag: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element. ``class_`` is ``class``, other underscores are hyphens; True is a bare attribute, None none."""
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-") if name != "viewBox" else name
        parts.append(f" {key}" if value is True else f' {key}="{escape(_number(value))}"')
    if tag in _SVG_SHAPES and children:
        return Markup("".join(parts) + ">" + join(children) + f"</{tag}>")
    if tag in VOID:
        return Markup("".join(parts) + ("/>" if tag in _SVG_SHAPES else ">"))
    return Markup("".join(parts) + ">" + join(children) + f"</{tag}>")


def _number(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
