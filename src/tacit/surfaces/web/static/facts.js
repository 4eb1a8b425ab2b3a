// Facts: the card of the project, which a person may edit, and other facts that sessions show.

import { get } from "./api.js";
import { chip, empty, h, heading, link, prose, section, toSkill, waits } from "./dom.js";
import { editText, evidence } from "./review.js";

export async function showFacts() {
  const { card, others } = await get("/api/facts");
  const edit = () => editText(card, (version_id) => { location.hash = `#/review/${encodeURIComponent(version_id)}`; });
  return [
    heading("Facts"),
    section("The card of this project", card ? [
      h("p", { class: "line" }, h("span", { class: "dim" }, card.description), chip(card.status)),
      card.withheld ? empty("Its text is shown after you unlock the review page.") : lines(card.content.body),
      h("p", { class: "actions" },
        waits(card) ? h("a", { class: "button main", href: `#/review/${encodeURIComponent(card.version_id)}` }, "Review it") : null,
        card.withheld ? null : h("button", { type: "button", onclick: edit }, "Edit")),
      h("p", { class: "dim" }, waits(card) ? "Agents get it at the start of every session once you approve it." : "Agents get it at the start of every session."),
    ] : empty("Sessions have not shown yet how this project is built, tested and run. Two sessions that use the same commands are enough.")),
    card && !card.withheld ? section("What it rests on", evidence(card.snippets)) : null,
    others.length ? section("Other facts", h("ul", { class: "rows" }, others.map((row) => h("li", {}, h("p", { class: "line" }, toSkill(row), chip(row.status)), h("p", { class: "dim" }, prose(row.description)))))) : null,
  ];
}

// A line is `- commands` or `- purpose: commands`.
function lines(body) {
  return h("ul", { class: "card-lines" }, body.split("\n").filter(Boolean).map((line) => h("li", {}, prose(line.replace(/^- /, "")))));
}
