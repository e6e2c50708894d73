"use strict";
/* What each client of a script saw: a column a client, a line an event, in the order of time. */
kc.lanes = ({ clients, rows }, texts) => {
  const { make } = kc;
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
