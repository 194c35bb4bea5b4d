# rocediag. `make demo` shows what it does, `make test` proves it.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p))))
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := roce collector analyzers alerts rocediag migrations
CHECKED := $(PACKAGES) tests benchmarks scripts

# Where `make install` puts things; DESTDIR stands before all of them.
DESTDIR ?=
PREFIX ?= /opt/rocediag
BINDIR ?= /usr/local/bin
UNITDIR ?= /usr/lib/systemd/system
SYSUSERSDIR ?= /usr/lib/sysusers.d
TMPFILESDIR ?= /usr/lib/tmpfiles.d

.PHONY: help demo test check soak install install-venv install-files uninstall clean

help:
	@echo "make demo       show a fabric that gets sick, and who did it (KEEP=1 leaves it running)"
	@echo "make test       run the tests"
	@echo "make check      lint, format, types, layers"
	@echo "make soak       run what takes longer"
	@echo "make install    install into $(PREFIX), with a systemd unit"
	@echo "make uninstall  take that away again; configuration and findings stay"

$(VENV)/.run: pyproject.toml scripts/venv
	@echo "installing rocediag into $(VENV)"
	@scripts/venv "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml scripts/venv
	@echo "installing rocediag and what its tests need into $(VENV)"
	@scripts/venv "$(PYTHON)" $(VENV) dev
	@touch $(VENV)/.run $@

demo: $(VENV)/.run
	@$(BIN)/python scripts/demo.py $(if $(filter 1 yes true,$(KEEP)),--keep)

test: $(VENV)/.dev
	@scripts/programs
	$(BIN)/pytest -m "not soak" $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: $(VENV)/.dev
	@scripts/programs
	$(BIN)/pytest -m soak --timeout 840 $(ARGS)

# Folders are made for everybody to read, whatever umask root has. The system's own Python goes
# first: one in somebody's home is out of the sandboxed service's reach.
install-venv: PYTHON := $(or $(firstword $(wildcard /usr/bin/python3.11 /usr/bin/python3.12 /usr/bin/python3.13)),$(PYTHON))
install-venv:
	@"$(or $(PYTHON),false)" -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "python or its venv is missing: apt-get install python3.11-venv" >&2; exit 2; }
	umask 022; "$(PYTHON)" -m venv "$(DESTDIR)$(PREFIX)"
	umask 022; "$(DESTDIR)$(PREFIX)/bin/python" -m pip --quiet --disable-pip-version-check install .
	@if [ -n "$(DESTDIR)" ]; then \
	    grep -rlI -- "$(DESTDIR)" "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/pyvenv.cfg" | \
	        xargs -r sed -i "s|$(DESTDIR)||g"; \
	fi

install-files:
	install -d "$(DESTDIR)$(UNITDIR)" "$(DESTDIR)$(SYSUSERSDIR)" "$(DESTDIR)$(TMPFILESDIR)"
	install -m 0644 systemd/rocediag.service systemd/rocediag-agent.service "$(DESTDIR)$(UNITDIR)"
	cd "$(DESTDIR)$(UNITDIR)" && sed -i 's|/opt/rocediag|$(PREFIX)|' rocediag.service rocediag-agent.service
	install -m 0644 systemd/rocediag.sysusers "$(DESTDIR)$(SYSUSERSDIR)/rocediag.conf"
	install -m 0644 systemd/rocediag.tmpfiles "$(DESTDIR)$(TMPFILESDIR)/rocediag.conf"
	install -d -m 0750 "$(DESTDIR)/etc/rocediag"
	install -d -m 0700 "$(DESTDIR)/etc/rocediag/secrets"
	@if [ ! -e "$(DESTDIR)/etc/rocediag/rocediag.toml" ]; then \
	    install -m 0640 rocediag/example.toml "$(DESTDIR)/etc/rocediag/rocediag.toml"; \
	fi
	install -d "$(DESTDIR)$(BINDIR)"
	ln -sfn "$(PREFIX)/bin/rocediag" "$(DESTDIR)$(BINDIR)/rocediag"
	@if [ -z "$(DESTDIR)" ]; then scripts/activate; fi

install: install-venv
	@$(MAKE) --no-print-directory install-files

uninstall:
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then \
	    systemctl disable --now rocediag.service rocediag-agent.service || true; \
	fi
	rm -f "$(DESTDIR)$(UNITDIR)/rocediag.service" "$(DESTDIR)$(UNITDIR)/rocediag-agent.service"
	rm -f "$(DESTDIR)$(BINDIR)/rocediag"
	rm -f "$(DESTDIR)$(SYSUSERSDIR)/rocediag.conf" "$(DESTDIR)$(TMPFILESDIR)/rocediag.conf"
	@if [ -e "$(DESTDIR)$(PREFIX)/pyvenv.cfg" ] && [ -e "$(DESTDIR)$(PREFIX)/bin/rocediag" ]; then \
	    rm -rf "$(DESTDIR)$(PREFIX)"; \
	fi
	@echo "left as they are: $(DESTDIR)/etc/rocediag, $(DESTDIR)/var/lib/rocediag, user rocediag"

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +
