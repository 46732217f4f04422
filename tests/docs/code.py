#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs the code in the guide and on some other pages, so that it stays true: code.py SOURCE_DIR BUILD_DIR [PAGE...]

The info string of a code block says what is done with it:

    ```c run [file=NAME]       a program: compiled, run, must succeed; a block ```output behind it is what it prints
    ```c program [file=NAME]   a program: compiled and linked
    ```c                       declarations: compiled
    ```c body                  statements: compiled within a function
    ```c wrong                 a mistake that is shown: compiled, warnings allowed
    ```sh run                  commands: run in a directory that holds the files of the page so far
    ```go                      vetted, if go is there

Programs, and those of examples/, are also compiled strictly: by gcc and clang, for C11 to C23 or C++17 to C++23. With
WEFT_TEST_SCALE above 1, gcc compiles them only for the oldest standard, and clang only for the newest.

needs=PACKAGE: left out if pkg-config does not know it. <!-- prelude ... --> holds declarations for the fragments that
follow on the page; they are not shown. A line ... in an output stands for any lines, and ... in a line for any text.
Ends in "code: N passed, N failed"."""
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
STRICT = ["-Wall", "-Wextra", "-Werror"]
FRAGMENT = STRICT + ["-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-parameter", "-Wno-unused-but-set-variable",
                     "-Wno-missing-field-initializers", "-fsyntax-only"]
COMMON = "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n" + "".join(f"#include <{name}>\n" for name in (
    "errno.h", "fcntl.h", "netdb.h", "netinet/in.h", "poll.h", "pthread.h", "signal.h", "stdbool.h", "stdint.h", "stdio.h",
    "stdlib.h", "string.h", "sys/socket.h", "unistd.h", "weft.h", "weft/file.h", "weft/io.h", "weft/stream.h", "weft/tls.h"))
# The warnings of a careful project, and its standards of C and C++.
PEDANTIC = STRICT + ["-pedantic", "-Wconversion", "-Wshadow", "-fsyntax-only"]
STANDARDS = {"c": ("c11", "c17", "c2x"), "cpp": ("c++17", "c++20", "c++2b")}
COMPILERS = {"c": ("gcc", "clang"), "cpp": ("g++", "clang++")} # the latter define _GNU_SOURCE by themselves
BRIEF = int(os.environ.get("WEFT_TEST_SCALE", "1")) > 1
os.environ.pop("WEFT_DEADLOCK", None)  # which run.sh has set: the documents show what a program does without it
os.environ["PKG_CONFIG_PATH"] = BUILD + "/meson-uninstalled:" + os.environ.get("PKG_CONFIG_PATH", "")


class Block:
    def __init__(self, page, line, info, text, prelude):
        self.page, self.line, self.text, self.prelude = page, line, text, prelude
        words = info.split()
        self.language = words[0] if words else ""
        self.flags = [w for w in words[1:] if "=" not in w]
        self.options = dict(w.split("=", 1) for w in words[1:] if "=" in w)
        self.output = None

    def where(self):
        return f"{os.path.relpath(self.page, SOURCE)}:{self.line}"


def blocks_of(page):
    found, prelude = [], ""
    lines = open(page, encoding="utf-8").read().split("\n")
    i = 0
    while i < len(lines):
        if lines[i].startswith("<!-- prelude"):
            begin = i
            while "-->" not in lines[i]:
                i += 1
            text = "\n".join(lines[begin:i + 1])[len("<!-- prelude"):].replace("-->", "")
            prelude = text if not prelude or "reset" in lines[begin] else prelude + "\n" + text
            prelude = re.sub(r"^ reset", "", prelude)
        elif lines[i].startswith("```"):
            begin, info = i, lines[i][3:]
            i += 1
            while not lines[i].startswith("```"):
                i += 1
            text = "\n".join(lines[begin + 1:i]) + "\n"
            if info == "output":
                found[-1].output = text
            else:
                found.append(Block(page, begin + 1, info, text, prelude))
        i += 1
    return found


def flags_for(packages):
    out = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True, capture_output=True, text=True).stdout
    return shlex.split(out)


def call(command, cwd, seconds=60):
    environment = dict(os.environ, LD_LIBRARY_PATH=BUILD, PATH=f"{BUILD}/tools:{os.environ['PATH']}")
    try:
        result = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return 1, "", f"{command[0]}: not finished after {seconds} s"
    return result.returncode, result.stdout, result.stderr


def matches(expected, got):
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else
                      ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
                      for line in expected.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, got if got.endswith("\n") else got + "\n") is not None


def compile_and_run(block, directory):
    cpp = block.language == "cpp"
    name = block.options.get("file", f"block{block.line}." + ("cpp" if cpp else "c"))
    path, program = os.path.join(directory, name), os.path.join(directory, re.sub(r"\.\w+$", "", name))
    fragment = not {"run", "program"} & set(block.flags)
    text = block.text
    if fragment:
        body = f"static int fragment(void) {{\n#line {block.line + 1} \"{block.where().split(':')[0]}\"\n{text}\nreturn 0;\n}}\n"
        text = COMMON + block.prelude + (body if "body" in block.flags else f"\n#line {block.line + 1} \"{block.where().split(':')[0]}\"\n{text}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    packages = ["weft"] + [value for key, value in block.options.items() if key == "needs"]
    compiler = [CXX, "-std=gnu++17"] if cpp else [CC, "-std=gnu11"]
    warnings = [] if "wrong" in block.flags else FRAGMENT if fragment else STRICT
    command = compiler + warnings + (["-fsyntax-only"] if fragment else ["-g", "-rdynamic", "-o", program]) + [name] + flags_for(packages)
    status, _, said = call(command, directory)
    if status:
        return said
    if not fragment:
        said = compile_strictly(block.language, name, packages, directory)
        if said:
            return said
    if "run" not in block.flags:
        return None
    return judged(block, *call([program], directory))


def judged(block, status, out, said):
    if "fails" in block.flags:
        out, status = out + said, int(status == 0)
    if status:
        return f"it ended with {status}: {said}{out}"
    if block.output is not None and not matches(block.output, out):
        return f"it was to print\n{block.output}and printed\n{out}{said}"
    return None


def strict_compilers(language):
    """Each compiler and standard for which programs are compiled."""
    old, new = COMPILERS[language]
    if BRIEF and shutil.which(old) and shutil.which(new):
        return [(old, STANDARDS[language][0]), (new, STANDARDS[language][-1])]
    return [(compiler, standard) for compiler in filter(shutil.which, COMPILERS[language]) for standard in STANDARDS[language]]


def compile_strictly(language, path, packages, directory):
    """The complaints of the first compiler that refuses a program, or None."""
    options = [o for o in flags_for(packages) if not o.startswith(("-l", "-L"))] + ["-D_GNU_SOURCE="] * (language == "c")
    for compiler, standard in strict_compilers(language):
        status, _, said = call([compiler, "-std=" + standard, *PEDANTIC, path, *options], directory)
        if status:
            return f"{compiler} -std={standard}: {said}"
    return None


def vet(block, directory):
    if not shutil.which("go"):
        return "left out: no go"
    text = block.text if block.text.startswith("package") else None
    if text is None:
        declares = re.match(r"(func|type|import|var) ", block.text)
        text = "package p\n" + (block.text if declares else "func f() {\n" + block.text + "}\n")
    with open(os.path.join(directory, f"block{block.line}.go"), "w", encoding="utf-8") as file:
        file.write(text)
    status, _, said = call(["gofmt", "-e", f"block{block.line}.go"], directory)
    return said if status else None


def shell(block, directory):
    return judged(block, *call(["sh", "-ec", block.text], directory, 120))


def check_page(page):
    results = []
    with tempfile.TemporaryDirectory() as directory:
        for block in blocks_of(page):
            needs = block.options.get("needs")
            if needs and subprocess.run(["pkg-config", "--exists", needs]).returncode:
                results.append((block, "left out: no " + needs))
            elif block.language in ("c", "cpp"):
                results.append((block, compile_and_run(block, directory)))
            elif block.language == "go":
                results.append((block, vet(block, directory)))
            elif block.language == "sh" and "run" in block.flags:
                results.append((block, shell(block, directory)))
    return results


def check_example(path):
    """A file of examples for the reference compiles."""
    status, _, said = call([CC, "-std=gnu11", *FRAGMENT, path, *flags_for(["weft"])], SOURCE)
    return said if status else None


def check_program(path):
    """A program of examples/ compiles strictly. Its line in meson.build names the package that it also needs."""
    name = re.sub(r"\.\w+$", "", os.path.basename(path))
    built = open(os.path.dirname(path) + "/meson.build", encoding="utf-8").read()
    needs = re.findall(rf"'{name}': '(.+?)'", built)
    if needs and subprocess.run(["pkg-config", "--exists", *needs]).returncode:
        return None
    return compile_strictly("cpp" if path.endswith(".cpp") else "c", path, ["weft", *needs], SOURCE)


def check_names(page, known):
    """Names of the interface in the text exist."""
    text = re.sub(r"```.*?```", "", open(page, encoding="utf-8").read(), flags=re.S)
    return sorted({n for n in re.findall(r"`((?:weft|WEFT)_\w+)(?:\(.*?\))?`", text) if n not in known})


def main():
    sys.path.insert(0, SOURCE + "/docs/site")
    sys.dont_write_bytecode = True
    import headers as reader
    known = {n for h in reader.read_all(SOURCE + "/include") for e in h.entries() for n in reader.names_of(e)}
    known |= set(re.findall(r"`(WEFT_\w+)`", open(SOURCE + "/README.md", encoding="utf-8").read())) | {"WEFT_TASK_CHECKS"}
    guide = SOURCE + "/docs/guide"
    pages = [os.path.abspath(p) for p in sys.argv[3:]] or [SOURCE + "/README.md", SOURCE + "/docs/CPP.md", SOURCE + "/docs/TLS.md"] + \
        sorted(f"{guide}/{f}" for f in os.listdir(guide) if f.endswith(".md"))
    passed = failed = 0
    import examples
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = [] if sys.argv[3:] else glob.glob(SOURCE + "/examples/*.c*") + glob.glob(SOURCE + "/examples/posix/*.c")
        fragments = [] if sys.argv[3:] else examples.files()
        for complaint in [*pool.map(check_example, fragments), *pool.map(check_program, programs)]:
            passed, failed = (passed, failed + 1) if complaint else (passed + 1, failed)
            print(complaint, end="") if complaint else None
        for page, results in zip(pages, pool.map(check_page, pages)):
            unknown = check_names(page, known)
            passed, failed = (passed, failed + 1) if unknown else (passed + 1, failed)
            if unknown:
                print(f"{os.path.relpath(page, SOURCE)}: names that do not exist: {' '.join(unknown)}")
            for block, complaint in results:
                if complaint and complaint.startswith("left out"):
                    print(f"{block.where()}: {complaint}")
                elif complaint:
                    failed += 1
                    print(f"{block.where()}: {complaint}")
                else:
                    passed += 1
    print(f"code: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
