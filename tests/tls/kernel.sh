#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernel TLS, on a machine that may not have it: kernel.sh BUILD_DIR. Boots Debian's kernel, which has the module `tls`,
# under qemu, with only the programs of BUILD_DIR. There it runs the tests of TLS, and weft serve and weft cached with
# curl and openssl as clients. The kernel's own counters must show that the kernel has encrypted. Ends in "kernel tls: N
# passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root
for tool in qemu-system-x86_64 busybox cpio openssl curl apt-get; do
    command -v $tool >/dev/null || { echo "left out, there is no $tool: 0 passed, 0 failed" && exit 0; }
done
[ "$(uname -m)" = x86_64 ] || { echo "left out, for x86-64 only: 0 passed, 0 failed" && exit 0; }
give_up() {
    echo "$1: 0 passed, 1 failed"
    exit 1
}

# The kernel, without installing it.
package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: //p' | head -n 1)
(cd "$work" && apt-get download "$package") >"$work/log" 2>&1 || { cat "$work/log" && give_up "no kernel could be downloaded"; }
dpkg-deb -x "$work"/linux-image*.deb "$work/kernel"

put() { # program, and where; with its libraries
    mkdir -p "$root/$(dirname "$2")"
    cp -L "$1" "$root/$2"
    ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -nL "$library" "$root$library"
    done
}
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/etc" "$root/www" "$root/bin" "$root/usr/lib/ssl"
put "$(command -v busybox)" bin/busybox
put "$build/tools/weft" bin/weft
put "$(command -v openssl)" usr/bin/openssl
put "$(command -v curl)" usr/bin/curl
for name in io_tls io_tls_rules io_tls_streams; do put "$build/tests/fiber/$name" "tests/$name"; done

# The module tls, and the ciphers, which are modules of Debian's kernel, too: without them it accepts no keys.
version=$(basename "$work"/kernel/lib/modules/*)
for directory in net/tls crypto arch/x86/crypto lib; do
    mkdir -p "$root/lib/modules/$version/kernel/$directory"
    cp -r "$work/kernel/lib/modules/$version/kernel/$directory/." "$root/lib/modules/$version/kernel/$directory" ||
        give_up "the kernel has no modules in $directory"
done
cp "$work/kernel/lib/modules/$version"/modules.builtin* "$work/kernel/lib/modules/$version/modules.order" "$root/lib/modules/$version"
busybox depmod -b "$root" "$version" || give_up "depmod"
: >"$root/usr/lib/ssl/openssl.cnf"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$root/etc/key.pem" -out "$root/etc/cert.pem" -days 30 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
for size in 1000 16384 500000 20000000; do head -c $size /dev/urandom >"$root/www/$size"; done
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
cp tests/tls/kernel_init.sh "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"

timeout 900 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -smp 2 -nographic -no-reboot -kernel "$(find "$work/kernel/boot" -name 'vmlinuz*')" \
    -initrd "$work/initrd" -append "no_timer_check console=ttyS0 quiet panic=-1" </dev/null 2>&1 |
    tr -d '\r' >"$work/said"
passed=$(grep -c '^passed: ' "$work/said")
failed=$(grep -c '^FAILED: ' "$work/said")
grep -q '^all done$' "$work/said" || failed=$((failed + 1))
[ "$failed" -eq 0 ] || tail -n 60 "$work/said"
grep '^passed: \|^Tls' "$work/said"
echo "kernel tls: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
