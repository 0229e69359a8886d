# Everything a clean clone needs: Python 3.11 to 3.13, git and make. See README.md.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export IBA_HOME ?= $(CURDIR)/.iba
export PORT ?= 8000
# Dozens of processes start here. Each would compile all that it imports, where this is set.
export PYTHONDONTWRITEBYTECODE :=
SERVE ?= 1
PY := .venv/bin/python
RUN := $(PY) manage.py

.PHONY: help setup demo serve worker stop test e2e lint types perf format browser screenshots vectors proxy soak texts telling

help: ## this list
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

setup: .venv/.ready ## virtual environment with the locked dependencies

.venv/.ready: uv.lock pyproject.toml tools/setup
	@tools/setup
	@touch $@

demo: setup ## the starter dataset, four methods on 60 of its tasks with the simulated reader, the table, the site
	@$(PY) -m iba_site.demo $(if $(filter 0,$(SERVE)),--no-site,)

serve: setup ## the site on PORT, with a worker
	@$(PY) -m iba_site.services start postgres redis embeddings offline worker web

worker: setup ## a worker in the foreground
	@$(PY) -m iba_site.services start postgres redis embeddings offline
	@$(PY) -m celery --skip-checks -A iba_site.celery worker --pool threads --concurrency $${WORKER_THREADS:-64} --loglevel INFO

stop: ## end everything that this copy started
	@if [ -x $(PY) ]; then $(PY) -m iba_site.services stop; fi

browser: setup
	@tools/browser

proxy:
	@tools/proxy

test: setup browser proxy ## the whole suite, browser tests included, in two processes (PROCESSES)
	@tools/test -n $(or $(PROCESSES),2)

e2e: setup browser ## browser tests only
	@tools/test tests/e2e

lint: setup ## ruff, djlint, import rules, missing migrations
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/djlint templates --lint --quiet
	@.venv/bin/lint-imports
	@$(RUN) makemigrations --check --dry-run

types: setup ## mypy, strict outside tests
	@.venv/bin/mypy agents bench annotation iba_site

format: setup
	@.venv/bin/ruff check --fix-only -q . ; .venv/bin/ruff format -q .

screenshots: setup browser ## the pictures of the README, from the running demo site
	@$(PY) tools/screenshots.py

texts: setup ## what recurs in the authored texts: openings, endings, runs of words, names, numbers, looks by role
	@$(PY) -m bench.catalogue.recurring_texts $(DOMAINS)

telling: setup ## which words and forms tell signal from noise in DOMAINS, or in a dataset of SIZE (starter, 100)
	@$(PY) -m bench.catalogue.telling_words $(if $(SIZE),$(SIZE),$(DOMAINS))

vectors: setup ## bench/data/vectors.npz anew, from what the running embedding server was asked since its start
	@$(PY) -m bench.embedding.save_vectors bench/data/vectors.npz

soak: setup ## kills of every service at random moments while runs go on (DURATION in seconds, KILLS)
	@$(PY) tools/soak.py --seconds $(or $(DURATION),900) --kills $(or $(KILLS),60)

perf: setup ## timings, with a reference measured in the same run
	@for suite in harness search ingest pages flight raters; do $(RUN) perf --suite $$suite --json - || exit 1; done
