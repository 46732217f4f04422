#!/bin/sh
# SPDX-License-Identifier: MIT
# weft cached as a process: run.sh BUILD_DIR. Its answers beside memcached's (protocol.py), memcapable, and the client
# libraries that are installed. Ends in "N passed, N failed".
build=${1:?"usage: run.sh BUILD_DIR"}
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v /usr/bin/python3 || command -v python3) # Debian's own has Debian's libraries
server=$build/tests/cached/server/cached
passed=0
failed=0
dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null; rm -rf "$dir"' EXIT

verdict() { # name, status
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    [ "$2" -eq 0 ] || { cat "$dir/out" && echo "  cached/$1 FAILED"; }
}

"$python" "$here/protocol.py" "$server" --random "${WEFT_CACHED_STREAMS:-300}" >"$dir/out" 2>&1
status=$?
count=$(sed -n 's/^cached\/protocol: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$dir/out")
passed=$((passed + ${count%% *}))
[ "$status" -eq 0 ] && [ -n "$count" ] || verdict protocol 1

mkdir "$dir/corpus" && "$python" "$here/protocol.py" --corpus "$dir/corpus"
"$build/tests/cached/fuzz/fuzz" "$dir/corpus" 1 >"$dir/out" 2>&1
verdict fuzz $?

user=
[ "$(id -u)" -ne 0 ] || user="-u root" # else it refuses to run
begin() { # options
    "$server" -p $port -l 127.0.0.1 -t 2 -A $user "$@" &
    pid=$!
    tries=0
    until "$python" "$here/client.py" $port ping 2>/dev/null || [ $tries -gt 100 ]; do tries=$((tries + 1)) && sleep 0.05; done
}
end() { # what it is called
    "$python" "$here/client.py" $port shutdown >"$dir/out" 2>&1
    wait $pid
    verdict "$1" $?
}

port=$((20000 + $$ % 10000))
begin

capable=$(command -v memcapable || command -v memccapable)
if [ -n "$capable" ]; then
    timeout 60 "$capable" -a -h 127.0.0.1 -p $port >"$dir/out" 2>&1
    verdict memcapable $?
fi
for client in plain crowd conns pymemcache pylibmc memcache perl tools; do
    timeout 60 "$python" "$here/client.py" $port $client >"$dir/out" 2>&1
    status=$?
    [ $status -eq 77 ] || verdict $client $status # 77: it is not installed
done
end shutdown

begin -o idle_timeout=1
timeout 60 "$python" "$here/client.py" $port idle >"$dir/out" 2>&1
verdict idle $?
end "shutdown after idle"

for engine in uring epoll; do
    for script in process datagrams watchers frames passwords restart admin; do
        WEFT_IO=$engine timeout 600 "$python" -B "$here/$script.py" "$build" >"$dir/out" 2>&1
        verdict "$script on $engine" $?
    done
done

if command -v openssl >/dev/null && ! "$server" -Z -o ssl_chain_cert=/ 2>&1 | grep -q "without OpenSSL"; then
    for engine in uring epoll; do
        WEFT_IO=$engine timeout 600 "$python" -B "$here/secure.py" "$build" >"$dir/out" 2>&1
        verdict "TLS on $engine" $?
    done
else
    echo "cached: TLS left out: built without OpenSSL, or no openssl to make certificates"
fi

timeout 100 "$python" "$here/client.py" $port daemon "$server" >"$dir/out" 2>&1
verdict daemon $?

echo "cached: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
