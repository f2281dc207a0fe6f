# The thin front of the CMake build. `make help` lists what there is.

PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60
LIFECYCLE_SOAK ?= 3600
BUILD        := build
CMAKE        := cmake -G Ninja
JOBS         := $(shell nproc)
CTEST        := ctest --output-on-failure --no-tests=error -j$(JOBS)

.DEFAULT_GOAL := all
.PHONY: abi all run test soak bench lint asan tsan fuzz test-cluster local-clients install clean help bootstrap \
    bootstrap-test bootstrap-package tarball deb deb-test docs \
    temporal temporal-check temporal-functional temporal-go temporal-large temporal-library temporal-run temporal-suites \
    temporal-test temporal-soak temporal-bench temporal-ui temporal-visibility

# What builds everything. Targets that set the machine up first have the set-up as their one prerequisite and
# build in their recipe, so that the order holds with -j too.
BUILD_ALL := $(CMAKE) -S . -B $(BUILD) --log-level=WARNING && cmake --build $(BUILD)

all: ## build build/dsql, build/libdsql.so, build/libdsql.a and the tests; installs nothing
	@scripts/bootstrap check
	@$(BUILD_ALL)

run: bootstrap ## see it work for half a minute: a pool, real transactions, a live status page
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING
	@cmake --build $(BUILD) --target dsql
	@$(BUILD)/dsql up

test: bootstrap-test ## build and run all tests
	@$(BUILD_ALL)
	@$(CTEST) --test-dir $(BUILD)

# Properties run with fifty times their cases, programs with threads twenty times over.
soak: fuzz tsan ## the long checks: fuzzing, properties, thread stress; LIFECYCLE_SOAK (3600) seconds of lifetimes
	@$(BUILD_ALL)
	@set -e; for t in $(BUILD)/tests/*_prop; do PROP_SCALE=50 $$t; done
	@$(CTEST) --test-dir $(BUILD)/tsan -L threads --repeat until-fail:20
	@SPIN_SECONDS=900 tests/spin/check.sh
	@SOURCE_DIR=$(CURDIR) BUILD_DIR=$(CURDIR)/$(BUILD) BUDGET_SECONDS=120 bash tests/integ/budget/budget.sh
	@bash tests/sim_mutants.sh
	@bash tests/keeper_mutants.sh
	@tests/recorder_soak.sh $(BUILD)
	@$(BUILD)/dsql sim fuzz --seconds 60
	@SOURCE_DIR=$(CURDIR) BUILD_DIR=$(CURDIR)/$(BUILD) OCC_SCALE=20 OCC_SEED=$$$$ bash tests/integ/local/occ_diff.sh
	@SOURCE_DIR=$(CURDIR) BUILD_DIR=$(CURDIR)/$(BUILD) KILL_EVERY=1 bash tests/integ/store/schema_kill.sh
	@SOURCE_DIR=$(CURDIR) BUILD_DIR=$(CURDIR)/$(BUILD) PROP_SCALE=20 PROP_SEED=$$$$ bash tests/integ/tx/tx_outcomes.sh
	@bash tests/tx_mutants.sh
	@POOL_STRESS_SECONDS=60 $(BUILD)/tsan/tests/pool_threads
	@$(CMAKE) -S . -B $(BUILD)/asan --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DDSQL_SANITIZE=address,undefined
	@cmake --build $(BUILD)/asan --target lifecycle_threads
	@set -e; for t in asan tsan; do \
	    LIFECYCLE_SECONDS=$$(($(LIFECYCLE_SOAK) / 2)) $(BUILD)/$$t/tests/lifecycle_threads; done

test-cluster: all ## the integration tests against the cluster at CLUSTER_ENDPOINT
	@scripts/test-cluster $(BUILD)

local-clients: bootstrap-test ## the clients of docs/local.md in every language, with what they need (200 MB)
	@$(BUILD_ALL)
	@scripts/local-clients $(BUILD)

bench: bootstrap-test ## measure; ratios side by side in one run
	@$(BUILD_ALL)
	@set -e; for b in $(BUILD)/bench/*_bench; do $$b; done
	@set -e; for b in bench/*.sh; do bash $$b $(BUILD); done

lint: bootstrap-test ## formatting, clang, clang-tidy, cppcheck, headers, include arrows, shellcheck
	@scripts/lint

asan: bootstrap-test ## all fast tests under AddressSanitizer and UBSan
	@$(CMAKE) -S . -B $(BUILD)/asan --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DDSQL_SANITIZE=address,undefined
	@cmake --build $(BUILD)/asan
	@$(CTEST) --test-dir $(BUILD)/asan -LE integ

tsan: bootstrap-test ## the tests with threads under ThreadSanitizer
	@$(CMAKE) -S . -B $(BUILD)/tsan --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DDSQL_SANITIZE=thread
	@cmake --build $(BUILD)/tsan
	@$(CTEST) --test-dir $(BUILD)/tsan -L threads

fuzz: bootstrap-test ## fuzz each parser for FUZZ_SECONDS (60)
	@$(CMAKE) -S . -B $(BUILD)/fuzz --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DDSQL_FUZZ=ON -DDSQL_SANITIZE=address,undefined
	@cmake --build $(BUILD)/fuzz
	@scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS)

docs: all ## print the reference pages in docs/, the dashboard, the alerts and the adapter's arguments anew from the tables
	@cmake/catalog.py --go > integrations/temporal/dsql/catalog.go
	@scripts/picture.py > docs/images/architecture.svg
	@$(BUILD)/dsql help config --markdown > docs/configuration.md
	@$(BUILD)/dsql help metrics --markdown > docs/metrics.md
	@$(BUILD)/dsql help events --markdown > docs/events.md
	@$(BUILD)/dsql help findings --markdown > docs/findings.md
	@$(BUILD)/dsql monitoring dashboard > deploy/grafana/dsql.json
	@$(BUILD)/dsql monitoring alerts > deploy/prometheus/dsql-alerts.yml

abi: all ## store the library's binary interface as it is now; a test compares
	@scripts/abi write $(BUILD)

# Go >= 1.26.8; the modules come from GOPROXY. A cold build of the server takes many minutes. Temporal's version is the
# one of integrations/temporal/go.mod; TEMPORAL=v1.31.4 takes another one, by a module file of its own. What differs in
# 1.31's interfaces is behind the tag temporal131.
TEMPORAL         ?=
TEMPORAL_REPLACE ?=
GO        := $(shell command -v go || ls /usr/local/go/bin/go 2>/dev/null)
GO_IN     := cd integrations/temporal && CGO_ENABLED=1 "$(GO)"
GO_TAGS   := $(if $(filter v1.31.%,$(TEMPORAL)),temporal131)
GO_FLAGS  := -overlay=../../$(BUILD)/temporal/overlay.json \
    $(if $(TEMPORAL),-modfile=../../$(BUILD)/temporal/$(TEMPORAL)/go.mod) $(if $(GO_TAGS),-tags=$(GO_TAGS))
GO_BUILD  := $(GO_IN) build $(GO_FLAGS) -ldflags='-s -w' -o ../../$(BUILD)/temporal/
GO_TEST   := $(GO_IN) test $(GO_FLAGS) -vet=off -c -ldflags='-s -w' -o ../../$(BUILD)/temporal
temporal: temporal-library ## build build/temporal/temporal-dsql-server, the Temporal server on Aurora DSQL (needs Go)
	@echo "go compiles the Temporal server; the first time that takes minutes"
	@$(GO_BUILD) ./temporal-dsql-server

temporal-check: temporal
	@$(BUILD_ALL)
	@$(GO_BUILD) ./temporal-check ./temporal-large ./temporal-refused ./temporal-delay ./temporal-visibility

# All of it takes half an hour, with STOCK=yes three quarters.
temporal-large: temporal-check ## try the largest sizes and numbers that Temporal allows; STOCK=yes: on postgres12_pgx too
	@ROUNDS="$${ROUNDS:-plain conflicts closes}" LIMIT=$${LIMIT:-15m} GO="$(GO)" integrations/temporal/test/large.sh

temporal-visibility: temporal-check ## random runs and queries on visibility stores, side by side; RUNS=20000 QUERIES=10000 for the whole
	@GO="$(GO)" integrations/temporal/test/visibility.sh

temporal-ui: temporal-check ## Temporal's Web UI in a browser: lists, filters, counts, schedules, batch operations
	@GO="$(GO)" integrations/temporal/test/ui.sh

temporal-run: temporal-check ## start dsql local and the Temporal server, and run a first workflow
	@integrations/temporal/test/run.sh --stay

temporal-test: bootstrap-test temporal-check temporal-suites ## Temporal's own persistence suites, then workflows, also while things fail
	@$(GO_IN) vet $(GO_FLAGS) ./...
	@integrations/temporal/test/suites.sh
	@GO="$(GO)" integrations/temporal/test/visibility.sh
	@GO="$(GO)" integrations/temporal/test/stale.sh
	@integrations/temporal/test/schema.sh
	@integrations/temporal/test/starts.sh
	@integrations/temporal/test/server.sh
	@integrations/temporal/test/metrics.sh
	@integrations/temporal/test/run.sh
	@integrations/temporal/test/trips.sh
	@integrations/temporal/test/refused.sh
	@integrations/temporal/test/repair.sh
	@GO="$(GO)" integrations/temporal/test/dual.sh
	@integrations/temporal/test/deploy.sh
	@integrations/temporal/test/compose.sh
	@GO="$(GO)" integrations/temporal/test/outage.sh
	@COUNT=35 integrations/temporal/test/faults.sh
	@COUNT=35 integrations/temporal/test/two.sh
	@CASES='^(input|result|activit|signal|memo|side|buffered|search|continue|many-timers|pending)' MANY=500 SIGNALS=300 \
	    GO="$(GO)" integrations/temporal/test/large.sh

# Of libdsql the server needs the archives, and its users the program 'dsql'.
temporal-library: temporal-go bootstrap
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING
	@cmake --build $(BUILD) --target dsql_static dsql_pages dsql_binary
	@integrations/temporal/test/stamp.sh $(BUILD)
	@$(if $(TEMPORAL),GO="$(GO)" integrations/temporal/test/module.sh $(TEMPORAL) $(BUILD)/temporal/$(TEMPORAL) $(TEMPORAL_REPLACE))

temporal-go:
	@test -n "$(GO)" || { echo "make temporal needs Go 1.26.8 or newer: https://go.dev/dl" >&2; exit 1; }

temporal-suites: temporal-library
	@$(BUILD_ALL)
	@echo "go compiles Temporal's suites; the first time that takes minutes"
	@$(GO_TEST)/suites -tags TEMPORAL_DEBUG,$(GO_TAGS) ./suites
	@$(GO_TEST)/plugin ./dsql
	@$(GO_TEST)/audit ./temporal-check
	@$(GO_TEST)/visibility ./temporal-visibility
	@$(GO_TEST)/server ./temporal-dsql-server

# Temporal's functional tests; SUITES is a regular expression, or --small for a handful. All of them take hours.
SUITES ?= --small
temporal-functional: temporal-library ## some of Temporal's functional tests on dsql local; SUITES=. for all, and SQLite beside it
	@echo "go compiles Temporal's functional tests; the first time that takes minutes"
	@GO="$(GO)" TAGS="$(GO_TAGS)" MODFILE="$(if $(TEMPORAL),$(CURDIR)/$(BUILD)/temporal/$(TEMPORAL)/go.mod)" \
	    integrations/temporal/test/functional.sh "$(SUITES)"

temporal-soak: temporal-check ## 1,000 workflows for each thing that can fail, and with two servers (half an hour)
	@COUNT=1000 integrations/temporal/test/faults.sh
	@COUNT=1000 PAUSES=5 integrations/temporal/test/two.sh

temporal-bench: temporal-check ## one-activity workflows on this store and on postgres12_pgx, side by side
	@GO="$(GO)" integrations/temporal/test/bench.sh

install: bootstrap ## install below PREFIX (/usr/local); DESTDIR is honoured
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING "-DCMAKE_INSTALL_PREFIX=$(PREFIX)"
	@cmake --build $(BUILD)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

tarball: bootstrap ## build/dsql-VERSION-linux-MACHINE.tar.gz, which works wherever it is unpacked
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING -DCMAKE_INSTALL_PREFIX=/usr/local
	@cmake --build $(BUILD)
	@scripts/tarball $(BUILD)

deb: bootstrap-package ## Debian packages in build/deb, checked by lintian
	@scripts/deb $(BUILD)/deb

deb-test: deb ## install those in a clean Debian root and run them there (root; minutes)
	@scripts/deb-test $(BUILD)/deb

clean: ## remove what was built
	@rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap: ## install what building needs and this machine lacks (root or sudo)
	@scripts/bootstrap

bootstrap-test:
	@scripts/bootstrap test

bootstrap-package:
	@scripts/bootstrap package
