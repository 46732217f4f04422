#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the server: run.py PROGRAM [name...]. They ask a server that they share, or one of their own, through
sockets and curl. The last line is "serve: N passed, N failed"."""
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import answers  # noqa: E402, F401
import connections  # noqa: E402, F401
import ends  # noqa: E402, F401
import load  # noqa: E402, F401
import secure  # noqa: E402, F401
import users  # noqa: E402, F401
import whole  # noqa: E402, F401
from client import remove_root  # noqa: E402
from suite import ROOT, shared, tests  # noqa: E402


def the_server_ends():
    shared.end()


def main():
    wanted = sys.argv[2:]
    passed = failed = 0
    for t in tests + [the_server_ends]:
        if wanted and t.__name__ not in wanted and t is not the_server_ends:
            continue
        begun = time.monotonic()
        try:
            t()
            passed += 1
            verdict = "passed"
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            verdict = "FAILED"
        print("  serve: %s %s (%.2f s)" % (t.__name__, verdict, time.monotonic() - begun), flush=True)
    remove_root(ROOT)
    print("serve: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
