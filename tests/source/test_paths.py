"""Mapping profiled paths: by rule, with proof, and with a sentence for every answer."""

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.config import PathMap
from optimas_lsp.profile.model import SourceFile
from optimas_lsp.source.anchors import digest
from optimas_lsp.source.paths import PathMapper
from optimas_lsp.source.profiled_path import parse
from optimas_lsp.source.workspace import FileIndex, Limits, glob_pattern

TEXT = "".join(f"float value_{k} = input[{k}] * {k}.5f;\n" for k in range(40))


def put(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def edited(share: float, text: str = TEXT) -> str:
    """``text`` with ``share`` of its lines written anew."""
    lines = text.splitlines()
    count = round(share * len(lines))
    return "\n".join([f"fresh {k};" for k in range(count)] + lines[count:])


def rule(from_: str, to: str) -> PathMap:
    return PathMap.model_validate({"from": from_, "to": to})


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def source(path: str | Path, text: str | None = TEXT) -> SourceFile:
    return SourceFile(path=str(path), text=text)


# --- path maps ---------------------------------------------------------------------------------------------------


def test_the_map_with_the_longest_prefix_decides(ws: Path) -> None:
    put(ws / "one/src/k.cu")
    two = put(ws / "two/k.cu")
    mapper = PathMapper([ws], [rule("/b", "one"), rule("/b/src", "two")])
    match = mapper.resolve(source("/b/src/k.cu", None))
    assert (match.path, match.rule) == (two, "path-map")
    assert match.why == "Path map '/b/src' → 'two' leads to it."


def test_a_prefix_ends_at_a_path_part(ws: Path) -> None:
    put(ws / "s/k.cu")
    assert PathMapper([ws], [rule("/build/sr", "s")]).resolve(source("/build/src/k.cu", None)).path is None
    assert PathMapper([ws], [rule("/build/src/", "s")]).resolve(source("/build//src/./k.cu", None)).path is not None


def test_a_map_is_tried_in_every_folder(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    target = put(second / "src/k.cu")
    match = PathMapper([first, second], [rule("/build", "src")]).resolve(source("/build/k.cu", None))
    assert match.path == target


def test_a_map_to_nothing_is_named_and_the_other_rules_still_run(ws: Path) -> None:
    target = put(ws / "lib/k.cu")
    match = PathMapper([ws], [rule("/build", "src")]).resolve(source("/build/k.cu"))
    assert (match.path, match.rule) == (target, "suffix")
    assert "no such file as src/k.cu" in match.why
    assert "no such file as src/x.cu" in PathMapper([ws], [rule("/build", "src")]).resolve(source("/build/x.cu")).why


@pytest.mark.parametrize("to", ["../outside", "/etc", "link"])
def test_a_map_out_of_the_workspace_is_refused(ws: Path, to: str) -> None:
    put(ws.parent / "outside/passwd")
    (ws / "link").symlink_to("/etc")
    match = PathMapper([ws], [rule("/b", to)]).resolve(source("/b/passwd", None))
    assert match.path is None
    assert "refused" in match.why
    assert "outside the workspace" in match.why


def test_dots_in_the_profiled_path_do_not_climb_out_of_a_map(ws: Path) -> None:
    put(ws.parent / "secret.cu")
    put(ws / "src/k.cu")
    mapper = PathMapper([ws], [rule("/b", "src"), rule("", "src")])
    assert mapper.resolve(source("/b/../secret.cu", None)).path is None
    assert "refused: '..' would lead out" in mapper.resolve(source("../secret.cu", None)).why
    assert mapper.resolve(source("/b/x/../k.cu", None)).path == ws / "src/k.cu"


def test_windows_maps_ignore_case_and_kind_of_slash(ws: Path) -> None:
    target = put(ws / "src/k.cu")
    mapper = PathMapper([ws], [rule("C:/Users/Ann/proj", ".")])
    for path in (r"c:\users\ANN\proj\src\k.cu", "C:/Users/ann/PROJ/src/k.cu", r"C:\Users\Ann\proj\x\..\src\k.cu"):
        match = mapper.resolve(source(path, None))
        assert match.path == target
    assert mapper.resolve(source(r"D:\Users\Ann\proj\src\k.cu", None)).path is None


# --- exact -------------------------------------------------------------------------------------------------------


def test_the_profiled_path_itself_is_taken_in_the_workspace_whatever_it_holds_now(ws: Path) -> None:
    path = put(ws / "k.cu", "entirely new\n")
    match = PathMapper([ws]).resolve(source(path))
    assert (match.path, match.rule) == (path, "exact")
    assert PathMapper([ws]).resolve(source(path, None)).rule == "exact"
    assert PathMapper([ws]).resolve(source(ws / "x" / ".." / "k.cu")).path == path


def test_outside_the_workspace_the_profiled_path_needs_proof(ws: Path) -> None:
    path = put(ws.parent / "lib/k.cuh")
    match = PathMapper([ws]).resolve(source(path))
    assert (match.path, match.rule) == (path, "exact-outside")
    for text in (None, "something\nelse\n" * 20):
        match = PathMapper([ws]).resolve(source(path, text))
        assert match.path is None
        assert "outside the workspace, but" in match.why


def test_a_proven_workspace_file_comes_before_the_place_it_was_profiled_at(ws: Path) -> None:
    elsewhere = put(ws.parent / "old/src/k.cu")
    here = put(ws / "src/k.cu", edited(0.1))
    assert PathMapper([ws]).resolve(source(elsewhere)).path == here


def test_a_link_in_the_workspace_that_leads_out_is_outside(ws: Path) -> None:
    secret = put(ws.parent / "secret.cu", "password = 1;\n" * 9)
    (ws / "k.cu").symlink_to(secret)
    match = PathMapper([ws]).resolve(source(ws / "k.cu", None))
    assert match.path is None


def test_a_workspace_reached_through_a_link_keeps_the_name_it_was_opened_by(tmp_path: Path) -> None:
    real = put(tmp_path / "real/src/k.cu")
    (tmp_path / "opened").symlink_to(tmp_path / "real")
    match = PathMapper([tmp_path / "opened"]).resolve(source(real))
    assert match.path == tmp_path / "opened/src/k.cu"


# --- suffix and content ------------------------------------------------------------------------------------------


def test_a_file_of_that_name_and_content_is_found_anywhere(ws: Path) -> None:
    put(ws / "other/k.cu", "int main() {}\n" * 30)
    target = put(ws / "deep/down/k.cu")
    match = PathMapper([ws]).resolve(source("/home/bob/proj/k.cu"))
    assert (match.path, match.rule, match.similarity) == (target, "suffix", 1.0)
    assert "its lines are as profiled" in match.why


def test_the_base_name_alone_never_suffices(ws: Path) -> None:
    put(ws / "src/k.cu", "int main() {}\n" * 30)
    match = PathMapper([ws]).resolve(source("/home/bob/src/k.cu"))
    assert match.path is None
    assert "The content of src/k.cu is not what was profiled (0% of the lines at most)." in match.why
    assert '"pathMaps": [{"from": "/home/bob/src", "to": "src"}]' in match.why
    match = PathMapper([ws]).resolve(source("/home/bob/src/k.cu", None))
    assert match.path is None
    assert "--import-source yes" in match.why


def test_line_digests_prove_a_file_too(ws: Path) -> None:
    target = put(ws / "src/k.cu", TEXT.replace("\n", "\r\n"))
    digests = tuple(digest(line) for line in TEXT.split("\n"))
    match = PathMapper([ws]).resolve(SourceFile(path="/b/k.cu", line_digests=digests))
    assert match.path == target
    put(ws / "src/k.cu", "int x;\n" * 40)
    assert PathMapper([ws]).resolve(SourceFile(path="/b/k.cu", line_digests=digests)).path is None


@pytest.mark.parametrize(("share", "found"), [(0.0, True), (0.3, True), (0.5, False), (1.0, False)])
def test_a_file_may_have_changed_but_not_beyond_recognition(ws: Path, share: float, found: bool) -> None:
    put(ws / "k.cu", edited(share))
    match = PathMapper([ws]).resolve(source("/b/k.cu"))
    assert (match.path is not None) == found


def test_of_about_equally_similar_files_the_longer_common_suffix_wins(ws: Path) -> None:
    put(ws / "backup/k.cu")
    target = put(ws / "src/k.cu", edited(0.05))
    assert PathMapper([ws]).resolve(source("/b/src/k.cu")).path == target


def test_of_clearly_different_ones_content_wins(ws: Path) -> None:
    target = put(ws / "backup/k.cu")
    put(ws / "src/k.cu", edited(0.35))
    assert PathMapper([ws]).resolve(source("/b/src/k.cu")).path == target


def test_two_equal_copies_are_no_match_and_both_are_named(ws: Path) -> None:
    put(ws / "one/k.cu")
    put(ws / "two/k.cu")
    match = PathMapper([ws]).resolve(source("/b/src/k.cu"))
    assert match.path is None
    assert "one/k.cu" in match.why
    assert "two/k.cu" in match.why
    assert "equally like the profiled /b/src/k.cu" in match.why
    assert len(match.candidates) == 2


def test_a_file_of_few_lines_must_be_identical(ws: Path) -> None:
    put(ws / "k.cu", "int a;\nint b;\nint c;\n")
    assert PathMapper([ws]).resolve(source("/b/k.cu", "int a;\nint b;\nint c;\n")).path is not None
    assert PathMapper([ws]).resolve(source("/b/k.cu", "int a;\nint b;\nint d;\n")).path is None
    put(ws / "empty.cu", "")
    assert PathMapper([ws]).resolve(source("/b/empty.cu", "")).path is None


def test_latin_1_and_crlf_files_are_the_profiled_ones(ws: Path) -> None:
    text = TEXT + "".join(f"// größe {k}\n" for k in range(30))
    (ws / "k.cu").write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    embedded = text.encode("latin-1").decode("utf-8", "surrogateescape")
    match = PathMapper([ws]).resolve(source("/b/k.cu", embedded))
    assert match.similarity == 1.0


def test_a_windows_report_finds_its_files_whatever_their_case(ws: Path) -> None:
    target = put(ws / "src/Kernel.cu")
    match = PathMapper([ws]).resolve(source(r"C:\proj\SRC\kernel.CU"))
    assert match.path == target
    assert "last 2 path parts" in match.why
    assert PathMapper([ws]).resolve(source("/proj/src/kernel.cu")).path is None


# --- hostile input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "names no file"),
        ("/", "names no file"),
        ("..", "names no file"),
        ("/a/k\0.cu", "NUL"),
        ("/" + "a/" * 9000 + "k.cu", "18005 characters long"),
        ("<unknown>", "No file named"),
        ("/dev/zero", "No file named"),
        ("/proc/self/mem", "No file named"),
        ("\\\\server\\share\\k.cu", "No file named"),
        ("\\\\?\\C:\\x\\k.cu", "No file named"),
        ("/a/\udcff\udcfe.cu", "No file named"),
        ("/a/" + "x" * 3000, "No file named"),
        ("/a/new\nline\x1b[31m.cu", "No file named"),
    ],
)
def test_impossible_paths_are_answered_in_words(ws: Path, path: str, says: str) -> None:
    put(ws / "k.txt")
    match = PathMapper([ws], [rule("/maps", "src")]).resolve(source(path))
    assert match.path is None
    assert says in match.why
    match.why.encode("utf-8")
    assert len(match.why) < 2_000 or len(path) == 3_003


@settings(max_examples=200, deadline=None)
@given(st.text(st.one_of(st.sampled_from(list("/\\.:Cc~ k*[]{}\0\n")), st.characters()), max_size=40))
def test_no_path_makes_it_fail_or_leave_the_workspace(path: str) -> None:
    here = Path(__file__).parent
    match = PathMapper([here], [rule("", "."), rule("/", "."), rule("C:", ".")]).resolve(source(path, None))
    assert match.why
    if match.path is not None:
        assert os.path.realpath(match.path).startswith(os.path.realpath(here))


def test_names_that_are_not_utf_8_are_found(ws: Path) -> None:
    raw = os.fsencode(ws) + b"/caf\xe9.cu"
    Path(os.fsdecode(raw)).write_text(TEXT)
    for name in (os.fsdecode(b"caf\xe9.cu"), "caf\ufffd.cu"):
        match = PathMapper([ws]).resolve(source("/b/" + name))
        assert match.path is not None
        assert os.fsencode(match.path) == raw
        match.why.encode("utf-8")


def test_names_in_another_unicode_form_are_the_same(ws: Path) -> None:
    target = put(ws / "cafe\u0301.cu")
    assert PathMapper([ws]).resolve(source("/b/caf\u00e9.cu")).path == target


def test_loops_of_links_end(ws: Path) -> None:
    (ws / "a").symlink_to(ws / "b")
    (ws / "b").symlink_to(ws / "a")
    (ws / "self").symlink_to(ws)
    (ws / "k.cu").symlink_to(ws / "k.cu")
    target = put(ws / "sub/k.cu")
    mapper = PathMapper([ws], [rule("/m", "a")])
    assert mapper.resolve(source("/x/k.cu")).path == target
    assert mapper.resolve(source(ws / "a/k.cu")).path == target
    assert mapper.resolve(source(ws / "k.cu", None)).path is None
    assert mapper.resolve(source("/m/k.cu")).path == target


def test_what_is_no_regular_file_is_never_opened(ws: Path) -> None:
    os.mkfifo(ws / "k.cu")
    (ws / "dir.cu").mkdir()
    mapper = PathMapper([ws], [rule("/m", ".")])
    for path in (ws / "k.cu", "/m/k.cu", "/b/k.cu", ws / "dir.cu", "/m/dir.cu"):
        assert mapper.resolve(source(path)).path is None


# --- the index ---------------------------------------------------------------------------------------------------


def test_notices_keep_the_index_up_to_date(ws: Path) -> None:
    mapper = PathMapper([ws])
    ask = source("/b/k.cu")
    assert mapper.resolve(ask).path is None
    target = put(ws / "src/k.cu")
    assert mapper.resolve(ask).path is None
    mapper.note_changed(target)
    assert mapper.resolve(ask).path == target
    put(target, "int main() {}\n" * 50)
    mapper.note_changed(target)
    assert mapper.resolve(ask).path is None
    put(ws / "new/deep/k.cu")
    mapper.note_changed(ws / "new")
    assert mapper.resolve(ask).path == ws / "new/deep/k.cu"
    (ws / "new/deep/k.cu").unlink()
    (ws / "new/deep").rmdir()
    (ws / "new").rmdir()
    mapper.note_changed(ws / "new")
    assert mapper.resolve(ask).path is None
    mapper.note_changed(Path("/somewhere/else/k.cu"))


def test_a_vanished_file_is_no_match_even_without_a_notice(ws: Path) -> None:
    target = put(ws / "src/k.cu")
    mapper = PathMapper([ws])
    assert mapper.resolve(source("/b/k.cu")).path == target
    target.unlink()
    assert mapper.resolve(source("/c/k.cu")).path is None
    mapper.forget()
    assert mapper.resolve(source("/b/k.cu")).path is None


def test_excluded_folders_and_nested_workspace_folders_do_not_double(ws: Path) -> None:
    put(ws / ".git/k.cu")
    put(ws / "node_modules/x/k.cu")
    target = put(ws / "inner/k.cu")
    assert PathMapper([ws, ws / "inner"]).resolve(source("/b/k.cu")).path == target
    index = FileIndex([ws])
    index.note_changed(put(ws / ".git/hooks/y.cu"))
    assert index.find("y.cu", fold=False) == []


def test_the_walk_stops_at_its_limits_and_says_so(ws: Path) -> None:
    for k in range(40):
        put(ws / f"d{k}/f{k}.txt", "")
    put(ws / "z/k.cu")
    mapper = PathMapper([ws], limits=Limits(files=5))
    assert "only the first" in mapper.resolve(source("/b/none.cu")).why
    assert not FileIndex([ws], limits=Limits(seconds=0.0)).complete
    assert FileIndex([ws]).complete


def test_a_large_workspace_is_walked_quickly(ws: Path) -> None:
    for k in range(60):
        home = ws / f"d{k}"
        home.mkdir()
        for n in range(50):
            (home / f"f{n}.cu").touch()
    start = time.process_time()
    assert len(FileIndex([ws])) == 3_000
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("glob", "path", "hit"),
    [
        ("**/.git/**", ".git/_", True),
        ("**/.git/**", "a/b/.git/_", True),
        ("**/.git/**", "a/.github/_", False),
        ("build*/**", "build-2/x", True),
        ("*.cu", "a/b.cu", False),
        ("**/*.{cu,cuh}", "a/b.cuh", True),
        ("**/[!a]?.cu", "x/bc.cu", True),
        ("**/[!a]?.cu", "x/ac.cu", False),
        ("[", "[", True),
        ("{a,b", "{a,b", True),
        ("[z-a]", "[z-a]", True),
    ],
)
def test_globs(glob: str, path: str, hit: bool) -> None:
    assert bool(glob_pattern(glob).fullmatch(path)) == hit


@given(st.text(st.sampled_from(list("*?[]{}!,^-\\/a.")), max_size=15))
def test_no_glob_makes_it_fail(glob: str) -> None:
    glob_pattern(glob).fullmatch("a/b")


@pytest.mark.parametrize(
    ("text", "root", "parts"),
    [
        ("/a/./b//c.cu", "/", ("a", "b", "c.cu")),
        ("/a/../../b.cu", "/", ("b.cu",)),
        ("../x/../y.cu", "", ("..", "y.cu")),
        ("C:\\a\\b.cu", "c:", ("a", "b.cu")),
        ("c:/a/b.cu", "c:", ("a", "b.cu")),
        ("\\\\host\\share\\b.cu", "//", ("host", "share", "b.cu")),
        ("\\a\\b.cu", "/", ("a", "b.cu")),
        ("src\\b.cu", "", ("src", "b.cu")),
        ("/a/b\\c.cu", "/", ("a", "b\\c.cu")),
    ],
)
def test_paths_are_taken_apart_as_their_system_would(text: str, root: str, parts: tuple[str, ...]) -> None:
    parsed = parse(text)
    assert (parsed.root, parsed.parts) == (root, parts)


def test_answers_do_not_depend_on_the_order_of_questions(ws: Path) -> None:
    for k in range(6):
        put(ws / f"d{k}/k.cu", edited(k / 10))
    asks = [source(f"/b/d{k}/k.cu") for k in range(6)]
    first = [PathMapper([ws]).resolve(ask) for ask in asks]
    mapper = PathMapper([ws])
    for k in random.Random(1).sample(range(6), 6):
        assert mapper.resolve(asks[k]) == first[k]
