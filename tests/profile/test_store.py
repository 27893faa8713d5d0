"""Opening a report: worker processes that may die, a cache that may fail, and whoever asked lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from optimas_lsp.errors import ReportError, WorkerError
from optimas_lsp.profile.cache import Cache, distiller_version
from optimas_lsp.profile.limits import Limits
from optimas_lsp.profile.store import CancelledError, open_profile

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples/accuracy/profile.ncu-rep"
MANY = ROOT / "samples/sweep/profile.ncu-repz"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A cache folder that holds both samples."""
    folder = tmp_path_factory.mktemp("cache")
    for report in (REPORT, MANY):
        open_profile(report, cache_dir=folder)
    return folder


@pytest.fixture(scope="module")
def many(shared):
    """The profile of 128 launches."""
    return open_profile(MANY, cache_dir=shared)


@pytest.fixture
def plug(tmp_path, monkeypatch):
    """Puts a module where workers can import it."""

    def put(text: str) -> str:
        (tmp_path / "plugged.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return "plugged:enrich"

    return put


def children():
    """Worker processes of this process."""
    return [child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]


class TestCache:
    def test_the_second_time_no_worker_is_started(self, shared, many):
        asked = []
        again = open_profile(MANY, cache_dir=shared, progress=lambda done, total: asked.append(done))
        assert again == many
        assert asked == []

    def test_content_decides_not_the_name(self, shared, tmp_path):
        copy = tmp_path / "other.ncu-rep"
        copy.write_bytes(REPORT.read_bytes())
        asked = []
        profile = open_profile(copy, cache_dir=shared, progress=lambda done, total: asked.append(done))
        assert (profile.report_name, asked) == ("other.ncu-rep", [])

    def test_a_report_that_changes_is_read_again(self, shared, tmp_path):
        path = tmp_path / "r.ncu-rep"
        path.write_bytes(REPORT.read_bytes())
        before = open_profile(path, cache_dir=shared)
        path.write_bytes((ROOT / "samples/accuracy/profile-basic.ncu-rep").read_bytes())
        after = open_profile(path, cache_dir=shared)
        assert before.report_sha256 != after.report_sha256
        assert len(after.launches) == 2

    def test_a_damaged_entry_is_made_again(self, tmp_path):
        first = open_profile(REPORT, cache_dir=tmp_path)
        (entry,) = tmp_path.glob("*.optimas.json.zst")
        for damage in (b"", b"noise", entry.read_bytes()[:-9]):
            entry.write_bytes(damage)
            assert open_profile(REPORT, cache_dir=tmp_path) == first
            assert entry.read_bytes() != damage

    def test_a_cache_folder_that_cannot_exist_is_done_without(self, tmp_path):
        (tmp_path / "file").write_text("in the way")
        profile = open_profile(REPORT, cache_dir=tmp_path / "file" / "cache")
        assert len(profile.launches) == 1

    def test_a_full_disk_is_done_without(self, shared, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("optimas_lsp.profile.cache.write_atomically", full)
        assert Cache(shared, 1).keep("key", REPORT) is None

    def test_what_was_used_longest_ago_goes_first(self, tmp_path):
        cache = Cache(tmp_path, limit_mb=1)
        made = tmp_path / "made"
        made.write_bytes(os.urandom(400_000))
        for at, key in enumerate(("oldest", "middle", "newest")):
            cache.keep(key, made)
            os.utime(tmp_path / f"{key}.optimas.json.zst", (1e9 + at, 1e9 + at))
        cache.keep("last", made)
        assert {path.name.split(".")[0] for path in tmp_path.glob("*.zst")} == {"newest", "last"}

    def test_what_enriches_is_part_of_the_key(self):
        assert distiller_version(None) != distiller_version("optimas_lsp.sass.enrich:enrich")

    def test_the_environment_says_where_the_cache_is(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path / "mine"))
        open_profile(REPORT)
        assert list((tmp_path / "mine").glob("*.optimas.json.zst"))

    def test_several_processes_may_fill_it_at_once(self, tmp_path):
        code = (
            "import sys, pathlib\n"
            "from optimas_lsp.profile.store import open_profile\n"
            "p = open_profile(pathlib.Path(sys.argv[1]), cache_dir=pathlib.Path(sys.argv[2]))\n"
            "print(sum(p.kernels[0].samples.all_))\n"
        )
        command = [sys.executable, "-c", code, str(REPORT), str(tmp_path)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) for _ in "abc"]
        said = {process.communicate(timeout=100) for process in running}
        assert len(said) == 1
        assert not list(tmp_path.glob("*.part"))


class TestWorkers:
    def test_progress_counts_to_the_last_launch(self, tmp_path):
        told = []
        open_profile(MANY, cache_dir=tmp_path, progress=lambda done, total: told.append((done, total)))
        assert told == sorted(told)
        assert told[-1] == (128, 128)

    @pytest.mark.parametrize("limits", [Limits(workers=1), Limits(workers=3), Limits(workers=2, slice_mb=300)])
    def test_the_profile_does_not_depend_on_how_it_was_read(self, tmp_path, many, limits):
        assert open_profile(MANY, cache_dir=tmp_path, limits=limits) == many

    def test_a_killed_worker_costs_nothing_but_time(self, tmp_path, many):
        killed = []

        def kill_one(done, total):
            if not killed and done > 5:
                victim = children()[0]
                victim.send_signal(signal.SIGKILL)
                killed.append(victim)

        assert open_profile(MANY, cache_dir=tmp_path, progress=kill_one) == many
        assert killed
        assert children() == []

    def test_when_every_worker_is_killed_the_sentence_says_so(self, tmp_path):
        def kill_all(done, total):
            for child in children():
                child.send_signal(signal.SIGKILL)

        with pytest.raises(WorkerError, match=r"sweep.*SIGKILL.*while reading launches \d+ to \d+"):
            open_profile(MANY, cache_dir=tmp_path, progress=kill_all)
        assert children() == []

    def test_out_of_memory_is_named_with_its_setting(self, tmp_path):
        with pytest.raises(WorkerError, match=r"memory limit of 40 MB.*profiles\.memoryLimitMb"):
            open_profile(REPORT, cache_dir=tmp_path, limits=Limits(memory_limit_mb=40))

    def test_the_time_limit_is_named_with_its_setting(self, tmp_path):
        with pytest.raises(WorkerError, match=r"longer than 0\.1 s.*profiles\.timeLimitSeconds"):
            open_profile(REPORT, cache_dir=tmp_path, limits=Limits(time_limit_seconds=0.1))
        assert children() == []

    def test_cancelling_ends_workers_and_whatever_they_started(self, tmp_path, plug):
        enrich = plug(
            "import pathlib, subprocess, time\n"
            f"marker = pathlib.Path({str(tmp_path / 'started')!r})\n"
            "def enrich(profile):\n"
            "    child = subprocess.Popen(['sleep', '1000'])\n"
            "    marker.write_text(str(child.pid))\n"
            "    time.sleep(1000)\n"
        )
        cancel = threading.Event()

        def set_when_started():
            while not (tmp_path / "started").exists():
                time.sleep(0.02)
            cancel.set()

        threading.Thread(target=set_when_started, daemon=True).start()
        with pytest.raises(CancelledError, match="cancelled"):
            open_profile(REPORT, cache_dir=tmp_path / "cache", enrich=enrich, cancel=cancel)
        assert children() == []
        child = int((tmp_path / "started").read_text())
        assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE

    def test_a_cancel_that_came_first_starts_hardly_anything(self, tmp_path):
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(CancelledError):
            open_profile(REPORT, cache_dir=tmp_path, cancel=cancel)
        assert children() == []

    def test_workers_end_when_their_parent_does(self, tmp_path):
        code = (
            "import os, sys, pathlib\n"
            "from optimas_lsp.profile.store import open_profile\n"
            "def die(done, total): os._exit(0)\n"
            "open_profile(pathlib.Path(sys.argv[1]), cache_dir=pathlib.Path(sys.argv[2]), progress=die)\n"
        )
        marked = {**os.environ, "PYTHONPATH": str(ROOT), "OPTIMAS_TEST_MARK": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code, str(MANY), str(tmp_path)], env=marked, check=True, timeout=180)
        deadline = time.monotonic() + 100
        while (left := _marked(str(tmp_path))) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == []

    def test_a_file_that_changes_while_it_is_read_is_refused(self, tmp_path):
        path = tmp_path / "r.ncu-repz"
        path.write_bytes(MANY.read_bytes())
        with pytest.raises(ReportError, match="changed while it was read"):
            open_profile(path, cache_dir=tmp_path / "cache", progress=lambda done, total: path.touch())

    def test_a_workspace_folder_cannot_lend_a_worker_its_modules(self, tmp_path, monkeypatch):
        for name in ("json.py", "pydantic.py", "ncu_report.py", "optimas_lsp.py"):
            (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit(3)\n")
        monkeypatch.chdir(tmp_path)
        assert len(open_profile(REPORT, cache_dir=tmp_path / "cache").launches) == 1
        assert not (tmp_path / "ran").exists()


class TestEnriching:
    def test_it_runs_in_the_worker_on_the_merged_profile(self, tmp_path, plug):
        enrich = plug(
            "import os\n"
            "from optimas_lsp.profile.model import Note\n"
            "def enrich(profile):\n"
            "    text = f'{os.getpid()} {len(profile.launches)} {len(profile.modules)}'\n"
            "    return profile.model_copy(update={'notes': (Note(code='ran', text=text),), 'modules': ()})\n"
        )
        profile = open_profile(MANY, cache_dir=tmp_path / "cache", enrich=enrich)
        pid, launches, modules = profile.notes[0].text.split()
        assert (int(launches), int(modules)) == (128, 1)
        assert int(pid) != os.getpid()

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("os.kill(os.getpid(), 9)", "SIGKILL"),
            ("raise ValueError('bad code byte')", "bad code byte"),
            ("ctypes.string_at(0)", "SIGSEGV"),
            ("os._exit(77)", "memory limit"),
        ],
    )
    def test_when_it_dies_the_profile_comes_without_it_and_says_so(self, tmp_path, plug, body, words):
        enrich = plug(f"import ctypes, os\ndef enrich(profile):\n    {body}\n")
        for _ in "ab":  # and it is not cached: the next time it is tried again
            profile = open_profile(REPORT, cache_dir=tmp_path / "cache", enrich=enrich)
            (note,) = (note for note in profile.notes if note.code == "enrich-failed")
            assert words in note.text
            assert sum(profile.kernels[0].samples.all_) > 10_000

    def test_nothing_a_worker_prints_reaches_our_streams(self, tmp_path, plug):
        plug(
            "import os\n"
            "def enrich(profile):\n"
            "    print('python'); os.write(1, b'native out'); os.write(2, b'native err')\n"
            "    return profile\n"
        )
        code = (
            "import sys, pathlib\n"
            "from optimas_lsp.profile.store import open_profile\n"
            "open_profile(pathlib.Path(sys.argv[1]), cache_dir=pathlib.Path(sys.argv[2]), enrich='plugged:enrich')\n"
        )
        said = subprocess.run(
            [sys.executable, "-c", code, str(REPORT), str(tmp_path / "cache")],
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
            capture_output=True,
            check=True,
            timeout=180,
        )
        assert (said.stdout, said.stderr) == (b"", b"")


def _marked(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("OPTIMAS_TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
