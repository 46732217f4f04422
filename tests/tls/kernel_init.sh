#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# The first and only process of the machine that kernel.sh boots. A line "passed: ..." or "FAILED: ..." for each test case.
mkdir -p /sbin
/bin/busybox --install -s /bin
ln -s /bin/busybox /sbin/modprobe # the kernel calls it for ciphers
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ip link set lo up
export PATH=/bin:/usr/bin WEFT_TEST_PATIENCE=50 WEFT_TEST_SCALE=20
cd /tmp || poweroff -f

check() { # title, then a command
    title=$1
    shift
    if "$@"; then echo "passed: $title"; else echo "FAILED: $title: $*"; fi
}
encrypted() { sed -n "s/^TlsTxSw[^0-9]*//p" /proc/net/tls_stat; } # connections
more_encrypted() { [ "$(encrypted)" -ge $((before + $1)) ]; }    # the counter has grown by at least this much since
                                                                 # `before` was set
fetch() { curl -s --cacert /etc/cert.pem --tlsv$version --tls-max $version --max-time 200 "$@"; }
same_file() { fetch -o got https://localhost:8443/"$1" && cmp got /www/"$1"; }
same_range() {
    fetch -r 1000000-1999999 -o got https://localhost:8443/20000000
    dd if=/www/20000000 bs=1000 skip=1000 count=1000 of=want 2>/dev/null
    cmp got want
}
listens() { # port
    for _ in $(seq 300); do
        nc -w 1 127.0.0.1 "$1" </dev/null && return
        usleep 100000
    done
    false
}

echo "kernel $(uname -r)"
check "the module tls" modprobe tls
check "the cipher" modprobe gcm
for engine in uring epoll; do
    export WEFT_IO=$engine
    weft serve /www --port 8443 --user root --slow 200 --tls /etc/cert.pem /etc/key.pem 2>/dev/null &
    server=$!
    check "weft serve on $engine" listens 8443
    for version in 1.3 1.2; do
        before=$(encrypted)
        for size in 1000 16384 500000 20000000; do check "$engine, TLS $version, $size bytes" same_file $size; done
        check "$engine, TLS $version, a range" same_range
        check "$engine, TLS $version, the kernel has encrypted" more_encrypted 5
    done
    before=$(encrypted)
    check "weft load over $engine" weft load https --insecure --warm-up 0 --duration 1 --connections 4 --timeout 100 localhost:8443/500000
    check "the kernel has encrypted for both sides" more_encrypted 8
    kill $server
    wait $server
    check "weft serve ends in order" test $? -eq 0
    for name in io_tls io_tls_rules io_tls_streams; do
        before=$(encrypted)
        check "$name on $engine" /tests/$name
        check "the kernel has encrypted there" more_encrypted 1
    done
done
weft cached -Z -o ssl_chain_cert=/etc/cert.pem,ssl_key=/etc/key.pem,ssl_kernel_tls -u root -l 127.0.0.1 -p 11311 &
server=$!
listens 11311
printf 'set a 0 0 5\r\nhello\r\nget a\r\nstats\r\nquit\r\n' |
    timeout 200 openssl s_client -connect localhost:11311 -quiet -CAfile /etc/cert.pem >said 2>/dev/null
check "weft cached answers" grep -q "^hello" said
check "and counts the connection" grep -q "^STAT ssl_kernel_tls_connections 1" said
kill $server
grep . /proc/net/tls_stat
echo "all done"
poweroff -f
