#!/bin/sh
# SPDX-License-Identifier: MIT
# Packages that a purpose needs: deps.sh [--only-say] PURPOSE, one of build, mpi, check, soak.
# Says nothing when all is there. Otherwise it names what is missing, and installs it; not with --only-say, which ends
# with status 1 then.
set -eu

need_command() { # command package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need_file() { # file package
    [ -e "$1" ] || missing="$missing $2"
}

only_say=
[ "${1:-}" != --only-say ] || { only_say=yes && shift; }
purpose=${1:-}
case $purpose in build | mpi | check | soak) ;; *) echo "deps.sh: build, mpi, check or soak" >&2 && exit 2 ;; esac

missing=
need_command gcc gcc
need_command g++ g++
need_command make make
need_command meson meson
need_command ninja ninja-build
need_command pkg-config pkg-config
need_file /usr/include/liburing.h liburing-dev
need_file /usr/include/openssl/ssl.h libssl-dev
need_file /usr/include/elfutils/libdw.h libdw-dev
if [ "$purpose" = mpi ] && ! pkg-config --exists ompi-c 2>/dev/null && ! pkg-config --exists mpich 2>/dev/null; then
    missing="$missing openmpi-bin libopenmpi-dev"
fi
if [ "$purpose" = check ] || [ "$purpose" = soak ]; then
    # libweft-mpi is tested with both.
    need_command mpirun.openmpi openmpi-bin
    need_command mpicc.openmpi libopenmpi-dev
    need_command mpirun.mpich mpich
    need_command mpicc.mpich libmpich-dev
    need_command clang clang
    need_command clang-format clang-format
    need_command clang-tidy clang-tidy
    need_command git git
    need_command spin spin
    need_command gdb gdb
    need_command valgrind valgrind
    need_command strace strace
    need_command python3 python3
    need_command curl curl
    need_command tmux tmux
    need_command protoc protobuf-compiler
    need_file /usr/include/"$(gcc -print-multiarch)"/sys/sdt.h systemtap-sdt-dev
    need_command groff groff
    # The loops and libraries that examples and the guide work with.
    need_file /usr/include/glib-2.0/glib.h libglib2.0-dev
    need_file /usr/include/uv.h libuv1-dev
    need_file /usr/include/sqlite3.h libsqlite3-dev
    need_file /usr/include/oneapi/tbb.h libtbb-dev
    need_file /usr/include/hiredis/hiredis.h libhiredis-dev
    need_file /usr/include/zlib.h zlib1g-dev
    need_command redis-server redis-server
    need_command pkg-config pkg-config
    # clang's sanitizers are a package of their own.
    find /usr/lib/llvm-*/lib/clang/*/lib/linux -name '*tsan-*.a' 2>/dev/null | grep -q . || missing="$missing libclang-rt-dev"
fi
if [ "$purpose" = soak ]; then
    need_command promtool prometheus
    # Servers and clients for libraries that block.
    need_file /usr/include/postgresql/libpq-fe.h libpq-dev
    need_file /usr/include/"$(gcc -print-multiarch)"/curl/curl.h libcurl4-openssl-dev
    [ -d /usr/lib/postgresql ] || missing="$missing postgresql"
    [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
    need_command go golang-go
    need_command chromium chromium
    need_command cmake cmake
    need_command dh debhelper
    need_command lintian lintian
    need_command dpkg-buildpackage dpkg-dev
    need_command zsh zsh
    need_command mmdebstrap mmdebstrap
    need_command abidiff abigail-tools
    need_command rustc rustc
    python3 -c 'import cffi' 2>/dev/null || missing="$missing python3-cffi"
    need_command qemu-aarch64 qemu-user
    need_command qemu-system-x86_64 qemu-system-x86
    need_command busybox busybox-static
    need_command cpio cpio
    need_command chromium chromium
    need_command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need_command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
fi
[ -n "$missing" ] || exit 0

if [ -n "$only_say" ]; then
    echo "missing packages (make deps installs them):$missing" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "this machine has no apt-get: install$missing (Debian's names) and try again" >&2
    exit 1
fi
echo "installing with apt-get:$missing" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
wait='-o DPkg::Lock::Timeout=600' # for another apt-get, as a fresh machine has it while it updates itself
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install $wait -y -qq --no-install-recommends $missing >/dev/null
