#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up what the programs of a `meson test` run have said: count.py LOG.json...

Prints a line for each program, with its seconds; then the output of the programs that failed; at last "N passed, N
failed". A program that ends in "...: N passed, N failed" counts with these numbers, any other program as one test case.
Status 1 if a test case failed, or none ran.

A program that failed runs three times more, with nothing beside it. If it passes each time, the machine was too busy for
it, or it shows a rare mistake: its output is printed, but it counts as passed. WEFT_TEST_STRICT=1 counts it as failed."""
import json
import os
import re
import subprocess
import sys

VERDICT = re.compile(r"(?:.*: )?(\d+) passed, (\d+) failed$")
LINES = 60  # of the output of a program that failed
AGAIN = 3  # runs of a program that failed
AGAIN_SECONDS = 300  # for each of these


def verdict(test):
    """Passed and failed test cases of a program."""
    good = test["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    lines = test.get("stdout", "").strip().splitlines()
    match = VERDICT.match(lines[-1]) if lines else None
    if not match:
        return (1, 0) if good else (0, 1)
    passed, failed = int(match.group(1)), int(match.group(2))
    return passed, failed if good or failed else 1


def passes_alone(test):
    """Does a program that failed beside others pass by itself, several times in a row?"""
    if os.environ.get("WEFT_TEST_STRICT", "0") != "0":
        return False
    for _ in range(AGAIN):
        try:
            run = subprocess.run(test["command"], env={**os.environ, **(test.get("env") or {})},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 timeout=AGAIN_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if run.returncode:
            return False
    return True


def show(title, name, test):
    """What a program wrote, and how it was run."""
    print("-- %s: %s (%s), run by" % (title, name, test["result"].lower()))
    print("   " + " ".join(test["command"]))
    said = (test.get("stderr", "") + test.get("stdout", "")).strip().splitlines()
    print("\n".join(said[-LINES:]))


def main():
    passed = failed = 0
    broken = []
    for path in sys.argv[1:]:
        for line in open(path, encoding="utf-8", errors="replace"):
            test = json.loads(line)
            name = test["name"].split(" / ")[-1]
            good, bad = verdict(test)
            print("  %s: %d passed, %d failed (%.1f s)" % (name, good, bad, test["duration"]))
            passed += good
            failed += bad
            if bad:
                broken.append((name, test, bad))
    for name, test, bad in broken:
        if passes_alone(test):
            show("unsteady, passed %d times alone" % AGAIN, name, test)
            passed += bad
            failed -= bad
        else:
            show("failed", name, test)
    if not passed and not failed:
        print("no test was run")
        failed = 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
