# What a user types. `make setup` installs what is missing and says so; everything else runs in the project's folder.

PYTHON := .venv/bin/python
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
SCENARIO_OPTIONS ?=
# Most wait rather than compute: more of them than cores.
TEST_WORKERS ?= 4
# What a stock kernel has and this machine's own may lack: its switch, netem, modules of congestion controls; and what may
# want a kernel newer than 6.1. Links are netem's where a test takes either. `make test-vm VM_TESTS="…"` for less.
VM_TESTS ?= tests/vm/test_kernel_datapath.py tests/vm/test_kernel_datapath_steering.py \
  tests/emulation/congestion/test_parity.py tests/emulation/topologies/test_link_conformance.py \
  tests/emulation/congestion/test_loading.py::test_the_verifier_accepts_each_and_a_socket_takes_it \
  tests/emulation/congestion/test_loading.py::test_a_program_that_the_verifier_rejects_is_explained_with_its_line \
  tests/emulation/native/test_tunnel.py::test_ipv4_and_ipv6_inside_and_outside_over_both_paths \
  tests/emulation/probes/preflight/test_paths.py::test_runs_in_an_emulated_host_and_sees_its_path \
  -k 'not relay'
# What proves most in a minute: the kernel's switch, netem and MPTCP on it, two modules against their programs.
VM_QUICK_TESTS := tests/vm/test_kernel_datapath.py tests/emulation/congestion/test_parity.py \
  tests/emulation/congestion/test_loading.py::test_the_verifier_accepts_each_and_a_socket_takes_it \
  -k 'verifier or bic or westwood or (netem and kernel_datapath)'
VM_TIME_LIMIT_S ?= 1800
VM_OPTIONS ?=
CMD ?= sh -c 'uname -a; ip -br link'

.PHONY: help setup packages environment native jmeter mptcp_load test lint bench fuzz vm-setup vm-packages test-vm test-vm-quick vm browser-setup test-browser clean

help:
	@echo "make setup        install what is missing (Debian 12, 13; Ubuntu 24.04); seconds if nothing is"
	@echo "make mptcp_load   MPTCP against TCP under load, the quick form: table, figures, claims (about 5 minutes)"
	@echo "make test         unit and emulation tests, and the linter"
	@echo "make test-vm      what needs a stock kernel, in a VM (no KVM needed); test-vm-quick: the most telling part"
	@echo 'make vm CMD="…"   a command in such a VM, as root there; nothing of this machine changes'
	@echo "make vm-setup     what that takes: QEMU, and a kernel that is unpacked in build/ but not installed"
	@echo "make test-browser reports and dashboard in Chromium, which it installs (make browser-setup; also for PDF reports)"
	@echo "make bench        how fast and how exact the links are on this machine"
	@echo "make fuzz         hostile input for what reads bytes from outside (needs clang with libFuzzer)"
	@echo "make clean        remove what was built (results stay)"

setup: packages environment native jmeter
	@echo "Flightpath is set up. Next: make mptcp_load"

# Debian's packages, as packages.txt lists them. A web, SSH, FTP or database server that comes with them is neither started now
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
	  for each in nginx:nginx postgresql:postgresql openssh-server:ssh.socket openssh-server:ssh.service vsftpd:vsftpd; do \
	    case " $$* " in *" $${each%%:*} "*) unit=$${each#*:}; \
	      if [ -d /run/systemd/system ]; then systemctl --quiet disable --now $$unit 2> /dev/null || true; \
	      elif command -v systemctl > /dev/null; then systemctl --quiet disable $$unit 2> /dev/null || true; fi;; esac; \
	  done' sh $$missing

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
	@$(PYTHON) -m probes.jmeter.install

mptcp_load: setup
	@$(PYTHON) -m scenarios.mptcp_load $(SCENARIO_OPTIONS)

# What judges times or rates, or fills the machine, is marked `alone` and runs by itself; the rest shares the processors.
test: setup lint
	@$(PYTHON) -m pytest -m "not alone" --numprocesses $(TEST_WORKERS) --dist worksteal
	@$(PYTHON) -m pytest -m alone

# Not part of `setup`: few need it.
vm-setup: .venv/installed-vm vm-packages
	@$(PYTHON) -m tests.vm.kernels > /dev/null
.venv/installed-vm: .venv/installed
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[vm]'
	@touch $@

IN_VM = $(PYTHON) -m tests.vm --time-limit $(VM_TIME_LIMIT_S) -- $(PYTHON) -m pytest -p no:cacheprovider --timeout 600
test-vm: native vm-setup
	@$(PYTHON) -m pytest tests/vm/test_machine.py
	@$(IN_VM) $(VM_TESTS)
test-vm-quick: native vm-setup
	@$(IN_VM) $(VM_QUICK_TESTS)

vm: native vm-setup
	@$(PYTHON) -m tests.vm $(VM_OPTIONS) -- $(CMD)

# Not part of `setup`: a browser is large. Ubuntu's own package is a snap; there Playwright fetches its Chromium.
browser-setup: .venv/installed-browser
	@command -v chromium chromium-browser google-chrome google-chrome-stable microsoft-edge > /dev/null || \
	  { apt-cache show chromium > /dev/null 2>&1 && $(SUDO) apt-get -qq install -y --no-install-recommends chromium > /dev/null; } || \
	  $(PYTHON) -m playwright install --with-deps chromium
.venv/installed-browser: .venv/installed
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser,parquet]'
	@touch $@

test-browser: browser-setup
	@$(PYTHON) -m pytest tests/browser

lint: | environment
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@said=$$(.venv/bin/lint-imports --no-cache --no-logo 2>&1) || { echo "$$said"; exit 1; }

bench: setup
	@$(PYTHON) -m tests.bench

fuzz: setup
	@$(PYTHON) -m tests.fuzz

clean:
	rm -rf .venv build *.egg-info
	$(MAKE) --silent -C native clean
