#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands for the cache as a whole: the crawler, slabs, lru, statistics, turns."""
import sys

from cases import main, test
from served import Server, kill_servers


@test
def crawler():
    server = Server()
    c = server.client()
    for text, answer in ((b"sleep 10", b"OK"), (b"sleep 1000001", b"CLIENT_ERROR sleep must be one second or less"), (
            b"sleep x", b"CLIENT_ERROR bad command line format"), (b"tocrawl 7", b"OK"), (b"tocrawl x", b"CLIENT_ERROR bad command line format"), (
            b"crawl x", b"BADCLASS invalid class id"), (b"nonsense", b"ERROR"), (b"crawl", b"ERROR"), (b"disable", b"OK"), (
            b"crawl all", b"CLIENT_ERROR lru crawler disabled"), (b"metadump all", b"CLIENT_ERROR lru crawler disabled"), (
            b"enable", b"OK"), (b"tocrawl 0", b"OK")):
        c.ask(b"lru_crawler " + text + b"\r\n", answer + b"\r\n")
    settings = c.stats(b"settings")
    assert settings["lru_crawler"] == "yes" and settings["lru_crawler_sleep"] == "10", settings
    for i in range(500):
        c.set(b"stay%d" % i, b"x")
        c.set(b"go%d" % i, b"x", 100)
        c.set(b"large%d" % i, b"x" * 2000, 100)
    c.ask(b"debugtime 200\r\n", b"OK\r\n")
    c.ask(b"lru_crawler crawl 1\r\n", b"OK\r\n")
    c.until(c.stats, lambda s: s["lru_crawler_running"] == "0")
    items = c.stats(b"items")
    assert items["items:1:number"] == "500" and items["items:1:crawler_reclaimed"] == "500", items
    c.ask(b"lru_crawler crawl all\r\n", b"OK\r\n")
    c.until(c.stats, lambda s: s["lru_crawler_running"] == "0")
    after = c.stats()
    assert after["curr_items"] == "500" and after["lru_crawler_starts"] == "2", after
    c.say(b"lru_crawler mgdump all\r\n")
    keys = set(iter(c.line, b"EN\r\n"))
    assert keys == {b"mg stay%d\r\n" % i for i in range(500)}
    c.say(b"lru_crawler metadump all\r\n")
    assert len(list(iter(c.line, b"END\r\n"))) == 500
    c.ask(b"mn\r\nlru_crawler metadump all\r\n", b"MN\r\nERROR cannot pipeline other commands before metadump\r\n")
    server.end()


@test
def slabs_and_lru():
    server = Server("-m", "16", "-I", "512k")
    c = server.client()
    for text, answer in ((b"lru tune 10 20 0.1 1.5", b"OK"), (b"lru tune 50 40 0.1 1.5", b"ERROR hot and warm pcts must not exceed 80"), (
            b"lru tune 10 20 0 1", b"ERROR hot/warm age factors must be greater than 0"), (b"lru tune x 1 1 1", b"ERROR"), (b"lru mode flat", b"OK"), (
            b"lru mode x", b"ERROR"), (b"lru temp_ttl 5", b"OK"), (b"lru temp_ttl -1", b"OK"), (b"lru", b"ERROR"), (b"slabs", b"ERROR"), (
            b"slabs automove 0", b"OK"), (b"slabs automove 3", b"ERROR"), (b"slabs automove x", b"CLIENT_ERROR bad command line format"), (
            b"slabs automove ratio 0.5", b"OK"), (b"slabs automove ratio x", b"ERROR"), (b"slabs reassign 1 1", b"SAME src and dst class are identical"), (
            b"slabs reassign a b", b"CLIENT_ERROR bad command line format"), (b"slabs reassign 99 1", b"BADCLASS invalid src or dst class id"), (
            b"slabs reassign 1 2", b"NOSPARE source class has no spare pages")):
        c.ask(text + b"\r\n", answer + b"\r\n")
    s = c.stats(b"settings")
    assert s["hot_lru_pct"] == "10" and s["warm_max_factor"] == "1.50" and s["lru_segmented"] == "no" and s["slab_automove_ratio"] == "0.50", s
    for i in range(2000):
        c.set(b"k%d" % i, b"v" * 1000)
    slabs = c.stats(b"slabs")
    cls = max((int(n.split(":")[0]) for n in slabs if n.endswith(":total_pages")), key=lambda n: int(slabs["%d:total_pages" % n]))
    pages = int(slabs["%d:total_pages" % cls])
    c.ask(b"slabs reassign %d 1\r\n" % cls, b"OK\r\n")
    assert int(c.stats(b"slabs")["%d:total_pages" % cls]) == pages - 1
    s = c.stats()
    assert s["slabs_moved"] == "1" and s["slab_global_page_pool"] == "1" and int(s["slab_reassign_evictions_nomem"]) > 10, s
    server.end()


@test
def statistics():
    """The numbers for monitoring agree with each other, and with the work that was done."""
    server = Server("-m", "8", "-I", "512k", "-o", "track_sizes")
    c = server.client()
    for i in range(3000):
        c.set(b"k%d" % i, b"v" * (i * 7 % 9000))
    s, items, slabs, sizes = c.stats(), c.stats(b"items"), c.stats(b"slabs"), c.stats(b"sizes")
    total = lambda found, name: sum(int(v) for n, v in found.items() if n.endswith(":" + name))
    assert total(items, "number") == int(s["curr_items"]) == sum(map(int, sizes.values())) == 3000 - int(s["evictions"])
    assert total(items, "mem_requested") == int(s["bytes"])
    assert total(slabs, "used_chunks") >= total(items, "number")
    assert total(slabs, "total_chunks") == total(slabs, "used_chunks") + total(slabs, "free_chunks")
    assert total(slabs, "total_pages") * 65536 == int(slabs["total_malloced"]) <= 8 << 20
    assert total(slabs, "cmd_set") == int(s["cmd_set"]) == 3000
    assert total(items, "evicted") == int(s["evictions"]) > 0 and total(items, "evicted_unfetched") > 0
    assert int(s["read_buf_count"]) >= 1 and int(s["response_obj_count"]) >= 1
    c.ask(b"stats reset\r\n", b"RESET\r\n")
    assert c.stats()["cmd_set"] == "0"
    server.end()


@test
def turns():
    """-R: after this many commands other clients have their turn."""
    server = Server("-R", "5")
    c = server.client()
    c.ask(b"mn\r\n" * 101, b"MN\r\n" * 101)
    assert int(c.stats()["conn_yields"]) >= 18
    server.end()


sys.exit(main(after_each=kill_servers))
