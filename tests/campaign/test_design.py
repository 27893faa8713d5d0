"""A wrong campaign file is refused with the file, the key and what to do; the example that ships is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from optimas_lsp.campaign.design import read
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from tests.campaign.conftest import Write

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def sentence(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read(file)
    assert str(file) in caught.value.sentence() or "campaign" in caught.value.sentence()
    return caught.value.sentence()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('name = "small"', 'naem = "small"', ("'name' is missing", "unknown key 'naem' (did you mean 'name'?)")),
        ("repetitions = 1", "repetitions = 0", ("'design.repetitions'", "greater than or equal to 1", "found 0")),
        ("repetitions = 1", "repetition = 1", ("unknown key 'design.repetition'", "did you mean 'repetitions'")),
        ("evidence = ['pc', 'rl',", "evidence = ['pc+rl', 'rl+pc',", ("'design.evidence'", "'pc+rl' is named twice")),
        ("inputs = ['default']", "inputs = ['default', 'default']", ("'design.inputs'", "'default' is named twice")),
        ('folder = "accuracy"', 'folder = "accuracy"\nkernels = ["a", "a"]', ("'kernels'", "'a' is named twice")),
        (
            'folder = "accuracy"',
            'folder = "accuracy"\nkernels = ["a("]',
            ("[[program]] 'accuracy': 'kernels.0'", "not a regular expression"),
        ),
        ("settings = {", 'settings = { executor = "local",', ("[[device]] 'h200': 'settings'", "'executor' is a key")),
        ('records = "', 'records = "/nowhere', ("[[device]] 'h200'", "'records' names /nowhere", "does not exist")),
        ("workers = 2", "time_limit_s = inf", ("'engine.time_limit_s'", "less than or equal to 2592000")),
        ("workers = 2", 'provider = { max_blocks = "8" }', ("'engine.provider'", "'max_blocks' has to be a whole")),
        ("evidence = ['pc',", "evidence = ['pcs',", ("'design.evidence.0'", "is no choice of evidence", "pc+rl+ia")),
        ("inputs = ['default']", "inputs = ['defaul']", ("'design.inputs'", "no program has an input 'defaul'")),
        ('source = "accuracy/accuracy.cu"', 'source = "accuracy.cu"', ("program 'accuracy'", "'source'", "not exist")),
        ('executor = "recorded"', 'executor = "records"', ("[[device]] 'h200': 'executor'", "records")),
        ("workers = 2", 'workers = 2\nkind = "dask"', ("'engine.kind'", "dask")),
        ('folder = "accuracy"', 'folder = "accuracy"\ninputs = ["larg"]', ("[target.inputs]", "did you mean 'large'?")),
        (
            'folder = "accuracy"',
            'folder = "accuracy"\nkernel = ["x"]',
            ("[[program]] 'accuracy': unknown key 'kernel'",),
        ),
    ],
)
def test_a_wrong_key_is_told_by_its_place_and_remedy(
    campaign: Write, before: str, after: str, words: tuple[str, ...]
) -> None:
    file = campaign()
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")
    said = sentence(file)
    for each in words:
        assert each in said


def test_a_backends_settings_are_checked_like_those_of_optimas_toml(campaign: Write) -> None:
    file = campaign(more='[[backend]]\nname = "a"\nbackend = "openai"\nsettings = { temprature = 1 }\n')
    assert "temprature" in sentence(file)
    assert "backend 'a'" in sentence(file)


def test_two_of_one_name_are_refused(campaign: Write) -> None:
    file = campaign()
    text = file.read_text("utf-8")
    file.write_text(text + text[text.index("\n[[program]]") :], "utf-8")
    assert "several [[program]] are named 'accuracy'" in sentence(file)


def test_no_file_and_no_toml_are_told(tmp_path: Path) -> None:
    assert "no such file" in sentence(tmp_path / "campaign.toml")
    (tmp_path / "campaign.toml").write_text("name = ", "utf-8")
    assert "not valid TOML" in sentence(tmp_path / "campaign.toml")


def test_the_example_crosses_every_cuda_sample_with_the_seven_subsets_and_three_inputs() -> None:
    loaded = read(SAMPLES / "campaign.toml")
    crossed = {program.folder.name for program in loaded.programs}
    assert crossed == {each.parent.name for each in SAMPLES.glob("*/*.cu") if each.parent.name != "blame"}
    assert len(loaded.campaign.design.evidence) == 7
    assert all(len(program.inputs(loaded.campaign.design.inputs)) == 3 for program in loaded.programs)
