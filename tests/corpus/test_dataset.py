"""A dataset is the same for the same attempts, divides no family, merges once, and believes nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from entries import attempt, kernel_text
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.dataset import DatasetError, Published, rows_of
from optimas_lsp.corpus.export import export, merge, rows_for
from optimas_lsp.corpus.families import families_of, near_pairs, split_of
from optimas_lsp.corpus.shape import NEAR, jaccard, runs
from optimas_lsp.corpus.store import Row
from optimas_lsp.corpus.validate import validate

ROOT = Path(__file__).resolve().parents[2]
DATASET = ROOT / "samples" / "corpus"

LOOP = """__global__ void scale{name}(const float* in, float* out, int n, float by) {{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
        float {value} = in[i];
        if ({value} > {limit}) out[i] = {value} * by; else out[i] = by;
    }}
}}"""
OTHER = """__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}"""


def copy(name: str, value: str = "x", limit: str = "0.5f") -> str:
    return LOOP.format(name=name, value=value, limit=limit)


def made(folder: Path, *entries: Any) -> list[Published]:
    rows = rows_for(Row(entry=entry) for entry in entries)
    export(rows, folder, title="A test", forms=("jsonl", "parquet"))
    return rows


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset of several families in several splits."""
    entries = [
        attempt(at, "proven" if at % 3 else "refuted", mangled=f"k{at // 2}", code=kernel_text(at // 2))
        for at in range(40)
    ]
    made(tmp_path / "dataset", *entries)
    return tmp_path / "dataset"


def edited(file: Path, change: Any) -> None:
    lines = file.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    change(rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def jsonl(dataset: Path) -> Path:
    return sorted((dataset / "data").glob("*.jsonl"))[0]


def test_the_same_attempts_give_the_same_bytes_in_whatever_order(tmp_path: Path) -> None:
    entries = [attempt(at, code=copy(str(at))) for at in range(12)]
    made(tmp_path / "one", *entries)
    made(tmp_path / "two", *entries[::-1])
    names = sorted(str(each.relative_to(tmp_path / "one")) for each in (tmp_path / "one").rglob("*") if each.is_file())
    assert "README.md" in names
    assert any(name.endswith(".parquet") for name in names)
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_fresh_dataset_is_valid_and_exporting_over_it_leaves_no_old_file(dataset: Path) -> None:
    assert validate(dataset).problems == ()
    assert len({row.split for file in (dataset / "data").glob("*.jsonl") for _, row in rows_of(file)}) > 1
    made(dataset, attempt(1))
    assert validate(dataset).problems == ()
    assert len(list((dataset / "data").iterdir())) == 2


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(DatasetError, match="something else"):
        made(tmp_path, attempt(1))
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_renamed_reformatted_and_retuned_copies_are_one_family() -> None:
    entries = [
        attempt(1, code=copy("A"), mangled="a"),
        attempt(2, code=copy("Two", "element", "1e-3f"), mangled="b"),
        attempt(3, code="// copied\n" + copy("C").replace("\n", "\n\n").replace("    ", "\t"), mangled="c"),
        attempt(4, code=OTHER, mangled="d"),
    ]
    families = families_of(entries)
    assert len({families[each.key] for each in entries[:3]}) == 1
    assert families[entries[3].key] != families[entries[0].key]


def test_attempts_on_one_kernel_are_one_family_however_different_their_code() -> None:
    one, other = attempt(1, code=copy("A"), mangled="_Zsame"), attempt(2, code=OTHER, mangled="_Zsame")
    elsewhere = attempt(3, code=OTHER.replace("own", "mine").replace("256", "n"), mangled="_Zelse")
    families = families_of([one, other, elsewhere])
    assert len(set(families.values())) == 1


def test_a_family_keeps_its_name_and_split_when_others_join() -> None:
    few = [attempt(at, code=copy("A", limit=f"{at}.f"), mangled="a") for at in range(3)]
    before = families_of(few)
    after = families_of([*few, *(attempt(at, code=OTHER * at, mangled=f"o{at}") for at in range(10, 20))])
    assert {key: after[key] for key in before} == before
    assert {split_of(family) for family in before.values()} == {split_of(after[few[0].key])}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab+=;*(){} ", min_size=1, max_size=60), max_size=12))
def test_the_search_for_near_duplicates_misses_none(texts: list[str]) -> None:
    codes = {str(at): text for at, text in enumerate(texts)}
    wanted = {
        frozenset((one, other))
        for one in codes
        for other in codes
        if one < other and jaccard(runs(codes[one]), runs(codes[other])) >= NEAR
    }
    assert {frozenset(pair) for pair in near_pairs(codes)} == wanted


def test_a_copy_in_another_split_is_found(dataset: Path) -> None:
    files = sorted((dataset / "data").glob("*.jsonl"))
    stolen = json.loads(files[0].read_text("utf-8").splitlines()[0])

    def plant(rows: list[dict[str, Any]]) -> None:
        rows[0] |= {"code": "// mine\n" + stolen["code"].replace("out", "result"), "mangled": "_Z5other"}
        row = {key: value for key, value in rows[0].items() if key not in {"family", "split", "noes", "key"}}
        rows[0]["key"] = attempt(1).model_validate(row).digest()

    edited(files[1], plant)
    problems = [each.sentence() for each in validate(dataset).problems]
    assert any("family by code" in each and "several splits" in each for each in problems)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sentence": "see /home/bob/secret.cu"}, "an absolute path"),
        ({"sentence": "token=abcdefgh12345678"}, "a key or password"),
        ({"kernel": "another(int)"}, "not the digest"),
        ({"ending": "splendid"}, "'ending'"),
        ({"family": "../../etc"}, "'family'"),
        ({"number": 1e300}, "'number'"),
        ({"extra": 1}, "'extra'"),
        ({"key": "0" * 64}, "not the digest"),
    ],
)
def test_a_wrong_row_is_named_with_file_and_row(
    dataset: Path, corpus: Corpus, change: dict[str, Any], said: str
) -> None:
    file = jsonl(dataset)
    edited(file, lambda rows: rows[1].update(change))
    place = f"data/{file.name}:2"
    assert any(each.sentence().startswith(place) and said in each.what for each in validate(dataset).problems)
    with pytest.raises(DatasetError, match=rf"nothing was imported: {file.name}:2: .*{said}"):
        merge(corpus.store, dataset)
    assert corpus.store.rows() == []


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe not text",
        b"{",
        b"[" * 100_000,
        b"null",
        b'{"schema": "optimas.attempt/1"}',
        b'{"scores": {"a": NaN}}',
        b"x" * 5_000_000,
        b"",
        b'{"code": "\\ud800"}',
    ],
    ids=["bytes", "cut", "deep", "null", "bare", "nan", "long", "empty", "surrogate"],
)
def test_a_hostile_line_is_a_problem_and_nothing_else(dataset: Path, corpus: Corpus, line: bytes) -> None:
    file = jsonl(dataset)
    good = file.read_bytes().splitlines()[0]
    file.write_bytes(good + b"\n" + line + b"\n")
    assert any(each.file == f"data/{file.name}" and each.row == 2 for each in validate(dataset).problems)
    with pytest.raises(DatasetError, match=f"{file.name}:2"):
        merge(corpus.store, dataset)
    assert corpus.store.rows() == []


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(1000) + b"PAR1", b"no parquet at all"])
def test_a_hostile_parquet_file_is_an_error_with_its_name(dataset: Path, corpus: Corpus, data: bytes) -> None:
    for file in (dataset / "data").glob("*.jsonl"):
        file.unlink()
    file = sorted((dataset / "data").glob("*.parquet"))[0]
    file.write_bytes(data)
    with pytest.raises(DatasetError, match=file.name):
        merge(corpus.store, dataset)
    assert any(each.file == f"data/{file.name}" for each in validate(dataset).problems)


def test_a_parquet_file_of_another_shape_names_its_rows(dataset: Path, corpus: Corpus) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1, 2]}), dataset / "other.parquet")
    with pytest.raises(DatasetError, match=r"other.parquet:1: .*other.parquet:2"):
        merge(corpus.store, dataset / "other.parquet")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ending": "proven", "timing": None}, "no kernel time"),
        (
            {"gates": [{"name": "compare", "status": "fail", "sentence": "", "seconds": 0.0}], "ending": "refuted"},
            "failed",
        ),
        ({"ending": "refused"}, "has times"),
    ],
)
def test_what_cannot_be_so_is_not_believed(dataset: Path, change: dict[str, Any], said: str) -> None:
    file = jsonl(dataset)

    def lie(rows: list[dict[str, Any]]) -> None:
        row = next(each for each in rows if each["ending"] == "proven")
        row |= change
        bare = {key: value for key, value in row.items() if key not in {"family", "split", "noes", "key"}}
        row["key"] = attempt(1).model_validate(bare).digest()

    edited(file, lie)
    assert any(said in each.what for each in validate(dataset).problems)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "README.md").write_text("no card"), "data card"),
        (lambda folder: (folder / "README.md").unlink(), "no data card"),
        (lambda folder: (folder / "data" / "more.jsonl").write_text(""), "does not list it"),
        (lambda folder: jsonl(folder).unlink(), "cannot be read"),
        (lambda folder: jsonl(folder).write_bytes(jsonl(folder).read_bytes() * 2), "2 times"),
    ],
)
def test_a_damaged_dataset_is_told(dataset: Path, damage: Any, said: str) -> None:
    damage(dataset)
    assert any(said in each.what for each in validate(dataset).problems)


def test_a_manifest_that_points_outside_is_not_followed(dataset: Path) -> None:
    manifest = json.loads((dataset / "dataset.json").read_text("utf-8"))
    manifest["files"][0]["name"] = "../../../etc/passwd"
    (dataset / "dataset.json").write_text(json.dumps(manifest))
    assert any("outside" in each.what for each in validate(dataset).problems)


@pytest.mark.parametrize("name", ["data/train.jsonl", "dataset.json", "README.md"])
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_device_or_a_pipe_in_a_dataset_is_not_read(dataset: Path, corpus: Corpus, name: str, kind: str) -> None:
    place = dataset / name
    place.unlink()
    if kind == "device":
        place.symlink_to("/dev/zero")
    else:
        os.mkfifo(place)
    if name == "dataset.json":
        with pytest.raises(DatasetError, match="is no file"):
            validate(dataset)
    else:
        assert any(each.file == name for each in validate(dataset).problems)
    if name != "README.md":
        with pytest.raises(DatasetError, match="is no file"):
            merge(corpus.store, dataset)
    assert corpus.store.rows() == []


def test_a_manifest_that_names_a_device_is_not_followed(dataset: Path) -> None:
    manifest = json.loads((dataset / "dataset.json").read_text("utf-8"))
    manifest["files"][0]["name"] = "/dev/zero"
    (dataset / "dataset.json").write_text(json.dumps(manifest))
    assert any("outside" in each.what for each in validate(dataset).problems)


def test_a_small_parquet_file_that_unpacks_to_very_much_is_refused(
    dataset: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("optimas_lsp.corpus.dataset.MOST_UNPACKED", 1 << 20)
    file = sorted((dataset / "data").glob("*.parquet"))[0]
    table = pq.read_table(file)
    row = {**table.slice(0, 1).to_pylist()[0], "code": "x y " * 50_000}
    packed = pa.Table.from_pylist([row] * 100, schema=table.schema)  # one text, a hundred times
    pq.write_table(packed, file, dictionary_pagesize_limit=1 << 30)
    assert file.stat().st_size < 100_000
    with pytest.raises(DatasetError, match="200 times its size"):
        merge(corpus.store, file)
    assert any("200 times its size" in each.what for each in validate(dataset).problems)


def test_a_row_of_a_parquet_file_is_no_longer_than_one_of_json_lines(dataset: Path, corpus: Corpus) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = sorted((dataset / "data").glob("*.parquet"))[0]
    table = pq.read_table(file)
    row = {**table.slice(0, 1).to_pylist()[0], "code": "x" * (5 << 20)}
    pq.write_table(pa.Table.from_pylist([row], schema=table.schema), file)
    with pytest.raises(DatasetError, match=f"{file.name}:1: it is longer than"):
        merge(corpus.store, file)


def test_no_path_of_a_title_is_published_or_kept(dataset: Path, tmp_path: Path, corpus: Corpus) -> None:
    with pytest.raises(DatasetError, match="title holds a path or a key"):
        export(rows_for([Row(entry=attempt(1))]), tmp_path / "other", title="of /home/bob/ours", forms=("jsonl",))
    manifest = json.loads((dataset / "dataset.json").read_text("utf-8"))
    manifest["title"] = "of /home/bob/ours"
    (dataset / "dataset.json").write_text(json.dumps(manifest))
    merge(corpus.store, dataset)
    assert {row.datasets for row in corpus.store.each_row()} == {("of .../ours",)}


def test_an_export_does_not_follow_a_link_out_of_its_folder(dataset: Path, tmp_path: Path) -> None:
    others = tmp_path / "others"
    (dataset / "data").rename(others)
    (dataset / "data").symlink_to(others)
    before = {each.name: each.read_bytes() for each in others.iterdir()}
    with pytest.raises(DatasetError, match="something else"):
        made(dataset, attempt(1))
    assert {each.name: each.read_bytes() for each in others.iterdir()} == before


def test_an_export_comes_back_whole_with_what_people_said_no_to(tmp_path: Path, corpus: Corpus) -> None:
    entries = [attempt(1, "proven", scores={"a": [1, 2.5, None]}), attempt(2, "refused"), attempt(3, "unusable")]
    corpus.store.add(entries)
    corpus.store.say_no(entries[0].key, "unreadable", "rejected")
    for forms in (("jsonl",), ("parquet",)):
        folder = tmp_path / forms[0]
        export(rows_for(corpus.store.each_row()), folder, title="All", forms=forms)
        other = Corpus.of_user(folder=tmp_path / f"{forms[0]}-store")
        assert merge(other.store, folder).new == 3
        assert merge(other.store, folder).new == 0
        theirs = {row.entry.key: (row.entry, row.noes) for row in other.store.each_row()}
        assert theirs == {row.entry.key: (row.entry, row.noes) for row in corpus.store.each_row()}


WITHOUT = """
import sys
for name in ("pyarrow", "pandas", "sklearn", "scipy"):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from entries import attempt, kernel_text
from optimas_lsp.corpus import Corpus, Query
from optimas_lsp.corpus.export import export, merge, rows_for
from optimas_lsp.corpus.validate import validate
here = Path(sys.argv[1])
corpus = Corpus.of_user(folder=here / "data")
assert corpus.keep_entries(lambda: [attempt(1, "proven"), attempt(2)]) is None
assert corpus.experience().records
rows = rows_for(corpus.store.each_row())
export(rows, here / "lines", title="x", forms=("jsonl",))
print(len(validate(here / "lines").problems), merge(Corpus.of_user(folder=here / "again").store, here / "lines").new)
assert corpus.past_cases(Query(rules={"wait": 1.0})) == ()
print(corpus.notes[0].text)
try:
    export(rows, here / "both", title="x", forms=("jsonl", "parquet"))
except Exception as error:
    print(error.sentence())
"""


def test_without_the_extra_the_store_and_json_lines_work_and_the_rest_names_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path), str(Path(__file__).parent)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts, retrieval, parquet = done.stdout.splitlines()
    assert counts == "0 2"
    assert retrieval == (
        "corpus: finding past attempts needs the package scikit-learn, which is not installed; "
        "pip install 'optimas-lsp[campaign]'"
    )
    assert "Parquet needs the package pyarrow" in parquet
    assert not (tmp_path / "both").exists()
