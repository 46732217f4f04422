# SPDX-License-Identifier: MIT
"""Counts the checks of a test that is a Python script, as check.sh does for shell scripts."""
passed = failed = 0


def check(is_so, what, *more):
    """Counts a check, and prints it if it fails."""
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print("not so:", what, *more)


def verdict(name, remark=""):
    """Prints the last line of the test, and returns its exit status."""
    print(f"{name}: {passed} passed, {failed} failed{remark}")
    return failed > 0
