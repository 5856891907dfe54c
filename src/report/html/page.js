"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = document.getElementById("filter");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const clauses = all("details.clause");
  const columns = all("details.column");
  const sections = all("section.runtime");
  const words = new Map(clauses.map((it) => [it, it.textContent.toLowerCase()]));
  const opened = new Map(columns.map((it) => [it, it.open]));

  function wanted() {
    const data = new FormData(form);
    return {
      outcomes: data.getAll("outcome"),
      level: data.get("level"),
      column: data.get("column"),
      runtime: data.get("runtime"),
      text: search.value.toLowerCase().split(/\s+/).filter(Boolean),
    };
  }

  function matches(it, wish) {
    const { o, l, c, r } = it.dataset;
    return (!wish.outcomes.length || o.split(" ").some((one) => wish.outcomes.includes(one)))
      && (!wish.level || wish.level === l)
      && (!wish.column || wish.column === c)
      && (!wish.runtime || wish.runtime === r)
      && wish.text.every((word) => words.get(it).includes(word));
  }

  let was = false;
  function apply() {
    const wish = wanted();
    const active = Boolean(wish.outcomes.length || wish.level || wish.column || wish.runtime || wish.text.length);
    let count = 0;
    for (const it of clauses) {
      it.hidden = active && !matches(it, wish);
      if (!it.hidden) count += 1;
    }
    if (active && !was) columns.forEach((it) => opened.set(it, it.open));
    for (const it of columns) {
      const some = Boolean(it.querySelector("details.clause:not([hidden])"));
      it.hidden = !some;
      if (active || was) it.open = active ? some : opened.get(it);
    }
    for (const it of sections) it.hidden = active && !it.querySelector("details.clause:not([hidden])");
    document.body.classList.toggle("filtered", active);
    nothing.hidden = count > 0;
    shown.textContent = active ? `${count} of ${clauses.length} clauses` : `${clauses.length} clauses`;
    was = active;
  }

  /* Whatever a link leads to is opened, and is not hidden by a filter. */
  function reveal() {
    const it = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!it) return;
    if (it.closest("[hidden]")) { form.reset(); apply(); }
    for (let at = it; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    it.scrollIntoView();
  }

  function step(by) {
    const reds = clauses.filter((it) => !it.hidden && /fail|flaky|harness-error/.test(it.dataset.o));
    if (!reds.length) return;
    const at = reds.indexOf(document.activeElement.closest("details.clause"));
    const next = reds[(at < 0 ? (by > 0 ? 0 : reds.length - 1) : at + by + reds.length) % reds.length];
    for (let it = next; it; it = it.parentElement) if (it.tagName === "DETAILS") it.open = true;
    next.firstElementChild.focus();
    next.scrollIntoView({ block: "center" });
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", reveal);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = document.activeElement;
    if (event.key === "Escape") { form.reset(); apply(); if (form.contains(at)) at.blur(); }
    else if (at === search) return;
    else if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
  });
  let before;
  addEventListener("beforeprint", () => { before = columns.map((it) => it.open); columns.forEach((it) => { it.open = true; }); });
  addEventListener("afterprint", () => columns.forEach((it, index) => { it.open = before[index]; }));
  for (const it of all("time[datetime]")) {
    const days = Math.floor((Date.now() - Date.parse(it.dateTime)) / 86400000);
    if (days >= 1) it.textContent += days === 1 ? ", a day ago" : `, ${days} days ago`;
    if (days >= 90) it.classList.add("stale");
  }
  apply();
  reveal();
})();
