"use strict";
/* What every page does: load data beside it, open what an anchor is folded into, copy lines, keys, strips. */
const kc = (() => {
  const root = document.documentElement.dataset.root;
  const main = document.getElementById("content");
  const waiting = new Map(), arrived = new Map();

  /* A script is the one thing that a page from disk may load; the data hand themselves over. */
  const load = (path) => {
    if (!arrived.has(path)) {
      arrived.set(path, new Promise((resolve, reject) => {
        waiting.set(path, resolve);
        const script = document.createElement("script");
        script.src = root + path;
        script.onerror = () => reject(new Error(`${path} is not beside this page`));
        document.head.append(script);
      }));
    }
    return arrived.get(path);
  };
  const arrive = (path, data) => waiting.get(path)?.(data);

  /* Make an element; what a target sent gets into the page as text, and in no other way. */
  const make = (tag, style, ...content) => {
    const made = document.createElement(tag);
    if (style) made.className = style;
    made.append(...content.filter((part) => part !== null && part !== ""));
    return made;
  };

  const reader = (legend) => (code) => {
    const at = legend.letters.indexOf(code.toLowerCase());
    if (at < 0) return null;
    const outcome = Math.floor(at / legend.expectations.length);
    return {
      outcome: legend.outcomes[outcome],
      expectation: legend.expectations[at % legend.expectations.length],
      glyph: legend.glyphs[outcome],
      news: code !== code.toLowerCase(),
    };
  };

  const openAround = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const found = id && document.getElementById(id);
    if (!found) return;
    for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    found.scrollIntoView();
  };

  const copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", "", text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const addCopyButtons = (within) => {
    for (const source of within.querySelectorAll("code.line, pre.paste")) {
      if (source.nextElementSibling?.classList.contains("copy")) continue;
      const button = make("button", "copy", "copy");
      button.type = "button";
      button.addEventListener("click", async () => {
        await copyText(source.textContent);
        button.textContent = "copied";
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
      source.after(button);
    }
  };

  /* The results of the newest runs, each a link to that run where it is beside this one. */
  const layOutStrip = (strip) => {
    const runs = JSON.parse(document.getElementById("runs").dataset.runs);
    const read = reader(JSON.parse(main.dataset.legend));
    const anchor = strip.closest("details").id;
    const page = location.pathname.split("/").pop();
    strip.replaceChildren(...[...strip.dataset.c].map((code, place) => {
      const result = read(code), run = runs[place];
      const told = make(run.href && result ? "a" : "span", result ? `mark ${result.outcome} ${result.expectation}` : "mark none", result ? result.glyph : "·");
      told.title = `${run.run_id}, ${run.started_at}${result ? "" : ": not run"}`;
      if (told.tagName === "A") told.href = `../${run.href}scenarios/${page}#${anchor}`;
      return told;
    }));
  };

  /* Go to the next or previous thing that differs, and from the last one to the page that goes on. */
  const step = (selector, forward) => {
    const all = [...document.querySelectorAll(selector)].filter((one) => one.offsetParent !== null);
    const page = forward ? main.dataset.next : main.dataset.previous;
    const further = beyond(all, forward);
    if (!further.length && page) {
      location.href = page;
      return;
    }
    const ways = further.length ? further : all, next = forward ? ways[0] : ways.at(-1);
    if (!next) return;
    if (next.tagName === "DETAILS") next.open = true;
    next.scrollIntoView();
    (next.querySelector("summary, a") ?? next).focus({ preventScroll: true });
  };
  /* What comes after the one that has the focus or that the address names, else after where the page is scrolled to. */
  const beyond = (all, forward) => {
    const focused = all.findIndex((one) => one.contains(document.activeElement));
    const at = focused < 0 ? all.findIndex((one) => one.id && location.hash === `#${one.id}`) : focused;
    const box = all[at]?.getBoundingClientRect();
    if (box && box.bottom > 0 && box.top < innerHeight) return forward ? all.slice(at + 1) : all.slice(0, at);
    return all.filter((one) => (forward ? one.getBoundingClientRect().top > 90 : one.getBoundingClientRect().top < -10));
  };

  const search = document.querySelector("main input[type=search]");
  const find = document.getElementById("find");
  if (find) {
    find.hidden = false;
    find.addEventListener("submit", (event) => {
      event.preventDefault();
      location.href = `${root}index.html#${new URLSearchParams({ q: find.q.value })}`;
    });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement.type === "search") document.activeElement.blur();
    if (event.ctrlKey || event.altKey || event.metaKey || ["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) return;
    if (event.key === "/" && search) {
      event.preventDefault();
      (document.querySelector(".filters input[type=search]") ?? search).focus();
    } else if (event.key === "m" && document.querySelector("nav.site a[href$='index.html']")) {
      location.href = `${root}index.html`;
    } else if (event.key === "n" || event.key === "p") {
      step("details.target.differs, .attention li", event.key === "n");
    }
  });
  document.getElementById("keys").hidden = false;
  /* A part that the reader opens is what the address names. */
  document.addEventListener("click", (event) => {
    const part = event.target.closest?.("details[id] > summary")?.parentElement;
    if (!part || event.target.closest("a, button")) return;
    const here = `${location.pathname}${location.search}`;
    if (!part.open) history.replaceState(null, "", `${here}#${part.id}`);
    else if (location.hash.endsWith(part.id)) history.replaceState(null, "", here);
  });
  /* Paper has no folds: what differs is printed whole. */
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.differs, .attention details")) part.open = true;
  });
  addCopyButtons(document);
  for (const strip of document.querySelectorAll(".strip")) layOutStrip(strip);

  const changes = document.getElementById("delta-filters");
  if (changes) filterChanges(changes);
  if (!document.getElementById("filters")) {
    addEventListener("hashchange", openAround);
    openAround();
  }
  return { load, arrive, make, reader, openAround, addCopyButtons };

  /* Changes by text and kind, and which of their tables are open, kept in the address. */
  function filterChanges(form) {
    const chips = [...form.querySelectorAll(".chip")];
    const parts = [...document.querySelectorAll("details.delta")].map((part) => ({
      part,
      title: part.querySelector("summary").textContent.toLowerCase(),
      rows: [...part.querySelectorAll("tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase(), count: Number(row.dataset.count ?? 1) })),
      isOpen: part.open,
    }));
    const pressed = () => chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.letter);
    const apply = () => {
      const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean), letters = pressed();
      let all = 0, found = 0;
      for (const { part, title, rows } of parts) {
        const fits = !letters.length || letters.includes(part.dataset.letter);
        let shown = 0;
        for (const { row, text, count } of rows) {
          row.hidden = !words.every((word) => text.includes(word) || title.includes(word));
          if (!row.hidden) shown += count;
          all += count;
        }
        part.hidden = !shown || !fits;
        if (words.length && shown && fits) part.open = true;
        found += fits ? shown : 0;
      }
      for (const whole of document.querySelectorAll("[data-unfiltered]")) whole.hidden = words.length > 0 || letters.length > 0;
      form.querySelector("output").textContent = words.length || letters.length ? `${found} of ${all} changes` : "";
    };
    const remember = () => {
      const state = new URLSearchParams(), letters = pressed();
      if (form.q.value) state.set("q", form.q.value);
      if (letters.length) state.set("k", letters.join(""));
      else if (!form.q.value) {
        const toggled = parts.flatMap(({ part, isOpen }, place) => (part.open === isOpen ? [] : [place]));
        if (toggled.length) state.set("t", toggled.join(","));
      }
      history.replaceState(null, "", `${location.pathname}${location.search}#${state}`);
    };
    const recall = () => {
      const id = location.hash.slice(1), state = new URLSearchParams(id);
      if (id && document.getElementById(id)) return;
      form.q.value = state.get("q") ?? "";
      for (const chip of chips) chip.ariaPressed = String((state.get("k") ?? "").includes(chip.dataset.letter));
      const toggled = (state.get("t") ?? "").split(",");
      parts.forEach(({ part, isOpen }, place) => { part.open = toggled.includes(String(place)) !== isOpen; });
      apply();
    };
    form.hidden = false;
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        chip.ariaPressed = String(chip.ariaPressed !== "true");
        apply();
        remember();
      });
    }
    for (const { part } of parts) part.querySelector("summary").addEventListener("click", () => setTimeout(remember));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { apply(); remember(); });
    addEventListener("hashchange", recall);
    recall();
  }
})();
