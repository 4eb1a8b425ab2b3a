// Playground: what would be shown for a task or an error, why, and why not the rest. Stores nothing.

import { post } from "./api.js";
import { refresh, say } from "./app.js";
import { empty, h, heading, section, toSkill } from "./dom.js";

const asked = { task: "", error: "", as_hook: false };
let found = null;

export async function showPlayground() {
  const task = h("textarea", { id: "task", rows: "3" });
  const error = h("textarea", { id: "error", rows: "3" });
  const hook = h("input", { type: "checkbox", id: "hook", checked: asked.as_hook });
  task.value = asked.task;
  error.value = asked.error;
  const ask = async () => {
    Object.assign(asked, { task: task.value, error: error.value, as_hook: hook.checked });
    try {
      found = await post("/api/playground", asked);
      await refresh();
      say(found.abstained ? `Nothing fits: ${found.reason}` : `${found.items.length} would be shown.`);
    } catch (failure) {
      say(failure.message, ` ${failure.hint}`);
    }
  };
  return [
    heading("Playground"),
    h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); ask(); } },
      h("label", { for: "task" }, "A task, as you would give it to an agent"), task,
      h("label", { for: "error" }, "or the output of a call that failed"), error,
      h("p", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Show what fits"),
        h("label", { class: "check", for: "hook" }, hook, " as the hook of a new prompt would answer"))),
    found ? result() : empty("Nothing is stored by asking here."),
  ];
}

function result() {
  return [
    section("Would be shown", found.items.length ? found.items.map((item) => h("article", { class: "item" },
      h("h3", {}, toSkill(item)), h("p", { class: "dim" }, item.reasons.join("; ")))) : empty(found.reason || "Nothing fits."),
      found.text ? h("pre", { tabindex: "0", "aria-label": "What the agent would see" }, found.text) : null),
    section("Why, and why not the rest", found.weighed.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Every candidate" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Skill", "Result", "Score", "Relevance", "Evidence in nats"].map((each) => h("th", { scope: "col" }, each)))),
      h("tbody", {}, found.weighed.map((row) => h("tr", { class: row.given ? "given" : "" },
        h("th", { scope: "row" }, toSkill(row)), h("td", {}, row.why), h("td", {}, row.score.toFixed(3)), h("td", {}, (row.signals.relevance ?? 0).toFixed(2)),
        h("td", {}, Object.entries(row.evidence).map(([name, nats]) => `${name} ${nats.toFixed(1)}`).join(", ")))))))
      : empty("No skill shares a word with it.")),
  ];
}
