# weft. Two commands: make run, make check.
# Everything is built below build/, a directory for each kind of build.

PREFIX ?= /usr/local

.PHONY: help run build check soak peers install clean format

help:
	@echo 'make run      installs what is missing, builds, and shows weft at work'
	@echo 'make check    installs what is missing, builds, and runs the tests'
	@echo 'make build    build/weft, build/libweft.a, build/libweft.so'
	@echo 'make peers    installs and builds the systems that benchmarks compare with'
	@echo 'make soak     the long tests: stress, all sanitizers, other compilers, aarch64 under qemu'
	@echo 'make install  library, header, pkg-config file and tool, below PREFIX ($(PREFIX))'
	@echo 'make format   clang-format over all sources'
	@echo 'make clean    removes build/'

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

check:
	@scripts/deps.sh check
	@scripts/check.sh

soak:
	@scripts/deps.sh soak
	@scripts/soak.sh

peers: build
	@bench/peers.sh

install: build
	@meson configure build/release -Dprefix=$(abspath $(PREFIX)) # it may have been set up with another
	@ninja -C build/release --quiet >/dev/null
	@meson install -C build/release --no-rebuild

format:
	@git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build
