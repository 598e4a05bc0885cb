# The commands of users and developers. Only `make setup` and the set-ups of VM and browser install anything.

PYTHON := .venv/bin/python
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
# The lists in requirements/ are complete, and made by scripts/lock-packages.sh.
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps
SCENARIO_OPTIONS ?=
# Half of them, one for each processor, take tests with a virtual-time kernel; the others take tests that mostly wait.
TEST_WORKERS ?= $(shell echo $$((2 * $$(nproc))))
# To import the other files takes longer than some of these tests.
TESTS_ALONE = $(shell grep -rl 'pytest\.mark\.alone' tests/unit tests/emulation --include='*.py')
# Tests of what a stock kernel has and this machine's own may lack (switch, netem), and tests that may need a kernel
# newer than 6.1. Tests of both emulators use netem here. `make test-vm VM_TESTS="…"`: fewer.
VM_TESTS ?= tests/emulation/topologies/test_kernel_datapath.py \
  tests/emulation/congestion/test_loading.py::test_the_verifier_accepts_each_and_a_flow_of_each_gives_way_at_a_loss_and_grows_again \
  tests/emulation/congestion/test_loading.py::test_a_program_that_the_verifier_rejects_is_explained_with_its_line \
  tests/emulation/native/test_tunnel.py::test_ipv4_and_ipv6_inside_and_outside_over_both_paths \
  tests/emulation/probes/preflight/test_paths.py::test_runs_in_an_emulated_host_and_sees_its_path \
  -k 'not relay'
# The tests that prove most in a minute: the kernel's switch, with netem and MPTCP, and flows of BPF programs.
VM_QUICK_TESTS := tests/emulation/topologies/test_kernel_datapath.py \
  tests/emulation/congestion/test_loading.py::test_the_verifier_accepts_each_and_a_flow_of_each_gives_way_at_a_loss_and_grows_again \
  -k 'verifier or (netem and kernel_datapath)'
VM_TIME_LIMIT_S ?= 1800
VM_OPTIONS ?=
VIRTUAL_OPTIONS ?=
LAB_OPTIONS ?=
CAMPAIGN ?=
# Parts of the reproduction record, all if none is named: make reproduce PART="dtn_buffers dtn_window"
PART ?=
# FULL=1: the papers' own sizes and repetitions
FULL ?=
REPRODUCE_OPTIONS ?=
LEAGUE_OPTIONS ?= --full
CMD ?= sh -c 'uname -a; ip -br link'

.PHONY: help setup location setup-real virtual-if-possible packages environment commands native sanitized jmeter classes database uml-kernel lab-kernel uml-packages quic frr s3proxy virtual lab mptcp_load reproduce reproduce-record reproduce-check league test test-all test-times lint style types imports docs bench fuzz campaign vm-setup vm-packages test-vm test-vm-quick vm browser-setup test-browser clean

# A target's help is the text after its ##.
help: ## show this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

setup: setup-real virtual-if-possible ## install what is missing (Debian 12, 13; Ubuntu 24.04), and build the virtual-time kernel, once
	@echo "Flightpath is set up. Next: flightpath run mptcp_load"
setup-real: packages environment commands native jmeter database ## the same without that kernel: experiments use the real clock

packages: LIST := packages.txt
vm-packages: LIST := packages-vm.txt
uml-packages: LIST := packages-uml.txt
packages vm-packages uml-packages:
	@sh scripts/install-packages.sh $(LIST)

location:
	@case "$$PWD" in *[$$:]*) echo "error: setuptools cannot install in $$PWD" >&2; \
	  echo '  move the checkout to a path without "$$" and ":"' >&2; exit 2;; esac

# Made with Debian's Python, so that it sees Debian's Mininet.
environment: .venv/installed
.venv/installed: setup.py requirements/test.txt | location packages
	@echo "installing Python packages into .venv"
	@[ -x $(PYTHON) ] || /usr/bin/python3 -m venv --system-site-packages .venv
	@$(PIP) --require-hashes -r requirements/test.txt
	@$(PIP) --no-build-isolation -e .
	@touch $@

commands: | environment
	@sh scripts/link-commands.sh

native: | packages
	@$(MAKE) --silent -C native -j$$(nproc)

jmeter: | environment
	@$(PYTHON) -m probes.jmeter.install

# With them JMeter starts in half the time. They decide what happens in virtual time, so they are made there, the same on
# every machine, and only for it; anew for another kernel, in which they may differ. That an old archive has to be
# removed there would change the new one.
classes: | environment
	@kernel=$$($(PYTHON) -c "from execution.uml import kernel; print(kernel.find().image)" 2>/dev/null); \
	{ [ ! "$$kernel" -nt build/jmeter/virtual.jsa ] && $(PYTHON) -m probes.jmeter.classes --check; } || { \
	  echo "archiving JMeter's classes (half a minute)"; rm -f build/jmeter/virtual.jsa; \
	  .venv/bin/flightpath virtual -- $(PYTHON) -m probes.jmeter.classes scenarios/web_load/load.jmx || \
	  echo "JMeter will start more slowly." >&2; }

# An empty cluster, so that services need not make one each time.
database: | environment
	@$(PYTHON) -m services.postgres_cluster

mptcp_load: setup ## MPTCP against TCP under load, the quick form: table, figures, claims (about 4 minutes)
	@$(PYTHON) -m scenarios.mptcp_load $(SCENARIO_OPTIONS)

reproduce: setup ## every claim of the four papers, and a page about them (about 2 h, FULL=1 days; goes on after Ctrl-C; PART="dtn_buffers …")
	@$(PYTHON) -m scenarios.reproduction $(if $(FULL),--full) $(REPRODUCE_OPTIONS) $(PART)
reproduce-record: setup ## put what it measured into the record in docs/, to commit
	@$(PYTHON) -m scenarios.reproduction --record
reproduce-check: setup ## compare what it measured with that record; fails where a verdict changed
	@$(PYTHON) -m scenarios.reproduction $(PART) --check

league: setup quic ## transports over pairs of paths, and their page in docs/, to commit (hours; LEAGUE_OPTIONS="--repeat 3": the quick form, minutes)
	@$(PYTHON) -m scenarios.transport_league $(LEAGUE_OPTIONS)
	@$(PYTHON) -m scenarios.league latest

# It is kept in ~/.cache/flightpath, for all checkouts.
uml-kernel: environment uml-packages ## build the kernel for virtual time (x86-64; minutes, once)
	@$(PYTHON) -m execution uml-kernel
	@[ ! -d build/jmeter ] || $(MAKE) --no-print-directory classes

# Where it cannot be had (exit code 3: no x86-64, no suitable source), experiments use the real clock.
virtual-if-possible: setup-real uml-packages
	@if $(PYTHON) -m execution uml-kernel; then $(MAKE) --no-print-directory classes; \
	  else [ $$? -eq 3 ] && echo "Experiments will use the real clock." >&2; fi

# Not part of `setup`, because noq needs a newer Rust than most distributions have. Kept in ~/.cache/flightpath, too.
quic: environment ## install aioquic, build noq and picoquic, for transport_league (Rust 1.88 or newer, cmake; minutes, once)
	@$(PYTHON) -m services.quic

frr: environment ## FRRouting for routing_convergence: the distribution's package, unpacked and not installed
	@$(PYTHON) -m services.frr

s3proxy: environment ## a server of S3, for tests of preflight: copied from Maven Central
	@$(PYTHON) -m services.s3proxy

virtual: setup ## a command in virtual time: make virtual CMD="…" VIRTUAL_OPTIONS="--results DIR"
	@$(PYTHON) -m execution.virtual $(VIRTUAL_OPTIONS) -- $(CMD)

# Their names in version 0.1.0.
lab-kernel: uml-kernel
	@echo "make lab-kernel is now make uml-kernel" >&2
lab: VIRTUAL_OPTIONS = $(LAB_OPTIONS)
lab: virtual

# Tests that judge times or rates run in virtual time, or one by one if they prove the real clock (marked `alone`). CONTRIBUTING.md
# says what belongs to `make test`, and what only `make test-all` runs (marked `nightly`).
test: setup frr ## the linter, unit tests, and each feature once with real packets (a quarter of an hour)
	@$(MAKE) --no-print-directory -j$$(nproc) lint sanitized
	@$(PYTHON) -m pytest -m "not alone and not nightly" --numprocesses $(TEST_WORKERS) --times parallel
	@$(PYTHON) -m pytest -m "alone and not nightly" --times alone $(TESTS_ALONE)

# Two kinds of tests use them, one in virtual time, where a compiler takes minutes.
sanitized:
	@$(MAKE) --silent -C native sanitize

test-all: test docs quic s3proxy vm-setup browser-setup ## everything: all variants, every experiment, VM, browser, campaign (hours)
	@$(PYTHON) -m pytest -m "nightly and not alone" --numprocesses $(TEST_WORKERS) --times nightly
	@$(PYTHON) -m pytest -m "nightly and alone" --times nightly-alone $(TESTS_ALONE)
	@$(MAKE) --no-print-directory test-vm test-browser
	@$(MAKE) --no-print-directory campaign CAMPAIGN=--short

test-times: ## how long tests took when they last ran: by phase and folder, and those that computed most
	@$(PYTHON) -m tests.times

# Not part of `setup`, because few need it.
vm-setup: .venv/installed-vm vm-packages ## install QEMU, and unpack a stock kernel in build/, for test-vm and vm
	@$(PYTHON) -m execution vm-kernel
.venv/installed-vm: requirements/vm.txt .venv/installed
	@$(PIP) --require-hashes -r requirements/vm.txt
	@touch $@

IN_VM = $(PYTHON) -m execution vm --time-limit $(VM_TIME_LIMIT_S) -- $(PYTHON) -m pytest --here -p no:cacheprovider --timeout 600
test-vm: native vm-setup ## tests that need a stock kernel, in a VM (works without KVM)
	@$(PYTHON) -m pytest tests/vm/test_machine.py
	@$(IN_VM) $(VM_TESTS)
test-vm-quick: native vm-setup ## the most important of them
	@$(IN_VM) $(VM_QUICK_TESTS)

vm: native vm-setup ## a command in such a VM, as root there: make vm CMD="…"
	@$(PYTHON) -m execution vm $(VM_OPTIONS) -- $(CMD)

# Not part of `setup`, because a browser is large. Ubuntu's own package is a snap; there Playwright downloads Chromium.
browser-setup: .venv/installed-browser ## install Chromium and ffmpeg, for test-browser, reports as PDF, pictures and films
	@command -v chromium chromium-browser google-chrome google-chrome-stable microsoft-edge > /dev/null || \
	  { apt-cache show chromium > /dev/null 2>&1 && $(SUDO) apt-get -qq install -y --no-install-recommends chromium > /dev/null; } || \
	  $(PYTHON) -m playwright install --with-deps chromium
	@command -v ffmpeg > /dev/null || $(SUDO) apt-get -qq install -y --no-install-recommends ffmpeg > /dev/null
.venv/installed-browser: requirements/browser.txt .venv/installed
	@$(PIP) --require-hashes -r requirements/browser.txt
	@touch $@

test-browser: browser-setup ## tests of reports and dashboard in Chromium
	@$(PYTHON) -m pytest tests/browser

# Not part of `setup`, because few need it.
docs: environment .venv/installed-docs ## the documentation as pages with a search, in build/docs/
	@$(PYTHON) -m sphinx --quiet --fail-on-warning --conf-dir docs/site . build/docs
	@echo build/docs/docs/index.html
.venv/installed-docs: requirements/docs.txt .venv/installed
	@$(PIP) --require-hashes -r requirements/docs.txt
	@touch $@

lint: style types imports ## the linter, types, and the order of imports
style: | environment
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
types: | environment
	@output=$$($(PYTHON) -m mypy --no-error-summary 2>&1) || { echo "$$output"; exit 1; }
imports: | environment
	@output=$$(.venv/bin/lint-imports --no-cache --no-logo 2>&1) || { echo "$$output"; exit 1; }

bench: setup ## how fast and how exact the links are on this machine
	@$(PYTHON) -m tests.bench

fuzz: setup ## hostile input for parsers of external data (needs clang with libFuzzer)
	@$(PYTHON) -m tests.fuzz

campaign: setup ## look for faults by doing harm, for hours (CAMPAIGN=--short: minutes)
	@$(PYTHON) -m tests.campaign $(CAMPAIGN)

clean: ## remove what was built (results stay)
	rm -rf .venv build *.egg-info
	$(MAKE) --silent -C native clean
