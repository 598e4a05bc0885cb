# What a user types. `make setup` installs what is missing and says so; everything else runs in the project's folder.

PYTHON := .venv/bin/python
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
SCENARIO_OPTIONS ?=
# This machine's own kernel may have no netem; a stock one has.
VM_TESTS ?= -k netem tests/emulation/test_link_conformance.py tests/emulation/test_emulator_choice.py

.PHONY: help setup packages environment native jmeter mptcp_load test lint bench fuzz vm-setup vm-packages test-vm clean

help:
	@echo "make setup        install what is missing (Debian 12, 13; Ubuntu 24.04); seconds if nothing is"
	@echo "make mptcp_load   MPTCP against TCP under load, the quick form: table, figures, claims (about 5 minutes)"
	@echo "make test         unit and emulation tests, and the linter"
	@echo "make test-vm      what needs a stock kernel, in a VM (no KVM needed; about 6 minutes without)"
	@echo "make vm-setup     what that takes: QEMU, and a kernel that is unpacked in build/ but not installed"
	@echo "make bench        how fast and how exact the links are on this machine"
	@echo "make fuzz         hostile input for what reads bytes from outside (needs clang with libFuzzer)"
	@echo "make clean        remove what was built (results stay)"

setup: packages environment native jmeter
	@echo "Flightpath is set up. Next: make mptcp_load"

# Debian's packages, as packages.txt lists them. A web server or database that comes with them is neither started now
# nor at boot: only its program is needed. Services that were there before stay as they are.
packages: LIST := packages.txt
vm-packages: LIST := packages-vm.txt
packages vm-packages:
	@wanted=$$(sed 's/ *#.*//' $(LIST)); \
	missing=$$(for p in $$wanted; do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	[ -z "$$missing" ] && exit 0; \
	echo "installing Debian packages:" $$missing; \
	$(SUDO) sh -c 'set -e; export DEBIAN_FRONTEND=noninteractive; \
	  guard=/usr/sbin/policy-rc.d; \
	  if [ ! -e $$guard ]; then printf "#!/bin/sh\nexit 101\n" > $$guard; chmod +x $$guard; trap "rm -f $$guard" EXIT; fi; \
	  apt-get -qq update; apt-get -qq install -y --no-install-recommends "$$@" > /dev/null; \
	  for service in nginx postgresql; do case " $$* " in *" $$service "*) \
	    if [ -d /run/systemd/system ]; then systemctl --quiet disable --now $$service || true; fi;; esac; done' sh $$missing

# The environment sees Debian's Mininet, so it is made with Debian's Python.
environment: .venv/installed
.venv/installed: setup.py constraints.txt | packages
	@echo "installing Python packages into .venv"
	@[ -x $(PYTHON) ] || /usr/bin/python3 -m venv --system-site-packages .venv
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

native: | packages
	@$(MAKE) --silent -C native

jmeter: | environment
	@$(PYTHON) -m probes.jmeter_install

mptcp_load: setup
	@$(PYTHON) -m scenarios.mptcp_load $(SCENARIO_OPTIONS)

test: setup lint
	@$(PYTHON) -m pytest

# Not part of `setup`: few need it.
vm-setup: .venv/installed-vm vm-packages
	@$(PYTHON) -m tests.vm.kernels > /dev/null
.venv/installed-vm: .venv/installed
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[vm]'
	@touch $@

test-vm: native vm-setup
	@$(PYTHON) -m tests.vm -- $(PYTHON) -m pytest -p no:cacheprovider $(VM_TESTS)

lint: | environment
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .

bench: setup
	@$(PYTHON) -m tests.bench

fuzz: setup
	@$(PYTHON) -m tests.fuzz

clean:
	rm -rf .venv build *.egg-info
	$(MAKE) --silent -C native clean
