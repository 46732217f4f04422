#!/bin/sh
# Installs what is missing of the packages that a purpose needs: build, check, soak.
# Usage: deps.sh PURPOSE. Says nothing when all is there.
set -eu

need_command() { # command package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need_file() { # file package
    [ -e "$1" ] || missing="$missing $2"
}

missing=
need_command gcc gcc
need_command g++ g++
need_command make make
need_command meson meson
need_command ninja ninja-build
need_file /usr/include/hwloc.h libhwloc-dev
need_file /usr/include/liburing.h liburing-dev
case "$1" in
build) ;;
check)
    need_command clang clang
    need_command spin spin
    need_command gdb gdb
    need_command valgrind valgrind
    need_command strace strace
    need_command python3 python3
    need_command curl curl
    ;;
soak)
    need_command clang clang
    need_command spin spin
    need_command gdb gdb
    need_command valgrind valgrind
    need_command strace strace
    need_command python3 python3
    need_command curl curl
    need_command qemu-aarch64 qemu-user
    need_command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need_command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
    ;;
*)
    echo "deps.sh: build, check or soak" >&2
    exit 2
    ;;
esac
# clang's sanitizers are a package of their own.
if [ "$1" != build ] && command -v clang >/dev/null 2>&1; then
    find /usr/lib/llvm-*/lib/clang/*/lib/linux -name '*tsan-*.a' 2>/dev/null | grep -q . || missing="$missing libclang-rt-dev"
fi
[ -n "$missing" ] || exit 0

echo "installing:$missing" >&2
if ! command -v apt-get >/dev/null 2>&1; then
    echo "this machine has no apt-get: install$missing (Debian's names) and try again" >&2
    exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
