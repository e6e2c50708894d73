"use strict";
/* The page: shows the view that the address names, from the data beside it. An address is #VIEW, or #VIEW:REST,
   where REST is an anchor within the view, or the state of its filters. A view is one of the navigation's, or a
   document: a scenario, a script, a finding. */
const kc = (() => {
  const site = JSON.parse(document.body.dataset.site);
  const holder = document.getElementById("view"), main = document.getElementById("content");
  const waiting = new Map(), arrived = new Map(), scrolled = new Map();
  let shown = holder, follow = () => {}, current = null, count = 0;

  /* Make an element; what a target sent gets into the page as text, and in no other way. */
  const make = (tag, style, ...content) => {
    const made = document.createElement(tag);
    if (style) made.className = style;
    made.append(...content.filter((part) => part !== null && part !== ""));
    return made;
  };

  /* A script is the one thing that a page from disk may load; the data hand themselves over, packed. */
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  };
  const load = (file) => {
    if (!arrived.has(file)) {
      arrived.set(file, new Promise((resolve, reject) => {
        const refuse = (why) => reject(new Error(`data/${file}.js ${why}. All other views can be shown; \`kafka-conformance report\` writes it again.`));
        const damaged = () => refuse("is damaged");
        let isHere = false;
        waiting.set(file, (text) => {
          isHere = true;
          unpacked(text).then(resolve, damaged);
        });
        const script = make("script");
        script.src = `data/${file}.js`;
        script.onload = () => { if (!isHere) damaged(); };
        script.onerror = () => refuse("is not beside this page");
        document.head.append(script);
      }));
    }
    return arrived.get(file);
  };
  const z = (file, text) => waiting.get(file)?.(text);

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
  const strip = (codes, runs, anchor) => make("span", "strip", ...[...codes].map((code, at) => {
    const result = reader(site.legend)(code), run = runs[at];
    const told = make(run.href && result ? "a" : "span", result ? `mark ${result.outcome} ${result.expectation}` : "mark none", result ? result.glyph : "·");
    told.title = `${run.run_id}, ${run.started_at}${result ? "" : ": not run"}`;
    if (told.tagName === "A") told.href = `${run.href}index.html#${place().name}:${anchor}`;
    return told;
  }));

  /* What Spark counted over many runs, beside a scenario's results. */
  const tellBeside = async (id) => {
    const { runs, results, flakes, versions } = await load("beside");
    for (const line of shown.querySelectorAll("p.history")) {
      const { target } = line.dataset, codes = results[target]?.[id], flake = flakes[target]?.[id];
      if (!codes) continue;
      line.append(make("span", "quiet", "Newest runs"), " ", strip(codes, runs, line.closest("details").id));
      if (flake) line.append(" ", make("span", "tag indeterminate", "flaky"), " ", make("span", "quiet", flake));
      line.hidden = false;
    }
    if (versions[id]) shown.querySelector(".versions-of").innerHTML = versions[id];
    addCopyButtons(shown);
  };

  /* Documents of one file share texts and fields: there stands `{"$": INDEX}` in their place. */
  const whole = (value, shared) => {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map((each) => whole(each, shared));
    if ("$" in value) return whole(shared[value.$], shared);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, whole(each, shared)]));
  };
  const talkOf = ({ talk, shared }, key) => whole(talk[key], shared);

  const startTalks = (talk) => {
    const dataOf = async (section) => (section.dataset.talk ? talkOf(await load(section.dataset.talk), section.dataset.key ?? section.dataset.target) : talk);
    const show = async (section) => {
      const at = section.querySelector(".talk-of");
      if (!section.open || !at || at.childElementCount || (!talk && !section.dataset.talk)) return;
      at.append(make("p", "quiet silent", "…"));
      try {
        at.replaceChildren(...conversation(await dataOf(section), section.dataset.target));
      } catch (error) {
        at.replaceChildren(make("p", "quiet silent", String(error.message)));
        return;
      }
      const { rest } = place();
      if (rest && !rest.includes("=") && section.querySelector(`#${CSS.escape(rest)}`)) openAround(rest);
    };
    const source = document.getElementById("script-source");
    source?.addEventListener("toggle", () => {
      if (source.childElementCount > 1) return;
      source.append(make("pre", "paste", JSON.stringify(talk.script, null, 2)));
      addCopyButtons(source);
    });
    for (const section of shown.querySelectorAll("details.target")) {
      section.addEventListener("toggle", () => show(section));
      show(section);
    }
  };

  const openAround = (id) => {
    const found = id && document.getElementById(id);
    if (!found) return;
    for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    found.scrollIntoView();
  };

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  /* What the address names: a view, and what of it. */
  const place = () => {
    const [view, ...rest] = location.hash.slice(1).split(":"), text = rest.join(":");
    return { name: view || site.first, view: decoded(view) || site.first, rest: text.includes("=") ? text : decoded(text) };
  };
  /* Let the address name a part of what is shown. */
  const name = (rest) => history.replaceState(null, "", `#${place().name}${rest ? `:${rest}` : ""}`);

  const find = async (view) => {
    if (site.views.includes(view)) return load(view);
    for (const files of site.documents) {
      const file = files.findLast(([first]) => first <= view)?.[1];
      const found = file ? await load(file) : null;
      if (found && view in found.html) return { html: found.html[view], talk: talkOf(found, view) };
    }
    throw new Error(`${view} is not in this report.`);
  };

  const show = async () => {
    const { view, rest } = place();
    if (view !== current) {
      if (current) scrolled.set(current, scrollY);
      const turn = ++count;
      let found = null, problem = "";
      try {
        found = await find(view);
      } catch (error) {
        problem = error.message;
      }
      if (turn !== count) return;
      current = view;
      lay(view, found, problem);
      if (!rest) scrollTo(0, scrolled.get(view) ?? 0);
    }
    const { rest: now } = place();
    /* An anchor may name what is laid out only once its section is open. */
    const section = document.getElementById(now.replace(/^first-difference-/, "target-"));
    if (section?.matches("details.target")) section.open = true;
    if (now && document.getElementById(now)) openAround(now);
    else follow(now.includes("=") ? now : "");
  };

  /* What is laid out here are our own templates, in which all that a target sent is escaped. */
  const lay = (view, found, problem) => {
    if (found) holder.innerHTML = found.html;
    else holder.replaceChildren(make("div", "scenario", make("h1", "bad", "This view cannot be shown"), make("p", "", problem)));
    shown = holder.firstElementChild;
    main.className = shown.className;
    document.title = shown.dataset.title ?? view;
    for (const link of document.querySelectorAll("nav.site a")) {
      if (link.dataset.view === view) link.ariaCurrent = "page";
      else link.removeAttribute("aria-current");
    }
    addCopyButtons(holder);
    startTalks(found?.talk ?? null);
    const matrix = document.getElementById("filters"), changes = document.getElementById("delta-filters");
    follow = matrix ? startMatrix(matrix) : changes ? filterChanges(changes) : () => {};
    if (follow) follow("");
    const between = shown.querySelector(".between");
    if (between) load("beside").then(({ sentence }) => { between.append(sentence); between.hidden = !sentence; }, () => {});
    if (shown.querySelector(".versions-of")) tellBeside(view).catch((error) => shown.querySelector(".versions-of").replaceChildren(make("p", "quiet", error.message)));
  };

  /* Go to the next or previous thing that differs, and from the last one to the page that goes on. */
  const step = (selector, forward) => {
    const all = [...document.querySelectorAll(selector)].filter((one) => one.offsetParent !== null);
    const page = forward ? shown.dataset.next : shown.dataset.previous;
    const further = beyond(all, forward);
    if (!further.length && page) {
      location.hash = page;
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
    const at = focused < 0 ? all.findIndex((one) => one.id && place().rest === one.id) : focused;
    const box = all[at]?.getBoundingClientRect();
    if (box && box.bottom > 0 && box.top < innerHeight) return forward ? all.slice(at + 1) : all.slice(0, at);
    return all.filter((one) => (forward ? one.getBoundingClientRect().top > 90 : one.getBoundingClientRect().top < -10));
  };


  /* Conversations: laid out when one of them is opened. */
  const LINE_BYTES = 16, LONG = 400;

  const hexdump = (digits) => {
    const lines = [];
    for (let at = 0; at < digits.length; at += 2 * LINE_BYTES) {
      const bytes = digits.slice(at, at + 2 * LINE_BYTES).match(/../g) ?? [];
      const text = bytes.map((byte) => parseInt(byte, 16)).map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."));
      lines.push(`${(at / 2).toString(16).padStart(4, "0")}  ${bytes.join(" ").padEnd(3 * LINE_BYTES - 1)}  ${text.join("")}`);
    }
    return lines.join("\n");
  };

  /* What would fill the page stands shortened, and whole where it is pointed at or differs. */
  const shortened = (text) => (text.length > LONG ? `${text.slice(0, LONG)}… (${text.length} characters)` : text);

  /* Lay JSON out over lines without reading its numbers, which may be larger than JavaScript can represent. */
  const indented = (text) => {
    let out = "", depth = 0, quoted = false;
    const line = () => `\n${"  ".repeat(depth)}`;
    for (let at = 0; at < text.length; at += 1) {
      const sign = text[at];
      if (quoted) {
        out += sign;
        if (sign === "\\") out += text[++at];
        else if (sign === '"') quoted = false;
      } else if (sign === '"') {
        quoted = true;
        out += sign;
      } else if ("{[".includes(sign)) {
        const isEmpty = /^\s*[}\]]/.test(text.slice(at + 1, at + 9));
        depth += 1;
        out += isEmpty ? sign : sign + line();
        if (isEmpty) {
          while (!"}]".includes(text[++at]));
          depth -= 1;
          out += text[at];
        }
      } else if ("}]".includes(sign)) {
        depth -= 1;
        out += line() + sign;
      } else if (sign === ",") out += sign + line();
      else if (sign === ":") out += ": ";
      else if (!/\s/.test(sign)) out += sign;
    }
    return out;
  };

  /* A reference whose conversation is a target's left side is not stored twice. */
  const leftOf = (lender) => {
    const left = (fields) => fields.flatMap(([depth, key, , text]) => (text === null ? [] : [[depth, key, "same", text, text]]));
    const alone = ([cell, , , , isFlowing, fields, , actor, api]) => [null, cell, false, false, isFlowing, left(fields), [], actor, api];
    const steps = [...lender.before, ...lender.after].map(([index, rows]) => [index, rows.filter(([cell]) => cell).map(alone)]);
    return { oracle: null, first: "", before: [], after: steps.filter(([, rows]) => rows.length) };
  };

  const conversation = (data, name) => {
    const stored = data.targets[name], of = stored.like ? leftOf(data.targets[stored.like]) : stored, wide = of.oracle ? 2 : 1;

    const heading = ([kind, headline, at, elapsed]) => {
      const arrow = make("span", "arrow", site.arrows[kind] ?? "·");
      arrow.ariaHidden = "true";
      const when = at ? make("span", "when", `${elapsed ? `after ${elapsed} ms · ` : ""}at ${at} ms`) : null;
      return make("span", "head", arrow, " ", make("b", "", headline), when);
    };
    const side = (cell) => {
      if (!cell) return [make("span", "absent", "nothing on this side")];
      const [kind, , , , note, raw, decoded] = cell;
      const parts = [];
      if (raw || decoded) {
        const details = make("details", `bytes ${kind}`, make("summary", "", heading(cell)));
        details.addEventListener("toggle", () => {
          if (details.childElementCount > 1) return;
          if (decoded) details.append(make("p", "quiet", "original fields"), make("pre", "", indented(decoded)));
          if (raw) details.append(make("p", "quiet", `${raw.length / 2} bytes`), make("pre", "", hexdump(raw)));
        });
        parts.push(details);
      } else parts.push(make("div", `bytes ${kind}`, heading(cell)));
      if (note) parts.push(make("p", "note", note));
      return parts;
    };
    const cellOf = (style, ...content) => make("td", style, ...content);
    /* A narrow page stacks the two sides: there each needs its name, and what is equal stands once. */
    const rowOf = (style, isAlike, cells) => {
      if (cells.length === 2) cells.forEach((cell, place) => { cell.dataset.side = place ? of.title ?? name : of.oracle; });
      return make("tr", `${style}${isAlike ? " alike" : ""}`, ...cells);
    };

    const told = ([place, kind, against, expected, actual, isFirst, isLenient]) => {
      const sign = make("span", "", "▼ ");
      sign.ariaHidden = "true";
      const title = isFirst ? "First difference" : isLenient ? "Without consequence" : "Follows from the first";
      const cell = cellOf("told",
        make("p", "", make("b", "", isFirst ? sign : "", title), " ", make("span", "tag", kind), ` ${place} `, make("span", "quiet", `against the ${against === "expectation" ? "script" : "oracle"}`)),
        make("p", "contrast", make("span", "", "expected"), " ", make("code", "value expected", expected), " ", make("span", "", "actual"), " ", make("code", "value actual", actual)));
      cell.colSpan = wide;
      const row = make("tr", `finding${isFirst ? " first" : ""}${isLenient ? " lenient" : ""}`, cell);
      if (isFirst) row.id = of.first;
      return row;
    };
    const value = (depth, key, text) => {
      if (text === null) {
        const gone = make("span", "gone", "·");
        gone.title = "absent on this side";
        return cellOf("", gone);
      }
      return cellOf("", make("span", `key depth-${Math.min(depth, 8)}`, key), text ? " " : "", text ? make("code", "", text) : "");
    };
    const flow = (fields, side) => fields.flatMap((field) => {
      const text = field[side];
      return text === null ? [] : [make("span", `pair ${field[2]}`, `${field[1]} `, make("code", "", shortened(text))), " "];
    });
    const isEqual = ([, , , left, right]) => left === right;
    const event = function* ([left, right, isDifferent, isKindDifferent, isFlowing, fields, findings]) {
      for (const finding of findings) yield told(finding);
      if (!left && !right) return;
      const sides = of.oracle ? [cellOf("", ...side(left)), cellOf("", ...side(right))] : [cellOf("", ...side(right))];
      const isAlike = Boolean(left && right) && !isKindDifferent;
      yield rowOf(`event${isDifferent ? " different" : ""}${isKindDifferent ? " kinds" : ""}`, isAlike, sides);
      if (!fields.length) return;
      if (isFlowing) {
        const cells = [cellOf("", ...(right ? flow(fields, 4) : []))];
        if (of.oracle) cells.unshift(cellOf("", ...(left ? flow(fields, 3) : [])));
        yield rowOf("flow", isAlike && fields.every(isEqual), cells);
        return;
      }
      for (const field of fields) {
        const [depth, key, mark, expected, actual] = field;
        const cells = [value(depth, key, actual)];
        if (of.oracle) cells.unshift(value(depth, key, expected));
        yield rowOf(`field ${mark}`, isAlike && isEqual(field), cells);
      }
    };
    const table = (steps) => {
      const heads = [make("th", "", of.title ?? name)];
      if (of.oracle) heads.unshift(make("th", "", of.oracle, " ", make("span", "quiet", "oracle")));
      for (const head of heads) head.scope = "col";
      const bodies = steps.map(([index, rows]) => {
        const title = make("th", "", ...(index < 0
          ? [make("b", "", "–"), " ", make("i", "", data.texts.length ? "outside the script" : "recorded")]
          : [make("b", "", String(index)), " ", make("code", "", shortened(data.texts[index] ?? ""))]));
        title.colSpan = wide;
        title.scope = "rowgroup";
        return make("tbody", "", make("tr", "step", title), ...rows.flatMap((row) => [...event(row)]));
      });
      return make("table", of.oracle ? "talk" : "talk alone", make("thead", "", make("tr", "", ...heads)), ...bodies);
    };

    const parts = [];
    if (of.seen) parts.push(lanes(of.seen, data.texts));
    if (of.left_out) parts.push(make("p", "quiet silent", of.left_out));
    const events = [...of.before, ...of.after].flatMap(([index, rows]) => rows.filter((row) => row[1]).map((row) => [index, row]));
    if (events.length) {
      const folded = make("details", "sequence", make("summary", "", "Sequence diagram"));
      folded.addEventListener("toggle", () => {
        if (folded.childElementCount === 1) folded.append(make("div", "wide", sequence(events)));
      });
      parts.push(folded);
    }
    if (of.before.length) {
      const words = `${of.before.length} step${of.before.length > 1 ? "s" : ""} before the first difference`;
      parts.push(make("details", "before", make("summary", "", words), table(of.before)));
    }
    if (of.after.length) parts.push(table(of.after));
    if (!parts.length) parts.push(make("p", "quiet silent", "Nothing was exchanged."));
    return parts;
  };

  /* Lanes of actors and of the coordinator, and what went between them, a line an event. */
  const sequence = (events) => {
    const LANE = 150, LINE = 24, TOP = 34, LEFT = 60;
    const draw = (tag, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      if (text) made.textContent = text;
      return made;
    };
    const actors = [...new Set(events.map(([, row]) => row[5]).filter(Boolean))];
    const lanes = new Map(actors.map((actor, place) => [actor, LEFT + place * LANE]));
    const last = LEFT + actors.length * LANE, bottom = TOP + events.length * LINE + 12;
    const picture = draw("svg", { class: "sequence", width: last + 130, height: bottom, role: "img" });
    picture.append(draw("title", {}, "Sequence diagram; the table below has the same data"));
    for (const [name, x] of [...lanes, ["coordinator", last]]) {
      picture.append(draw("line", { class: "lane", x1: x, x2: x, y1: TOP - 8, y2: bottom }), draw("text", { class: "actor", x, y: 16 }, name));
    }
    events.forEach(([index, row], place) => {
      const [, cell, isDifferent, isKindDifferent, , fields, findings, actor, api] = row, [kind] = cell;
      const y = TOP + place * LINE + 14, x = lanes.get(actor) ?? last;
      const isOdd = isDifferent || isKindDifferent || findings.length > 0;
      const group = draw("g", { class: `${kind}${isOdd ? " differs" : ""}` });
      const code = fields.find((field) => field[1] === "error_code");
      const told = [api, kind === "response" ? code && (code[4] ?? code[3]) : kind === "request" ? "" : kind.replace("-", " ")].filter(Boolean).join(" ");
      group.append(draw("text", { class: "step", x: 4, y: y + 4 }, index < 0 ? "–" : String(index)));
      if (kind === "request" || kind === "response") {
        const [from, to] = kind === "request" ? [x, last] : [last, x], tip = to > from ? -7 : 7;
        group.append(draw("line", { x1: from, x2: to, y1: y, y2: y }), draw("path", { d: `M${to} ${y}l${tip} -4v8z` }));
        group.append(draw("text", { x: (from + to) / 2, y: y - 5, class: "label" }, told));
      } else {
        group.append(draw("circle", { cx: x, cy: y, r: 3 }), draw("text", { x: x + 9, y: y + 4 }, told));
      }
      picture.append(group);
    });
    return picture;
  };

  /* What each client of a script saw: a column a client, a line an event, in the order of time. */
  const lanes = ({ clients, rows }, texts) => {
    const LONG = 160;
    const shortened = (text) => (text.length > LONG ? `${text.slice(0, LONG)}…` : text);
    const head = make("tr", "", ...["at", ...clients].map((name) => {
      const cell = make("th", "", name);
      cell.scope = "col";
      return cell;
    }));
    const body = make("tbody");
    let last = null;
    for (const [step, at, client, kind, text] of rows) {
      if (step !== last && step >= 0) {
        const title = make("th", "", make("b", "", String(step)), " ", make("code", "", shortened(texts[step] ?? "the whole")));
        title.colSpan = clients.length + 1;
        title.scope = "rowgroup";
        body.append(make("tr", "step", title));
      }
      last = step;
      const cells = clients.map((name) => {
        if (name !== client) return make("td");
        const told = make("td", `saw ${kind.replaceAll(" ", "-")}`, make("b", "", kind), " ", make("code", "", shortened(text)));
        told.title = text;
        return told;
      });
      body.append(make("tr", "", make("td", "number quiet", at), ...cells));
    }
    const table = make("table", "lanes", make("thead", "", head), body);
    const wide = make("div", "wide", table);
    wide.tabIndex = 0;
    wide.role = "region";
    wide.ariaLabel = "The clients' events";
    return make("details", "sequence", make("summary", "", `The clients' events: ${rows.length} events of ${clients.length}`), wide);
  };

  /* The matrix: its cells are laid out when they come into view; its filters are kept in the address. */
  const startMatrix = (form) => {
    const table = document.querySelector(".matrix");
    const read = reader(site.legend);
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
        isLaidOut: false,
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

    /* A row gets its cells, and its worst result for a narrow page; nothing of them is from a target. */
    const layOut = (group) => {
      for (const each of group.rows) {
        if (each.isLaidOut) continue;
        each.isLaidOut = true;
        const page = each.row.querySelector("a").getAttribute("href");
        const cells = [...each.codes].map((code, place) => {
          const found = result(code), cell = document.createElement("td");
          if (!found) return cell;
          const mark = make("a", `mark ${found.outcome} ${found.expectation}${found.news ? " news" : ""}`, found.glyph);
          mark.href = `${page}:${columns[place].anchor}`;
          cell.append(mark);
          return cell;
        });
        each.row.querySelector(".glyphs").replaceWith(...cells);
        const worst = result(each.row.dataset.worst);
        each.row.querySelector("a").prepend(make("i", `worst mark ${worst.outcome} ${worst.expectation}`, worst.glyph));
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
    document.adoptedStyleSheets = [rule];
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
      name(String(state));
    };

    const fold = (group, expanded) => {
      group.fold.ariaExpanded = String(expanded);
      group.body.classList.toggle("folded", !expanded);
    };

    const recall = (rest) => {
      const state = new URLSearchParams(rest);
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
      if (!mark || mark.title) return;
      const row = mark.closest("tr"), place = mark.parentElement.cellIndex - 1;
      const each = groups.flatMap((group) => group.rows).find((one) => one.row === row);
      mark.title = `${columns[place].target}: ${result(each.codes[place]).outcome.replace("-", " ")}`;
      const titles = await load(`${current}-titles`);
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
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) {
        layOut(groups.find((group) => group.body === entry.target));
        seen.unobserve(entry.target);
      }
    }, { rootMargin: "1200px" });
    for (const group of groups) seen.observe(group.body);
    return recall;
  };

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
      name(String(state));
    };
    const recall = (rest) => {
      const state = new URLSearchParams(rest);
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
    return recall;
  }

  const finder = document.getElementById("find");
  if (finder) {
    finder.hidden = false;
    finder.addEventListener("submit", (event) => {
      event.preventDefault();
      location.hash = `#matrix:${new URLSearchParams({ q: finder.q.value })}`;
    });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement.type === "search") document.activeElement.blur();
    if (event.ctrlKey || event.altKey || event.metaKey || ["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) return;
    const search = holder.querySelector("input[type=search]") ?? finder?.q;
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "m") {
      location.hash = `#${site.first}`;
    } else if (event.key === "n" || event.key === "p") {
      step("details.target.differs, .attention li", event.key === "n");
    }
  });
  document.querySelector("a.skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.tabIndex = -1;
    main.focus();
  });
  /* A part that the reader opens is what the address names. */
  document.addEventListener("click", (event) => {
    const part = event.target.closest?.("details[id] > summary")?.parentElement;
    if (!part || event.target.closest("a, button")) return;
    if (!part.open) name(part.id);
    else if (place().rest === part.id) name("");
  });
  /* Paper has no folds: what differs is printed whole. */
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.differs, .attention details")) part.open = true;
  });
  addEventListener("hashchange", show);
  show();
  return { z };
})();
