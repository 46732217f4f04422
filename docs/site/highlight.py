# SPDX-License-Identifier: MIT
"""Code as HTML: comments, strings, keywords and numbers in colour, names of the interface as links."""
import html
import re

KEYWORDS = set("""auto break case const continue default do else enum extern for goto if inline int long register return
short signed sizeof static struct switch typedef union unsigned void volatile while char float double bool size_t
ssize_t uint64_t uint32_t uint8_t int64_t uintptr_t intptr_t pthread_t true false NULL class template namespace using
auto public private new delete func go chan select defer range package import var type map""".split())
# Code in comments of headers cannot contain comments: words behind a statement and three spaces are one, too.
TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*|(?<=[;)}][ ]{3})[ ]*[^\s/\\][^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
|(?P<directive>^[ \t]*\#[ \t]*\w+)|(?P<number>\b\d[\w.]*)|(?P<word>[A-Za-z_]\w*)""", re.S | re.M | re.X)


def code(text, link=lambda name: None):
    """C, or a language with the same comments and strings."""
    out, at = [], 0
    for match in TOKEN.finditer(text):
        out.append(html.escape(text[at:match.start()], quote=False))
        at = match.end()
        kind, token = match.lastgroup, html.escape(match.group(), quote=False)
        if kind == "word":
            target = link(match.group())
            if target:
                token = f'<a href="{target}">{token}</a>'
            elif match.group() in KEYWORDS:
                token = f'<b>{token}</b>'
        elif kind != "number":
            token = f'<i class="{kind[0]}">{token}</i>'
        out.append(token)
    out.append(html.escape(text[at:], quote=False))
    return "".join(out)


def shell(text):
    """Comments in colour."""
    lines = []
    for line in text.split("\n"):
        match = re.match(r"(.*?)((?:^|\s)#\s.*)?$", line)
        rest = f'<i class="c">{html.escape(match.group(2), quote=False)}</i>' if match.group(2) else ""
        lines.append(html.escape(match.group(1), quote=False) + rest)
    return "\n".join(lines)
