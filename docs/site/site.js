/* SPDX-License-Identifier: MIT */
/* Search over the index in search.js, and the switch between light and dark. No request is made: it works from a file. */
"use strict";
(() => {
  const root = document.body.dataset.root;
  const box = document.querySelector(".search input");
  const list = document.querySelector(".search ol");
  const most = 20;
  let chosen = 0;

  /* Lower is better; -1: no match. Every word must occur in the name or in the text. */
  function rank(entry, words) {
    const name = entry[0].toLowerCase(), text = entry[3].toLowerCase();
    let sum = 0;
    for (const word of words) {
      const at = name.indexOf(word);
      if (name === word || name === "weft_" + word) sum += 0;
      else if (at === 0 || name.startsWith("weft_" + word)) sum += 1 + name.length / 100;
      else if (at > 0) sum += 3 + name.length / 100;
      else if (text.includes(word)) sum += 8;
      else return -1;
    }
    return sum;
  }

  function show() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    list.textContent = "";
    if (list.hidden) return;
    const found = weftIndex.map(entry => [rank(entry, words), entry]).filter(pair => pair[0] >= 0);
    found.sort((a, b) => a[0] - b[0]);
    chosen = 0;
    for (const [, [name, kind, where, text]] of found.slice(0, most)) {
      const item = document.createElement("li"), link = document.createElement("a");
      const label = document.createElement("em"), more = document.createElement("small");
      label.textContent = kind;
      more.textContent = text;
      link.href = root + where;
      link.append(label, name, more);
      item.append(link);
      list.append(item);
    }
    if (!found.length) {
      const item = document.createElement("li");
      item.className = "none";
      item.textContent = "nothing found";
      list.append(item);
    }
    mark();
  }

  function mark() {
    [...list.children].forEach((item, i) => item.classList.toggle("on", i === chosen));
    if (list.children[chosen]) list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  box.addEventListener("input", show);
  box.addEventListener("keydown", event => {
    const last = list.children.length - 1;
    if (event.key === "ArrowDown") chosen = Math.min(last, chosen + 1);
    else if (event.key === "ArrowUp") chosen = Math.max(0, chosen - 1);
    else if (event.key === "Enter") { const link = list.querySelector("li.on a"); if (link) location.href = link.href; close(); return; }
    else if (event.key === "Escape") { close(); box.blur(); return; }
    else return;
    event.preventDefault();
    mark();
  });
  function close() { list.hidden = true; }
  list.addEventListener("click", close);
  document.addEventListener("click", event => { if (!event.target.closest(".search")) close(); });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); box.select(); }
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.querySelector(".theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  });

  const here = document.querySelector(".side [aria-current]");
  if (here) here.scrollIntoView({ block: "center" });
  window.scrollTo(0, location.hash ? window.scrollY : 0);
  const query = new URLSearchParams(location.search).get("q");
  if (query) { box.value = query; show(); }
})();
