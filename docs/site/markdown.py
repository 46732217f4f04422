# SPDX-License-Identifier: MIT
"""The part of Markdown that weft's documents use, as HTML: headings, paragraphs, lists, tables, code, links, quotes."""
import html
import re

import highlight

SHORT = 24  # characters of code that are not broken into two lines


class Page:
    """A rendered document. `headings`: [(level, id, text)]."""

    def __init__(self, text, link_name, link_file):
        self.link_name, self.link_file = link_name, link_file
        self.headings = []
        text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
        self.html = "\n".join(self.blocks(text.split("\n")))

    def inline(self, text):
        """Code first, so that nothing in it is taken for anything else."""
        kept = []

        def keep(content):
            kept.append(content)
            return f"\x00{len(kept) - 1}\x00"

        def span(match):
            name = match.group(2).strip()
            target = self.link_name(re.sub(r"\(.*", "", name)) if re.match(r"\w+(\(.*\))?$", name) else None
            short = ' class="short"' if len(name) <= SHORT else ""
            shown = f"<code{short}>{html.escape(name, quote=False)}</code>"
            return keep(f'<a href="{target}">{shown}</a>' if target else shown)

        def anchor(match):
            target = self.link_file(match.group(2))
            return f'<a href="{html.escape(target)}">{match.group(1)}</a>' if target else match.group(1)

        text = re.sub(r"(`+)(.+?)\1", span, text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", anchor, text)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*(?!\s)([^*]+?)(?<!\s)\*(?![\w*])", r"<em>\1</em>", text)
        while "\x00" in text:
            text = re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m.group(1))], text)
        return text

    def heading(self, level, text):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", text)
        anchor = re.sub(r"[^\w-]", "", plain.lower().replace(" ", "-"))
        while any(anchor == other for _, other, _ in self.headings):
            anchor += "-"
        self.headings.append((level, anchor, plain))
        mark = f' <a class="mark" href="#{anchor}" aria-label="link to this section">#</a>' if level > 1 else ""
        return f'<h{level} id="{anchor}">{self.inline(text)}{mark}</h{level}>'

    def fence(self, info, lines):
        words = info.split()
        language, text = words[0] if words else "", "\n".join(lines)
        if language in ("c", "cpp", "go"):
            shown = highlight.code(text, self.link_name)
        elif language == "sh":
            shown = highlight.shell(text)
        else:
            shown = html.escape(text, quote=False)
        return f'<pre class="{language or "plain"}"><code>{shown}</code></pre>'

    def table(self, rows):
        def cells(row):
            row = re.sub(r"(`[^`]*`)", lambda m: m.group(1).replace("|", "\x01"), row.strip().strip("|"))
            return [cell.strip().replace("\x01", "|") for cell in row.split("|")]

        head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
        out = ['<div class="table"><table>']
        if any(head):
            out.append("<thead><tr>" + "".join(f"<th>{self.inline(c)}</th>" for c in head) + "</tr></thead>")
        for row in body:
            out.append("<tr>" + "".join(f"<td>{self.inline(c)}</td>" for c in row) + "</tr>")
        return "\n".join(out + ["</table></div>"])

    def items(self, lines):
        """A list: items begin at the indentation of the first, everything deeper belongs to one."""
        ordered = re.match(r"\s*\d+\.", lines[0]) is not None
        marker = re.compile(r"(\d+\.|[-*]) +")
        found = []
        for line in lines:
            match = marker.match(line)
            if match:
                found.append([line[match.end():]])
                indent = match.end()
            else:
                stripped = len(line) - len(line.lstrip())
                found[-1].append(line[min(indent, stripped):])
        tag = "ol" if ordered else "ul"
        out = [f"<{tag}>"]
        for item in found:
            inner = self.blocks(item)
            if len(inner) >= 1 and inner[0].startswith("<p>") and not any(not line.strip() for line in item[:-1]):
                inner[0] = inner[0][3:-4]
            out.append("<li>" + "\n".join(inner) + "</li>")
        return "\n".join(out + [f"</{tag}>"])

    def blocks(self, lines):
        out, i = [], 0
        while i < len(lines):
            line = lines[i]
            if not line.strip():
                i += 1
                continue
            begin = i
            match = re.match(r"(#{1,6}) +(.*)", line)
            if match:
                out.append(self.heading(len(match.group(1)), match.group(2)))
                i += 1
            elif line.startswith("```"):
                i += 1
                while i < len(lines) and not lines[i].startswith("```"):
                    i += 1
                out.append(self.fence(line[3:], lines[begin + 1:i]))
                i += 1
            elif line.startswith("    "):
                while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                    i += 1
                text = "\n".join(l[4:] for l in lines[begin:i]).rstrip()
                out.append(f"<pre class=\"plain\"><code>{html.escape(text, quote=False)}</code></pre>")
            elif line.startswith("|"):
                while i < len(lines) and lines[i].startswith("|"):
                    i += 1
                out.append(self.table(lines[begin:i]))
            elif line.startswith(">"):
                while i < len(lines) and lines[i].startswith(">"):
                    i += 1
                inner = self.blocks([re.sub(r"^> ?", "", l) for l in lines[begin:i]])
                out.append("<blockquote>" + "\n".join(inner) + "</blockquote>")
            elif re.match(r"(\d+\.|[-*]) +", line):
                i += 1
                while i < len(lines) and (re.match(r"(\d+\.|[-*]) +|\s+\S", lines[i]) or not lines[i].strip() and
                                          i + 1 < len(lines) and re.match(r"  +\S", lines[i + 1]) or
                                          lines[i].strip() and not re.match(r"[#|>`]", lines[i]) and
                                          lines[i - 1].strip()):
                    i += 1
                out.append(self.items(lines[begin:i]))
            else:
                while i < len(lines) and lines[i].strip() and not re.match(r"#{1,6} |```|\||> ", lines[i]):
                    i += 1
                    if i < len(lines) and re.match(r"(\d+\.|[-*]) +", lines[i]):
                        break
                out.append(f"<p>{self.inline(' '.join(l.strip() for l in lines[begin:i]))}</p>")
        return out
