# make demo | test | test-full | gpu-test | bench | lint | docs | clean      (make help explains each)
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
WORKERS ?= logical  # processes that share the fast tests, a file each; make test WORKERS=0 for one

.DEFAULT_GOAL := help
.PHONY: help demo test test-full gpu-test bench lint docs clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

# One stamp a set of packages, renewed when pyproject.toml changes. .ci/setup explains what is missing and how to get it.
$(VENV)/.stamp-run: pyproject.toml .ci/setup
	@sh .ci/setup run "$(VENV)"
$(VENV)/.stamp-dev: pyproject.toml .ci/setup
	@sh .ci/setup dev "$(VENV)"
$(VENV)/.stamp-full: pyproject.toml .ci/setup $(VENV)/.stamp-dev
	@sh .ci/setup full "$(VENV)"

demo: $(VENV)/.stamp-run ## the main job on a real report: findings on lines, a rewrite, its recorded proof (no GPU)
	@$(BIN)/optimas demo

test: $(VENV)/.stamp-dev ## all fast tests (under 10 minutes on 2 cores)
	@$(PYTEST) -n $(WORKERS) --maxprocesses 8 --dist loadfile $(ARGS)

test-full: $(VENV)/.stamp-full ## the slower proofs: real VS Code, long runs
	@$(PYTEST) -m full --timeout 900 $(ARGS)

gpu-test: $(VENV)/.stamp-dev ## measure again on this machine's GPU (needs nvcc, ncu and permission to read counters)
	@$(PYTEST) -m gpu --timeout 900 $(ARGS)

bench: $(VENV)/.stamp-dev ## every benchmark: one line "name value unit" each, JSON under build/bench/
	@for f in benchmarks/*.py; do case $$f in */_*) ;; *) $(BIN)/python $$f || exit 1;; esac; done

lint: $(VENV)/.stamp-dev ## ruff, strict types, import contracts
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/basedpyright --pythonpath $(BIN)/python && $(BIN)/lint-imports --no-logo

docs: $(VENV)/.stamp-dev ## write again what is generated (settings, rules, samples/corpus)
	@$(BIN)/optimas docs && $(BIN)/python samples/publish.py

clean: ## remove what make created here
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
