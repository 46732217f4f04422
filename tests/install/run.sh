#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs and uses weft as a user would, from an empty directory: run.sh [PART...]. Each step is a test case.
#
#   staged=DIR  installs the build in DIR below another directory; programs by pkg-config
#   user        make install; programs by pkg-config, shared and static, by gcc and clang; completion; make uninstall
#   cmake       find_package(weft)
#   subproject  weft as a subproject of meson, by a wrap file
#   sanitizers  make asan, make tsan: programs with sanitizers, and the message for a program without them
#   debian      dpkg-buildpackage, lintian, and the packages' contents
#   bare        a Debian 12 with nothing else installed, the README's commands word for word; needs root
#
# Without parts: user and cmake.
cd "$(dirname "$0")/../.." || exit 1
source=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
. tests/check.sh

says() { # text, then a command that must say just that
    text=$1
    shift
    said=$("$@") || return 1
    echo "$said"
    [ "$said" = "$text" ]
}
mentions() { # text, then a command; a line of its output must have the text
    text=$1
    shift
    "$@" 2>&1 | tee "$work/output"
    grep -qF -- "$text" "$work/output"
}
fails() { ! "$@"; }
in_dir() ( # directory, then a command
    cd "$1" || exit 1
    shift
    "$@"
)
user_dir() { # an empty directory with the programs
    rm -rf "$work/user"
    mkdir "$work/user"
    cp tests/install/hello.c tests/install/secure.c "$work/user"
}
install_here() { # sets the variables that the installation asks for
    check "make install" make install "PREFIX=$prefix"
    [ -d "$prefix/include" ] || return 1
    cp "$work/said" "$work/installed"
    libdir=$(dirname "$(find "$prefix" -name libweft.so)")
    export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
}

compiled() { # compiler, program, text, options, options of pkg-config with the package
    # shellcheck disable=SC2046,SC2086
    in_dir "$work/user" "$1" $4 -Wall -Wextra -Werror "$2.c" -o "$2" $(pkg-config --cflags --libs $5) && says "$3" "$work/user/$2"
}

completed() { # words...; bash completes the last
    bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\n" "${COMPREPLY[@]}"' \
        "$prefix/share/bash-completion/completions/weft" "$@"
}
completed_by_zsh() { # words...; zsh's completion functions print the words that they offer
    zsh -f -c 'compadd() { [[ $1 == -a ]] && print -l -- ${(P)2} || print -l -- $@ }
        _describe() { print -l -- ${(P)4} }; _files() { print files }; _alternative() { print $@ }
        file=$1; shift; words=("$@"); CURRENT=$#; source $file' zsh "$prefix/share/zsh/site-functions/_weft" "$@"
}

part_user() {
    user_dir
    install_here || return
    check "it says what it installs" grep -q "^installed .*include/weft.h" "$work/installed"
    check "how the linker finds it" grep -q LD_LIBRARY_PATH "$work/installed"
    check "and the shell" grep -qF "export PATH=$prefix/bin:" "$work/installed"
    for cc in cc clang; do
        command -v $cc >/dev/null || continue
        check "$cc, shared" compiled $cc hello "7 49" "" weft
        check "$cc, static" compiled $cc hello "7 49" -static "--static weft"
        check "$cc, TLS" compiled $cc secure tls "" weft-tls
        check "$cc, TLS, static" compiled $cc secure tls -static "--static weft-tls"
    done
    check "static is static" fails ldd "$work/user/secure"
    sed -n '/^```c/,/^```/p' README.md | sed '/^```/d' >"$work/user/readme.c"
    # shellcheck disable=SC2046
    check "the README's program" in_dir "$work/user" cc readme.c -o readme $(pkg-config --cflags --libs weft)
    check "runs" says "a thousand sleeps, one second" "$work/user/readme"
    check "the version" says "weft $(pkg-config --modversion weft)" "$prefix/bin/weft" --version
    for command in $("$prefix/bin/weft" help | sed -n 's/^  weft \([a-z]*\) .*/\1/p' | sort -u); do
        check "weft help $command" mentions "weft" "$prefix/bin/weft" help "$command"
    done
    check "weft help of nothing" fails "$prefix/bin/weft" help nonsense
    check "bash completes a command" says serve completed "$prefix/bin/weft" ser
    check "an option" says --port completed "$prefix/bin/weft" serve --po
    check "a command to help with" says explain completed "$prefix/bin/weft" help exp
    if command -v zsh >/dev/null; then
        check "zsh completes a command" mentions "serve:" completed_by_zsh "$prefix/bin/weft" ser
        check "an option, by zsh" mentions --port completed_by_zsh "$prefix/bin/weft" serve --
    fi
    check "a manual page" test -f "$prefix/share/man/man3/weft_spawn.3"
    check "make uninstall" make uninstall "PREFIX=$prefix"
    check "it fails at nothing" fails grep "^rm" "$work/said"
    check "nothing is left" says "" find "$prefix" -mindepth 1
    check "a second one has nothing to remove" fails make uninstall "PREFIX=$prefix"
    check "DESTDIR" make install PREFIX=/opt/weft-test "DESTDIR=$work/stage"
    check "DESTDIR holds all of it" test -f "$work/stage/opt/weft-test/include/weft.h"
    check "and no path to itself" fails grep -rIl "$work/stage" "$work/stage"
    check "make uninstall with DESTDIR" make uninstall PREFIX=/opt/weft-test "DESTDIR=$work/stage"
    check "nothing is left there" says "" find "$work/stage/opt/weft-test" -mindepth 1
    mkdir -p "$work/shared/include" && touch "$work/shared/include/other.h"
    check "into a directory with other files" make install "PREFIX=$work/shared"
    check "and out of it" make uninstall "PREFIX=$work/shared"
    check "the other files stay" says "$work/shared/include/other.h" find "$work/shared" ! -type d
}

# Without the build that make install does, for make check.
part_staged() { # build directory
    user_dir
    check "meson install" env "DESTDIR=$work/stage" meson install --no-rebuild -C "$1"
    libdir=$(dirname "$(find "$work/stage" -name libweft.so)")
    export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir" PKG_CONFIG_SYSROOT_DIR="$work/stage"
    for cc in cc clang; do
        command -v $cc >/dev/null || continue
        check "$cc, shared" compiled $cc hello "7 49" "" weft
        check "$cc, static" compiled $cc hello "7 49" -static "--static weft"
        check "$cc, TLS" compiled $cc secure tls "" weft-tls
    done
    prefix=$(dirname "$(dirname "$(find "$work/stage" -name weft -path '*/bin/*')")")
    check "bash completes a command" says serve completed "$prefix/bin/weft" ser
    check "an option" says --port completed "$prefix/bin/weft" serve --po
    for name in $(cd include && find . -name '*.h' -o -name '*.hpp'); do
        check "$name is installed" cmp "include/$name" "$prefix/include/$name"
    done
}

part_cmake() {
    user_dir
    install_here || return
    cp tests/install/cmake/CMakeLists.txt "$work/user"
    check "cmake" cmake -S "$work/user" -B "$work/user/build" "-DCMAKE_PREFIX_PATH=$prefix"
    check "cmake --build" cmake --build "$work/user/build"
    check "weft::weft" says "7 49" "$work/user/build/hello_weft"
    check "weft::static" says "7 49" "$work/user/build/hello_static"
    check "without the shared one" fails sh -c "ldd '$work/user/build/hello_static' | grep libweft"
    check "weft::tls" says tls "$work/user/build/secure_tls"
    check "weft::tls_static" says tls "$work/user/build/secure_tls_static"
    mv "$prefix" "$work/moved"
    check "cmake, after the files were moved" cmake -S "$work/user" -B "$work/user/again" "-DCMAKE_PREFIX_PATH=$work/moved"
}

# The wrap file names a git repository. Here that is a commit of this repository with the changes in the work tree.
part_subproject() {
    user_dir
    cp tests/install/subproject/meson.build "$work/user"
    mkdir "$work/user/subprojects" "$work/upstream"
    git ls-files | tar -c -T - | tar -x -C "$work/upstream"
    in_dir "$work/upstream" git init -q -b main
    in_dir "$work/upstream" git add -A
    in_dir "$work/upstream" git -c user.name=user -c user.email=user@localhost commit -qm all
    sed "s|^url = .*|url = file://$work/upstream|" docs/weft.wrap >"$work/user/subprojects/weft.wrap"
    check "meson setup" in_dir "$work/user" meson setup build
    check "ninja" ninja -C "$work/user/build"
    check "a program" says "7 49" "$work/user/build/hello"
    check "with TLS" says tls "$work/user/build/secure"
    check "no tests of weft" fails test -d "$work/user/build/subprojects/weft/tests"
}

part_sanitizers() {
    user_dir
    install_here || return
    check "make asan" make asan "PREFIX=$prefix"
    check "make tsan" make tsan "PREFIX=$prefix"
    check "a program with AddressSanitizer" compiled cc hello "7 49" -g weft-asan
    check "it has the sanitizer" sh -c "ldd '$work/user/hello' | grep -q libasan"
    check "a program with ThreadSanitizer" compiled cc hello "7 49" -g weft-tsan
    check "a race is found" race_found weft-tsan
    check "without libweft-tsan it is said" notice -fsanitize=thread "Link libweft-tsan"
    check "without libweft-asan it is said" notice -fsanitize=address "Link libweft-asan"
    if command -v clang >/dev/null; then
        compiler=clang check "the same by clang" notice -fsanitize=thread "Link libweft-tsan"
        compiler=clang check "static, by clang" notice "-fsanitize=thread -Wl,-Bstatic" "Link libweft-tsan"
    fi
    check "make uninstall" make uninstall "PREFIX=$prefix"
    check "nothing is left" says "" find "$prefix" -mindepth 1
}
notice() { # options, text
    # shellcheck disable=SC2046,SC2086
    in_dir "$work/user" "${compiler:-cc}" ${1% -Wl*} -g hello.c -o notice $(pkg-config --cflags --libs weft) || return 1
    mentions "$2" env TSAN_OPTIONS=exitcode=0 "$work/user/notice" && [ "$(grep -c '^weft: ' "$work/output")" -eq 1 ]
}
# Two fibers meet on two workers. Nothing orders their later accesses.
race_found() { # package
    cat >"$work/user/race.c" <<'END'
#include <stdatomic.h>
#include <weft.h>
static int shared;
static _Atomic int arrived;
static void *race(void *unused) {
    atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
    while (atomic_load_explicit(&arrived, memory_order_relaxed) < 2) {}
    for (int i = 0; i < 1000; i++) shared++;
    return unused;
}
static int run(void *unused) {
    struct weft_fiber a, b;
    (void)unused;
    if (weft_spawn(&a, NULL, race, NULL) || weft_spawn(&b, NULL, race, NULL)) return 1;
    return weft_join(a, NULL) || weft_join(b, NULL);
}
int main(void) { return weft_run(run, NULL, NULL); }
END
    # shellcheck disable=SC2046
    in_dir "$work/user" cc -g race.c -o race $(pkg-config --cflags --libs "$1") || return 1
    mentions "data race" env WEFT_WORKERS=2 "$work/user/race"
}

part_debian() {
    mkdir "$work/package"
    git ls-files | tar -c -T - | tar -x -C "$work/package"
    check "dpkg-buildpackage" in_dir "$work/package" dpkg-buildpackage -us -uc
    for name in libweft0 libweft-tls0 libweft-dev weft-tools; do
        check "$name" sh -c "dpkg-deb --contents '$work/${name}_'*.deb"
    done
    check "lintian" in_dir "$work" sh -c 'lintian --fail-on error --tag-display-limit 0 ./*.changes'
    user_dir
    for deb in "$work"/lib*.deb; do dpkg-deb -x "$deb" "$work/root"; done
    libdir=$(dirname "$(find "$work/root" -name libweft.so)")
    export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir" PKG_CONFIG_SYSROOT_DIR="$work/root"
    check "a program" compiled cc hello "7 49" "" weft
    check "and static" compiled cc hello "7 49" -static "--static weft"
}

# The commands are those of the README between "Install" and the next heading.
part_bare() {
    [ "$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null || { echo "left out: it needs root and mmdebstrap" && return; }
    root=$work/bare
    check "a bare Debian 12" mmdebstrap --quiet --variant=minbase --include=make,ca-certificates bookworm "$root"
    mkdir -p "$root/root/weft"
    git ls-files | tar -c -T - | tar -x -C "$root/root/weft"
    cp tests/install/hello.c "$root/root/weft/prog.c"
    mount --rbind /proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev"
    sed -n '/^## Install/,/^## [^I]/p' README.md | sed -n '/^```sh/,/^```/p' | sed '/^```/d; s/sudo //' >"$root/root/weft/commands"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null
    check "the README's commands" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" chroot "$root" sh -ec 'cd /root/weft && . ./commands'
    cp "$work/said" "$work/output"
    check "the last one has run the program" grep -qx "7 49" "$work/output"
    check "each package that was added is named" grep -q "^installing with apt-get: gcc" "$work/output"
    umount -R -l "$root/proc" "$root/sys" "$root/dev"
}

[ $# -gt 0 ] || set -- user cmake
for part in "$@"; do
    rm -rf "$prefix"
    unset PKG_CONFIG_SYSROOT_DIR
    case $part in *=*) "part_${part%%=*}" "${part#*=}" ;; *) "part_$part" ;; esac
done
verdict install
