# SPDX-License-Identifier: MIT
"""Pages of the reference, as HTML, from what headers.py has read."""
import html
import re

import examples
import headers as reader
import highlight

CALLER_WORDS = {"fiber": "fibers", "thread": "other threads", "signal": "signal handlers"}


def callers_text(callers):
    """(who may call, [what it does to the caller]) in words, from "fiber thread; parks, cancel"."""
    who, _, rest = callers.partition(";")
    names = [CALLER_WORDS.get(word, word) for word in who.split()]
    effects = []
    for word in (part.strip() for part in rest.split(",")):
        if word == "parks":
            effects.append("may park the caller")
        elif word == "cancel":
            effects.append("is a cancellation point")
        elif word:
            effects.append(word)
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1], effects


def cancels(doc):
    return doc.callers is not None and "cancel" in re.split(r"[;, ]+", doc.callers)


class Reference:
    def __init__(self, headers, link_name):
        self.headers, self.link_name, self.examples = headers, link_name, examples.Examples()

    def inline(self, text):
        """Names of the interface, error names and words in backquotes as code."""
        def name(match):
            word = match.group()
            target = self.link_name(word.rstrip("()"))
            return f'<a href="{target}"><code>{word}</code></a>' if target else f'<code class="short">{word}</code>'

        parts = re.split(r"(`[^`]+`)", text)
        for i, part in enumerate(parts):
            if part.startswith("`"):
                parts[i] = f"<code>{html.escape(part[1:-1], quote=False)}</code>"
            else:
                part = html.escape(part, quote=False)
                part = re.sub(r"\b(?:weft_\w+|WEFT_\w+)(?!\w|/|\.h)(?:\(\))?|(?<![\w-])-?E[A-Z0-9]{3,}\b|\bEAI_\w+\b", name, part)
                part = re.sub(r"\bdocs/(\w+)\.md", r'<a href="../docs/\1.html">docs/\1.md</a>', part)
                parts[i] = part
        return "".join(parts)

    def block(self, kind, content):
        if kind == "p":
            return f"<p>{self.inline(content)}</p>"
        if kind == "code":
            return f'<pre class="c"><code>{highlight.code(chr(10).join(content), self.link_name)}</code></pre>'
        if kind == "bullets":
            return "<ul>" + "".join(f"<li>{self.inline(text)}</li>" for text in content) + "</ul>"
        rows = "".join(f"<dt><code>{html.escape(term)}</code></dt><dd>{self.inline(text)}</dd>" for term, text in content)
        return f"<dl>{rows}</dl>"

    def errors(self, header, doc):
        blocks = [self.block(kind, content[:1].upper() + content[1:] if kind == "p" else content)
                  for kind, content in doc.errors]
        if cancels(doc):
            cancelled, late = (f"<code>{name}</code>" for name in reader.cancel_errors(header, doc))
            blocks.append(f"<p>As a cancellation point also {cancelled}, and {late} when the deadline of a scope, or of "
                          "the call, has passed.</p>")
        return "".join(blocks)

    def members(self, symbol):
        if not any(comment for _, comment in symbol.members):
            return ""
        rows = []
        for text, comment in symbol.members:
            anchor = f' id="{text.split()[0]}"' if symbol.kind == "enum" else ""
            rows.append(f"<tr{anchor}><td><code>{html.escape(text)}</code></td><td>{self.inline(comment)}</td></tr>")
        return f'<div class="table"><table class="members">{"".join(rows)}</table></div>'

    def entry(self, header, entry):
        doc, out = entry.doc, []
        ids = [s.name for s in entry.symbols if s.name]
        constants = [t.split()[0] for s in entry.symbols if s.kind == "enum" for t, _ in s.members]
        plain = not any(comment for s in entry.symbols for _, comment in s.members)  # no table, so no anchors there
        titled = ids or (constants if plain else constants[:1])
        anchors = ids or (constants if plain else [])
        title = " ".join(f'<span id="{n}">{n}</span>' if n in anchors else f"<span>{n} …</span>" for n in titled)
        shown = ids or constants
        out.append(f'<section class="entry" data-name="{shown[0]}"><h3>{title} '
                   f'<a class="mark" href="#{shown[0]}" aria-label="link">#</a></h3>')
        code = []
        for symbol in entry.symbols:
            if symbol.kind == "function" and symbol.code.startswith("#define weft_") and doc.synopsis:
                code.append(doc.synopsis)
            elif symbol.kind == "struct" and symbol.members:
                hidden = all(re.search(r"opaque|queue|word|reserved", t) for t, _ in symbol.members)
                code.append(f"struct {symbol.name};" if hidden else re.sub(r" */\*.*?\*/", "", symbol.code, flags=re.S))
            elif symbol.kind == "enum":
                code.append("enum { " + ", ".join(t for t, _ in symbol.members) + " };" if len(symbol.members) < 4 else
                            "enum {\n" + "".join(f"    {t},\n" for t, _ in symbol.members) + "};")
            else:
                code.append(symbol.code)
        own = set(ids)
        link = lambda name: None if name in own else self.link_name(name)
        out.append(f'<pre class="c synopsis"><code>{highlight.code(chr(10).join(code), link)}</code></pre>')
        parameters = None
        for kind, content in doc.blocks:
            if kind == "terms" and entry.is_callable and parameters is None:
                parameters = content
            else:
                out.append(self.block(kind, content))
        if parameters:
            out.append("<h4>Parameters</h4>" + self.block("terms", parameters))
        for symbol in entry.symbols:
            if symbol.kind in ("struct", "enum"):
                out.append(self.members(symbol))
        if doc.errors is not None:
            out.append("<h4>Errors</h4>" + self.errors(header, doc))
        example = self.examples.of(entry)
        if example:
            out.append("<h4>Example</h4>" + self.block("code", example))
        if doc.callers:
            who, effects = callers_text(doc.callers)
            out.append(f'<p class="callers"><span>called by {who}</span>' +
                       "".join(f"<span>{html.escape(e)}</span>" for e in effects) + "</p>")
        return "".join(out) + "</section>"

    def page(self, header):
        """(HTML, headings)"""
        out = [f"<h1>{html.escape(header.title)}</h1>", f'<p class="include"><code>#include &lt;{header.include}&gt;</code></p>']
        out += [self.block(*block) for block in header.intro.blocks]
        if header.intro.errors:
            out.append("<h4>Errors</h4>" + self.errors(header, header.intro))
        headings = []
        for section in header.sections:
            if section.title:
                anchor = "section-" + re.sub(r"\W+", "-", section.title.lower())
                headings.append((2, anchor, section.title))
                out.append(f'<h2 id="{anchor}">{html.escape(section.title)}</h2>')
                out += [self.block(*block) for block in section.blocks]
            for entry in section.entries:
                for symbol in entry.symbols:
                    if symbol.name and symbol.kind != "macro":
                        headings.append((3, symbol.name, symbol.name))
                out.append(self.entry(header, entry))
        return "\n".join(out), headings

    def overview(self):
        out = ["<h1>Reference</h1>", "<p>Every function, type and macro of the public headers. Press <kbd>/</kbd> to "
               "search. The same text is in the man pages: <code>man weft_spawn</code>.</p>"]
        for header in self.headers:
            out.append(f'<h2><a href="{header.page}.html">{html.escape(header.title)}</a> '
                       f"<small><code>&lt;{header.name}&gt;</code></small></h2>")
            rows = []
            for entry in header.entries():
                names = [s.name for s in entry.symbols if s.name] or [entry.symbols[0].members[0][0].split()[0]]
                shown = ", ".join(f'<a href="{header.page}.html#{n}"><code>{n}</code></a>' for n in names[:6])
                shown += " …" if len(names) > 6 else ""
                rows.append(f"<tr><td>{shown}</td><td>{self.inline(entry.doc.summary)}</td></tr>")
            if rows:
                out.append(f'<div class="table"><table class="overview">{"".join(rows)}</table></div>')
            else:
                out.append(f"<p>{self.inline(header.intro.summary)}</p>")
        return "\n".join(out)
