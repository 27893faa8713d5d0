"""The page holds what was found, loads nothing from anywhere, and treats every string of a report as text."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from html_pages import Page

from optimas_lsp.insight.evidence import Analysis, Location
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.html import Subject, render
from optimas_lsp.report.html.highlight import highlight
from optimas_lsp.report.html.markup import Markup, el, escape

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.glob("*/*.ncu-rep*"))
Analysed = Callable[[str], tuple[Profile, Analysis]]
LIMIT_BYTES = 2_000_000


def page_of(profile: Profile, analysis: Analysis) -> tuple[str, Page]:
    text = render([Subject(profile, analysis, lambda source: source.text)])
    return text, Page(text)


@pytest.mark.parametrize("name", REPORTS)
def test_a_sample_is_one_well_formed_page_under_2_mb_with_working_links(name: str, analysed: Analysed) -> None:
    profile, analysis = analysed(name)
    text, page = page_of(profile, analysis)
    assert len(text.encode()) < LIMIT_BYTES
    assert page.stack == []
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        assert (link["href"] or "").startswith("#")
        assert (link["href"] or "")[1:] in ids
    for kernel in analysis.kernels:
        assert kernel.base_name in page.text
        for evidence in kernel.evidence:
            assert evidence.id in page.text


def test_nothing_is_loaded_and_only_our_script_may_run(analysed: Analysed) -> None:
    text, page = page_of(*analysed("stream/profile.ncu-repz"))
    (policy,) = (meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text


def test_the_roofline_has_log_axes_a_roof_a_level_and_a_mark_a_level(analysed: Analysed) -> None:
    _, page = page_of(*analysed("stencil/profile.ncu-repz"))
    classes = [(tag, attributes.get("class") or "") for tag, attributes in page.elements]
    for level in ("dram", "l2", "l1"):
        assert ("line", f"roof {level}") in classes
        assert any(name == f"point {level}" for _, name in classes)
    assert ("line", "roof flat") in classes
    ticks = [words for words in page.words if re.fullmatch(r"1e[+-]?\d+|\d+(\.\d+)? ?[kMGTP]?", words.strip())]
    assert {"0.1", "1", "10"} <= set(ticks)


def test_a_kernel_without_floating_point_work_is_said_to_have_no_mark(analysed: Analysed) -> None:
    _, page = page_of(*analysed("adjacent/profile.ncu-repz"))
    assert "No floating-point work was counted for adjacent_kernel" in page.text
    assert not [attributes for attributes in page.all("circle") if "point" in (attributes.get("class") or "")]


def test_source_lines_carry_heat_and_arcs_go_from_causes_to_waiting_lines(analysed: Analysed) -> None:
    profile, analysis = analysed("lookup/profile.ncu-repz")
    _, page = page_of(profile, analysis)
    hottest = max(analysis.kernels[0].lines, key=lambda line: line.samples)
    rows = [attributes for attributes in page.all("tr") if attributes.get("data-line") == str(hottest.location.line)]
    assert any((row.get("class") or "").startswith("h") for row in rows)
    arcs = [attributes for attributes in page.all("g") if attributes.get("class") == "arc"]
    assert arcs
    ids = {attributes.get("id") for _, attributes in page.elements}
    for arc in arcs:
        assert arc["data-cause"] in ids
        assert arc["data-waiting"] in ids
        assert "makes line" in (arc["aria-label"] or "")


def test_counters_show_their_interval(analysed: Analysed) -> None:
    _, page = page_of(*analysed("sweep/profile.ncu-repz"))
    assert [attributes for attributes in page.all("line") if attributes.get("class") == "whisker"]
    assert "over 16 launches" in page.text


def test_a_file_of_20_000_lines_with_700_hot_ones_stays_small(analysed: Analysed) -> None:
    profile, analysis = analysed("accuracy/profile.ncu-rep")
    kernel = analysis.kernels[0]
    text = "".join(f"    out[{n}] = in[{n}] * {n}.0f;  // term {n}\n" for n in range(20_000))
    files = (profile.files[0].model_copy(update={"path": "/big.cu", "text": text}),)
    first = kernel.lines[0]
    lines = tuple(
        first.model_copy(update={"location": Location(file="/big.cu", line=28 * n + 1), "shown": None, "share": 1e-3})
        for n in range(700)
    )
    big = analysis.model_copy(update={"kernels": (kernel.model_copy(update={"lines": lines, "evidence": ()}),)})
    html, page = page_of(profile.model_copy(update={"files": files}), big)
    assert len(html.encode()) < LIMIT_BYTES
    assert page.stack == []


def test_hostile_names_stay_text(hostile: tuple[Profile, Analysis]) -> None:
    text, page = page_of(*hostile)
    assert page.stack == []
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert "\x1b" not in text
    assert "\u202e" not in text
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in page.text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [("<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;"), ("a\x00b\x1bc", "a\ufffdb\ufffdc"), ("\ud800", "\ufffd"),
     ("\u202eabc", "\ufffdabc"), ("tab\tline\n", "tab\tline\n"), ("naïve 漢字 🚀", "naïve 漢字 🚀")],
)  # fmt: skip
def test_escape(raw: str, safe: str) -> None:
    assert escape(raw) == safe


def test_an_element_escapes_text_and_attributes_but_not_markup() -> None:
    made = el("p", "<", el("b", "&"), title='"', hidden=None, data_on=True)
    assert made == '<p title="&quot;" data-on>&lt;<b>&amp;</b></p>'
    assert isinstance(made, Markup)


@pytest.mark.parametrize("path", ["k.cu", "k.py", "k.cuh", "k.h", "unknown"])
def test_highlighting_changes_no_character(path: str) -> None:
    text = '// "a" /* b\n__global__ void k(float* x)\r\n{ x[0] = 1.0f; } /* open\n\n"""\tdoc\n\x0c@jit\rlast'
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = highlight(text, path)
    assert ["".join(words for _, words in line) for line in lines] == [
        line.expandtabs(4) if "\t" not in line else "".join(words for _, words in lines[at])
        for at, line in enumerate(plain.split("\n"))
    ]


def test_a_huge_line_is_cut() -> None:
    (line,) = highlight("x" * 100_000, "k.cu")
    assert sum(len(words) for _, words in line) < 500
