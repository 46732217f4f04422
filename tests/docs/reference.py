#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the reference: reference.py SOURCE_DIR LIBRARY...

Every symbol that the libraries export and every macro that the headers define is described; functions also say their
errors and callers. Names in comments exist. Man pages are clean. Links of the site lead somewhere. Each is a test case;
ends in "reference: N passed, N failed"."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser

SOURCE = os.path.abspath(sys.argv[1])
INCLUDE = SOURCE + "/include"
sys.path[:0] = [SOURCE + "/docs/site", SOURCE + "/tests"]
sys.dont_write_bytecode = True

import examples  # noqa: E402
import headers as reader  # noqa: E402
import tally  # noqa: E402
from tally import check  # noqa: E402

# Functions of these headers need no examples of their own: the pages of the headers show programs.
WITHOUT_EXAMPLES = ("weft/dist.h", "weft/mpi.h", "weft/profile.h", "weft/trace.h")
# Results that a program may ignore, although a correct program can get an error: of sleeps; of calls that end something or
# give it back; of reports; of locks and scopes, which fail only if a new thread gets no record; of macros whose function is
# marked; and of calls for other languages.
MAY_BE_IGNORED = set("""weft_sleep weft_usleep weft_nanosleep weft_sleep_for weft_sleep_until
weft_stop weft_scope_end weft_signals_end weft_close weft_shutdown weft_unlinkat weft_tls_shutdown weft_readdir
weft_dump weft_metrics weft_hogs_backtrace weft_tcp_port
weft_mutex_lock weft_rwlock_read weft_rwlock_write weft_scope_begin weft_shield_begin
weft_spawn weft_scope_spawn weft_ffi_python_run weft_ffi_python_spawn""".split())
MISUSE = set("EINVAL EPERM ESRCH EBUSY EDEADLK EBADF EOVERFLOW EALREADY EEXIST ENOENT".split())


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    return {name for name in names if reader.is_public(name) and re.match(r"weft_\w+$", name)}


def defined():
    """The macros that the headers define, as listed by the compiler."""
    names = [page[0] for page in reader.pages(INCLUDE) if page[0] not in reader.TEMPLATES]
    text = "#define WEFT_NO_OLD_NAMES\n" + "".join(f"#include <{name}>\n" for name in names if name.endswith(".h"))
    out = subprocess.run(["cc", "-E", "-dM", "-D_GNU_SOURCE", "-I", INCLUDE, "-xc", "-"], input=text, check=True,
                         capture_output=True, text=True).stdout
    macros = set(re.findall(r"^#define ((?:weft|WEFT)_\w+)", out, re.M))
    return {name for name in macros if reader.is_public(name) and name != "WEFT_NO_OLD_NAMES"}


def check_headers(pages):
    described, shown = {}, examples.Examples()
    for page in pages:
        check(page.intro is not None and page.intro.summary, page.name, "has an introduction")
        for name in page.undescribed:
            check(False, name, "has a comment")
        for entry in page.entries():
            names = reader.names_of(entry)
            described.update((name, entry) for name in names)
            check(entry.doc.summary.endswith("."), names[0], "is described by sentences:", repr(entry.doc.summary))
            if entry.is_callable:
                check(entry.doc.has_errors(), names[0], "says its errors")
                check(entry.doc.callers, names[0], "says its callers")
                if page.name not in WITHOUT_EXAMPLES:
                    check(any(kind == "code" for kind, _ in entry.doc.blocks) or shown.of(entry), names[0],
                          "has an example: code in its comment, or a function in docs/site/examples")
    return described


def check_results(pages):
    """The compiler warns if a program ignores the result of a call that can fail in a correct program."""
    text = "".join(open(f"{INCLUDE}/{page[0]}", encoding="utf-8").read() for page in reader.pages(INCLUDE))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    marked = set(re.findall(r"\b(weft_\w+)\(", " ".join(re.findall(r"^WEFT_MUST_USE\b([^;{]*)", text, re.M))))
    for page in pages:
        for entry in page.entries():
            errors = str(entry.doc.errors)
            fails = "cancel" in (entry.doc.callers or "") or re.search(r"\bthose\b|\bother\b|\bas weft", errors) or \
                set(re.findall(r"\bE[A-Z0-9]{3,}\b", errors)) - MISUSE
            for symbol in entry.symbols:
                if symbol.kind == "function" and fails and not symbol.code.startswith(("void ", "struct weft_case ")):
                    check(symbol.name in marked | MAY_BE_IGNORED, symbol.name, "is WEFT_MUST_USE")
                    check(not {symbol.name} & marked & MAY_BE_IGNORED, symbol.name, "is marked, and may be ignored")


def check_cpp():
    """Every function and class of weft.hpp is on its page."""
    page = open(SOURCE + "/docs/CPP.md", encoding="utf-8").read()
    for name in sorted(os.listdir(INCLUDE + "/weft/cpp")):
        text = open(f"{INCLUDE}/weft/cpp/{name}", encoding="utf-8").read()
        text = re.sub(r"namespace detail \{.*?\n\} // namespace detail|/\*.*?\*/|  private:.*?\n\};", "", text, flags=re.S)
        text = re.sub(r"^(?:template <[^\n]*> )?class \w+[^{;]*\{.*?  public:", lambda m: m.group().split("{")[0] + "{", text, flags=re.S | re.M)
        function = (r"^(?: {4})?(?=[\w\[])(?!return\b)(?:template <.*?>\s+)?(?:\[\[nodiscard\]\] )?(?:inline |static |explicit )*"
                    r"[\w:<>,&* ]+?[ &*](\w+)\([^;{]*\)[\w ]*\{")
        found = re.findall(function, text, re.M)
        found += re.findall(r"^(?:template <.*?> )?class (\w+)", text, re.M)
        for word in sorted(set(found) - {"if", "iterator", "operator", "while"}):
            check(re.search(rf"`[^`]*\b{word}\b[^`]*`", page), "docs/CPP.md has", word, "of", name)


def check_names(described):
    """Every name in a comment of a header exists."""
    known = set(described) | {old for old, _ in reader.old_names(INCLUDE)}
    allowed = re.compile(r"WEFT_(SORT|SCAN)_\w+|WEFT_\w+_n$|weft_\w*_$|WEFT_TASK_CHECKS|WEFT_NO_OLD_NAMES|"
                         r"WEFT_(IO|DUMP|STATS|DEADLOCK|PROFILE|TRACE|TRACE_LAST)$")
    for page in reader.pages(INCLUDE):
        text = open(f"{INCLUDE}/{page[0]}", encoding="utf-8").read()
        comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
        for name in sorted(set(re.findall(r"(?<!#define )\b((?:weft|WEFT)_[a-zA-Z]\w*)(?!\w|\.h|##|\.{3})", comments))):
            if not allowed.match(name) and not name.endswith("_"):
                check(name in known, page[0], "mentions", name, "which does not exist")


def check_man(described, directory):
    subprocess.run([sys.executable, SOURCE + "/docs/site/build.py", "man", directory], check=True, stdout=subprocess.DEVNULL)
    for name, entry in described.items():
        if entry.is_callable:
            check(os.path.exists(f"{directory}/man3/{name}.3"), "there is a man page", name)
    if not shutil.which("groff"):
        print("groff is not installed: man pages are not formatted")
        return
    for section in ("man1", "man3", "man7"):
        for page in sorted(os.listdir(f"{directory}/{section}")):
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=78n", f"{section}/{page}"], cwd=directory,
                                    capture_output=True, text=True, errors="replace")
            check(result.returncode == 0 and not result.stderr, page, "is formatted without a word:", result.stderr[:300])


class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(open(path, encoding="utf-8").read())

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src"):
                self.links.append(value)
            elif key == "id":
                if value in self.ids:
                    self.links.append("twice: #" + value)
                self.ids.add(value)


def check_site(directory):
    subprocess.run([sys.executable, SOURCE + "/docs/site/build.py", "site", directory], check=True, stdout=subprocess.DEVNULL)
    pages = {}
    for folder, _, files in os.walk(directory):
        for file in files:
            if file.endswith(".html"):
                path = os.path.join(folder, file)
                pages[os.path.relpath(path, directory)] = Links(path)
    check(len(pages) > 20, "there are pages")
    for name, page in pages.items():
        bad = []
        for link in page.links:
            if re.match(r"https?:|mailto:", link):
                continue
            file, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), file)) if file else name
            if target in pages:
                if anchor and anchor not in pages[target].ids:
                    bad.append(link)
            elif not os.path.exists(os.path.join(directory, target)):
                bad.append(link)
        check(not bad, name, "has links that lead nowhere:", bad[:10])


def main():
    pages = reader.read_all(INCLUDE)
    for page in reader.pages(INCLUDE):
        check(page in reader.PAGES, page[0], "is entered in PAGES of docs/site/headers.py")
    described = check_headers(pages)
    for library in sys.argv[2:]:
        names = exported(library)
        check(len(names) > 10, library, "exports symbols")
        for name in sorted(names):
            check(name in described, name, "is exported by", os.path.basename(library), "and not described in a header")
    for name in sorted(defined()):
        check(name in described, name, "is a macro that is not described")
    check_names(described)
    check_results(pages)
    check_cpp()
    with tempfile.TemporaryDirectory() as scratch:
        check_man(described, scratch + "/man")
        check_site(scratch + "/site")
    return tally.verdict("reference")


if __name__ == "__main__":
    sys.exit(main())
