#!/bin/sh
# SPDX-License-Identifier: MIT
# The benchmarks of libweft-mpi: bench/dist.sh [openmpi|mpich] [PART...], on a machine that does nothing else. Needs `make mpi`.
#
#   local    what a remote call costs that no rank takes, beside a typed task
#   steal    how long a rank waits for calls of another, beside MPI's ping-pong
#   uts      T1 and T1L on two ranks, beside two workers of one process, and UTS in plain MPI
#   ranks    T1 on 1 to 8 ranks, with the CPU time of all
#   idle     eight ranks without work for ten seconds
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../build/release/examples/dist" || exit 1
mpi=${1:-openmpi}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- local steal uts ranks idle
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 WEFT_WORKERS=1

ranks() { # how many, then the program
    n=$1
    shift
    case $mpi in
    openmpi) mpirun.openmpi --oversubscribe --bind-to none --mca osc ^rdma -n "$n" "$@" ;;
    *) mpirun.mpich -n "$n" "$@" ;;
    esac
}

for part; do
    echo "== $part"
    case $part in
    local) for _ in 1 2 3; do ranks 1 ./latency_$mpi local; done ;;
    steal)
        for _ in 1 2 3; do
            ranks 2 ./latency_$mpi ping
            WEFT_DIST_TRACE=/tmp/weft-steals.$$ ranks 2 ./uts_$mpi T3
            python3 "$here/dist/steals.py" /tmp/weft-steals.$$
            rm -f /tmp/weft-steals.$$
        done
        ;;
    idle) ranks 8 ./latency_$mpi idle ;;
    ranks)
        for n in 1 2 4 8; do WEFT_DIST_STATS=1 ranks $n ./uts_$mpi T1; done
        WEFT_DIST_STATS=1 WEFT_WORKERS=2 ranks 2 ./uts_$mpi T1
        ;;
    uts)
        for _ in 1 2 3 4 5; do
            ranks 1 ./uts_$mpi T1
            WEFT_WORKERS=2 ranks 1 ./uts_$mpi T1
            ranks 2 ./uts_$mpi T1
            for way in static master window; do ranks 2 ./mpi_uts_$mpi T1 $way; done
        done
        for _ in 1 2; do
            WEFT_WORKERS=2 ranks 1 ./uts_$mpi T1L
            ranks 2 ./uts_$mpi T1L
        done
        ;;
    *) echo "dist.sh: there is no part $part" >&2 && exit 2 ;;
    esac
done
