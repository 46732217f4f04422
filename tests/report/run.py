#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The report: run.py WEFT REPORT_PAGE [quick]

A tiny report of a few experiments: every plot has data, axes with units and a legend, every experiment its data as CSV and
JSON; it resumes after an interruption; two reports can be compared; wrong options are refused in one line. docs/REPORT.md has
every figure of the documents, with the experiment that the report has for it. `quick`: the whole quick report.
"""
import csv, io, json, os, re, socket, subprocess, sys, tempfile, time, urllib.parse
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402
from tally import check  # noqa: E402

weft, page = sys.argv[1], sys.argv[2]


def run(*arguments, code=0):
    r = subprocess.run([weft, *arguments], capture_output=True, text=True, timeout=900)
    check(r.returncode == code, f"{arguments}: exit code {r.returncode}, not {code}: {r.stderr[-500:]}")
    return r


def refused(*arguments):
    r = run(*arguments, code=2)
    check(r.stderr.startswith("weft: ") and r.stderr.count("\n") == 1, f"{arguments}: not one line: {r.stderr!r}")


def check_plot(text, where):
    svg = xml.fromstring(text)
    ns = "{http://www.w3.org/2000/svg}"
    name = f"{where}, {svg.get('id')}"
    groups = {g.get("class"): g for g in svg.iter(ns + "g")}
    check(svg.get("role") == "img" and svg.find(ns + "title").text, f"{name}: no title")
    marks = [e for e in groups["data"].iter() if e.tag != ns + "g"]
    check(len(marks) > 0, f"{name}: no data")
    check("nan" not in text.lower().replace("nano", "") and "inf" not in re.sub(r"<t[^<]*<", "", text).lower(), f"{name}: no number")
    words = {c: [e.text for e in groups["axes"].iter(ns + "text") if e.get("class") == c] for c in "txy"}
    check(len(words["t"]) >= 2, f"{name}: no ticks")
    check(words["x"] and words["x"][0], f"{name}: x has no label")
    check(words["y"] and words["y"][0], f"{name}: y has no label")
    legend = [e.text for e in groups["legend"].iter(ns + "text")]
    check(len(legend) == int(svg.get("data-series")) >= 1 and all(legend), f"{name}: legend {legend}")


def check_page(path, least):
    html = open(path).read()
    check("src=" not in html and "<script" not in html, "the page needs other files")
    sections = re.findall(r'<section id="([^"]+)">(.*?)</section>', html, re.S)
    check(len(sections) >= least, f"{len(sections)} experiments")
    for name, text in sections:
        plots = re.findall(r"<svg.*?</svg>", text, re.S)
        check(plots, f"{name}: no plot")
        for p in plots:
            check_plot(p, name)
        check(re.search(r'class="q">[^<]+\?<', text), f"{name}: no question")
        links = {k: urllib.parse.unquote(v) for k, v in re.findall(r'download="[^"]+\.(\w+)" href="data:[^,]+,([^"]*)"', text)}
        rows = list(csv.DictReader(io.StringIO(links.get("csv", ""))))
        values = json.loads(links.get("json", "[]"))
        check(rows and values, f"{name}: no data to download")
        check(sum(len(v["values"]) for v in values) == len(rows), f"{name}: CSV and JSON differ")


def check_table():
    has = {}
    for line in run("report", "--list").stdout.splitlines():
        found = re.match(r"(\S+) .*\[(.*)\]$", line)
        for twin in found.group(2).split(", ") if found else []:
            has[twin] = found.group(1)
    table = dict(re.findall(r"^\| (00\d [^|]+?) \| (.+?) \|$", open(page).read(), re.M))
    for twin, experiment in has.items():
        check(table.get(twin) == f"`{experiment}`", f"docs/REPORT.md: {twin}: {table.get(twin)}, not `{experiment}`")
    for twin, cell in table.items():
        check(twin in has or cell.startswith("not "), f"docs/REPORT.md: {twin} is not in the report, and no reason is given")


def tiny(scratch):
    one, two = os.path.join(scratch, "one"), os.path.join(scratch, "two")
    few = ["--quick", "--runs", "3", "--ms", "5"]
    for only in ["switch", "simulated", "nqueens"]:
        run("report", *few, "--only", only, "-o", one)
        check_page(os.path.join(one, "report.html"), 1)
    data = os.path.join(one, "data.tsv")
    before = open(data).read()
    lines = before.splitlines(keepends=True)
    open(data, "w").write("".join(lines[:-1]) + "nqueens\tdepth")  # the last cell is not complete any more
    r = run("report", *few, "--only", "nqueens", "-o", one)
    after = open(data).read()
    check(after.count("#cell") == before.count("#cell"), "an interrupted report was not completed")
    check("".join(lines[:2]) in after, "an interrupted report forgot what it had")
    check("depth 1" not in r.stderr, "an interrupted report did again what it had")
    os.makedirs(two)
    changed = re.sub(r"(?m)^(switch\t.*\t)[^\t]*$", r"\g<1>900 901 902 ", after)
    open(os.path.join(two, "data.tsv"), "w").write(changed)
    r = run("report", "--compare", one, one, "-o", two)
    check(" 0 worse" in r.stdout, r.stdout)
    check(os.path.exists(os.path.join(two, "compare.html")), "no page of the comparison")
    # Seven rounds are enough for a certain difference.
    many = re.sub(r"\t3\t([^\t\n]*)$", lambda m: "\t9\t" + m.group(1) * 3, after, flags=re.M)
    worse = re.sub(r"(?m)^(switch\tswitch\tweft\t.*\t9\t)[^\t\n]*$", r"\g<1>" + "900 " * 9, many)
    open(data, "w").write(many)
    open(os.path.join(two, "data.tsv"), "w").write(worse)
    r = run("report", "--compare", one, two, "-o", two, code=1)
    check("worse" in r.stdout and "switch" in r.stdout, r.stdout)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def check_hdr(path, requests):
    """Percentiles must grow, up to the total count."""
    lines = [line.split() for line in open(path)]
    rows = [list(map(float, line)) for line in lines[2:] if line and not line[0].startswith("#")]
    check(lines[0] == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"], "the heading of HdrHistogram")
    check(all(a[0] <= b[0] and a[1] < b[1] and a[2] < b[2] for a, b in zip(rows, rows[1:])), "percentiles do not grow")
    check(rows[-1][1] == 1 and rows[-1][2] == requests, f"{rows[-1]}, of {requests} requests")
    check(sum(line[:1] == ["#[Mean"] or line[:1] == ["#[Max"] for line in lines) == 2, "no summary")


def loaded(scratch):
    """weft load writes its times as HdrHistogram does."""
    path, port = os.path.join(scratch, "load.hdr"), free_port()
    open(os.path.join(scratch, "file"), "w").write("hello")
    user = ["--user", "root"] if os.geteuid() == 0 else []  # the directory is the caller's alone
    server = subprocess.Popen([weft, "serve", scratch, "--port", str(port), *user], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address, few = f"127.0.0.1:{port}/file", ["--warm-up", "0", "--connections", "2"]
    try:
        for _ in range(100):  # until it listens
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        r = run("load", "http", "--duration", "0.2", *few, "--json", "--hdr", path, address)
        check_hdr(path, json.loads(r.stdout)["requests"])
        run("report", "-o", scratch, "--latency", path)
        run("load", "http", "--duration", "0.1", *few, "--hdr", "/nowhere/x", address, code=1)
    finally:
        server.terminate()
        server.wait()


def latency(scratch):
    path = os.path.join(scratch, "a.hdr")
    with open(path, "w") as f:
        f.write("Value Percentile TotalCount 1/(1-Percentile)\n\n")
        for i in range(12):
            f.write(f"{0.1 * 1.5 ** i:.6f} {1 - 0.5 ** i:.12f} {i} {2 ** i:.2f}\n")
        f.write("#[Mean = 1]\n")
    run("report", "-o", scratch, "--latency", path)
    for p in re.findall(r"<svg.*?</svg>", open(os.path.join(scratch, "latency.html")).read(), re.S):
        check_plot(p, "latency")
    refused("report", "--latency", "/dev/null")


def main():
    check_table()
    with tempfile.TemporaryDirectory() as scratch:
        if sys.argv[3:] == ["quick"]:
            run("report", "--quick", "-o", scratch)
            check_page(os.path.join(scratch, "report.html"), 25)
        else:
            tiny(scratch)
            latency(scratch)
            loaded(scratch)
    for nonsense in (["--only", "nix"], ["--runs", "0"], ["--ms", "x"], ["--compare", "a"], ["--nix"], ["--compare", "/nowhere", "/nowhere"], ["-o"]):
        refused("report", *nonsense)
    for nonsense in (["fib", "nix=1"], ["fib", "n=x"], ["fib", "n=1000"], ["yield", "--sweep", "fibers"], ["yield", "--sweep", "fibers=4..2"],
                     ["yield", "--sweep", "nix=1"], ["--workers", "0", "yield"], ["yield", "--workers", "1..2000"], ["yield", "--smt", "x"], ["yield", "--node", "999"],
                     ["yield", "--json=1"], ["switch", "--paper"], ["yield", "deque=nix"], ["all", "n=1"]):
        refused("bench", *nonsense)
    return tally.verdict("report")


sys.exit(main())
