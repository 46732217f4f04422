#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do comments and documents name functions, macros, variables, files and options that exist?

A name of weft (weft_x, weft__x, WEFT_X) must occur in code somewhere; so must a name with an underscore in a comment,
and an option (`--x`) in a document. A file must be in the repository, and `make x` needs a rule of the Makefile. Prints each name that is
not found. At last the check plants stale names and looks whether it finds them. Ends in "stale: N passed, N failed",
counting files."""
import pathlib
import re
import subprocess

C_KINDS = {".c", ".h", ".cpp", ".hpp", ".S", ".pml"}
HASH_KINDS = {".sh", ".py", ".build"}
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
WEFT_NAME = re.compile(r"\b(?:weft_|WEFT_)\w+")
LOCAL_NAME = re.compile(r"(?<![\w/.])[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?!\.)")
FILE_NAME = re.compile(r"(?<![\w/.*<$-])(?:[\w-]+/)*[\w-]+\.(?:cpp|hpp|pml|sh|py|md|[chS])\b(?![\w(])")
OPTION = re.compile(r"`(--[a-z][\w-]+)")
TARGET = re.compile(r"`make ([a-z][a-z-]*)[ `]")

HISTORY = {"CHANGELOG.md"}  # says what is gone, too
# Patterns of names, as in "WEFT_TASK_n".
PATTERN = re.compile(r"_n$|^weft_+(noun|x$)|^WEFT_(X|CONSTANT)$")
# Names of the C library, the kernel and of protocols, which weft's code does not use; and names of invented examples.
FOREIGN = set("""bytes_acked close_notify eh_frame eh_frame_hdr sched_attr start_thread big_lock left_half right_half
gl_pathc gl_pathv shared_work uts_openmpi what_is_tested""".split())
FOREIGN_FILES = re.compile(r"^(prog|shop)\.c(pp)?$|^(sys|bits)/\w+\.h$|^(stdio|stdatomic|dlfcn|pthread)\.h$|^tls_(lines|get)\.c$|^lines\.c$"
                           r"|^(PREFIX/)?share/weft/weft\.py$")


def split_c(text):
    """Code without comments, and the comments as (offset, text)."""
    return C_COMMENT.sub(" ", text), [(m.start(), m.group()) for m in C_COMMENT.finditer(text)]


def split_hash(text):
    comments = [(m.start(), m.group()) for m in re.finditer(r"^\s*#(?!!)[^\n]*", text, re.M)]
    return re.sub(r"^\s*#(?!!)[^\n]*", " ", text, flags=re.M), comments


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def split_document(text):
    """A document has no code that defines anything. Blocks of code in it are compiled by tests/docs."""
    text = re.sub(r"^```.*?^```", blank, text, flags=re.S | re.M)
    return "", [(0, re.sub(r"^    .*$", blank, text, flags=re.M))]


def split(path, text):
    if path.suffix in C_KINDS:
        return split_c(text)
    if path.suffix in HASH_KINDS or path.name == "Makefile":
        return split_hash(text)
    if path.suffix == ".md":
        return split_document(text)
    return text, []


class Tree:
    """What exists: the files, and the words of all code."""

    def __init__(self):
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout
        self.paths = [pathlib.Path(p) for p in listed.splitlines()]
        self.endings = set()
        self.comments = {}
        code = []
        for path in self.paths:
            self.endings.update("/".join(path.parts[i:]) for i in range(len(path.parts)))
            try:
                text = path.read_text()
            except (UnicodeDecodeError, OSError):
                continue
            words, comments = split(path, text)
            code.append(words)
            if path.name not in HISTORY:
                self.comments[path] = (text, comments)
        self.code = "\n".join(code)
        self.words = set(re.findall(r"\w+", self.code))
        self.targets = set(re.findall(r"^([a-z][a-z -]*):", pathlib.Path("Makefile").read_text(), re.M))
        self.targets = {name for line in self.targets for name in line.split()}
        self.beginnings = {w[: i + 1] for w in self.words if "_" in w for i, c in enumerate(w) if c == "_"}

    def has_word(self, name, after):
        """A name before "*" or at "_" stands for all that begin with it."""
        if name in self.words or PATTERN.search(name):
            return True
        return (after == "*" or name.endswith("_")) and name.rstrip("_") + "_" in self.beginnings

    def has_option(self, option):
        return option in self.code or re.search(rf'"{option[2:]}\b', self.code)

    def stale_in(self, path, comment):
        """(offset, name) of each name in this comment that does not exist."""
        for m in WEFT_NAME.finditer(comment):
            if not self.has_word(m.group(), comment[m.end() : m.end() + 1]):
                yield m.start(), m.group()
        for m in FILE_NAME.finditer(comment):
            if m.group() not in self.endings and not FOREIGN_FILES.search(m.group()):
                yield m.start(), m.group()
        if path.suffix == ".md":
            for m in OPTION.finditer(comment):
                if not self.has_option(m.group(1)):
                    yield m.start(), m.group(1)
            for m in TARGET.finditer(comment):
                if m.group(1) not in self.targets:
                    yield m.start(), "make " + m.group(1)
        else:
            for m in LOCAL_NAME.finditer(comment):
                name = m.group()
                if not name.startswith("weft_") and name not in self.words and name not in FOREIGN:
                    yield m.start(), name


def main():
    tree = Tree()
    failed = set()
    for path, (text, comments) in tree.comments.items():
        for start, comment in comments:
            for offset, name in tree.stale_in(path, comment):
                print(f"{path}:{text.count(chr(10), 0, start + offset) + 1}: there is no {name}")
                failed.add(path)
    planted = "weft__" + "no_such_call, no_such/" + "file.c, no_such" + "_name"
    if len(list(tree.stale_in(pathlib.Path("src/planted.c"), planted))) < 3:
        print("stale: planted names were not found")
        failed.add("planted")
    print(f"stale: {len(tree.comments) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
