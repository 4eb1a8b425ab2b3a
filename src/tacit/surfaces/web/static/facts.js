// Facts: the card of the project, which a person may edit, and other facts that sessions show.

import { get } from "./api.js";
import { chip, empty, h, heading, link, section, toSkill } from "./dom.js";
import { editText, evidence } from "./review.js";

export async function showFacts() {
  const { card, others } = await get("/api/facts");
  const isWaiting = card && ["candidate", "quarantined"].includes(card.status);
  return [
    heading("Facts"),
    section("The card of this project", card ? [
      h("p", {}, chip(card.status), " ", isWaiting ? link(`#/review/${encodeURIComponent(card.version_id)}`, "Review it") : null),
      h("p", { class: "dim" }, card.description),
      card.withheld ? empty("Its text is shown after you unlock the review page.") : lines(card.content.body),
      card.withheld ? null : h("p", { class: "actions" }, h("button", { type: "button", onclick: () => editText(card, (version_id) => { location.hash = `#/review/${encodeURIComponent(version_id)}`; }) }, "Edit")),
    ] : empty("Sessions have not shown yet how this project is built, tested and run. Two sessions that use the same commands are enough.")),
    card && !card.withheld ? section("What it rests on", evidence(card.snippets)) : null,
    others.length ? section("Other facts", h("ul", { class: "rows" }, others.map((row) => h("li", {}, toSkill(row), " ", chip(row.status), h("p", { class: "dim" }, row.description))))) : null,
  ];
}

// A line of the card is `- purpose: commands`.
function lines(body) {
  return h("dl", { class: "fields card-lines" }, body.split("\n").filter(Boolean).map((line) => {
    const [, purpose, rest] = /^- ([^:]+): (.*)$/.exec(line) ?? [null, "", line];
    return [h("dt", {}, purpose || "also"), h("dd", {}, h("pre", {}, rest))];
  }));
}
