"use strict";
/* Filters of the matrix, kept in the URL's hash; and on a scenario's page, opening what an anchor is in. */
(() => {
  const openAround = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const found = id && document.getElementById(id);
    if (!found) return;
    for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    found.scrollIntoView();
  };
  const form = document.getElementById("filters");
  if (!form) {
    addEventListener("hashchange", openAround);
    openAround();
    return;
  }

  const chips = [...form.querySelectorAll(".chip")];
  const groups = [...document.querySelectorAll(".matrix tbody")].map((body) => ({
    body,
    fold: body.querySelector("button"),
    rows: [...body.querySelectorAll("tr.row")].map((row) => ({
      row,
      text: (row.querySelector("a").title + " " + row.textContent).toLowerCase(),
      marks: [...row.querySelectorAll("td .mark")],
    })),
  }));
  const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const pressed = (set) => chips.filter((c) => c.dataset.set === set && c.ariaPressed === "true").map((c) => c.dataset.value);
  const carries = (mark, names) => !names.length || names.some((name) => mark.classList.contains(name));
  const isCalm = (mark) => mark.classList.contains("conforms") || mark.classList.contains("not-applicable");

  const apply = () => {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = pressed("o"), expectations = pressed("e"), onlyDifferences = form.d.checked;
    const byMark = outcomes.length || expectations.length;
    let shown = 0;
    for (const group of groups) {
      let here = 0;
      for (const { row, text, marks } of group.rows) {
        let hits = 0;
        for (const mark of marks) {
          const hit = carries(mark, outcomes) && carries(mark, expectations);
          mark.classList.toggle("dim", Boolean(byMark) && !hit);
          hits += hit;
        }
        const differs = !onlyDifferences || marks.some((mark) => !isCalm(mark) || mark.classList.contains("stale"));
        const show = (!byMark || hits > 0) && differs && words.every((word) => text.includes(word));
        row.hidden = !show;
        here += show;
      }
      group.body.hidden = !here;
      shown += here;
    }
    document.getElementById("shown").textContent = shown === total ? `${total} scenarios` : `${shown} of ${total} scenarios`;
    document.getElementById("nothing").hidden = shown > 0;
  };

  const remember = () => {
    const state = new URLSearchParams();
    if (form.q.value) state.set("q", form.q.value);
    for (const set of ["o", "e"]) if (pressed(set).length) state.set(set, pressed(set).join(","));
    if (form.d.checked) state.set("d", "1");
    const folded = groups.filter((g) => g.fold.ariaExpanded === "false").map((g) => g.fold.dataset.name);
    if (folded.length) state.set("f", folded.join(","));
    history.replaceState(null, "", `${location.pathname}${location.search}#${state}`);
  };

  const fold = (group, expanded) => {
    group.fold.ariaExpanded = String(expanded);
    group.body.classList.toggle("folded", !expanded);
  };

  const recall = () => {
    if (location.hash && document.getElementById(location.hash.slice(1))) return;
    const state = new URLSearchParams(location.hash.slice(1));
    form.q.value = state.get("q") ?? "";
    form.d.checked = state.get("d") === "1";
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
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement.tagName !== "INPUT") {
      event.preventDefault();
      form.q.focus();
    }
  });
  addEventListener("hashchange", recall);
  recall();
  apply();
})();
