#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long steals took, by the trace of a job (WEFT_DIST_TRACE): steals.py FILE"""
import json
import statistics
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    asks = sorted(event["dur"] for event in json.load(file) if event["name"] == "asks" and event["args"]["calls"])
print(f"{len(asks)} steals: median {statistics.median(asks):.2f} us, 90 % within {asks[len(asks) * 9 // 10]:.2f} us")
