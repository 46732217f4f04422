#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs weft below a prefix, and takes it away again.
#
#   install.sh install PREFIX [DESTDIR]          libraries, headers, pkg-config and CMake files, tool, completions
#   install.sh asan|tsan PREFIX [DESTDIR]        the libraries with a sanitizer, beside the ordinary libraries
#   install.sh uninstall PREFIX [DESTDIR]        all that these have installed
#
# Says each file that it writes or removes. The list is kept in PREFIX/share/weft/installed. With DESTDIR the files go
# below that directory, as packagers want it, and nothing else on the machine is changed. CC chooses the compiler.
set -eu
cd "$(dirname "$0")/.."
action=${1:?"usage: install.sh install|asan|tsan|uninstall PREFIX [DESTDIR]"}
prefix=${2:?"install.sh: below which prefix?"}
destdir=${3:-}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
list=$destdir$prefix/share/weft/installed
compiler=$(basename "${CC:-cc}") # meson keeps the compiler of a build directory

fail() {
    echo "install: $*" >&2
    exit 1
}

# The dynamic linker's list of libraries is renewed if it is this system's and we may; else the user is told what to do.
tell_linker() { # libdir
    [ -z "$destdir" ] || return 0
    if ! { /sbin/ldconfig -v -N -X 2>/dev/null || true; } | grep -qF "$1:"; then
        echo "The dynamic linker does not look into $1. Before you start a program:"
        echo "    export LD_LIBRARY_PATH=$1\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
    elif [ -w /etc/ld.so.cache ] && /sbin/ldconfig; then
        echo "ldconfig has told the dynamic linker about $1"
    else
        echo "Tell the dynamic linker about $1:"
        echo "    sudo ldconfig"
    fi
}

tell_pkg_config() { # libdir
    [ -z "$destdir" ] || return 0
    pkg-config --variable pc_path pkg-config | tr : '\n' | grep -qxF "$1/pkgconfig" && return
    echo "pkg-config does not look into $1/pkgconfig. Before you compile:"
    echo "    export PKG_CONFIG_PATH=$1/pkgconfig\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}"
}

# The shell finds `weft`, man its pages and bash the completion, once bin is in PATH.
tell_shell() {
    [ -z "$destdir" ] && [ -e "$prefix/bin/weft" ] || return 0
    case :$PATH: in *:"$prefix/bin":*) return ;; esac
    echo "The shell does not look into $prefix/bin, nor man into $prefix/share/man:"
    echo "    export PATH=$prefix/bin:\$PATH"
}

# Where Debian's linker and pkg-config look. meson knows that directory only if dpkg-dev is installed.
multiarch_option() {
    # shellcheck disable=SC2086
    triplet=$(${CC:-cc} -print-multiarch 2>/dev/null) || return 0
    [ ! -e /etc/debian_version ] || [ -z "$triplet" ] || echo "-Dlibdir=lib/$triplet"
}

install() { # build directory, options of meson
    build=$1
    shift
    [ -f "$build/build.ninja" ] && again=--reconfigure || again=
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    echo "building the libraries in $build"
    # shellcheck disable=SC2046,SC2086
    meson setup $again "$build" "-Dprefix=$prefix" $(multiarch_option) -Dwerror=false -Dtests=false -Dexamples=false "$@" >"$log" 2>&1 &&
        ninja -C "$build" >>"$log" 2>&1 || { cat "$log" && fail "it could not be built"; }
    mkdir -p "$destdir$prefix" 2>/dev/null && [ -w "$destdir$prefix" ] ||
        fail "$destdir$prefix cannot be written: try sudo make $action, or another PREFIX"
    DESTDIR=$destdir meson install -C "$build" --no-rebuild >"$log" 2>&1 || { cat "$log" && fail "nothing more was installed"; }
    mkdir -p "$destdir$prefix/share/weft"
    touch "$list"
    grep -v '^#' "$build/meson-logs/install-log.txt" | sed "s|^$destdir||" | sort -u - "$list" >"$log"
    echo "$prefix/share/weft/installed" | sort -u - "$log" >"$list"
    grep -v '^#' "$build/meson-logs/install-log.txt" | sort -u | while read -r file; do
        [ -d "$file" ] && echo "made $file" || echo "installed $file"
    done
    echo "installed $list, the list of these: make uninstall PREFIX=$prefix removes them"
    libdir=$prefix/$(meson introspect "$build" --buildoptions |
        python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "libdir"))')
    tell_linker "$libdir"
    tell_pkg_config "$libdir"
    tell_shell
}

# The list has the directories that were made, too. They go when nothing else is in them: backwards, so that each comes
# behind what it holds. The list itself goes last, so that an uninstall that was stopped can go on.
uninstall() {
    [ -f "$list" ] || fail "no weft was installed below $destdir$prefix (there is no $list)"
    [ -w "$list" ] || fail "$destdir$prefix cannot be written: try sudo make uninstall"
    listed=$(sort -r "$list")
    printf '%s\n' "$listed" | while read -r file; do
        [ ! -d "$destdir$file" ] && [ "$destdir$file" != "$list" ] || continue
        rm -f "$destdir$file" && echo "removed $destdir$file" || exit 1
    done || fail "some files could not be removed"
    rm -f "$list" && echo "removed $list"
    printf '%s\n' "$listed" | while read -r directory; do
        [ -d "$destdir$directory" ] && rmdir "$destdir$directory" 2>/dev/null && echo "removed $destdir$directory"
    done || true
    [ -n "$destdir" ] || [ ! -w /etc/ld.so.cache ] || /sbin/ldconfig
}

case $action in
install) install "build/install-$compiler" -Dtool=true ;;
asan) install "build/install-asan-$compiler" -Dtool=false -Dvariant=asan -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized ;;
tsan) install "build/install-tsan-$compiler" -Dtool=false -Dvariant=tsan -Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized ;;
uninstall) uninstall ;;
*) fail "no such action: $action" ;;
esac
