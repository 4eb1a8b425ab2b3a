// Skills: the list, and one skill with its versions, reliability over time, uses, history and sources.

import { get } from "./api.js";
import { refresh } from "./app.js";
import { curve } from "./charts.js";
import { chip, counted, diff, empty, first, h, heading, link, maker, pager, prose, reliability, section, time, toSkill, toStep, waits } from "./dom.js";

const STATUSES = ["", "trial", "trusted", "candidate", "quarantined", "stale", "retired", "rejected"];
const asked = { status: "", text: "", skip: 0 };

export async function showSkills() {
  const found = await get(`/api/skills?${new URLSearchParams(asked)}`);
  const text = h("input", { id: "search", type: "search", value: asked.text, placeholder: "words of a skill" });
  const status = h("select", { id: "status", onchange: () => ask({ status: status.value, skip: 0 }) },
    STATUSES.map((each) => h("option", { value: each, selected: each === asked.status }, each ? chip(each).textContent : "every status")));
  return [
    heading("Skills"),
    h("form", { class: "toolbar", role: "search", onsubmit: (event) => { event.preventDefault(); ask({ text: text.value, skip: 0 }); } },
      h("label", { for: "search" }, "Search"), text, h("label", { for: "status" }, "Status"), status, h("button", { type: "submit" }, "Find")),
    found.rows.length ? table(found.rows) : empty(asked.text || asked.status ? "No skill fits." : ["No skills yet. ", h("code", {}, "tacit learn"), " reads the sessions of your agents."]),
    asked.text ? null : pager(found, (skip) => ask({ skip })),
  ];
}

function ask(changes) {
  Object.assign(asked, changes);
  refresh();
}

function table(rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Skills" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Skill", "Kind", "Status", "Reliability", "Made"].map((each) => h("th", { scope: "col" }, each)))),
    h("tbody", {}, rows.map((row) => h("tr", {},
      h("th", { scope: "row" }, toSkill(row), h("p", { class: "dim" }, prose(first(row.description, 220)))),
      h("td", {}, row.kind), h("td", {}, chip(row.status)), h("td", {}, reliability(row.reliability)), h("td", {}, time(row.created_at)))))));
}

export async function showSkill([reference]) {
  const found = await get(`/api/skills/${encodeURIComponent(reference)}`);
  const { record } = found;
  return [
    h("p", {}, link("#/skills", "← Skills")),
    h("div", { class: "line" }, heading(found.name), h("span", {}, h("span", { class: "dim" }, `${found.kind} `), chip(found.status), record.pinned ? [" ", chip("pinned")] : null)),
    h("p", { class: "lead" }, prose(found.description)),
    waits(found) ? h("p", {}, h("a", { class: "button main", href: `#/review/${encodeURIComponent(found.version_id)}` }, "Review it")) : null,
    h("div", { class: "columns-2" },
      section("Reliability over time",
        found.curve.length ? h("figure", {}, h("figcaption", {}, `${reliability(found.reliability)}, after each verified result`),
          curve(found.curve.map((each) => ({ label: each.at, value: each.known ? (each.low + each.high) / 2 : null, low: each.low, high: each.high })), "Reliability"))
          : empty("No result of it was verified yet."),
        h("p", { class: "dim" }, `Shown ${counted(record.shown, "time")}; ${record.worked} worked, ${record.failed} failed, ${record.claimed} only claimed. Each session counts once.`)),
      section("Versions", h("ol", { class: "rows", reversed: true }, [...found.versions].reverse().map((each) => h("li", {},
        h("p", { class: "line" }, h("span", {}, each.version_id === found.version_id ? h("strong", {}, each.version_id.slice(0, 10)) : link(`#/skills/${encodeURIComponent(each.version_id)}`, each.version_id.slice(0, 10)), " ", h("span", { class: "dim" }, time(each.created_at))), chip(each.status)),
        found.changes[each.version_id] ? h("details", {}, h("summary", {}, "What it changed"), diff(found.changes[each.version_id])) : null))))),
    section("Text", h("pre", { tabindex: "0", "aria-label": "SKILL.md" }, found.skill_md)),
    h("div", { class: "columns-2" },
      section("Uses", uses(found.uses)),
      section("Where it comes from", h("p", { class: "dim" }, `Made by ${maker(found.made_by)}.`), places(found.places))),
    section("History", found.events.length ? h("ol", { class: "rows" }, found.events.map((each) => h("li", {},
      h("p", {}, h("span", { class: "dim" }, time(each.at)), ` ${each.what}`, each.count > 1 ? ` ×${each.count}` : "", each.by ? h("span", { class: "dim" }, ` by ${each.by}`) : null),
      each.why ? h("p", { class: "dim" }, each.why) : null)))
      : empty("Its history is not shown.")),
  ];
}

function uses(rows) {
  if (!rows.length) return empty("It was never shown to an agent. Try a task in the ", link("#/playground", "playground"), ".");
  return h("ol", { class: "rows" }, rows.map((each) => h("li", {},
    h("p", { class: "line" }, h("span", {}, time(each.at), " ", each.session_id ? link(`#/sessions/${encodeURIComponent(each.session_id)}`, `session ${each.session_id.slice(0, 8)}`) : each.surface),
      h("span", {}, each.following ? chip(each.following) : null, " ", each.outcome ? chip(each.outcome) : null)),
    each.task ? h("p", { class: "dim" }, prose(first(each.task, 160))) : null)));
}

const PARTS = { arguments: "command", observation: "output", text: "message" };

// The places in sessions, down to the step, by what rests on them.
function places(found) {
  if (!found.length) return empty("No place in a session is known for it.");
  const groups = Map.groupBy(found, (each) => `${each.fields.join(", ")} (${PARTS[each.part] ?? each.part})`);
  return h("dl", { class: "fields" }, [...groups].map(([name, own]) => [h("dt", {}, name),
    h("dd", {}, h("ul", { class: "places" }, own.map((each) => h("li", {}, each.session
      ? toStep(each, `session ${each.session.slice(0, 8)}, step ${each.step + 1}`) : `step ${each.step + 1} of a session that is not kept any more`))))]));
}
