// Today: what was learned, what waits, what helped and what got worse.

import { get } from "./api.js";
import { columns, curve } from "./charts.js";
import { chip, counted, empty, h, heading, link, section, toSkill } from "./dom.js";

export async function showToday() {
  const found = await get("/api/today");
  const { waiting, learned, days, helped, worse } = found;
  const shown = days.reduce((sum, day) => sum + day.shown, 0);
  const sessions = days.reduce((sum, day) => sum + day.sessions, 0);
  return [
    heading("Today"),
    h("div", { class: "cards" },
      h("a", { class: "card", href: "#/review" }, h("strong", {}, waiting.count.toLocaleString()), h("span", {}, "to review")),
      h("a", { class: "card", href: "#/skills" }, h("strong", {}, learned.count.toLocaleString()), h("span", {}, "skills known")),
      h("a", { class: "card", href: "#/sessions" }, h("strong", {}, sessions.toLocaleString()), h("span", {}, "sessions helped in 14 days")),
      found.suggestions ? h("p", { class: "card" }, h("strong", {}, found.suggestions), h("span", {}, "suggestions: run ", h("code", {}, "tacit tend"))) : null),
    section("The last 14 days",
      shown ? h("div", { class: "figures" },
        h("figure", {}, h("figcaption", {}, `Shown to agents ${counted(shown, "time")}; the dark part was followed`),
          columns(days.map((day) => ({ label: day.day, count: day.shown, part: day.followed })), "Skills shown by day")),
        h("figure", {}, h("figcaption", {}, "Verified results that worked, with 95 % one-sided bounds"),
          curve(days.map((day) => ({ label: day.day, value: day.share, low: day.low, high: day.high })), "Share of verified results that worked")))
        : empty("Nothing was shown to an agent lately. ", h("code", {}, "tacit init"), " connects your agents.")),
    h("div", { class: "columns-2" },
      section("Waits for you", list(waiting.rows, (row) => link(`#/review/${encodeURIComponent(row.version_id)}`, row.name), "Nothing waits for review."),
        waiting.count > waiting.rows.length ? h("p", {}, link("#/review", `all ${waiting.count.toLocaleString()}`)) : null),
      section("Decided last", list(learned.rows, toSkill, learned.count ? "What was learned last waits for your review." : ["Nothing is learned yet. ", h("code", {}, "tacit learn"), " reads the sessions of your agents."])),
      section("Helped", results(helped, "Nothing was verified to have helped in these days.")),
      section("Got worse", results(worse, "Nothing failed more often than it worked in these days."))),
  ];
}

function list(rows, name, nothing) {
  if (!rows.length) return empty(nothing);
  return h("ul", { class: "rows" }, rows.map((row) => h("li", {},
    h("p", {}, name(row), " ", chip(row.status)), h("p", { class: "dim" }, row.description))));
}

function results(rows, nothing) {
  if (!rows.length) return empty(nothing);
  return h("ul", { class: "rows" }, rows.map((row) => h("li", {},
    h("p", {}, toSkill(row), " ", row.status ? chip(row.status) : null),
    h("p", { class: "dim" }, `${row.worked} worked, ${row.failed} failed of ${counted(row.shown, "showing")}`))));
}
