// Playground: what would be shown for a task or an error, why, and why not the rest. Stores nothing.

import { post } from "./api.js";
import { refresh, say } from "./app.js";
import { empty, h, heading, prose, section, toSkill } from "./dom.js";

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
      say(found.abstained ? "Nothing would be shown." : `${found.items.length} would be shown.`);
    } catch (failure) {
      say(failure.message, ` ${failure.hint}`);
    }
  };
  return [
    heading("Playground"),
    h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); ask(); } },
      h("div", { class: "columns-2" }, h("div", {}, h("label", { for: "task" }, "A task, as you would give it to an agent"), task),
        h("div", {}, h("label", { for: "error" }, "or the output of a call that failed"), error)),
      h("p", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Show what fits"),
        h("label", { class: "check", for: "hook" }, hook, h("span", {}, "as a hook answers a new prompt: fewer and surer")))),
    found ? result() : empty("Type what you would ask an agent, and see what Tacit would tell it. Nothing is stored."),
  ];
}

function result() {
  return [
    section("Would be shown", found.items.length ? found.items.map((item) => h("article", { class: "item" },
      h("h3", {}, toSkill(item)), h("p", { class: "dim" }, item.reasons.join("; ")))) : empty(`Nothing: ${found.reason || "nothing fits"}.`),
      found.text ? h("details", {}, h("summary", {}, "The text, as the agent would read it"), h("pre", { tabindex: "0", "aria-label": "What the agent would see" }, found.text)) : null),
    section("Why, and why not the rest", found.weighed.length ? h("ul", { class: "rows" }, found.weighed.map((row) => h("li", { class: row.given ? "given" : null },
      h("p", { class: "line" }, toSkill(row), h("span", { class: "dim" }, `relevance ${(row.signals.relevance ?? 0).toFixed(2)}`)),
      h("p", {}, prose(row.why)),
      h("details", {}, h("summary", {}, "How it was weighed"), h("p", { class: "dim" }, `score ${row.score.toFixed(3)}; `,
        Object.entries(row.evidence).map(([name, nats]) => `${name} ${nats.toFixed(1)}`).join(", ") || "no signal")))))
      : empty("No skill shares a word with it.")),
  ];
}
