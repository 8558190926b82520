# socialsite: commands for developers and CI. `make` alone lists them.
# A fresh clone on Debian 12 needs Python 3.11 and make; each target installs missing packages.

SHELL := /bin/sh
PYTHON := .venv/bin/python
ARGS ?=
# Some machines set this; then each process compiles all modules anew, and its start takes seconds.
export PYTHONDONTWRITEBYTECODE :=

BUILD_PACKAGES := python3-dev gcc pkg-config libmariadb-dev
STACK_PACKAGES := $(BUILD_PACKAGES) mariadb-server-core mariadb-client-core mariadb-client redis-tools nginx ffmpeg
TEST_PACKAGES := $(STACK_PACKAGES) haproxy zstd age gnupg prometheus curl gettext chromium chromium-headless-shell fonts-noto-cjk
# What servers past one machine need too; deploy/galera.sh unpacks the rest.
CLUSTER_PACKAGES := $(TEST_PACKAGES) galera-4 rsync rabbitmq-server

.DEFAULT_GOAL := help
.PHONY: help setup run stack cluster worker test testall check fmt lock audit bench chaos gallery lighthouse

help:
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: ## install everything a developer needs (Debian packages, .venv, git hooks)
	@deploy/packages.sh $(TEST_PACKAGES)
	@deploy/venv.sh dev
	@if [ -e .git ]; then $(PYTHON) -m pre_commit install >/dev/null; fi

run: ## the site in one process, no services needed: HOST PORT DATA_DIR DEMO=0
	@deploy/venv.sh base
	@NAME_POLICY=$${NAME_POLICY:-open} exec $(PYTHON) manage.py serve

stack: ## the full stack on one machine (MariaDB, Redis, Celery, nginx): HOST PORT DATA_DIR DEMO=0
	@deploy/packages.sh $(STACK_PACKAGES)
	@deploy/venv.sh stack
	@exec $(PYTHON) -m deploy.stack

cluster: ## each tier on three machines, all on this one, without its data at the end: DEMO=0
	@deploy/packages.sh $(CLUSTER_PACKAGES)
	@deploy/galera.sh
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.cluster

worker: ## one Celery worker for DATABASE_URL, REDIS_URL and BROKER_URL; ARGS="-Q video" for videos
	@deploy/packages.sh $(BUILD_PACKAGES) ffmpeg
	@deploy/venv.sh stack
	@exec $(PYTHON) -m celery -A socialsite worker --loglevel INFO $(ARGS)

test: ## all checks and tests on throw-away services; ARGS="-k feed -x" selects tests
	@deploy/packages.sh $(TEST_PACKAGES)
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.testrun $(ARGS)

testall: ## the same, but every test in every mode that it can run in; for nights and releases
	@deploy/packages.sh $(CLUSTER_PACKAGES)
	@deploy/galera.sh
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.testrun --every-mode $(ARGS)

check: ## lint, format, types, import contracts, templates, migrations, deployment settings
	@deploy/packages.sh $(BUILD_PACKAGES)
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.check

fmt: ## format code and templates
	@deploy/packages.sh $(BUILD_PACKAGES)
	@deploy/venv.sh dev
	@$(PYTHON) -m ruff check --fix --quiet .
	@$(PYTHON) -m ruff format --quiet .
	@$(PYTHON) -m djhtml templates

lock: ## regenerate requirements/lock after a change of a list: ARGS="--upgrade-package NAME"
	@deploy/venv.sh tools
	@exec .venv/tools/bin/python -m deploy.dev.locks $(ARGS)

audit: ## check locked packages for known vulnerabilities, write sbom.cdx.json: ARGS="--ignore-vuln ID"
	@deploy/venv.sh tools
	@exec .venv/tools/bin/python -m deploy.dev.audit $(ARGS)

bench: ## run benchmarks on throw-away services: ARGS="relations --edges 100000"; all without ARGS
	@deploy/packages.sh $(TEST_PACKAGES)
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.trials bench $(ARGS)

chaos: ## run long fault-injection trials on throw-away services: ARGS="relations --operations 100000"
	@deploy/packages.sh $(CLUSTER_PACKAGES)
	@deploy/galera.sh
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.trials chaos $(ARGS)

gallery: ## screenshots of every page in data/gallery: ARGS="--axe --docs --views home,post"
	@deploy/packages.sh $(TEST_PACKAGES)
	@deploy/venv.sh dev
	@exec $(PYTHON) -m deploy.dev.gallery $(ARGS)

lighthouse: ## Lighthouse scores of the most visited pages, on phone and desktop: ARGS="--views home"
	@deploy/packages.sh $(TEST_PACKAGES)
	@deploy/venv.sh dev
	@deploy/venv.sh tools
	@exec $(PYTHON) -m deploy.dev.lighthouse $(ARGS)
