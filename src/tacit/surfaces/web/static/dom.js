// Elements are built here, and nowhere from text: what comes from the store is a text node, whatever it says.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]/gu;

// Replaces control, direction and other hidden characters by a visible mark.
export function visible(text) {
  return String(text ?? "").replace(HIDDEN, (found) => (found === "\n" || found === "\t" ? found : "\ufffd"));
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return parent;
}

// Makes an element: `h("p", {class: "dim", onclick}, "text", other)`.
export function h(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : visible(value));
  }
  return append(made, children);
}

// Makes an element of a drawing.
export function svg(tag, options = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) made.setAttribute(name, String(value));
  return append(made, children);
}

export const link = (href, ...children) => h("a", { href }, ...children);
export const toSkill = (row) => link(`#/skills/${encodeURIComponent(row.version_id)}`, row.name);
export const toStep = (place, ...children) => link(`#/sessions/${[place.session, place.trajectory_id, place.step].map(encodeURIComponent).join("/")}`, ...children);
const WORDS = {
  candidate: "waiting", trial: "on trial", success: "worked", failure: "failed", partial: "partly worked", partly: "partly followed",
  user: "from a person", operator: "from a person", agent: "from the agent", external: "from outside", unknown: "origin unknown",
};
// A small label; statuses, outcomes and origins are told in words.
export const chip = (code, text = WORDS[code] ?? code) => h("span", { class: `chip ${/^[a-z_-]+$/.test(code) ? code : ""}` }, text);
export const maker = (name) => (/^tacit\./.test(name) ? `Tacit (${name.slice(6)})` : name);
export const waits = (row) => ["candidate", "quarantined"].includes(row.status);

// A sentence, with what stands between back-ticks as code.
export const prose = (text) => String(text ?? "").split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));
export const heading = (text) => h("h1", { tabindex: "-1" }, text);
export const empty = (...children) => h("p", { class: "empty" }, ...children);
export const section = (title, ...children) => h("section", { "aria-label": title }, h("h2", {}, title), ...children);

export function time(at) {
  if (!at) return "";
  const when = new Date(at);
  const year = when.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const text = when.toLocaleString([], { month: "short", day: "numeric", ...year, hour: "numeric", minute: "2-digit" });
  return h("time", { datetime: at, title: when.toString() }, text);
}

export const counted = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
export const first = (text, most) => (text.length > most ? `${text.slice(0, most)} …` : text);
export const percent = (share) => `${Math.round(100 * share)} %`;

export function reliability(known) {
  if (!known || known.known === false || known.low === undefined) return "not known yet";
  return `${percent(known.low)} to ${percent(known.high)}`;
}

// Shows a unified diff; a screen reader hears which lines were added and removed.
export function diff(text) {
  const lines = text.split("\n").filter((line) => !/^(---|\+\+\+|@@)/.test(line));
  const kinds = { "+": ["ins", "added"], "-": ["del", "removed"] };
  return h("pre", { class: "diff", tabindex: "0", "aria-label": "Changes" }, lines.map((line) => {
    const [tag, label] = kinds[line[0]] ?? ["span", ""];
    return h(tag, label ? { "aria-label": label } : {}, `${line}\n`);
  }));
}

// Buttons to the page before and after.
export function pager({ skip, count, more, size = 25 }, go) {
  const further = more ?? skip + size < count;
  if (!skip && !further) return null;
  return h("nav", { class: "pager", "aria-label": "More rows" },
    h("button", { type: "button", disabled: !skip, onclick: () => go(Math.max(0, skip - size)) }, "Newer"),
    h("button", { type: "button", disabled: !further, onclick: () => go(skip + size) }, "Older"));
}
