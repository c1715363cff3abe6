# make book and make test are the two commands; make help lists the others.

# What the book is built with, and all that tests, checks and clusters need besides.
BOOK_EXTRAS = book
LOCK_EXTRAS = book test cluster dev

# python3 where it is one of these, else the newest of them that is at hand.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
    command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info < (3, 15)))' \
    && echo $$p && break; done)
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
DEV_STAMP = $(VENV)/.installed-dev
COMMAND = $(BIN)/microdata-price

# What is given and not read, a misspelt name above all, would be a book at other levels than its reader believes.
READS_book = EPSILON RHO DELTA RUNS SOLUTIONS STUDENTS OUT
READS_grid = EPSILON RHO RUNS OUT
READS_serve = PORT
READS_fuzz = SEED MINUTES
READS_mutants = ROOM NUMBER SEED
READ = $(sort $(foreach goal,$(or $(MAKECMDGOALS),help),$(READS_$(goal))) PYTHON)
GIVEN = $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
UNREAD = $(strip $(filter-out $(READ) VENV,$(GIVEN)))
$(if $(UNREAD),$(error make $(MAKECMDGOALS) does not read $(UNREAD); it reads $(READ)))
$(foreach name,SOLUTIONS STUDENTS,$(if $(filter-out yes no,$($(name))),$(error $(name) is $($(name)); it can be yes or no)))

# Levels of one run: make book EPSILON=0.25 RHO=0.03 DELTA=1e-8 RUNS=500 SOLUTIONS=no
LEVELS = $(if $(EPSILON),--epsilon '$(EPSILON)') $(if $(RHO),--rho '$(RHO)') \
    $(if $(DELTA),--delta '$(DELTA)') $(if $(RUNS),--runs '$(RUNS)') \
    $(if $(filter no,$(SOLUTIONS)),--no-solutions) $(if $(filter yes,$(STUDENTS)),--with-students) $(if $(OUT),--out '$(OUT)')
GRID_LEVELS = $(if $(EPSILON),--epsilon '$(EPSILON)') $(if $(RHO),--rho '$(RHO)') $(if $(RUNS),--runs '$(RUNS)')

.DEFAULT_GOAL := help
.PHONY: help install book serve lab pdf test fuzz mutants test-browser check-tables grid benchmarks peers workloads picture lint format lock clean

help: ## list what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22
	@echo
	@echo '  make book EPSILON=0.25 RHO=0.03 DELTA=1e-8 RUNS=500   a book at your own levels, in its own folder'
	@echo '  make book SOLUTIONS=no                                the edition for students'
	@echo '  make book STUDENTS=yes                                the book with that edition inside, linked'

install: $(DEV_STAMP) ## make .venv with everything, from the lock

$(STAMP): requirements.txt pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
	    echo "No Python from 3.11 to 3.14 was found (python3 is $$(python3 --version 2>&1)). Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 2; fi
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if (3, 11) <= v < (3, 15) else f"{sys.executable} is Python {v[0]}.{v[1]}; needed is 3.11, 3.12, 3.13 or 3.14: make PYTHON=/path/to/python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	    echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 2; }
	@echo "Installing the pinned packages into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

$(DEV_STAMP): requirements-dev.txt $(STAMP)
	@echo "Installing what tests and checks need besides"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $(DEV_STAMP)

book: $(STAMP) ## compute everything and build the site; prints the path of its first page
	@$(COMMAND) book $(LEVELS)

serve: book ## build the site and serve it to this machine at port 8000 (PORT=...)
	@echo 'http://localhost:$(or $(PORT),8000)/ (stop with Ctrl-C)'
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory book/_build/html $(or $(PORT),8000)

lab: $(STAMP) ## the notebooks in JupyterLab (installed on first use)
	@$(BIN)/python -c 'import jupyterlab' 2>/dev/null || { echo "Installing JupyterLab into $(VENV)"; \
	    $(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e '.[lab]'; }
	@$(BIN)/jupyter-lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/difficult_table.ipynb

PRINT = chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --virtual-time-budget=20000
pdf: book ## print each built page to a file in book/_build/pdf (needs Debian's chromium)
	@mkdir -p book/_build/pdf; cd book/_build/html; for page in $$(grep -rl 'class="bd-article"' --include='*.html' * | sed 's/.html$$//'); do \
	    $(PRINT) --print-to-pdf="../pdf/$$(echo $$page | tr / -).pdf" "file://$$PWD/$$page.html" 2>/dev/null || exit 1; done
	@echo book/_build/pdf

test: $(DEV_STAMP) ## every test that needs no browser
	@$(BIN)/python -m pytest -m 'not browser' -n 2 --dist worksteal

fuzz: $(DEV_STAMP) ## damaged inputs for each reader (MINUTES=..., one in all), then a search for broken properties (SEED=...)
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); echo "once more the same: make fuzz SEED=$$seed"; \
	    $(BIN)/python -m benchmarks.fuzz --minutes '$(or $(MINUTES),1)' --seed $$seed && \
	    $(BIN)/python -m pytest -m 'hypothesis and not browser' -n 2 --dist worksteal --hypothesis-profile fuzz --hypothesis-seed $$seed

mutants: $(DEV_STAMP) ## break a room's code in one place after another; do its tests notice? (ROOM=..., NUMBER=0 for all)
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.mutants $(ROOM) \
	    $(if $(NUMBER),--number '$(NUMBER)') $(if $(SEED),--seed '$(SEED)')

test-browser: $(DEV_STAMP) book ## the built site in a real browser (needs Debian's chromium)
	@$(COMMAND) book --no-solutions
	@$(BIN)/python -m pytest -m browser -n 2 tests/browser

check-tables: $(STAMP) ## recompute Tables 1 and 2 with 1,000 runs and compare them with the published values
	@$(COMMAND) check-tables

grid: $(STAMP) ## the whole experiment grid into results/grid (OUT=...)
	@$(COMMAND) grid --out '$(or $(OUT),results/grid)' $(GRID_LEVELS)

benchmarks: $(DEV_STAMP) ## measure speed, as ratios
	@$(BIN)/python -m benchmarks

peers: $(STAMP) ## remake data/peers.csv with mbi (in an environment of its own, since it brings JAX along)
	@test -x .venv-peers/bin/python || $(BIN)/python -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@.venv-peers/bin/python -W ignore -m benchmarks.peers

workloads: $(STAMP) ## remake data/workloads.csv: other solvers, mbi and the largest tables (half an hour)
	@test -x .venv-peers/bin/python || $(BIN)/python -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers,benchmarks]'
	@.venv-peers/bin/python -W ignore -m benchmarks --only workloads --only sizes --only against_mbi --keep

picture: book ## take the README's picture from the built site
	@sed -E 's/(<svg .*)width="[^"]*" height="[^"]*"/\1width="560" height="512"/' \
	    book/_build/html/_images/plane-pure.svg > docs/.main-result.svg \
	    && mv docs/.main-result.svg docs/main-result.svg

lint: $(DEV_STAMP) ## style, types and the order of the rooms
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

format: $(DEV_STAMP) ## put code and notebooks into their one form
	@$(BIN)/ruff format -q . && $(BIN)/ruff check -q --fix .
	@$(BIN)/python -m microdata_price.book.notebook strip notebooks/*.ipynb

COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --quiet
lock: $(DEV_STAMP) ## make both requirements files again from pyproject.toml
	@$(COMPILE) $(addprefix --extra ,$(LOCK_EXTRAS)) -o requirements-dev.txt
	@$(COMPILE) $(addprefix --extra ,$(BOOK_EXTRAS)) -c requirements-dev.txt -o requirements.txt

clean: ## remove what was built and computed (not .venv)
	rm -rf book/_build book/_generated results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
