"""What builds and runs a program is read from its build files; what was concluded from what is said; nothing is run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.errors import ConfigError
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.inference import Inferred, NoTargetError, Wanted, find_target, root_of

KERNEL = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"
MAIN = '#include <cstdio>\nint answer();\nint main() { std::printf("%d\\n", answer()); return 0; }\n'
ANSWER = '#include "answer.h"\nint answer() { return ANSWER; }\n'
NEEDS = {tool: pytest.mark.skipif(shutil.which(tool) is None, reason=f"needs {tool}") for tool in ("cmake", "make")}
NVCC = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def infer(folder: Path, source: str, process: str = "", capability: int | None = None) -> Inferred:
    return find_target(Wanted(folder, folder / source, process, capability))


def built(folder: Path, found: Inferred, copy: Path) -> str:
    """Build in a snapshot, as a proof does, and run: the program's output."""
    snapshot(folder, copy)
    for command in found.target.build:
        if "-o" in command:
            (copy / command[command.index("-o") + 1]).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, cwd=copy, check=True, capture_output=True, timeout=120)
    assert (copy / str(found.target.binary)).is_file()
    done = subprocess.run(found.target.inputs["default"], cwd=copy, check=False, capture_output=True, timeout=180)
    return done.stdout.decode()


CXX = {"src/main.cpp": MAIN, "src/answer.cpp": ANSWER, "include/answer.h": "#define ANSWER 42\n"}
MAKEFILE = """
# a Makefile as people write them
CXX ?= g++
SRC := $(wildcard src/*.cpp)
OBJ = $(patsubst src/%.cpp,obj/%.o,$(SRC))
FLAGS = -O1 -Iinclude
ifdef DEBUG
FLAGS += -g
endif

all: bin/answer

bin/answer: $(OBJ) | bin
	@$(CXX) $(FLAGS) -o $@ $^

obj/%.o: src/%.cpp include/answer.h
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -c $< -o $@

bin:
	mkdir -p bin

clean:
	rm -rf bin obj

.PHONY: all clean
"""
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(answers LANGUAGES CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")  # where they are put
file(GLOB LIBRARY_SOURCES CONFIGURE_DEPENDS src/ans*.cpp)
add_library(answers STATIC ${LIBRARY_SOURCES})
target_include_directories(answers PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
if(BUILD_TESTING)
  message(STATUS "(no) tests here)")
endif()
foreach(name IN ITEMS answer)
  add_executable(${name}_program src/main.cpp)
  target_link_libraries(${name}_program PRIVATE answers)
endforeach()
set_target_properties(answer_program PROPERTIES OUTPUT_NAME the-answer)
"""


@NEEDS["make"]
@pytest.mark.parametrize("source", ["src/answer.cpp", "include/answer.h"])
def test_a_makefile(tmp_path: Path, source: str) -> None:
    folder = write(tmp_path / "p", {**CXX, "Makefile": MAKEFILE})
    found = infer(folder, source)
    assert found.target.build == (("make", "bin/answer"),)
    assert found.target.binary == "bin/answer"
    assert "Makefile makes the program bin/answer of src/answer.cpp, src/main.cpp" in found.sentences
    assert "conditions in Makefile were not evaluated: what stands in them counts" in found.sentences
    assert built(folder, found, tmp_path / "copy") == "42\n"


@NEEDS["cmake"]
@pytest.mark.parametrize("source", ["src/answer.cpp", "include/answer.h"])
def test_a_cmake_project(tmp_path: Path, source: str) -> None:
    folder = write(tmp_path / "p", {**CXX, "CMakeLists.txt": CMAKE, "Makefile": "all:\n\ttrue\n"})
    found = infer(folder, source)
    assert found.target.binary == "optimas-build/bin/the-answer"
    assert found.target.build[1] == ("cmake", "--build", "optimas-build", "--target", "answer_program")
    assert "CMakeLists.txt makes the program answer_program of src/main.cpp, src/answer.cpp" in found.sentences
    assert "Makefile is there, too, and was not used" in found.sentences
    assert built(folder, found, tmp_path / "copy") == "42\n"


def test_a_compilation_database_in_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", CXX)
    entries = [
        {"directory": str(folder / "build"), "file": "../src/main.cpp", "command": "g++ -O1 -c ../src/main.cpp"},
        {
            "directory": str(folder / "build"),
            "file": str(folder / "src" / "answer.cpp"),
            "arguments": ["g++", "-O1", f"-I{folder}/include", "-c", "-o", "a.o", str(folder / "src" / "answer.cpp")],
        },
    ]
    write(folder, {"build/compile_commands.json": json.dumps(entries)})
    found = infer(folder, "src/answer.cpp")
    assert not any(str(folder) in word for command in found.target.build for word in command)
    assert any("how to link stands in no compilation database" in each for each in found.sentences)
    assert built(folder, found, tmp_path / "copy") == "42\n"


@NVCC
def test_a_single_file_with_main(tmp_path: Path) -> None:
    text = KERNEL + '#include <cstdio>\nint main() { std::puts("here"); return 0; }\n'
    folder = write(tmp_path / "p", {"twice.cu": text, "other.cu": "int main() { return 1; }\n"})
    found = infer(folder, "twice.cu", capability=90)
    assert found.target.build == (("nvcc", "-O3", "-arch=sm_90", "-lineinfo", "-o", "optimas-build/twice", "twice.cu"),)
    assert found.sentences[0] == "twice.cu defines main; no build file is about it"
    assert built(folder, found, tmp_path / "copy") == "here\n"


@NVCC
@NEEDS["make"]
def test_a_makefile_that_asks_the_shell_for_the_compiler(tmp_path: Path) -> None:
    makefile = "NVCC := $(shell which nvcc)\nprogram: main.cu twice.cuh\n\t$(NVCC) -O1 main.cu -o $@\n"
    main = '#include "twice.cuh"\n#include <cstdio>\nint main() { std::puts("here"); return 0; }\n'
    folder = write(tmp_path / "p", {"Makefile": makefile, "twice.cuh": KERNEL, "main.cu": main})
    assert built(folder, infer(folder, "twice.cuh"), tmp_path / "copy") == "here\n"


@NVCC
@NEEDS["cmake"]
@pytest.mark.full
def test_a_cmake_project_with_cuda(tmp_path: Path) -> None:
    cmake = "cmake_minimum_required(VERSION 3.18)\nproject(p LANGUAGES CXX CUDA)\nadd_executable(p main.cu)\n"
    main = '#include "twice.cuh"\n#include <cstdio>\nint main() { std::puts("here"); return 0; }\n'
    folder = write(tmp_path / "p", {"CMakeLists.txt": cmake, "twice.cuh": KERNEL, "main.cu": main})
    found = infer(folder, "twice.cuh", capability=90)
    assert "-DCMAKE_CUDA_ARCHITECTURES=90" in found.target.build[0]
    assert built(folder, found, tmp_path / "copy") == "here\n"


def test_of_several_programs_the_profiled_one_is_taken(tmp_path: Path) -> None:
    rules = "one: one.cu k.cuh\n\tnvcc -o one one.cu\ntwo: two.cu k.cuh\n\tnvcc -o two two.cu\n"
    text = '#include "k.cuh"\nint main() {}\n'
    folder = write(tmp_path, {"Makefile": rules, "one.cu": text, "two.cu": text, "k.cuh": KERNEL})
    assert infer(folder, "k.cuh", process="two").target.binary == "two"
    assert infer(folder, "one.cu").target.inputs == {"default": ("./one",)}
    with pytest.raises(NoTargetError, match=r"several programs use k\.cuh: one, two"):
        infer(folder, "k.cuh")


def test_a_script_is_a_program_of_its_own(tmp_path: Path) -> None:
    folder = write(tmp_path, {"soft.py": "if __name__ == '__main__':\n    print(1)\n", "part.py": "x = 1\n"})
    assert infer(folder, "soft.py").target.inputs == {"default": ("python3", "soft.py")}
    with pytest.raises(NoTargetError, match=r"part\.py does nothing when it is run"):
        infer(folder, "part.py")


def test_kernels_without_a_program_are_told_what_is_needed(tmp_path: Path) -> None:
    folder = write(tmp_path, {"twice.cu": KERNEL + "// int main() is elsewhere\n"})
    with pytest.raises(NoTargetError) as failure:
        infer(folder, "twice.cu")
    said = failure.value.sentence()
    assert "twice.cu: nothing says how to build and run a program with this kernel: no file beside twice.cu" in said
    assert "a program that runs the kernel on its real input and prints or writes the result" in said
    assert f'put into {folder}/optimas.toml: [target] build = [["nvcc", "-O3"' in said


def test_a_library_in_cmake_is_no_program(tmp_path: Path) -> None:
    cmake = "project(p)\nadd_library(twice SHARED twice.cu)\nadd_executable(other other.cpp)\n"
    files = {"CMakeLists.txt": cmake, "twice.cu": KERNEL, "other.cpp": MAIN, "second.cpp": MAIN}
    with pytest.raises(NoTargetError, match=r"no program in CMakeLists\.txt is made of twice\.cu"):
        infer(write(tmp_path, files), "twice.cu")


def test_the_folder_with_the_build_file_is_found_from_below(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {**CXX, "CMakeLists.txt": CMAKE, ".git/HEAD": ""})
    write(tmp_path, {"CMakeLists.txt": "project(outer)\nadd_executable(x p/src/answer.cpp)\n"})
    assert root_of(folder / "src" / "answer.cpp") == folder
    assert root_of(write(tmp_path / "q", {"a.cu": KERNEL, ".git/HEAD": ""}) / "a.cu") is None


def test_nothing_is_run_to_infer(tmp_path: Path) -> None:
    touch = f"$(shell touch {tmp_path}/ran)"
    rules = f"X := {touch}\nY != touch {tmp_path}/ran\n{touch}:\n\ttrue\n"
    rules += f"p: main.cu {touch}\n\tnvcc {touch} $(X) -o $@ main.cu\n"
    cmake = f"project(p)\nexecute_process(COMMAND touch {tmp_path}/ran)\nadd_executable(q other.cpp)\n"
    text = KERNEL + "int main() {}\n"
    folder = write(tmp_path / "p", {"Makefile": rules, "CMakeLists.txt": cmake, "main.cu": text})
    assert infer(folder, "main.cu").target.build == (("make", "p"),)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "rules",
    [
        "a: a\n\tnvcc -o a a\n",
        "X = $(X)\np: main.cu\n\t$(X) $(call f,1) -o p\n",
        "p: $(((\n\tnvcc -o p main.cu\n",
        "\t\n:\n=\n$\n",
    ],
)
def test_a_strange_makefile_does_no_harm(tmp_path: Path, rules: str) -> None:
    folder = write(tmp_path, {"Makefile": rules, "main.cu": KERNEL + "int main() {}\n"})
    assert infer(folder, "main.cu").target.inputs["default"]


BOMB = "".join(f"A{n} = $(A{n + 1})$(A{n + 1})\n" for n in range(60))
DOUBLED = "set(A x)\n" + 'set(A "${A}${A}")\n' * 60
LOOPS = "".join(f"foreach(i{n} a b c d e f g h)\n" for n in range(12)) + "set(x y)\n" + "endforeach()\n" * 12


@pytest.mark.parametrize(
    "files",
    [
        {"Makefile": BOMB + "p: main.cu\n\t$(A0)nvcc -o p main.cu\n"},
        {"Makefile": BOMB + "A60 = xxxxxxxx\nX := $(A0)\np: $(A0)\n\tnvcc -o p $(A0)\n"},
        {"Makefile": "".join(f"t{n}: t{n + 1}\n\ttrue\n" for n in range(5000)) + "p: t0\n\tnvcc -o p main.cu\n"},
        {"Makefile": "p" + " " * 900_000 + "q\n" + "$(" * 40_000},
        {"CMakeLists.txt": "project(p)\n" + DOUBLED + "add_executable(p ${A} other.cu)\n"},
        {"CMakeLists.txt": "project(p)\n" + LOOPS},
        {"CMakeLists.txt": "project(p)\n" + "#[[" * 200_000 + "${" * 100_000},
        {"CMakeLists.txt": "project(p)\nadd_subdirectory(a)\n", "a/CMakeLists.txt": "add_subdirectory(../b b)\n",
         "b/CMakeLists.txt": "add_subdirectory(../a a)\n"},
        {"CMakeLists.txt": "project(p)\n" + "".join(f"add_library(l{n} x.cu)\ntarget_link_libraries(l{n} l{n + 1})\n"
                                                    for n in range(3000)) + "add_executable(p y.cu)\n"},
        {"other.cu": "/*" * 400_000, "third.cu": "\n" * 900_000},
        {"compile_commands.json": "[" * 100_000},
        {"compile_commands.json": json.dumps([{"file": name, "command": "c"} for name in ("a\0b", "x" * 9000)] + [3])},
        {"CMakeLists.txt": "project(p)\nadd_subdirectory(a\0b)\nadd_executable(p a\0b.cu " + "x" * 9000 + ".cu)\n"},
        {"CMakeLists.txt": "project(p)\n" + "foreach(i a)\n" * 3000 + "endforeach()\n" * 3000},
        {"Makefile": "p: " + "x" * 9000 + ".o\n\tnvcc -o p y\0z.cu " + "x" * 9000 + ".cu\n"},
    ],
)  # fmt: skip
def test_no_file_makes_it_fail_or_go_on_for_ever(tmp_path: Path, files: dict[str, str]) -> None:
    folder = write(tmp_path, {**files, "main.cu": '#include "a.h"\nint main() {}\n', "a.h": '#include "a.h"\n'})
    assert infer(folder, "main.cu").target.inputs["default"]


def test_a_recipe_goes_on_after_an_empty_line(tmp_path: Path) -> None:
    rules = "p: main.cu\n\n\techo first\n\n\tnvcc -o $@ $<\n"
    folder = write(tmp_path, {"Makefile": rules, "main.cu": "int main() {}\n"})
    assert infer(folder, "main.cu").target.build == (("make", "p"),)


def test_what_is_configured_is_not_inferred(tmp_path: Path) -> None:
    toml = '[target]\nbuild = [["true"]]\n[target.inputs]\nsmall = ["./a"]\n'
    folder = write(tmp_path, {"optimas.toml": toml, "Makefile": MAKEFILE, "a.cu": KERNEL})
    found = infer(folder, "a.cu")
    assert found.target.inputs == {"small": ("./a",)}
    assert found.sentences == ()
    (folder / "optimas.toml").write_text("[target]\nbiuld = 3\n", "utf-8")
    with pytest.raises(ConfigError, match="biuld"):
        infer(folder, "a.cu")


def test_the_command_prints_what_optimas_toml_takes(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {**CXX, "Makefile": MAKEFILE})
    result = CliRunner().invoke(app, ["target", str(folder / "src" / "answer.cpp")])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("# Makefile makes the program bin/answer of src/answer.cpp, src/main.cpp\n")
    (folder / "optimas.toml").write_text(result.stdout, "utf-8")
    again = infer(folder, "src/answer.cpp")
    assert again.sentences == ()
    assert again.target.build == (("make", "bin/answer"),)
    data = json.loads(CliRunner().invoke(app, ["target", str(folder / "src/answer.cpp"), "--format", "json"]).stdout)
    assert data["target"]["inputs"] == {"default": ["bin/answer"]}
    assert data["inferred"] == []
