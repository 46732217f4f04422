# SPDX-License-Identifier: MIT
"""The test cases of a script, and its main function: SCRIPT BUILD_DIR [NAME...]. NAME: runs only this case."""
import os, shutil, sys, tempfile, time

SERVER = os.path.join(sys.argv[1], "tests/cached/server/cached")
DIR = tempfile.mkdtemp(prefix="weft-cached-")  # removed at the end
tests = []


def test(f):
    tests.append(f)
    return f


def command(*options):
    """The command that starts a server. As root it refuses to run without -u."""
    return [SERVER, *(["-u", "root"] if os.geteuid() == 0 else []), *options]


def main(after_each=None):
    """Runs the cases, prints the name of each, and the error if it has failed. Returns the exit status."""
    status = 0
    for t in tests:
        if sys.argv[2:] and t.__name__ not in sys.argv[2:]:
            continue
        begun = time.monotonic()
        try:
            t()
        except Exception as e:
            at = e.__traceback__.tb_next
            print("%s: %s: %s (line %s)" % (t.__name__, type(e).__name__, e, at and at.tb_lineno))
            status = 1
        if after_each:
            after_each()
        print("  %s (%.2f s)" % (t.__name__, time.monotonic() - begun), flush=True)
    shutil.rmtree(DIR, ignore_errors=True)
    return status
