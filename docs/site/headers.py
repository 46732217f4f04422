# SPDX-License-Identifier: MIT
"""Reads the public headers: sections, comments, and what they describe. FORMAT.md says how comments are written."""
import os
import re

# The order of the reference. The last two are templates: only their introduction is public.
PAGES = [
    ("weft.h", "runtime", "Runtime and fibers"),
    ("weft/sync.h", "sync", "Locks and counters"),
    ("weft/chan.h", "chan", "Channels, futures, select"),
    ("weft/scope.h", "scope", "Scopes and clean-up"),
    ("weft/io.h", "io", "Input and output"),
    ("weft/stream.h", "stream", "Connections by name, and streams"),
    ("weft/file.h", "file", "Files by name, and directories"),
    ("weft/typed.h", "typed", "Channels of one type"),
    ("weft/poll.h", "poll", "Readiness"),
    ("weft/signal.h", "signal", "Signals"),
    ("weft/task.h", "task", "Tasks: fork and join"),
    ("weft/par.h", "par", "Loops and algorithms"),
    ("weft/profile.h", "profile", "Profiles"),
    ("weft/trace.h", "trace", "The flight recorder"),
    ("weft/tls.h", "tls", "TLS"),
    ("weft/dist.h", "dist", "Beyond one machine"),
    ("weft/ffi.h", "ffi", "Other languages"),
    ("weft/attributes.h", "attributes", "Attributes"),
    ("weft/sort.h", "sort", "A sort for one type"),
    ("weft/scan.h", "scan", "Scans for one type"),
]
TEMPLATES = ("weft/sort.h", "weft/scan.h")
# weft.h includes these; programs do not.
INCLUDED = ("weft/attributes.h", "weft/chan.h", "weft/par.h", "weft/poll.h", "weft/scope.h", "weft/signal.h", "weft/sync.h",
            "weft/task.h")
# Most functions of these set errno.
LOOK_ALIKES = ("weft/io.h", "weft/file.h", "weft/tls.h")
# Parts of other headers, and old names, which the reference lists by themselves.
UNLISTED = ("weft/sort_few.h", "weft/sort_nearly.h", "weft/old.h")

CALLERS = re.compile(r"^\[((?:fiber|thread)[^\]]*)\]$")


class Doc:
    """A comment, taken apart. `blocks` are ("p", text), ("code", lines), ("terms", [(term, text)]), ("bullets", texts)."""

    def __init__(self, lines):
        self.blocks, self.errors, self.callers, self.synopsis = [], None, None, None
        lines = list(lines)
        while lines and not lines[-1].strip():
            lines.pop()
        if lines and CALLERS.match(lines[-1]):
            self.callers = CALLERS.match(lines.pop()).group(1)
        in_errors = False
        for block in blocks_of(lines):
            kind, content = block
            if kind == "p" and content.startswith("Synopsis: "):
                self.synopsis = content[len("Synopsis: "):]
            elif kind == "p" and content.startswith("Errors:"):
                self.errors = [("p", content[len("Errors:"):].strip())] if content != "Errors:" else []
                in_errors = True
            elif in_errors:
                self.errors.append(block)
            else:
                self.blocks.append(block)

    @property
    def summary(self):
        """The first sentence."""
        for kind, content in self.blocks:
            if kind == "p":
                match = re.match(r"(.*?[^.]\.)(?= [A-Z(]|$)", content)
                return match.group(1) if match else content
        return ""

    def has_errors(self):
        return self.errors is not None and any(content for _, content in self.errors)


def blocks_of(lines):
    """Paragraphs, code (four spaces), lists of terms and of bullets (two spaces)."""
    found, i = [], 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif line.startswith("    "):
            code = []
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                code.append(lines[i][4:])
                i += 1
            while code and not code[-1].strip():
                code.pop()
            found.append(("code", code))
        elif line.startswith("  "):
            items = []
            while i < len(lines) and lines[i].startswith("  "):
                if lines[i].startswith("   ") and items:
                    items[-1] += "\n" + lines[i].strip()
                else:
                    items.append(lines[i].strip())
                i += 1
            found.append(list_of(items))
        else:
            text = [line.strip()]
            i += 1
            while i < len(lines) and lines[i].strip() and not lines[i].startswith("  ") and text[0] != "Errors:" \
                    and not lines[i].startswith(("Errors:", "Synopsis:")):
                text.append(lines[i].strip())
                i += 1
            found.append(("p", " ".join(text)))
    return found


def list_of(items):
    if items[0].startswith("- "):
        return ("bullets", [item[2:].replace("\n", " ") for item in items])
    terms = []
    for item in items:
        parts = re.split(r"  +|\n", item, maxsplit=1)
        terms.append((parts[0], (parts[1] if len(parts) > 1 else "").replace("\n", " ")))
    return ("terms", terms)


class Symbol:
    def __init__(self, kind, name, code, members=()):
        self.kind, self.name, self.code, self.members = kind, name, code, list(members)


class Entry:
    """A comment and the symbols that it describes."""

    def __init__(self, doc):
        self.doc, self.symbols = doc, []

    @property
    def is_callable(self):
        return any(s.kind == "function" for s in self.symbols)


class Section:
    def __init__(self, title, blocks):
        self.title, self.blocks, self.entries = title, blocks, []


class Header:
    def __init__(self, name, page, title):
        self.name, self.page, self.title = name, page, title
        self.intro, self.sections, self.undescribed = None, [Section("", [])], []

    @property
    def include(self):
        """The header that a program includes for it."""
        return "weft.h" if self.name in INCLUDED else self.name

    def entries(self):
        return [entry for section in self.sections for entry in section.entries]


def is_public(name):
    return bool(re.match(r"(weft_(?!_)|WEFT_(?!_))", name)) and not name.endswith("_") and not re.match(r"WEFT_(\w+_)?H$", name)


def comment_lines(text):
    lines = text[2:-2].split("\n")
    lines[0] = lines[0].strip()
    return [re.sub(r"^ \* ?", "", line).rstrip() for line in lines] if len(lines) > 1 else [text[2:-2].strip()]


def pieces_of(source):
    """("comment" | "blank" | "directive" | "declaration", text), in order."""
    i, n = 0, len(source)
    while i < n:
        c = source[i]
        if c.isspace():
            end = i
            while end < n and source[end].isspace():
                end += 1
            if source.count("\n", i, end) > 1:
                yield ("blank", "")
        elif source.startswith("/*", i):
            end = source.index("*/", i) + 2
            if i == 0 or source[i - 1] == "\n":
                yield ("comment", source[i:end])
        elif c == "}":
            end = i + 1
        elif source.startswith('extern "C" {', i):
            end = i + len('extern "C" {')
        elif c == "#":
            end = i
            while True:
                end = source.find("\n", end)
                end = n if end < 0 else end
                if source[end - 1] != "\\":
                    break
                end += 1
            yield ("directive", source[i:end])
        else:
            end = declaration_end(source, i)
            yield ("declaration", source[i:end])
            while end < n and source[end] in " \t":
                end += 1
        i = end


def declaration_end(source, i):
    depth, n, braces = 0, len(source), False
    while i < n:
        if source.startswith("/*", i):
            i = source.index("*/", i) + 2
            continue
        c = source[i]
        if c == "{":
            depth += 1
            braces = braces or re.search(r"\)\s*$", source[:i]) is not None and depth == 1
        elif c == "}":
            depth -= 1
            if depth == 0 and braces:
                return i + 1
        elif c == ";" and depth == 0:
            return i + 1
        i += 1
    return n


def one_line(comment):
    return re.sub(r"\s*\n\s*\*?\s*", " ", comment).strip()


def members_of(code):
    """Members of a struct or an enum with their comments: [(text, comment)]."""
    body = code[code.index("{") + 1:code.rindex("}")]
    found, before = [], ""
    separator = ";" if code.startswith("struct") else ","
    i = 0
    while i < len(body):
        if body[i].isspace():
            i += 1
        elif body.startswith("/*", i):
            end = body.index("*/", i) + 2
            before = one_line(body[i + 2:end - 2])
            i = end
        else:
            end, depth = i, 0
            while end < len(body) and (body[end] != separator or depth):
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(body[end], 0)
                if body.startswith("/*", end):
                    break
                end += 1
            text = " ".join(body[i:end].split())
            if end < len(body) and body[end] == separator:
                end += 1
            after = re.match(r"[ \t]*/\*(.*?)\*/", body[end:], re.S)
            comment = before
            if after:
                comment = one_line(after.group(1))
                end += after.end()
            found.append((text, comment))
            before = ""
            i = end
    return found


def symbol_of(kind, text):
    """The symbol that a directive or declaration introduces, or None."""
    if kind == "directive":
        match = re.match(r"#\s*define\s+(\w+)(\([^)]*\))?(.*)", text, re.S)
        if not match:
            return None
        name, args = match.group(1), match.group(2) or ""
        value = match.group(3).strip()
        code = "#define " + name + args + ("" if args or "\\" in value or not value else " " + value)
        calls = name.startswith("weft_") or name in ("WEFT_SPAWN", "WEFT_CALL", "WEFT_SYNC", "WEFT_RUN")
        return Symbol("function" if calls else "macro", name, code)
    code = re.sub(r"\bWEFT_MUST_USE\s+|\bstatic inline\s+|\b_Noreturn\s+", "", text)
    match = re.match(r"(struct|enum)\s*(\w*)\s*(__attribute__.*?)?\{", code)
    if match:
        return Symbol(match.group(1), match.group(2), text, members_of(code))
    match = re.match(r"struct (\w+);$", code)
    if match:
        return Symbol("struct", match.group(1), code)
    match = re.search(r"\b(weft_\w+)\s*\(", code)
    if match:
        end = code.index(")", match.end())
        depth, i = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(code[i], 0)
            i += 1
        end = i
        return Symbol("function", match.group(1), " ".join(code[:end].split()) + ";")
    return None


def read(include, name, page, title):
    """A header as the reference shows it."""
    source = open(f"{include}/{name}", encoding="utf-8").read()
    source = source.replace("#ifdef __cplusplus\n[[noreturn]]\n#else\n_Noreturn\n#endif\n", "")
    header = Header(name, page, title)
    entry, fresh, seen = None, False, set()
    for kind, text in pieces_of(source):
        if kind == "comment":
            lines = comment_lines(text)
            if "SPDX-License-Identifier" in text or "clang-format o" in text:
                continue
            if header.intro is None:
                header.intro = Doc(lines)
            elif lines[0].startswith("-----"):
                header.sections.append(Section(lines[1], blocks_of(lines[2:-1])))
                entry = None
            else:
                entry, fresh = Entry(Doc(lines)), True
        elif kind == "blank":
            entry = None
        elif name in TEMPLATES:
            break
        else:
            symbol = symbol_of(kind, text)
            section = header.sections[-1]
            if symbol is None or symbol.name in seen and symbol.name or section.title.startswith("Internal"):
                continue
            named = symbol.name or symbol.members[0][0].split()[0]
            if not is_public(named) or named == "weft_waiter":
                continue
            if symbol.kind == "struct" and not symbol.members and not entry:
                continue  # only announced here
            seen.add(symbol.name)
            if entry is None:
                header.undescribed.append(named)
                continue
            if fresh:
                section.entries.append(entry)
                fresh = False
            entry.symbols.append(symbol)
    header.sections = [s for s in header.sections if s.entries or s.blocks and not s.title.startswith("Internal")]
    return header


def pages(include):
    """PAGES, and headers that are not among them yet: a test asks for these to be entered."""
    listed = [page for page in PAGES if os.path.exists(f"{include}/{page[0]}")]
    names = [page[0] for page in PAGES] + list(UNLISTED)
    more = sorted("weft/" + name for name in os.listdir(include + "/weft") if name.endswith(".h"))
    return listed + [(name, name[len("weft/"):-len(".h")], name) for name in more if name not in names]


def read_all(include):
    return [read(include, *page) for page in pages(include)]


def cancel_errors(header, doc):
    """The errors of a cancellation point: look-alikes of POSIX calls set errno, other functions return negative numbers."""
    negative = header.name not in LOOK_ALIKES or re.search(r"-E[A-Z]|negative", str(doc.errors))
    return [("-" if negative else "") + name for name in ("ECANCELED", "ETIMEDOUT")]


def old_names(include):
    """[(old, new)]"""
    text = open(f"{include}/weft/old.h", encoding="utf-8").read()
    return re.findall(r"#define (weft_\w+)\([^)]*\) (weft_\w+)\(", text)


def names_of(entry):
    """Every name that an entry describes: its symbols, and the constants of enums."""
    names = []
    for symbol in entry.symbols:
        if symbol.name:
            names.append(symbol.name)
        if symbol.kind == "enum":
            names += [text.split()[0] for text, _ in symbol.members]
    return names
