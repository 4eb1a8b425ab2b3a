// Sessions: the latest ones, and one as a timeline with failures, fixes, and what was shown and followed.

import { get } from "./api.js";
import { refresh } from "./app.js";
import { chip, counted, empty, h, heading, link, pager, section, time, toSkill } from "./dom.js";

const STEPS = 200;
let skip = 0;
const skipped = new Map();

export async function showSessions() {
  const found = await get(`/api/sessions?skip=${skip}`);
  return [
    heading("Sessions"),
    found.rows.length ? h("ol", { class: "rows" }, found.rows.map((row) => h("li", {},
      h("p", {}, link(`#/sessions/${encodeURIComponent(row.session)}`, row.task || `session ${row.session.slice(0, 8)}`)),
      h("p", { class: "dim" }, time(row.at), ` ${row.client} ${counted(row.attempts, "task")} `, row.outcomes.filter((each) => each !== "unknown").map((each) => [chip(each), " "])))))
      : empty("No sessions yet. ", h("code", {}, "tacit init"), " connects your agent; ", h("code", {}, "tacit learn"), " reads past sessions."),
    pager({ ...found, count: 0 }, (to) => { skip = to; refresh(); }),
  ];
}

export async function showSession([reference, attempt, step]) {
  const from = skipped.get(reference) ?? 0;
  const found = await get(`/api/sessions/${encodeURIComponent(reference)}?skip=${from}`);
  const wanted = (each) => step !== undefined && each.attempt === attempt && each.index === Number(step);
  const steps = found.steps.map((each) => [each.at ?? "", stepRow(each, wanted(each))]);
  const events = from ? [] : found.events.map((each) => [each.at, eventRow(each)]);
  // The steps keep their order; an event stands before the first step that is later.
  const rows = [...steps];
  for (const event of events) {
    const before = rows.findIndex(([at]) => at && at > event[0]);
    rows.splice(before < 0 ? rows.length : before, 0, event);
  }
  return [
    h("p", {}, link("#/sessions", "← Sessions")),
    heading(`Session ${found.session.slice(0, 8)}`),
    h("p", { class: "dim" }, [found.client, found.model].filter(Boolean).join(" · "), " ", time(found.began)),
    section("Learned from it", found.learned.length ? h("ul", { class: "rows" }, found.learned.map((each) => h("li", {}, toSkill(each), " ", chip(each.status)))) : empty("Nothing was learned from it.")),
    section("Timeline", rows.length ? h("ol", { class: "timeline" }, rows.map(([, row]) => row)) : empty("Its steps are not kept any more."),
      pager({ skip: from, count: found.count, size: STEPS }, (to) => { skipped.set(reference, to); refresh(); })),
  ];
}

function stepRow(each, isWanted) {
  const label = each.tool || each.role;
  const number = each.index + 1;
  return h("li", { class: `step ${each.role} ${each.failed ? "failed" : ""} ${each.fixes !== null ? "fix" : ""}`, "data-focus": isWanted || null, tabindex: isWanted ? "-1" : null },
    h("p", { class: "head" }, h("span", { class: "number" }, number), " ", h("strong", {}, label), " ",
      each.failed ? chip(each.result, "failure") : null,
      each.fixed_by !== null ? ` fixed by step ${each.fixed_by + 1}` : "",
      each.fixes !== null ? [chip("fix", "success"), ` of step ${each.fixes + 1}`] : null, " ", time(each.at)),
    each.text ? long(each.text) : null,
    each.call ? h("pre", { class: "call" }, each.call) : null,
    each.observation ? h("details", { open: each.failed }, h("summary", {}, `Output, ${counted(each.observation.split("\n").length, "line")}`), h("pre", {}, each.observation)) : null);
}

function long(text) {
  if (text.length < 900) return h("p", { class: "said" }, text);
  return h("details", {}, h("summary", {}, text.slice(0, 200), " …"), h("p", { class: "said" }, text));
}

function eventRow(each) {
  const why = (shown) => Object.entries(shown.why ?? {}).filter(([, value]) => value > 0).map(([name, value]) => `${name} ${value.toFixed(2)}`).join(", ");
  return h("li", { class: "step tacit" },
    h("p", { class: "head" }, h("strong", {}, `Tacit, ${each.moment}`), " ", time(each.at)),
    (each.shown ?? []).map((shown) => h("p", {}, "showed ", toSkill(shown), " ",
      shown.following ? chip(shown.following) : "", " ", shown.outcome && shown.outcome !== "unknown" ? chip(shown.outcome) : "", h("span", { class: "dim" }, ` ${why(shown)}`))),
    (each.not_shown ?? []).slice(0, 4).map((left) => h("p", { class: "dim" }, `not shown: ${left.name} (${left.code.replaceAll("_", " ")})`)),
    each.silent ? h("p", { class: "dim" }, `silent: ${each.silent.replaceAll("_", " ")}`) : null,
    each.objection ? h("p", {}, `the person objected (${each.objection})`) : null);
}
