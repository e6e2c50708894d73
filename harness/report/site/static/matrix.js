"use strict";
/* The matrix: its cells are laid out when they come into view; its filters are kept in the address. */
(() => {
  const form = document.getElementById("filters");
  const table = document.querySelector(".matrix");
  const read = kc.reader(JSON.parse(table.dataset.legend));
  const columns = [...table.querySelectorAll(".names th[data-target]")].map((head) => head.dataset);
  const chips = [...form.querySelectorAll(".chip")];
  const results = new Map();
  const result = (code) => {
    if (!results.has(code)) results.set(code, read(code));
    return results.get(code);
  };
  const groups = [...table.querySelectorAll("tbody")].map((body) => ({
    body,
    fold: body.querySelector("button"),
    rows: [...body.querySelectorAll("tr.row")].map((row) => ({
      row,
      id: "",
      text: "",
      codes: row.dataset.c,
      isLaidOut: !row.querySelector(".glyphs"),
    })),
  }));
  for (const group of groups) {
    for (const each of group.rows) {
      const name = each.row.querySelector("code").textContent;
      each.id = group.fold.dataset.name ? `${group.fold.dataset.name}/${name}` : name;
      each.text = `${each.id} ${each.row.firstElementChild.textContent}`.toLowerCase();
      each.row.querySelector("a").title = `${each.id}\n${each.row.querySelector("th span").textContent}`;
    }
  }
  const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const pressed = (set) => chips.filter((c) => c.dataset.set === set && c.ariaPressed === "true").map((c) => c.dataset.value);
  const isCalm = (code) => ["conforms", "not-applicable"].includes(result(code)?.outcome ?? "conforms") && result(code)?.expectation !== "stale";

  /* The glyphs that stand in a row's place become cells; nothing of them is from a target. */
  const layOut = (group) => {
    for (const each of group.rows) {
      if (each.isLaidOut) continue;
      each.isLaidOut = true;
      const page = each.row.querySelector("a").getAttribute("href");
      const cells = [...each.codes].map((code, place) => {
        const found = result(code), cell = document.createElement("td");
        if (!found) return cell;
        const mark = kc.make("a", `mark ${found.outcome} ${found.expectation}${found.news ? " news" : ""}`, found.glyph);
        mark.href = `${page}#${columns[place].anchor}`;
        cell.append(mark);
        return cell;
      });
      each.row.querySelector(".glyphs").replaceWith(...cells);
    }
    dim(group);
  };

  let hits = () => true, isNarrowed = false;
  const dim = (group) => {
    for (const { row, codes, isLaidOut } of group.rows) {
      if (!isLaidOut) continue;
      [...codes].forEach((code, place) => {
        row.cells[place + 1].firstElementChild?.classList.toggle("dim", isNarrowed && !hits(code));
      });
    }
  };

  /* The columns of references are hidden by a rule, so that cells to come obey it too. */
  const rule = new CSSStyleSheet();
  const references = columns.flatMap((column, place) => (column.reference === undefined ? [] : [place]));
  const hidden = references.map((place) => `.matrix.alone tr > :not(.glyphs):nth-child(${place + 2})`);
  if (hidden.length) rule.replaceSync(`${hidden.join()} { display: none; }`);
  document.adoptedStyleSheets.push(rule);
  const isAlone = () => form.r?.checked === false;
  const seenOf = (codes) => (isAlone() ? [...codes].filter((_, place) => columns[place].reference === undefined) : [...codes]);

  /* What a chip counts is what is to be seen of it. */
  const count = () => {
    const counts = new Map();
    for (const group of groups) for (const { codes } of group.rows) {
      for (const code of seenOf(codes)) counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    for (const chip of chips) {
      const { set, value } = chip.dataset;
      const fits = ([code]) => result(code)?.[set === "o" ? "outcome" : "expectation"] === value;
      chip.querySelector("b").textContent = String([...counts].filter(fits).reduce((sum, [, many]) => sum + many, 0));
    }
  };

  const apply = () => {
    if (table.classList.contains("alone") !== isAlone()) {
      table.classList.toggle("alone", isAlone());
      const width = columns.length - (isAlone() ? references.length : 0);
      table.style.setProperty("--columns", String(width));
      for (const glyphs of table.querySelectorAll(".glyphs")) glyphs.colSpan = width;
      count();
    }
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = pressed("o"), expectations = pressed("e"), onlyDifferences = form.d.checked;
    isNarrowed = outcomes.length + expectations.length > 0;
    hits = (code) => {
      const found = result(code);
      return found !== null && (!outcomes.length || outcomes.includes(found.outcome)) && (!expectations.length || expectations.includes(found.expectation));
    };
    let shown = 0;
    for (const group of groups) {
      let here = 0;
      for (const { row, text, codes } of group.rows) {
        const all = seenOf(codes);
        const show = (!isNarrowed || all.some(hits)) && (!onlyDifferences || !all.every(isCalm)) && words.every((word) => text.includes(word));
        row.hidden = !show;
        here += show;
      }
      group.body.hidden = !here;
      dim(group);
      shown += here;
    }
    document.getElementById("shown").textContent = `${shown === total ? "" : `${shown} of `}${total} ${table.dataset.rows ?? "scenarios"}`;
    document.getElementById("nothing").hidden = shown > 0;
  };

  const remember = () => {
    const state = new URLSearchParams();
    if (form.q.value) state.set("q", form.q.value);
    for (const set of ["o", "e"]) if (pressed(set).length) state.set(set, pressed(set).join(","));
    if (form.d.checked) state.set("d", "1");
    if (form.r && form.r.checked !== form.r.defaultChecked) state.set("r", form.r.checked ? "1" : "0");
    const folded = groups.filter((g) => g.fold.ariaExpanded === "false").map((g) => g.fold.dataset.name);
    if (folded.length) state.set("f", folded.join(","));
    history.replaceState(null, "", `${location.pathname}${location.search}#${state}`);
  };

  const fold = (group, expanded) => {
    group.fold.ariaExpanded = String(expanded);
    group.body.classList.toggle("folded", !expanded);
  };

  const recall = () => {
    const id = location.hash.slice(1);
    if (id && document.getElementById(id)) {
      apply();
      kc.openAround();
      return;
    }
    const state = new URLSearchParams(id);
    form.q.value = state.get("q") ?? "";
    form.d.checked = state.get("d") === "1";
    if (form.r) form.r.checked = state.has("r") ? state.get("r") !== "0" : form.r.defaultChecked;
    for (const chip of chips) {
      chip.ariaPressed = String((state.get(chip.dataset.set) ?? "").split(",").includes(chip.dataset.value));
    }
    const folded = (state.get("f") ?? "").split(",");
    for (const group of groups) fold(group, !folded.includes(group.fold.dataset.name));
    apply();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { apply(); remember(); });
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      apply();
      remember();
    });
  }
  for (const group of groups) {
    group.fold.addEventListener("click", () => {
      fold(group, group.fold.ariaExpanded === "false");
      remember();
    });
  }

  /* What a pointer or the keyboard rests on is told why; the reasons are loaded with the first such rest. */
  const tell = async (event) => {
    const mark = event.target.closest?.("a.mark");
    if (!mark || mark.title || !table.dataset.lazy) return;
    const row = mark.closest("tr"), place = mark.parentElement.cellIndex - 1;
    const each = groups.flatMap((group) => group.rows).find((one) => one.row === row);
    mark.title = `${columns[place].target}: ${result(each.codes[place]).outcome.replace("-", " ")}`;
    const titles = await kc.load(table.dataset.lazy);
    mark.title = titles[each.id]?.[place] || mark.title;
  };
  table.addEventListener("pointerover", tell);
  table.addEventListener("focusin", tell);

  /* Arrows move among cells, and past rows that are hidden. */
  table.addEventListener("keydown", (event) => {
    const cell = document.activeElement.closest?.("tr.row > *");
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !by) return;
    event.preventDefault();
    const shown = groups.filter((group) => !group.body.hidden && !group.body.classList.contains("folded"));
    const rows = shown.flatMap((group) => group.rows.filter(({ row }) => !row.hidden).map(({ row }) => ({ row, group })));
    let y = rows.findIndex(({ row }) => row === cell.parentElement), x = cell.cellIndex;
    for (;;) {
      y += by[0];
      x += by[1];
      if (!rows[y] || x < 0 || x > columns.length) return;
      layOut(rows[y].group);
      const link = rows[y].row.cells[x]?.querySelector("a");
      if (link?.offsetParent) {
        link.focus();
        return;
      }
    }
  });

  addEventListener("hashchange", recall);
  recall();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      layOut(groups.find((group) => group.body === entry.target));
      seen.unobserve(entry.target);
    }
  }, { rootMargin: "1200px" });
  for (const group of groups) seen.observe(group.body);
})();
