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
  const texts = new Map();
  const words = (it) => texts.get(it) ?? texts.set(it, it.textContent.toLowerCase()).get(it);
  const choices = ["level", "column", "runtime"].filter((name) => form.elements[name]);
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
      && wish.text.every((word) => words(it).includes(word));
  }

  /* The filter stands in the address, so that what is seen can be sent to somebody. */
  function remember() {
    const data = new FormData(form);
    const said = new URLSearchParams();
    if (search.value.trim()) said.append("q", search.value.trim());
    for (const name of choices) if (data.get(name)) said.append(name, data.get(name));
    for (const one of data.getAll("outcome")) said.append("outcome", one);
    const part = said.size ? `#?${said}` : location.hash.startsWith("#?") ? "#" : location.hash;
    if (part !== location.hash && (part !== "#" || location.hash)) history.replaceState(null, "", part);
  }

  function recall() {
    const said = new URLSearchParams(location.hash.slice(2));
    form.reset();
    search.value = said.get("q") ?? "";
    for (const name of choices) form.elements[name].value = said.get(name) ?? "";
    for (const it of all("[name=outcome]", form)) it.checked = said.getAll("outcome").includes(it.value);
    filter();
  }

  /* What somebody asked for is shown, wherever on the page it stands. */
  function filter() {
    apply();
    remember();
    if (!was) return;
    /* Below the filter, which stays in sight and is higher on a narrow screen. */
    document.documentElement.style.scrollPaddingTop = `${form.offsetHeight + 8}px`;
    clauses.find((it) => !it.hidden)?.scrollIntoView();
  }

  let due;
  function soon() {
    clearTimeout(due);
    if (clauses.length > 500) due = setTimeout(filter, 150);
    else filter();
  }

  function clear() {
    clearTimeout(due);
    form.reset();
    apply();
    remember();
  }

  let was = false;
  function apply() {
    const wish = wanted();
    const active = Boolean(wish.outcomes.length || wish.level || wish.column || wish.runtime || wish.text.length);
    let count = 0;
    const [full, busy] = [new Set(), new Set()];
    for (const it of clauses) {
      const hidden = active && !matches(it, wish);
      if (it.hidden !== hidden) it.hidden = hidden;
      if (hidden) continue;
      count += 1;
      full.add(it.parentElement);
      busy.add(it.parentElement.parentElement);
    }
    if (active && !was) columns.forEach((it) => opened.set(it, it.open));
    for (const it of columns) {
      const some = full.has(it);
      const open = active ? some : opened.get(it);
      if (it.hidden === some) it.hidden = !some;
      if ((active || was) && it.open !== open) it.open = open;
    }
    for (const it of sections) it.hidden = active && !busy.has(it);
    document.body.classList.toggle("filtered", active);
    nothing.hidden = count > 0;
    shown.textContent = active ? `${count} of ${clauses.length} clauses` : `${clauses.length} clauses`;
    was = active;
  }

  /* Whatever a link leads to is opened, and is not hidden by a filter. */
  function reveal() {
    if (location.hash.startsWith("#?")) { recall(); return; }
    const it = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!it) return;
    if (it.closest("[hidden]")) clear();
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
  form.addEventListener("input", soon);
  form.addEventListener("change", (event) => { if (event.target !== search) filter(); });
  form.querySelector("[type=reset]").addEventListener("click", (event) => { event.preventDefault(); clear(); });
  addEventListener("hashchange", reveal);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = document.activeElement;
    if (event.key === "Escape") { clear(); if (form.contains(at)) at.blur(); }
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
