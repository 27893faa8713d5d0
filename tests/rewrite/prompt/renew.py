"""Writes the expected prompts anew: ``python tests/rewrite/prompt/renew.py``; read the difference before keeping it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from prompt_samples import GOLDEN, SAMPLES, frozen_form, without_advice

from optimas_lsp.config import Settings
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.load import enrichment
from optimas_lsp.profile.store import open_profile
from optimas_lsp.rewrite.prompt import build_prompt
from optimas_lsp.source.paths import PathMapper

GOLDEN.mkdir(exist_ok=True)
for name in ("accuracy", "stencil", "softmax_triton"):
    sample = SAMPLES[name]
    profile = open_profile(sample.report, enrich=enrichment(), cache_dir=Path(tempfile.mkdtemp()))
    analysis = analyze(
        profile,
        Settings(),
        report_path=Path(sample.report.name),
        resolve=PathMapper([sample.folder]).path_of,
    )
    subject = sample.subject(profile, analysis)
    (GOLDEN / f"{name}.analysis.json").write_text(frozen_form(subject, analysis), "utf-8")
    (GOLDEN / f"{name}.txt").write_text(without_advice(build_prompt(subject).user), "utf-8")
