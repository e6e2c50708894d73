"use strict";
/* The conversations of a scenario: laid out from the data beside the page when one of them is opened. */
(() => {
  const { make } = kc;
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

  const conversation = (data, name) => {
    const of = data.targets[name], wide = of.oracle ? 2 : 1;

    const heading = ([kind, headline, at, elapsed]) => {
      const arrow = make("span", "arrow", data.arrows[kind] ?? "·");
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

    const told = ([place, kind, against, expected, actual, flags]) => {
      const isFirst = Boolean(flags & 1), isLenient = Boolean(flags & 2);
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
    const rightOf = (field) => (field.length > 4 ? field[4] : field[3]);
    const flow = (fields, pick) => fields.flatMap((field) => {
      const text = pick(field);
      return text === null ? [] : [make("span", `pair ${data.marks[field[2]]}`, `${field[1]} `, make("code", "", shortened(text))), " "];
    });
    const event = function* ([left, right, flags, layout, findings]) {
      for (const finding of findings ?? []) yield told(finding);
      if (!left && !right) return;
      const sides = of.oracle ? [cellOf("", ...side(left)), cellOf("", ...side(right))] : [cellOf("", ...side(right))];
      const isAlike = Boolean(left && right) && !(flags & 2);
      yield rowOf(`event${flags & 1 ? " different" : ""}${flags & 2 ? " kinds" : ""}`, isAlike, sides);
      if (layout < 0) return;
      const [isFlowing, fields] = data.layouts[layout];
      if (isFlowing) {
        const cells = [cellOf("", ...(right ? flow(fields, rightOf) : []))];
        if (of.oracle) cells.unshift(cellOf("", ...(left ? flow(fields, (field) => field[3]) : [])));
        yield rowOf("flow", isAlike && fields.every((field) => field.length <= 4), cells);
        return;
      }
      for (const field of fields) {
        const [depth, key, mark, expected] = field;
        const cells = [value(depth, key, rightOf(field))];
        if (of.oracle) cells.unshift(value(depth, key, expected));
        yield rowOf(`field ${data.marks[mark]}`, isAlike && field.length <= 4, cells);
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
    if (of.seen) parts.push(kc.lanes(of.seen, data.texts));
    if (of.left_out) parts.push(make("p", "quiet silent", of.left_out));
    const events = [...of.before, ...of.after].flatMap(([index, rows]) => rows.filter((row) => row[1]).map((row) => [index, row]));
    if (events.length) {
      const folded = make("details", "sequence", make("summary", "", "Sequence diagram"));
      folded.addEventListener("toggle", () => {
        if (folded.childElementCount === 1) folded.append(make("div", "wide", sequence(data, events)));
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
  const sequence = (data, events) => {
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
      const [, cell, flags, layout, findings, actor, api] = row, [kind] = cell;
      const y = TOP + place * LINE + 14, x = lanes.get(actor) ?? last;
      const isOdd = flags & 3 || findings.length > 0;
      const group = draw("g", { class: `${kind}${isOdd ? " differs" : ""}` });
      const code = layout < 0 ? null : data.layouts[layout][1].find((field) => field[1] === "error_code");
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

  const shared = document.getElementById("content").dataset.talk;
  const show = async (section) => {
    const place = section.querySelector(".talk-of");
    if (!section.open || place.childElementCount) return;
    place.append(make("p", "quiet silent", "…"));
    try {
      const path = section.dataset.talk ?? shared;
      place.replaceChildren(...conversation(await kc.load(path), section.dataset.target));
    } catch (error) {
      place.replaceChildren(make("p", "quiet silent", String(error.message)));
      return;
    }
    const id = decodeURIComponent(location.hash.slice(1));
    if (id && section.querySelector(`#${CSS.escape(id)}`)) kc.openAround();
  };
  const source = document.getElementById("script-source");
  source?.addEventListener("toggle", async () => {
    if (source.childElementCount > 1) return;
    source.append(make("pre", "paste", JSON.stringify((await kc.load(shared)).script, null, 2)));
    kc.addCopyButtons(source);
  });
  const sections = [...document.querySelectorAll("details.target")];
  for (const section of sections) {
    section.addEventListener("toggle", () => show(section));
    show(section);
  }
  /* An anchor may name what is laid out only once its section is open. */
  const openNamed = () => {
    const wanted = decodeURIComponent(location.hash.slice(1)).replace(/^first-difference-/, "target-");
    const section = wanted ? document.getElementById(wanted) : null;
    if (section?.matches("details.target")) section.open = true;
  };
  addEventListener("hashchange", openNamed);
  openNamed();
})();
