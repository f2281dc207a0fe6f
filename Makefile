# The thin front of the CMake build. `make help` lists what there is.

PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
BUILD        := build
CMAKE        := cmake -G Ninja
JOBS         := $(shell nproc)
CTEST        := ctest --output-on-failure --no-tests=error -j$(JOBS)

.DEFAULT_GOAL := all
.PHONY: all run test soak bench lint asan tsan fuzz install clean help bootstrap docs

all: bootstrap ## build build/dsql, build/libdsql.so and build/libdsql.a
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING
	@cmake --build $(BUILD)

run: all ## show what exists: the commands and the settings in effect
	@$(BUILD)/dsql version
	@echo
	@$(BUILD)/dsql help
	@echo
	@$(BUILD)/dsql config

test: all ## build and run all tests
	@$(CTEST) --test-dir $(BUILD)

soak: fuzz tsan ## the long checks: fuzzing, thread stress (minutes)

bench: all ## measure; ratios side by side in one run
	@set -e; for b in $(BUILD)/bench/*_bench; do $$b; done

lint: bootstrap ## both compilers, formatting, static analysis, include arrows
	@scripts/lint

asan: bootstrap ## all fast tests under AddressSanitizer and UBSan
	@$(CMAKE) -S . -B $(BUILD)/asan --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DCMAKE_CXX_COMPILER=clang++ -DDSQL_SANITIZE=address,undefined
	@cmake --build $(BUILD)/asan
	@$(CTEST) --test-dir $(BUILD)/asan -LE integ

tsan: bootstrap ## the tests with threads under ThreadSanitizer
	@$(CMAKE) -S . -B $(BUILD)/tsan --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DCMAKE_CXX_COMPILER=clang++ -DDSQL_SANITIZE=thread
	@cmake --build $(BUILD)/tsan
	@$(CTEST) --test-dir $(BUILD)/tsan -L threads

fuzz: bootstrap ## fuzz each parser for FUZZ_SECONDS (60)
	@$(CMAKE) -S . -B $(BUILD)/fuzz --log-level=WARNING -DCMAKE_C_COMPILER=clang \
	    -DCMAKE_CXX_COMPILER=clang++ -DDSQL_FUZZ=ON -DDSQL_SANITIZE=address,undefined
	@cmake --build $(BUILD)/fuzz
	@scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS)

docs: all ## print the reference pages in docs/ anew from the tables
	@$(BUILD)/dsql help config --markdown > docs/configuration.md
	@$(BUILD)/dsql help metrics --markdown > docs/metrics.md
	@$(BUILD)/dsql help events --markdown > docs/events.md

install: all ## install below PREFIX (/usr/local); DESTDIR is honoured
	@$(CMAKE) -S . -B $(BUILD) --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build $(BUILD)
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove what was built
	@rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap:
	@scripts/bootstrap
