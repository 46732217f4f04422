#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are the names of static functions in src specific enough for a profile (docs/STYLE.md)?

Two files must not define static functions of one name, and a name of a single plain word, such as `take`, says nothing.
Ends in "names: N passed, N failed", counting functions."""
import collections
import pathlib
import re
import subprocess

DEFINITION = re.compile(r"^(?:static|WEFT_SWITCHES static)\b[^=;{]*?\b(\w+)\([^;]*?\)\s*(?:__attribute__\(.*\)\s*)?\{", re.M)
LEFT_OUT = re.compile(r"/\*.*?\*/|__attribute__\(\([^()]*(?:\([^()]*\))?\)\)", re.S)
# Words that say all there is to say.
SPEAKING = set("confined membarrier nanoseconds unconst".split())


def main():
    files = collections.defaultdict(list)
    listed = subprocess.run(["git", "ls-files", "src/*.c"], capture_output=True, text=True, check=True).stdout
    for path in listed.split():
        for name in set(DEFINITION.findall(LEFT_OUT.sub("", pathlib.Path(path).read_text()))):
            files[name].append(path)
    failed = 0
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            print(f"{name} is a static function of {', '.join(paths)}")
        elif "_" not in name and name not in SPEAKING:
            print(f"{name} in {paths[0]} says nothing in a profile")
        else:
            continue
        failed += 1
    print(f"names: {len(files) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    raise SystemExit(main())
