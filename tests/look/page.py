#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `weft trace --html` in headless Chromium: page.py BUILD_DIR [SCREENSHOTS]

Records a million events, opens the page, zooms, searches and hovers by a script that is added to it, and reads what that
script found. Prints how long the page took and how long a frame takes; no time is asserted. Ends in "page: N passed, N
failed". With a directory SCREENSHOTS: pictures in light and dark, wide and narrow."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402
from tally import check  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TOOL = BUILD + "/tools/weft"
TRACED = BUILD + "/tests/look/traced"
CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PROBE = """<script>
{const r={},T=window.weftTrace;r.took=T.took;r.since=performance.now();r.slices=T.slices;r.waits=T.waits;
const frames=[];for(let i=0;i<60;i++){const s=T.length/Math.pow(1.25,i%40),m=T.length*(i/60);const t=performance.now();T.zoom(Math.max(0,Math.min(T.length-s,m)),Math.max(s,Math.min(T.length,m+s)));frames.push(performance.now()-t)}
frames.sort((a,b)=>a-b);r.median=frames[30];r.worst=frames[59];
r.found=T.find("answers");r.nothing=T.find("no such text");T.find("");T.zoom(0,T.length);
const c=document.getElementById("view");let tips=new Set();for(let y=30;y<c.clientHeight;y+=9)for(let x=200;x<c.clientWidth;x+=40){c.dispatchEvent(new PointerEvent("pointermove",{clientX:x,clientY:y+60}));const tip=document.getElementById("tip");if(tip.style.display==="block")tips.add(tip.textContent.split(" ").slice(0,3).join(" "))}
r.tips=tips.size;r.rows=document.querySelectorAll("#rows tr").length;r.said=document.getElementById("said").textContent;
const d=document.createElement("pre");d.id="found";d.textContent=JSON.stringify(r);document.body.append(d)}
</script>"""


def chromium(there, *args):
    return subprocess.run([*CHROMIUM, "--user-data-dir=" + tempfile.mkdtemp(dir=there), *args], capture_output=True,
                          text=True, timeout=180)


def check_page(there, page):
    text = open(page).read()
    check(not re.search(r"(src|href)=[\"']?https?:", text), "needs no network")
    probe = there + "/probe.html"
    with open(probe, "w") as file:
        file.write(text.replace("</body>", PROBE + "</body>"))
    result = chromium(there, "--dump-dom", "file://" + probe)
    found = re.search(r'<pre id="found">(.*?)</pre>', result.stdout, re.S)
    check(found, "the page runs", result.stderr[-500:])
    if not found:
        return
    r = json.loads(html.unescape(found.group(1)))
    print("page: %d slices, %d waits: decoded and drawn in %.0f ms, %.0f ms after the navigation began; a frame %.1f ms, "
          "the slowest %.1f ms" % (r["slices"], r["waits"], r["took"], r["since"], r["median"], r["worst"]))
    check(r["slices"] > 1000 and r["waits"] > 1000, "events", r)
    check(r["found"] >= 1 and r["nothing"] == 0, "search", r)
    check(r["tips"] > 1 and r["rows"] > 1 and "events" in r["said"], "hover and table", r)


def take_pictures(there, page, to):
    os.makedirs(to, exist_ok=True)
    for name, args in (("wide-light", ["--window-size=1400,900"]),
                       ("wide-dark", ["--window-size=1400,900", "--blink-settings=preferredColorScheme=0"]),
                       ("narrow-light", ["--window-size=500,900"]),
                       ("narrow-dark", ["--window-size=500,900", "--blink-settings=preferredColorScheme=0"])):
        chromium(there, *args, "--screenshot=%s/%s.png" % (to, name), "file://" + page)


def main():
    if not shutil.which("chromium"):
        print("page: 0 passed, 0 failed (no chromium)")
        return 0
    with tempfile.TemporaryDirectory() as there:
        trace, page = there + "/t.trace", there + "/t.html"
        subprocess.run([TRACED, sys.argv[3] if len(sys.argv) > 3 else "125000"], env=dict(os.environ, WEFT_TRACE=trace),
                       check=True, stdout=subprocess.DEVNULL)
        check(subprocess.run([TOOL, "trace", trace, "--html", page]).returncode == 0, "writes")
        check_page(there, page)
        if len(sys.argv) > 2:
            take_pictures(there, page, sys.argv[2])
    return tally.verdict("page")


if __name__ == "__main__":
    sys.exit(main())
