"""The HTML report as Chromium shows it: dark and light, by keyboard, on a small screen, offline; pictures for the docs.

Needs Debian's chromium (or Chrome) and the Python package playwright; ``make test-full`` runs it. Pictures go to the
folder named by OPTIMAS_SCREENSHOTS, else to the test's temporary folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _recorded import recorded

from optimas_lsp.config import Settings
from optimas_lsp.insight.compare import compare
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.html import Subject, outcome_page, render, render_comparison
from optimas_lsp.rewrite.outcome import Rewriting

pytestmark = pytest.mark.full

Analysed = Callable[[str], tuple[Profile, Analysis]]
REPORTS = Path(__file__).parents[1] / "insight" / "reports"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright (no browser download needed)")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("OPTIMAS_SCREENSHOTS") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page offline; fails the test on any script error, console error or request that leaves the page."""
    contexts: list[Any] = []
    troubles: list[str] = []

    def opened(html: str, *, scheme: str = "light", size: tuple[int, int] = (1280, 900)) -> Any:
        path = tmp_path / "report.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(
            offline=True, color_scheme=scheme, viewport={"width": size[0], "height": size[1]}, device_scale_factor=1
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: None if request.url == path.as_uri() else troubles.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def html_of(analysed: Analysed, *names: str) -> str:
    return render([Subject(*analysed(name), lambda source: source.text) for name in names])


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(r, g, b)`` as WCAG 2.2 defines it."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colours(page: Any, selector: str) -> tuple[str, str]:
    script = "e => [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor]"
    front, back = page.eval_on_selector(selector, script)
    return front, back


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_in_both_colour_schemes(
    analysed: Analysed, show: Callable[..., Any], pictures: Path, scheme: str
) -> None:
    page = show(html_of(analysed, "lookup/profile.ncu-repz"), scheme=scheme)
    for selector in ("p.answer", "p.quiet", "main a", ".source td.no", ".source .c", ".chip.act", ".chip.memory"):
        front, back = colours(page, selector)
        assert contrast(front, back) >= 4.5, f"{selector}: {front} on {back}"
    assert (luminance(colours(page, "p.answer")[1]) < 0.1) == (scheme == "dark")
    page.screenshot(path=pictures / f"report-{scheme}.png", full_page=True)


def test_the_button_switches_the_scheme(analysed: Analysed, show: Callable[..., Any]) -> None:
    page = show(html_of(analysed, "accuracy/profile.ncu-rep"))
    before = colours(page, "p.answer")[1]
    page.click("#theme")
    after = colours(page, "p.answer")[1]
    assert luminance(after) < 0.1 < luminance(before)


def test_everything_is_reached_by_keyboard(analysed: Analysed, show: Callable[..., Any]) -> None:
    """Tab walks over skip link, theme, table, level switches, roofline mark, details, arcs and findings' links."""
    page = show(html_of(analysed, "stencil/profile.ncu-repz"))
    seen: set[str] = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "() => { const e = document.activeElement; return e.tagName + '.' + (e.getAttribute('class') || ''); }"
        )
        seen.add(name.split(" ")[0])
        if name.startswith("BODY"):
            break
    assert {"A.skip", "BUTTON.", "INPUT.", "a.kernelpoint", "SUMMARY.", "g.arc", "A.chip"} <= seen


def test_a_mark_of_the_roofline_is_read_out_on_focus_and_levels_can_be_hidden(
    analysed: Analysed, show: Callable[..., Any], pictures: Path
) -> None:
    page = show(html_of(analysed, "stencil/profile.ncu-repz"))
    page.focus("a.kernelpoint")
    words = page.inner_text("[data-readout]")
    assert "FLOP/byte" in words
    assert "DRAM" in words
    page.uncheck("input[data-level=l1]")
    assert not page.is_visible(".roof.l1")
    assert page.is_visible(".roof.dram")
    page.check("input[data-level=l1]")
    page.locator(".chart").screenshot(path=pictures / "roofline.png")


def test_the_kernel_table_sorts_by_any_column(analysed: Analysed, show: Callable[..., Any]) -> None:
    page = show(html_of(analysed, "sweep/profile.ncu-repz"))
    names = "table.sortable tbody th"
    first = page.locator(names).all_inner_texts()
    page.click("table.sortable thead th:nth-child(1) button")
    down = [name.split("\n")[0].split("not hot")[0].strip() for name in page.locator(names).all_inner_texts()]
    page.click("table.sortable thead th:nth-child(1) button")
    assert down == sorted(down, reverse=True)
    assert len(first) == len(down) == 8
    assert page.get_attribute("table.sortable thead th:nth-child(1)", "aria-sort") == "ascending"


def test_an_arc_lights_the_lines_it_joins(analysed: Analysed, show: Callable[..., Any], pictures: Path) -> None:
    page = show(html_of(analysed, "adjacent/profile.ncu-repz"))
    arc = page.locator("g.arc").first
    arc.focus()
    waiting = arc.get_attribute("data-waiting")
    assert "lit" in (page.get_attribute(f"#{waiting}", "class") or "")
    page.locator(".sourceview").first.screenshot(path=pictures / "source.png")


def test_arcs_end_at_the_height_of_their_lines(analysed: Analysed, show: Callable[..., Any]) -> None:
    """The arcs are drawn without a script from a fixed row height: it must be the browser's, too."""
    page = show(html_of(analysed, "lookup/profile.ncu-repz"))
    for at in range(min(page.locator("g.arc").count(), 6)):
        arc = page.locator("g.arc").nth(at)
        row = page.locator(f"#{arc.get_attribute('data-cause')}").bounding_box()
        dot = arc.locator("circle").bounding_box()
        assert abs((dot["y"] + dot["height"] / 2) - (row["y"] + row["height"] / 2)) <= 8


def test_a_link_to_a_finding_unfolds_it(analysed: Analysed, show: Callable[..., Any]) -> None:
    page = show(html_of(analysed, "accuracy/profile.ncu-rep"))
    page.click("table.sortable tbody td a")
    assert page.evaluate("() => document.querySelector('tr:target details').open")


def test_a_small_screen_needs_no_sideways_scrolling(
    analysed: Analysed, show: Callable[..., Any], pictures: Path
) -> None:
    page = show(html_of(analysed, "lookup/profile.ncu-repz"), size=(380, 800))
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    assert page.is_visible("p.answer")
    page.screenshot(path=pictures / "report-small.png")


def test_hostile_names_run_nothing(hostile: tuple[Profile, Analysis], show: Callable[..., Any]) -> None:
    page = show(render([Subject(*hostile, lambda source: source.text)]))
    assert page.evaluate("() => document.images.length") == 0
    assert page.locator("script").count() == 1


def test_a_comparison_is_a_page_too(show: Callable[..., Any], pictures: Path, profile_cache: Path) -> None:
    before, after = (
        load_analysis(REPORTS / f"adjacent-{name}.ncu-repz", Settings(), keep_all=True, cache_dir=profile_cache)
        for name in ("before", "after")
    )
    page = show(render_comparison(compare(before, after)))
    assert "faster" in page.inner_text("p.answer")
    page.screenshot(path=pictures / "compare.png", full_page=True)


@pytest.fixture(scope="module")
def outcome(profile_cache: Path) -> Rewriting:
    """The accuracy sample's best candidate with what was recorded of it on an H200."""
    pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
    patch = pytest.MonkeyPatch()
    patch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    found = next(recorded("accuracy")).rewriting
    patch.undo()
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_outcome_is_readable_in_both_colour_schemes(
    outcome: Rewriting, show: Callable[..., Any], pictures: Path, scheme: str
) -> None:
    page = show(outcome_page(outcome), scheme=scheme)
    for selector in ("p.answer", "p.quiet", ".sides td.no", ".sides td.out code", ".sides td.in .k", ".chain dt",
                     ".gate.pass", ".ear .means", ".conflict"):  # fmt: skip
        front, back = page.eval_on_selector(selector, SEEN)
        assert contrast(front, back) >= 4.5, f"{selector}: {front} on {back}"
    page.screenshot(path=pictures / f"outcome-{scheme}.png", full_page=True)


SEEN = """e => {
  let b = e;
  while (b && getComputedStyle(b).backgroundColor === "rgba(0, 0, 0, 0)") b = b.parentElement;
  return [getComputedStyle(e).color, getComputedStyle(b || document.body).backgroundColor];
}"""


def test_an_outcome_is_reached_by_keyboard_and_its_evidence_leads_to_the_finding(
    outcome: Rewriting, show: Callable[..., Any]
) -> None:
    page = show(outcome_page(outcome))
    seen: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        script = "() => { const e = document.activeElement; return e.tagName + ' ' + (e.ariaLabel || e.className); }"
        name = page.evaluate(script)
        seen.add(name)
        if name.startswith("BODY"):
            break
    assert {"A skip", "BUTTON ", "A chip", "DIV The change", "DIV Gates", "DIV Times", "DIV EAR scores"} <= seen
    assert any(name.startswith("SUMMARY") for name in seen)
    page.click(".sides td.ids a.chip")
    assert page.evaluate("() => document.querySelector('tr:target details').open")


def test_the_two_columns_of_a_change_have_one_width_and_a_small_screen_scrolls_the_table_only(
    outcome: Rewriting, show: Callable[..., Any]
) -> None:
    page = show(outcome_page(outcome))
    row = page.locator(".sides tbody tr:has(td.in)").first
    old, new = (row.locator("td").nth(at).bounding_box()["width"] for at in (3, 6))
    assert abs(old - new) <= 1
    assert not page.is_visible(".sides.onecolumn")
    small = show(outcome_page(outcome), size=(380, 800))
    assert small.evaluate("() => document.documentElement.scrollWidth") <= 380


def test_a_narrow_window_shows_a_change_in_one_column_that_fits(
    outcome: Rewriting, show: Callable[..., Any], pictures: Path
) -> None:
    page = show(outcome_page(outcome), size=(380, 800))
    assert page.is_visible(".sides.onecolumn")
    assert not page.is_visible(".sides:not(.onecolumn)")
    put_in = page.locator(".onecolumn td.in:not(.sign)").first.bounding_box()
    assert put_in["x"] + put_in["width"] <= 380
    signs = [text.strip()[:1] for text in page.locator(".onecolumn td.sign").all_inner_texts()]
    assert "".join(signs).startswith("−−−−++++"), "what was taken out stands above what took its place"
    page.click(".onecolumn a.chip")
    assert page.evaluate("() => document.querySelector('tr:target details').open")
    page.screenshot(path=pictures / "outcome-small.png", full_page=True)


def test_an_explanations_ids_lead_to_their_findings(outcome: Rewriting, show: Callable[..., Any]) -> None:
    page = show(outcome_page(outcome))
    page.click(".chain a[href='#PC-1']")
    assert page.evaluate("() => document.querySelector('tr:target details').open")


def test_runs_are_told_apart_without_colour(outcome: Rewriting, show: Callable[..., Any]) -> None:
    page = show(outcome_page(outcome))
    assert page.locator("circle.run.before").count() == 5
    assert page.locator("polygon.run.after").count() == 5
    assert "719 µs" in page.get_attribute("svg.strip", "aria-label")
