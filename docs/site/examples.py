# SPDX-License-Identifier: MIT
"""Examples for names whose comment has none: functions of examples/*.c, which tests/docs compiles."""
import glob
import os
import re

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples")


def files():
    """In the order of the reference."""
    order = ["runtime", "sync", "chan", "io", "stream", "par", "tls"]
    found = glob.glob(HERE + "/*.c")
    return sorted(found, key=lambda path: order.index(os.path.basename(path)[:-2]))


def blocks_of(path):
    """Pieces between blank lines that are functions, with what belongs to them. The first pieces of a file are not shown."""
    found = []
    for piece in re.split(r"\n\n+(?=\S)", open(path, encoding="utf-8").read()):
        if re.search(r"^\S.*\) \{|^WEFT_TASK", piece, re.M):
            found.append(piece.strip("\n").split("\n"))
    return found


class Examples:
    def __init__(self):
        self.blocks = [block for path in files() for block in blocks_of(path)]

    def of(self, entry):
        """Lines of the first example that uses a name of the entry; None if there is none, or the comment has one."""
        if not entry.is_callable or any(kind == "code" for kind, _ in entry.doc.blocks):
            return None
        for symbol in entry.symbols:
            for block in self.blocks:
                if any(re.search(rf"(?<!define )\b{symbol.name}\(", line) for line in block):
                    return block
        return None
