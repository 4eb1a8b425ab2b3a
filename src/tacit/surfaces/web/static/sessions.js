// Sessions: the latest ones, and one as a timeline with failures, fixes, and what was shown and followed.

import { get } from "./api.js";
import { refresh } from "./app.js";
import { chip, counted, empty, first, h, heading, link, pager, prose, section, time, toSkill } from "./dom.js";

const STEPS = 200;
let skip = 0;
const skipped = new Map();

export async function showSessions() {
  const found = await get(`/api/sessions?skip=${skip}`);
  return [
    heading("Sessions"),
    found.rows.length ? section("The latest", h("ol", { class: "rows" }, found.rows.map((row) => h("li", {},
      h("p", { class: "line" }, link(`#/sessions/${encodeURIComponent(row.session)}`, row.task ? prose(first(row.task, 160)) : `Session ${row.session.slice(0, 8)}`),
        h("span", {}, [...new Set(row.outcomes)].filter((each) => each !== "unknown").map((each) => [chip(each), " "]))),
      h("p", { class: "dim" }, time(row.at), ` · ${[row.client, row.attempts > 1 ? counted(row.attempts, "task") : ""].filter(Boolean).join(" · ")}`)))))
      : empty("No sessions yet. ", h("code", {}, "tacit init"), " connects your agent; ", h("code", {}, "tacit learn"), " reads past sessions."),
    pager({ ...found, count: 0 }, (to) => { skip = to; refresh(); }),
  ];
}

export async function showSession([reference, attempt, step]) {
  const from = skipped.get(reference) ?? 0;
  const found = await get(`/api/sessions/${encodeURIComponent(reference)}?skip=${from}`);
  const wanted = (each) => step !== undefined && each.attempt === attempt && each.index === Number(step);
  const failed = found.steps.filter((each) => each.failed).length;
  const fixed = found.steps.filter((each) => each.fixed_by !== null).length;
  const shown = new Set(found.events.flatMap((each) => each.shown.map((one) => one.name))).size;
  const task = found.attempts[0]?.task ?? "";
  return [
    h("p", {}, link("#/sessions", "← Sessions")),
    heading(task ? prose(first(task, 160)) : `Session ${found.session.slice(0, 8)}`),
    h("p", { class: "dim" }, time(found.began), " · ", [found.client, found.model, `session ${found.session.slice(0, 8)}`, counted(found.count, "step"),
      failed ? `${failed} failed, ${fixed} of them fixed` : "", shown ? `${counted(shown, "skill")} shown` : ""].filter(Boolean).join(" · ")),
    found.learned.length ? section("Learned from it", h("ul", { class: "rows" }, found.learned.map((each) => h("li", {}, h("p", { class: "line" }, toSkill(each), chip(each.status)))))) : null,
    section("Timeline", timeline(found, from, wanted),
      pager({ skip: from, count: found.count, size: STEPS }, (to) => { skipped.set(reference, to); refresh(); })),
  ];
}

// The steps keep their order; an event stands before the first step that is later.
function timeline(found, from, wanted) {
  const rows = found.steps.map((each) => [each.at ?? "", stepRow(each, wanted(each))]);
  for (const each of from ? [] : found.events) {
    const before = rows.findIndex(([at]) => at && at > each.at);
    rows.splice(before < 0 ? rows.length : before, 0, ["", eventRow(each)]);
  }
  return rows.length ? h("ol", { class: "timeline" }, rows.map(([, row]) => row)) : empty("Its steps are not kept any more.");
}

const clock = (at) => (at ? h("time", { datetime: at, title: new Date(at).toString() }, new Date(at).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" })) : null);

function stepRow(each, isWanted) {
  const who = each.tool || { user: "You", agent: "Agent", context: "Client" }[each.role] || each.role;
  const state = each.failed ? "failed" : each.fixes !== null ? "fix" : "";
  return h("li", { class: `step ${each.role} ${state}`, "data-focus": isWanted || null, tabindex: isWanted ? "-1" : null },
    h("p", { class: "head" }, h("span", { class: "number" }, each.index + 1), h("strong", {}, who), " ",
      each.failed ? chip("failure", each.result.replaceAll("_", " ")) : null,
      each.fixed_by !== null ? ` worked in step ${each.fixed_by + 1}` : "",
      each.fixes !== null ? [chip("success", "works now"), ` failed in step ${each.fixes + 1}`] : null, h("span", { class: "at" }, clock(each.at))),
    each.text ? (each.role === "context" ? folded(each.text, 120) : long(each.text)) : null,
    each.call && each.role !== "context" ? h("pre", { class: "call" }, each.call) : null,
    each.observation ? h("details", { open: each.failed }, h("summary", {}, `Output, ${counted(each.observation.split("\n").length, "line")}`), h("pre", {}, each.observation)) : null);
}

function long(text) {
  if (text.length < 900) return h("p", { class: "said" }, prose(text));
  return folded(text, 200);
}

const folded = (text, most) => h("details", {}, h("summary", {}, first(text, most)), h("p", { class: "said" }, text));

function eventRow(each) {
  return h("li", { class: "step tacit" },
    h("p", { class: "head" }, h("strong", {}, "Tacit"), ` ${each.moment}`, h("span", { class: "at" }, clock(each.at))),
    each.shown.map((shown) => h("p", {}, "showed ", toSkill(shown), h("span", { class: "dim" }, ` ${shown.why} `),
      shown.following ? chip(shown.following) : "", " ", shown.outcome !== "unknown" ? chip(shown.outcome) : "")),
    each.not_shown.slice(0, 4).map((left) => h("p", { class: "dim" }, `not shown: ${left.name}, ${left.why}`)),
    each.silent ? h("p", { class: "dim" }, `silent: ${each.silent}`) : null,
    each.objection ? h("p", {}, each.objection) : null);
}
