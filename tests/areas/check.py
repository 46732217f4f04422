#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the areas of the library call only what the map allows? check.py NM LIBRARY MAP

LIBRARY is the static library, MAP is src/areas. A call is a symbol that one object uses and another one defines. Each
call that the map does not allow is printed. So is an exception that no object needs any more. At last the test plants a
call that is not allowed, and checks that it is found. Ends in "N passed, N failed", counting calls between areas."""
import collections
import re
import subprocess
import sys


def read_map(text):
    """The areas that each area may call, and the exceptions: (file, area) -> symbols."""
    allowed, exceptions = {}, {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        left, _, right = line.partition(":")
        if "->" in left:
            file, _, area = (part.strip() for part in left.partition("->"))
            exceptions[file, area] = set(right.split())
        else:
            allowed[left.strip()] = set(right.split())
    for area, calls in allowed.items():
        for unknown in calls - set(allowed):
            sys.exit(f"areas: {area} may call {unknown}, which is no area")
    return allowed, exceptions


def source_of(member, areas):
    """Area and file of an object: src_sched_core_records.c.o -> sched/core, sched/core/records.c"""
    name = re.sub(r"^src_|\.o$", "", member)
    for area in sorted(areas, key=len, reverse=True):
        prefix = area.replace("/", "_") + "_"
        if name.startswith(prefix):
            return area, area + "/" + name[len(prefix):]
    sys.exit(f"areas: {member} is in no area of the map")


def read_symbols(nm, library):
    """Which member defines a symbol, and which symbols each member uses."""
    output = subprocess.run([nm, "-A", "-P", library], capture_output=True, text=True, check=True).stdout
    defined, used = {}, collections.defaultdict(set)
    for line in output.splitlines():
        match = re.match(r".*\[(.*)\]: (\S+) (\S)", line)
        if not match or match.group(2).startswith("__x86_return_thunk"):  # what gcc calls to return; in arch
            continue
        member, symbol, kind = match.groups()
        if kind in "TDBRVW":
            defined[symbol] = member
        elif kind in "Uw":
            used[member].add(symbol)
    return defined, used


def find_calls(defined, used, areas):
    """(calling file, its area, called area, symbol) for every call from one area to another."""
    for member, symbols in sorted(used.items()):
        area, file = source_of(member, areas)
        for symbol in sorted(symbols):
            if symbol in defined:
                called, _ = source_of(defined[symbol], areas)
                if called != area:
                    yield file, area, called, symbol


def judge(calls, allowed, exceptions):
    """The calls that are not allowed, and the exceptions that are not needed."""
    wrong, needed = [], set()
    for file, area, called, symbol in calls:
        if called in allowed[area]:
            continue
        if symbol in exceptions.get((file, called), ()):
            needed.add((file, called, symbol))
        else:
            wrong.append(f"{file} calls {symbol}: {area} may not call {called}")
    present = {file for file, *_ in calls}
    for (file, called), symbols in exceptions.items():
        for symbol in symbols:
            if file in present and (file, called, symbol) not in needed:
                wrong.append(f"{file} does not call {symbol} of {called} any more: take the exception out of the map")
    return wrong


def main():
    nm, library, map_file = sys.argv[1:]
    with open(map_file, encoding="utf-8") as file:
        allowed, exceptions = read_map(file.read())
    defined, used = read_symbols(nm, library)
    calls = list(find_calls(defined, used, allowed))
    wrong = judge(calls, allowed, exceptions)
    for line in wrong:
        print("areas:", line)
    bottom, top = list(allowed)[0], list(allowed)[-1]
    if not judge(calls + [(bottom + "/planted.c", bottom, top, "planted")], allowed, exceptions)[len(wrong):]:
        wrong.append("planted")
        print("areas: a planted call from the bottom to the top was not found")
    print(f"areas: {max(len(calls) - len(wrong), 0)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong or not calls else 0)


if __name__ == "__main__":
    main()
