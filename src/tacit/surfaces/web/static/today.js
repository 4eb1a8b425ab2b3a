// Today: what was learned, what waits, what helped and what got worse.

import { get } from "./api.js";
import { columns, curve } from "./charts.js";
import { chip, counted, empty, h, heading, link, prose, section, toSkill } from "./dom.js";

export async function showToday() {
  const { waiting, learned, days, helped, worse, stale, suggestions } = await get("/api/today");
  const sum = (name) => days.reduce((total, day) => total + day[name], 0);
  const known = days.some((day) => day.share !== null);
  return [
    heading("Today"),
    h("ul", { class: "cards" },
      card("#/review", waiting.count, "to review"),
      card("#/skills", learned.count, "skills"),
      card("#/sessions", sum("sessions"), `sessions got a skill in ${days.length} days`),
      suggestions ? h("li", {}, h("p", { class: "card" }, h("strong", {}, suggestions), h("span", {}, "suggestions: ", h("code", {}, "tacit tend")))) : null),
    section(`The last ${days.length} days`,
      sum("shown") || known ? h("div", { class: "figures" },
        h("figure", {}, h("figcaption", {}, `Shown to agents ${counted(sum("shown"), "time")}. Dark: the agent followed it.`),
          columns(days.map((day) => ({ label: day.day, count: day.shown, part: day.followed })), "Skills shown by day")),
        h("figure", {}, h("figcaption", {}, "Verified results that worked, week by week, with their 90 % interval"),
          curve(days.map((day) => ({ label: day.day, value: day.share, low: day.low, high: day.high })), "Share of verified results that worked")))
        : empty("Nothing was shown to an agent yet. ", h("code", {}, "tacit init"), " connects your agents; what you approve then comes back by itself.")),
    h("div", { class: "columns-2" },
      h("div", {},
        section("Waits for you", list(waiting.rows, (row) => link(`#/review/${encodeURIComponent(row.version_id)}`, row.name), "Nothing waits. New candidates come after a session of your agent."),
          waiting.count > waiting.rows.length ? h("p", {}, link("#/review", `All ${waiting.count.toLocaleString()}`)) : null),
        section("Helped", results(helped, "No verified success lately."))),
      h("div", {},
        section("Learned lately", list(learned.rows, toSkill, learned.count ? "What was learned waits for your review." : ["Nothing is learned yet. ", h("code", {}, "tacit learn"), " reads the sessions of your agents."])),
        section("Got worse", worse.length || stale.length ? [worse.length ? results(worse) : null, stale.length ? list(stale, toSkill) : null]
          : empty("Nothing failed more often than it worked, and nothing is outdated.")))),
  ];
}

const card = (href, number, text) => h("li", {}, h("a", { class: "card", href }, h("strong", {}, number.toLocaleString()), h("span", {}, text)));

function list(rows, name, nothing) {
  if (!rows.length) return empty(nothing);
  return h("ul", { class: "rows" }, rows.map((row) => h("li", {},
    h("p", { class: "line" }, name(row), h("span", {}, h("span", { class: "dim" }, `${row.kind} `), row.status === "candidate" ? null : chip(row.status))),
    h("p", { class: "dim" }, prose(row.description)))));
}

function results(rows, nothing) {
  if (!rows.length) return empty(nothing);
  return h("ul", { class: "rows" }, rows.map((row) => h("li", {},
    h("p", { class: "line" }, toSkill(row), row.status ? chip(row.status) : null),
    h("p", { class: "dim" }, `${row.worked} worked, ${row.failed} failed, shown ${counted(row.shown, "time")}`))));
}
