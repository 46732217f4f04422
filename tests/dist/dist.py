#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of libweft-mpi under mpirun: dist.py BUILD MPI [brief|kills N|CASE...]

BUILD is the build directory, MPI is openmpi or mpich. Ends in "N passed, N failed". `kills N` kills a rank at a random
moment, N times, and two of four ranks now and then; the soak does that. No case asserts a time."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

BUILD, MPI = sys.argv[1], sys.argv[2]
LIMIT = 60 * int(os.environ.get("WEFT_TEST_PATIENCE", "1"))
TIMES = []
TREES = {"T1": 4130071, "T1L": 102181082, "T3": 4112897}


def program(name):
    where = "tests/dist" if name in ("calls", "lossy", "differs") else "examples/dist"
    return f"{BUILD}/{where}/{name}_{MPI}"


def mpirun(ranks, lossy=False):
    if MPI == "openmpi":
        return ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"] + (["--enable-recovery"] if lossy else []) + ["-n", str(ranks)]
    # MPICH's mpirun sometimes kills all processes when a process that it has started dies by a signal: so it starts a
    # shell.
    between = ["sh", "-c", 'trap "" USR1; "$0" "$@"; exit 0']
    return ["mpirun.mpich"] + (["-disable-auto-cleanup"] if lossy else []) + ["-n", str(ranks)] + (between if lossy else [])


def environment(workers=1, **more):
    names = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "WEFT_WORKERS": str(workers)}
    return {**os.environ, **names, **more}


def run(ranks, command, workers=1, **more):
    """Status and output. A program that does not end in time is killed with all its ranks."""
    process = subprocess.Popen(mpirun(ranks) + command, env=environment(workers, **more), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        end(process, command[0])
        return "hangs", process.stdout.read()
    return process.returncode, output


def ranks_of(name):
    """{rank: pid} of the processes of the program that mpirun has started. Only one job of a program runs at a time."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") != os.path.realpath(name):
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                names = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if b"=" in part)
            rank = names.get(b"OMPI_COMM_WORLD_RANK", names.get(b"PMI_RANK"))
            if rank is not None:
                found[int(rank)] = int(pid)
        except (OSError, ValueError):
            continue
    return found


def end(process, name):
    for pid in list(ranks_of(name).values()) + [process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def says(ranks, command, *texts, status=0, **more):
    """None if the program prints each text once, and ends with status 0, or with another one if status is not 0."""
    got, output = run(ranks, command, **more)
    right = all(output.count(text) == 1 for text in texts) and (got == 0 if status == 0 else got not in (0, "hangs"))
    if right and not wait_for(lambda: not any(ranks_of(part) for part in command if "/" in part)):
        return "ranks are left behind"
    return None if right else f"status {got}: {output[-2000:]}"


def wait_for(happened):
    """True: it has happened in time."""
    limit = time.time() + LIMIT
    while not happened():
        if time.time() > limit:
            return False
        time.sleep(0.005)
    return True


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def hit(pids, victims, number):
    """The victims that were still there."""
    done = []
    for victim in victims:
        try:
            os.kill(pids[victim], number)
            done.append(victim)
        except (ProcessLookupError, KeyError):
            pass  # the search was over
    return done


def lose(ranks, victims, tree, after, stop=None, late=False, finalize=False):
    """Kills ranks, or stops them for a number of seconds, some time after the search has begun, or has ended (late).
    finalize: rank 1 kills itself in MPI_Finalize."""
    more = {"WEFT_DIST_DETECT": "300"} if stop else {}
    with tempfile.NamedTemporaryFile() as report:
        command = [program("lossy"), tree, report.name] + (["finalize"] if finalize else [])
        process = subprocess.Popen(mpirun(ranks, lossy=True) + command, env=environment(**more), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        if not wait_for(lambda: lines_of(report.name)):
            end(process, command[0])
            return "the search does not begin"
        pids = ranks_of(command[0])
        if late and not wait_for(lambda: len(lines_of(report.name)) > 1):
            end(process, command[0])
            return "the search does not end"
        time.sleep(after)
        lost = hit(pids, victims, signal.SIGSTOP if stop else signal.SIGKILL)
        if stop:
            time.sleep(stop)
            hit(pids, lost, signal.SIGCONT)
        wait_for(lambda: not any(alive(pid) for pid in pids.values()))
        left = [rank for rank, pid in pids.items() if alive(pid)]
        answer = lines_of(report.name)[1:]
        end(process, command[0])
    TIMES.append((lost, after, answer))
    if not answer or not answer[0].startswith("right"):
        return f"after {after:.3f} s, ranks {lost}: {answer}"
    if finalize and answer[1:] != ["returned"]:
        return f"rank 0 says {answer}"
    return f"ranks {left} are left behind" if left else None


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def other_mpi():
    """The program of the other MPI, if that is also installed."""
    other = program("fib").replace(MPI, "mpich" if MPI == "openmpi" else "openmpi")
    return says(2, [other], "belongs to another MPI", status=1) if os.path.exists(other) else None


def trace():
    """The trace of three ranks is JSON, and has events of all of them."""
    with tempfile.NamedTemporaryFile() as file:
        wrong = tree(3, "T1", WEFT_DIST_TRACE=file.name)
        ranks = {event["pid"] for event in json.load(file) if event.get("cat") == "rank"}
    return wrong or (None if ranks == {0, 1, 2} else f"events of ranks {ranks}")


def tree(ranks, name, workers=1, **more):
    return says(ranks, [program("uts"), name], f"{TREES[name]} nodes", workers=workers, **more)


CASES = {
    "calls": lambda: says(2, [program("calls")], " 0 failed"),
    "calls, four ranks of two workers": lambda: says(4, [program("calls")], " 0 failed", workers=2),
    "calls, sockets": lambda: says(3, [program("calls")], " 0 failed", WEFT_DIST_NODES="alone"),
    "one rank": lambda: tree(1, "T1"),
    "two ranks": lambda: tree(2, "T1"),
    "eight ranks": lambda: tree(8, "T1"),
    "T3, two ranks of two workers": lambda: tree(2, "T3", workers=2),
    "T3, sockets": lambda: tree(3, "T3", WEFT_DIST_NODES="alone"),
    "fib": lambda: says(2, [program("fib"), "27"], "= 196418"),
    "a rank is killed": lambda: lose(3, [random.randrange(1, 3)], "T1", random.uniform(0, 0.5)),
    "two of four are killed": lambda: lose(4, random.sample(range(1, 4), 2), "T1", random.uniform(0, 0.5)),
    "a rank is killed when the job ends": lambda: lose(3, [1], "T1", random.choice([0, 0.002, 0.01]), late=True),
    "a rank dies in MPI_Finalize": lambda: lose(3, [], "T1", 0, finalize=True),
    "a false suspicion": lambda: lose(3, [1], "T1", 0.05, stop=0.6),
    "a trace": trace,
    "programs differ": lambda: says(1, [program("calls"), ":", "-n", "1", program("fib")],
                                    "is not that of rank 0", status=1),
    "another MPI's mpirun": other_mpi,
    "MPI cannot start": lambda: says(2, ["env", "PMI_FD=999999", "OMPI_MCA_pml=none", program("fib")],
                                     "weft: MPI cannot start", status=1),
    "a call is not registered": lambda: says(2, [program("differs"), "unregistered"], "is not registered", status=1),
    "a result too large": lambda: says(2, [program("differs"), "large"], "no memory", status=1),
    "rank 0 dies": lambda: says(3, [program("differs"), "die"], status=1),
}
BRIEF = ["calls", "calls, sockets", "two ranks", "T3, two ranks of two workers", "two of four are killed",
         "a rank dies in MPI_Finalize", "programs differ",
         "another MPI's mpirun", "MPI cannot start", "a call is not registered", "a result too large"]


def main():
    arguments = sys.argv[3:]
    passed = failed = 0
    if arguments[:1] == ["kills"]:
        cases = [(f"kill {i}", lambda i=i: lose(4, random.sample(range(1, 4), 2), "T1", random.uniform(0, 0.5)) if i % 4 == 3
                  else lose(3, [random.randrange(1, 3)], "T1", random.uniform(0, 0.5))) for i in range(int(arguments[1]))]
    else:
        names = BRIEF if arguments == ["brief"] else arguments or CASES
        cases = [(name, CASES[name]) for name in names]
    for name, case in cases:
        wrong = case()
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"{MPI}: {name}: {wrong}", flush=True)
    if os.environ.get("WEFT_DIST_TIMES"):
        print(*TIMES, sep="\n")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
