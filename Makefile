# SPDX-License-Identifier: MIT
# weft. Two commands: make run, make check.
# Everything is built below build/, a directory for each kind of build.

PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help run build mpi deps check check-quick soak soak-status peers install uninstall asan tsan docs clean format

help:
	@echo 'make run          builds, and shows weft at work'
	@echo 'make check        builds, and runs the tests that every change must pass: about eight minutes on two processors'
	@echo 'make check-quick  the part of it for daily work: release build only'
	@echo 'make build        build/weft, build/libweft.a, build/libweft.so'
	@echo 'make mpi          installs Open MPI if there is no MPI, and builds build/libweft-mpi.so, too'
	@echo 'make deps         installs the packages that building needs; FOR=check or FOR=soak: those that tests need, too'
	@echo 'make peers        installs and builds the systems that benchmarks compare with'
	@echo 'make soak         the long tests, in parts: all of them that this source has not passed, or PART=...'
	@echo 'make soak-status  the parts, and whether each has passed on this source'
	@echo 'make install      libraries, headers, pkg-config and CMake files, tool: below PREFIX ($(PREFIX)), or DESTDIR'
	@echo 'make asan, tsan   libraries with a sanitizer, beside those: libweft-asan, libweft-tsan'
	@echo 'make uninstall    removes what these three have installed'
	@echo 'make docs         the guide and the reference as HTML: build/docs/index.html'
	@echo 'make format       clang-format over all sources, and the line that names the licence'
	@echo 'make clean        removes build/'
	@echo 'All of them install packages that are missing, and say which.'

run: build
	@build/weft tour

build: build/release/build.ninja
	@ninja -C build/release --quiet
	@ln -sf release/tools/weft build/weft
	@ln -sf release/libweft.a build/libweft.a
	@ln -sf release/libweft.so build/libweft.so
	@mkdir -p build/peers && ln -sf ../release/tools/peers/pthread ../release/tools/peers/serial build/peers/

build/release/build.ninja:
	@scripts/deps.sh build
	@meson setup build/release --prefix=$(PREFIX) >build-setup.log 2>&1 || { cat build-setup.log; rm -f build-setup.log; exit 1; }
	@rm -f build-setup.log

mpi:
	@scripts/deps.sh mpi
	@if [ -f build/release/build.ninja ]; then meson setup --reconfigure build/release >/dev/null; fi
	@$(MAKE) --no-print-directory build
	@ln -sf release/libweft-mpi.so build/libweft-mpi.so

deps:
	@scripts/deps.sh $(or $(FOR),build)

check:
	@scripts/deps.sh check
	@scripts/check.sh

check-quick:
	@scripts/deps.sh check
	@scripts/check.sh quick

soak:
	@scripts/deps.sh soak
	@scripts/soak.sh $(PART)

soak-status:
	@scripts/soak.sh status

peers: build
	@bench/peers.sh

install asan tsan:
	@scripts/deps.sh build
	@scripts/install.sh $@ "$(PREFIX)" "$(DESTDIR)"

uninstall:
	@scripts/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

docs:
	@command -v python3 >/dev/null || scripts/deps.sh build
	@python3 docs/site/build.py site build/docs

format:
	@scripts/form.sh mend

clean:
	@rm -rf build
