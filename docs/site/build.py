#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation: build.py site DIRECTORY, or build.py man DIRECTORY [DEPFILE]

site: HTML that works from a file, with search: guide, cookbook, reference, design pages, examples.
man:  man1/, man3/ and man7/, from what the tool says and the comments in the headers; DEPFILE names these, for ninja."""
import html
import json
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import examples  # noqa: E402
import headers as reader  # noqa: E402
import highlight  # noqa: E402
import man  # noqa: E402
import markdown  # noqa: E402
import reference  # noqa: E402


def version():
    text = open(f"{ROOT}/include/weft.h", encoding="utf-8").read()
    return ".".join(re.search(rf"WEFT_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def read(path):
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        return file.read()


def title_of(text, path):
    match = re.search(r"^# (.+)$", text, re.M)
    return re.sub(r"[`*]", "", match.group(1)) if match else os.path.basename(path)


class Site:
    def __init__(self, out):
        self.out = out
        self.headers = reader.read_all(f"{ROOT}/include")
        self.names, self.found = {}, []
        for header in self.headers:
            for entry in header.entries():
                for name in reader.names_of(entry):
                    self.names.setdefault(name, f"reference/{header.page}.html#{name}")
        for old, new in reader.old_names(f"{ROOT}/include"):
            self.names.setdefault(old, self.names.get(new))
        self.guide = self.in_order("docs/guide")
        self.design = sorted(f"docs/{f}" for f in os.listdir(f"{ROOT}/docs") if f.endswith(".md"))
        self.decisions = sorted(f"docs/decisions/{f}" for f in os.listdir(f"{ROOT}/docs/decisions") if f.endswith(".md"))
        self.examples = sorted(os.path.relpath(f"{directory}/{f}", ROOT) for directory, _, files in os.walk(f"{ROOT}/examples")
                               for f in files if f.endswith((".c", ".h", ".cpp", ".rs", ".py")))
        self.where = {}  # of a file in the tree: its page
        for path in self.guide:
            self.where[path] = "guide/" + os.path.basename(path)[:-3] + ".html"
        for path in self.design + self.decisions:
            self.where[path] = path[:-3] + ".html"
        for path in self.examples:
            self.where[path] = path.replace(".", "_") + ".html"
        self.where["docs/guide/README.md"] = self.where["docs/guide/"] = self.where["docs/guide"] = "index.html"

    @staticmethod
    def in_order(directory):
        """As the README of the directory links to them. A page that it forgets would be missing."""
        links = list(dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)\)", read(f"{directory}/README.md"))))
        forgotten = {name for name in os.listdir(f"{ROOT}/{directory}") if name.endswith(".md")} - {"README.md", *links}
        if forgotten:
            sys.exit(f"{directory}/README.md does not link to {', '.join(sorted(forgotten))}")
        return [f"{directory}/{name}" for name in links]

    def link_name(self, page):
        up = "../" * page.count("/")
        return lambda name: up + self.names[name] if self.names.get(name) else None

    def link_file(self, page, path):
        up = "../" * page.count("/")

        def link(target):
            if re.match(r"\w+:|#", target):
                return target
            file, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), file))
            if file.startswith("include/weft"):
                pages = [h.page for h in self.headers if "include/" + h.name == file]
                return f"{up}reference/{pages[0]}.html" if pages else None
            if file not in self.where:
                return None
            return up + self.where[file] + ("#" + anchor if anchor else "")
        return link

    def side(self, page, headings):
        up = "../" * page.count("/")
        groups = [("Guide", [("index.html", "Start here")] + [(self.where[p], title_of(read(p), p)) for p in self.guide]),
                  ("Reference", [("reference/index.html", "Overview")] +
                   [(f"reference/{h.page}.html", h.title) for h in self.headers]),
                  ("Design", [(self.where[p], title_of(read(p), p)) for p in self.design])]
        out = []
        for name, links in groups:
            inside = any(target == page for target, _ in links)
            out.append(f"<details{' open' if inside or name == 'Guide' else ''}><summary>{name}</summary><ul>")
            for target, text in links:
                here = target == page
                out.append(f'<li><a href="{up}{target}"{" aria-current=page" if here else ""}>{html.escape(text)}</a>')
                if here and headings:
                    inner = "".join(f'<li class="l{level}"><a href="#{anchor}">' +
                                    html.escape(text).replace("_", "_<wbr>") + "</a></li>"
                                    for level, anchor, text in headings if level in (2, 3))
                    out.append(f"<ul>{inner}</ul>" if inner else "")
                out.append("</li>")
            out.append("</ul></details>")
        return "".join(out)

    def write(self, page, title, body, headings=(), follow=""):
        up = "../" * page.count("/")
        name = "weft" if title == "weft" else f"{title} · weft"
        text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(name)}</title><link rel="stylesheet" href="{up}style.css">
<script>document.documentElement.dataset.theme = localStorage.getItem("theme") || "";</script></head>
<body data-root="{up}"><header class="top"><a class="brand" href="{up}index.html">weft</a>
<nav><a href="{up}index.html">Guide</a><a href="{up}{self.where.get("docs/guide/cookbook.md", "index.html")}">Cookbook</a>
<a href="{up}reference/index.html">Reference</a></nav>
<div class="search"><input type="search" placeholder="Search  ( / )" aria-label="Search"><ol hidden></ol></div>
<button class="theme" title="light or dark" aria-label="light or dark">◐</button></header>
<div class="page"><details class="menu"><summary>Contents</summary></details>
<aside class="side">{self.side(page, headings)}</aside><main>{body}{follow}</main></div>
<script src="{up}search.js"></script><script src="{up}site.js"></script></body></html>
"""
        path = f"{self.out}/{page}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def document(self, path, kind, follow=""):
        page = self.where[path]
        text = read(path)
        rendered = markdown.Page(text, self.link_name(page), self.link_file(page, path))
        title = title_of(text, path)
        self.write(page, title, rendered.html, rendered.headings, follow)
        for level, anchor, heading in rendered.headings:
            where = page if level == 1 else f"{page}#{anchor}"
            self.found.append((heading, kind, where, "" if level == 1 else title))

    def follow(self, path):
        """Links to the pages before and after one of the guide."""
        order = ["docs/guide/README.md"] + self.guide
        at, up = order.index(path), "../" * self.where[path].count("/")
        out = []
        for step, label in ((-1, "←"), (1, "→")):
            if 0 <= at + step < len(order):
                other = order[at + step]
                text = title_of(read(other), other)
                shown = f"{label} {text}" if step < 0 else f"{text} {label}"
                out.append(f'<a href="{up}{self.where[other]}">{html.escape(shown)}</a>')
            else:
                out.append("<span></span>")
        return '<nav class="follow">' + "".join(out) + "</nav>"

    def build(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)
        for name in ("style.css", "site.js"):
            shutil.copy(f"{HERE}/{name}", f"{self.out}/{name}")
        self.document("docs/guide/README.md", "guide", self.follow("docs/guide/README.md"))
        for path in self.guide:
            self.document(path, "guide", self.follow(path))
        for path in self.design + self.decisions:
            self.document(path, "design")
        for path in self.examples:
            page = self.where[path]
            code = highlight.shell(read(path)) if path.endswith(".py") else highlight.code(read(path), self.link_name(page))
            self.write(page, path, f'<h1>{path}</h1><pre class="c"><code>{code}</code></pre>')
            self.found.append((path, "example", page, ""))
        ref = reference.Reference(self.headers, self.link_name("reference/x"))
        for header in self.headers:
            body, headings = ref.page(header)
            self.write(f"reference/{header.page}.html", header.title, body, headings)
            self.found.append((header.title, "reference", f"reference/{header.page}.html", f"<{header.name}>"))
            for entry in header.entries():
                kinds = {s.name: s.kind for s in entry.symbols}
                for name in reader.names_of(entry):
                    self.found.append((name, kinds.get(name, "constant"), self.names[name], entry.doc.summary.replace("`", "")))
        old = "".join(f"<tr><td><code>{o}</code></td><td><a href=\"../{self.names[n]}\"><code>{n}</code></a></td></tr>"
                      for o, n in reader.old_names(f"{ROOT}/include"))
        self.write("reference/index.html", "Reference", ref.overview() +
                   f'<h2>Old names</h2><p>Names of version 0.1 that still work.</p><div class="table"><table>{old}</table></div>')
        with open(f"{self.out}/search.js", "w", encoding="utf-8") as file:
            file.write("const weftIndex = " + json.dumps(self.found, ensure_ascii=False) + ";\n")


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("site", "man"):
        sys.exit(__doc__)
    what, out = sys.argv[1], sys.argv[2]
    if what == "man":
        names = man.write(reader.read_all(f"{ROOT}/include"), out, version(), f"{ROOT}/tools")
        if len(sys.argv) > 3:
            read_ones = [f"{ROOT}/include/{page[0]}" for page in reader.pages(f"{ROOT}/include")]
            read_ones += [path for path, _ in man.help_texts(f"{ROOT}/tools")] + examples.files()
            with open(sys.argv[3], "w", encoding="utf-8") as file:
                file.write("docs/man1: " + " ".join(name.replace(" ", "\\ ") for name in read_ones) + "\n")
        print(f"{out}: {len(names)} man pages")
    else:
        site = Site(out)
        site.build()
        print(f"{out}/index.html: open it in a browser")


if __name__ == "__main__":
    main()
