#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the peers that the benchmarks compare with, and builds their measuring programs into
# build/peers, where the tool looks for them. Kernel threads need no peer: their program is built
# with the tool.
set -eu
cd "$(dirname "$0")/.."
out=build/peers
mkdir -p "$out"

packages=''
command -v go >/dev/null || packages="$packages golang-go"
command -v g++ >/dev/null || packages="$packages g++"
[ -e /usr/include/boost/fiber/all.hpp ] || packages="$packages libboost-fiber-dev"
[ -e /usr/include/boost/context/fiber.hpp ] || packages="$packages libboost-context-dev"
[ -e /usr/include/oneapi/tbb/task_group.h ] || packages="$packages libtbb-dev"
command -v clang >/dev/null || packages="$packages clang"
[ -n "$(find /usr/lib/llvm-*/lib -name libomp.so 2>/dev/null)" ] || packages="$packages libomp-dev"
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || packages="$packages nginx-light"
command -v memcached >/dev/null || packages="$packages memcached"
command -v wrk >/dev/null || packages="$packages wrk"
command -v valgrind >/dev/null || packages="$packages valgrind"
[ -e /usr/include/liburing.h ] || packages="$packages liburing-dev"
if [ -n "$packages" ]; then
    root=''
    [ "$(id -u)" = 0 ] || root=sudo
    echo "peers: installing$packages"
    $root apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive $root apt-get install -o DPkg::Lock::Timeout=600 -qy --no-install-recommends $packages
fi

echo 'peers: building Go'
GO111MODULE=off GOFLAGS='' GOCACHE="$PWD/build/go-cache" go build -o "$out/go" ./bench/peers/go

echo 'peers: building Boost'
shared=''
for name in benches chan churn create crowd cycle locality measure memory mutex pingpong rescue ring sleep starve transfer work yield; do
    shared="$shared tools/bench/$name.c"
done
# shellcheck disable=SC2086
g++ -std=gnu++17 -O2 -DNDEBUG -Wall -Wextra -Werror -D_GNU_SOURCE -Ibench/peers/boost -Itools/bench \
    -o "$out/boost" -x c++ bench/peers/boost/main.cpp $shared -x none -pthread -lboost_fiber -lboost_context

# The inner loops are compiled by one compiler for all systems, weft and the serial program included.
echo 'peers: building inner loops'
leaves=''
flags='-O2 -DNDEBUG -Wall -Wextra -Werror -D_GNU_SOURCE -Itools/bench/forkjoin -Itools/bench'
mkdir -p "$out/leaves"
for name in forkjoin/kernels forkjoin/matrix forkjoin/sorting forkjoin/sums; do
    leaf="$out/leaves/$(basename $name).o"
    # shellcheck disable=SC2086
    gcc -std=gnu11 $flags -c -o "$leaf" "tools/bench/$name.c"
    leaves="$leaves $leaf"
done
forkjoin=tools/bench/measure.c
for name in bfs cilksort efficiency fib flat forkjoin heat heatfor knapsack latency loops matmul mergesort nqueens pi \
    quicksort sparselu strassen; do
    forkjoin="$forkjoin tools/bench/forkjoin/$name.c"
done
# compile language compiler system program libraries...
compile() {
    language=$1 compiler=$2 system=$3 program=$4
    shift 4
    # shellcheck disable=SC2086
    $compiler $flags "-Ibench/peers/$system" -o "$out/$program" -x "$language" bench/peers/"$system"/main.c* $forkjoin \
        -x none $leaves -pthread "$@"
}
echo 'peers: building oneTBB'
compile c++ 'g++ -std=gnu++17' tbb tbb -ltbb
echo 'peers: building OpenMP'
compile c 'gcc -std=gnu11' openmp libgomp -fopenmp
compile c 'clang -std=gnu11' openmp libomp -fopenmp=libomp
echo 'peers: building the parallel mode of libstdc++'
compile c++ 'g++ -std=gnu++17' gnu gnu -fopenmp

echo 'peers: building servers'
for name in epoll uring; do
    library=''
    [ $name = epoll ] || library=-luring
    gcc -std=gnu11 -O2 -DNDEBUG -Wall -Wextra -Werror -D_GNU_SOURCE -o "$out/io-$name" bench/peers/io/$name.c $library
done
gcc -std=gnu11 -O2 -DNDEBUG -Wall -Wextra -Werror -D_GNU_SOURCE -Ibench/peers/io -Itools/bench -o "$out/io-file" \
    bench/peers/io/file.c tools/bench/io/blocks.c tools/bench/measure.c -pthread -luring
cp bench/peers/io/nginx.sh "$out/io-nginx"
cp bench/peers/io/nginx.sh "$out/io-nginx-deferred"
cp bench/peers/io/memcached.sh "$out/io-memcached"
ln -sf "$(command -v wrk)" "$out/io-wrk"
cp bench/peers/cachegrind.sh "$out/cachegrind"
GO111MODULE=off GOFLAGS='' GOCACHE="$PWD/build/go-cache" go build -o "$out/io-go" ./bench/peers/io/go

echo 'peers: building weft with counters'
ninja -C build/release --quiet tools/peers/counted

ls -l "$out"
