# SPDX-License-Identifier: MIT
"""Shared by the tests: the program, a directory, and a server on it that most tests use."""
import os
import sys

from client import Server, make_root

PROGRAM = sys.argv[1]
SLOW = bool(os.environ.get("WEFT_TEST_SCALE"))  # a sanitizer: tests use smaller numbers
ROOT = make_root()
GET = "GET %s HTTP/1.1\r\nHost: t\r\n%s\r\n"

shared = Server(PROGRAM, ROOT)
tests = []


def test(f):
    tests.append(f)
    return f


def same(got, wanted):
    assert got == wanted, "%r, and %r would be right" % (got, wanted)
