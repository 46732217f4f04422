# SPDX-License-Identifier: MIT
"""Man pages: a page of section 3 for each function and macro that programs call, weft(7) for the conventions, and weft(1) for
the tool."""
import ast
import glob
import os
import re

import examples
import headers as reader
import reference


def escape(text):
    """For the text of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", text)


def inline(text):
    """Names in bold."""
    text = escape(text.replace("`", ""))
    return re.sub(r"\b(weft_\w+|WEFT_\w+)|(?<![\w])(\\-)?E[A-Z0-9]{3,}\b", lambda m: f"\\fB{m.group()}\\fP", text)


def block(kind, content):
    if kind == "p":
        return ".PP\n" + inline(content)
    if kind == "code":
        return ".PP\n.in +4n\n.EX\n" + "\n".join(escape(line) for line in content) + "\n.EE\n.in"
    if kind == "bullets":
        return "\n".join(".IP \\(bu 3\n" + inline(text) for text in content)
    return "\n".join(f".TP\n.B {escape(term)}\n{inline(text) or chr(92) + '&'}" for term, text in content)


def first_line(doc):
    return doc.summary.rstrip(".")


def head(title, section, version):
    return f'.\\" Made from the headers of weft.\n.TH {title} {section} "" "weft {version}" "weft"'


# Headers of libraries of their own, and the names that pkg-config knows these by.
LIBRARIES = {"weft/tls.h": "weft-tls", "weft/dist.h": "weft-mpi", "weft/ffi.h": "weft-ffi"}


def page(header, entry, version, example):
    doc, names = entry.doc, [s.name for s in entry.symbols if s.name]
    library = LIBRARIES.get(header.name, "weft").replace("-", "\\-")
    out = [head(names[0], 3, version), ".SH NAME", ", ".join(escape(n) for n in names) + " \\- " + escape(first_line(doc)),
           ".SH SYNOPSIS", f".B #include <{header.include}>", ".ad l"]
    for symbol in entry.symbols:
        shown = doc.synopsis if symbol.code.startswith("#define weft_") and doc.synopsis else symbol.code
        shown = re.sub(r"^#define ", "", shown)
        out.append(".HP 4\n.B \"" + escape(shown).replace("\\(aq", "'") + "\"")
    out += [".ad b", ".PP", f"Link with \\fIpkg\\-config \\-\\-cflags \\-\\-libs {library}\\fP.", ".SH DESCRIPTION"]
    parameters = None
    for kind, content in doc.blocks:
        if kind == "terms" and parameters is None:
            parameters = content
        else:
            out.append(block(kind, content))
    if parameters:
        out += [".SS Parameters", block("terms", parameters)]
    if doc.errors is not None:
        out.append(".SH ERRORS")
        out += [block(kind, content[:1].upper() + content[1:] if kind == "p" else content) for kind, content in doc.errors]
        if reference.cancels(doc):
            cancelled, late = (f"\\fB{escape(name)}\\fP" for name in reader.cancel_errors(header, doc))
            out.append(f".PP\nAs a cancellation point also {cancelled}, and {late} when the deadline of "
                       "a scope, or of the call, has passed.")
    if doc.callers:
        who, effects = reference.callers_text(doc.callers)
        out += [".SH CALLERS", inline(f"May be called by {who}.")]
        if effects:
            out.append(inline("The call " + " and ".join(effects) + "."))
    if example:
        out += [".SH EXAMPLES", block("code", example)]
    others = [s.name for s in neighbours(header, entry)]
    out += [".SH SEE ALSO", ",\n".join([".BR weft (7)"] + [f".BR {n} (3)" for n in others])]
    return "\n".join(line for line in out) + "\n"


def neighbours(header, entry):
    """Functions of the same section, the nearest few."""
    for section in header.sections:
        if entry in section.entries:
            calls = [e for e in section.entries if e.is_callable]
            at = calls.index(entry)
            near = calls[max(0, at - 3):at] + calls[at + 1:at + 4]
            return [e.symbols[0] for e in near]
    return []


def conventions(headers, version):
    """weft(7): what holds for all functions, and where they are declared."""
    intro = headers[0].intro
    out = [head("weft", 7, version), ".SH NAME", "weft \\- fibers for C on Linux", ".SH SYNOPSIS", ".B #include <weft.h>", ".PP",
           ".B cc prog.c $(pkg\\-config \\-\\-cflags \\-\\-libs weft)", ".SH DESCRIPTION"]
    out.append(block("p", "weft runs fibers: threads of control that cost a few kilobytes each. A fiber runs ordinary C code and "
                     "may block. While it waits, its kernel thread runs other fibers. A program starts with weft_run, or with "
                     "weft_start if it has threads of its own."))
    out.append(".SH HEADERS")
    for header in headers:
        calls = [e.symbols[0].name for e in header.entries() if e.is_callable][:5]
        out.append(block("terms", [(f"<{header.name}>", header.title + (": " + ", ".join(calls) + " ..." if calls else ""))]))
    out.append(".SH CONVENTIONS")
    for kind, content in intro.blocks:
        if kind == "bullets":  # those about the pages themselves are of no use here
            out += [block("bullets", [text for text in content if "each comment" not in text])]
    out.append(block(*intro.blocks[-1]).replace(", see below", ""))
    out += [".SH SEE ALSO", ".BR weft_run (3),", ".BR weft_spawn (3),", ".BR weft_scope_begin (3),", ".BR weft_read (3)"]
    return "\n".join(out) + "\n"


def help_texts(tools):
    """[(file, text)] of what --help prints: that of the tool first, then those of its commands."""
    found = []
    for path in sorted(glob.glob(f"{tools}/**/*.c", recursive=True), key=lambda p: (os.path.basename(p) != "main.c", p)):
        match = re.search(r'static const char help\[\] =\s*((?:"(?:[^"\\]|\\.)*"\s*)+);', open(path, encoding="utf-8").read())
        if match:
            found.append((path, "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', match.group(1)))))
    return found


def tool(texts, version):
    """weft(1): what --help prints, of the tool and of each command."""
    def verbatim(lines):
        return [".nf"] + [escape(line) or ".sp" for line in lines] + [".fi"]

    first, *lines = texts[0][1].strip("\n").split("\n")
    out = [head("weft", 1, version), ".SH NAME", "weft \\- " + escape(first.split(": ", 1)[1]), ".SH SYNOPSIS",
           ".B weft", ".I COMMAND", ".RI [ ARGUMENT ...]", ".SH COMMANDS"] + verbatim(lines[1:])
    for _, text in texts[1:]:
        title, *lines = text.strip("\n").split("\n")
        out += [".SH " + " ".join(re.findall(r"\w+", title)[:2]).upper(), ".nf", escape(title)] + verbatim(lines)[1:]
    out += [".SH SEE ALSO", ".BR weft (7),", ".BR weft_run (3)"]
    return "\n".join(out) + "\n"


def write(headers, directory, version, tools):
    """Writes man1/, man3/ and man7/; returns the names of the functions that have a page."""
    names, shown = [], examples.Examples()
    for section in ("man1", "man3", "man7"):
        os.makedirs(f"{directory}/{section}", exist_ok=True)
        for old in os.listdir(f"{directory}/{section}"):
            os.unlink(f"{directory}/{section}/{old}")
    for header in headers:
        for entry in header.entries():
            if not entry.is_callable:
                continue
            first = entry.symbols[0].name
            for symbol in entry.symbols:
                names.append(symbol.name)
                text = page(header, entry, version, shown.of(entry)) if symbol.name == first else f".so man3/{first}.3\n"
                with open(f"{directory}/man3/{symbol.name}.3", "w", encoding="utf-8") as file:
                    file.write(text)
    with open(f"{directory}/man7/weft.7", "w", encoding="utf-8") as file:
        file.write(conventions(headers, version))
    with open(f"{directory}/man1/weft.1", "w", encoding="utf-8") as file:
        file.write(tool(help_texts(tools), version))
    return names
