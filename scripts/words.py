#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts vague pronouns (PRONOUNS, ONE) in comments, messages and documents (docs/STYLE.md).

words.py             fails if a directory has more than 1 in 1000 words, and more than one. Ends in "words: N passed, N failed"
words.py PATH...     the counts of these files and directories, the worst file first
words.py --all       the counts of every directory
"""
import pathlib
import re
import subprocess
import sys

LIMIT = 1.0

PRONOUNS = r"who|whom|whose|whoever|somebody|someone|anybody|anyone|nobody|everybody|everyone"
ONE = r"the ones?|ones|one that|one which|no one|(?:this|that|another|which) one(?=\s*(?:[,.;:)]|$))"
VAGUE = re.compile(rf"\b(?:{PRONOUNS}|{ONE})\b", re.I)
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
C_KINDS = {".c", ".h", ".cpp", ".hpp", ".S", ".pml", ".go", ".rs", ".js", ".css", ".html", ".map"}
HASH_KINDS = {".sh", ".py", ".build", ".in", ".ini", ".bash", ".wrap"}
HASH_FILES = {"Makefile", "meson_options.txt", ".ci/run", "completions/_weft", "src/areas", "src/threads/interposed",
              "src/threads/interposed_threads", "tests/model/weak/needed", "tests/model/explore/argued", "debian/rules"}
PLAIN_FILES = {"debian/control", "debian/changelog"}


def prose_of(path, text):
    """The comments and messages of a source, the whole of a document without code and quotations."""
    if path.suffix in C_KINDS:
        return " ".join(m for m in C_COMMENT.findall(text) if m[0] == "/" or " " in m)
    if path.suffix in HASH_KINDS or str(path) in HASH_FILES:
        sentences = re.findall(r'"""(.*?)"""', text, re.S) if path.suffix == ".py" else []
        messages = re.findall(r"\b(?:echo|printf|fail|print\(f?|exit\(f?) ?[\"']([^\"'\n]* [^\"'\n]*)[\"']", text)
        return "\n".join(sentences + messages + re.findall(r"(?:^|\s)#([^\n]*)", text))
    if str(path) in PLAIN_FILES:
        return text
    if path.suffix == ".md":
        text = re.sub(r"^\| instead of \|.*?\n\n", "", text + "\n", flags=re.S | re.M)  # examples of what not to write
        text = re.sub(r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"", " ", text, flags=re.S)
        return re.sub(r"^    .*$", "", text, flags=re.M)
    return ""


def tracked(paths):
    listed = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True).stdout
    return [pathlib.Path(p) for p in listed.splitlines()]


def count(path):
    """How many words, and the vague ones."""
    try:
        prose = prose_of(path, path.read_text())
    except (UnicodeDecodeError, OSError):
        return 0, []
    return len(re.findall(r"[A-Za-z][A-Za-z']*", prose)), VAGUE.findall(re.sub(r"\s*\n\s*\*?\s*", " ", prose))


def total(paths):
    counts = [(path, *count(path)) for path in tracked(paths)]
    return sum(c[1] for c in counts), sum(len(c[2]) for c in counts), counts


def rate(words, vague):
    return 1000 * vague / words if words else 0.0


def show(paths):
    words, vague, counts = total(paths)
    for path, n, found in sorted(counts, key=lambda c: len(c[2])):
        if found:
            print(f"{path}: {len(found)} in {n} words: {', '.join(sorted(set(w.lower() for w in found)))}")
    print(f"{' '.join(paths)}: {vague} in {words} words, {rate(words, vague):.1f} per thousand")


def places():
    return sorted({"/".join(p.parts[:2]) if len(p.parts) > 2 else str(p.parts[0]) for p in tracked(["."])})


def show_all():
    for place in places():
        words, vague, _ = total([place])
        if words:
            print(f"{rate(words, vague):6.1f}  {vague:5}  {words:6}  {place}")


def check():
    passed = failed = 0
    for place in places():
        words, vague, counts = total([place])
        if vague <= 1 or rate(words, vague) <= LIMIT:
            passed += words > 0
            continue
        failed += 1
        print(f"{place}: {rate(words, vague):.1f} vague pronouns per thousand words, at most {LIMIT:.0f} (docs/STYLE.md)")
        for path, _, found in counts:
            if found:
                print(f"    {path}: {', '.join(found)}")
    print(f"words: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--all"]:
        show_all()
    elif sys.argv[1:]:
        show(sys.argv[1:])
    else:
        sys.exit(check())
