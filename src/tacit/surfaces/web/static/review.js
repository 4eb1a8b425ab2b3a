// Review: one candidate next to its evidence; approve, edit, merge and reject, each by one key.

import { get, isUnlocked, lock, postSigned, unlock } from "./api.js";
import { refresh, say } from "./app.js";
import { chip, counted, diff, empty, first, h, heading, maker, pager, prose, section, time, toStep, waits } from "./dom.js";

const KEYS = { a: approve, r: reject, e: edit, m: merge, j: () => step(1), k: () => step(-1), u: undo };
let skip = 0;
let queue = [];
let current = null;
let lastDecided = null;
let opened = {}; // the candidate that is being read, and the state in which it was first seen
let openedAt = 0;
let isDeciding = false;
const READ_MS = 400;
const NOT_YET = Infinity;

export async function showReview([reference]) {
  const found = await get(`/api/review?skip=${skip}`);
  queue = found.rows;
  const chosen = reference ?? queue[0]?.version_id;
  const seen = opened.version_id === chosen ? opened.state : "";
  const before = current;
  current = chosen ? await get(`/api/review/${encodeURIComponent(chosen)}?${new URLSearchParams({ seen })}`) : null;
  if (current?.version_id !== opened.version_id) opened = { version_id: current?.version_id, state: current?.state };
  if (openedAt === NOT_YET || current?.version_id !== before?.version_id || current?.state !== before?.state) openedAt = performance.now();
  return [
    h("div", { class: "toolbar" }, heading("Review"), h("span", { class: "dim" }, `${counted(found.count, "candidate")} waiting`),
      h("span", { class: "end" },
        lastDecided ? h("button", { type: "button", onclick: undo, "aria-keyshortcuts": "u" }, `Undo ${first(lastDecided.name, 24)}`, h("kbd", {}, "u")) : null,
        isUnlocked() ? h("button", { type: "button", title: "Forget the passphrase", onclick: async () => { await lock(); refresh(); } }, "Lock")
          : h("button", { type: "button", title: "Enter your passphrase now; otherwise the first decision asks for it", onclick: async () => { if (await unlock()) refresh(); } }, "Unlock"))),
    current ? h("div", { class: "review" }, queueList(found), page(current))
      : empty("Nothing waits for review. Work with your agents, and ", h("code", {}, "tacit learn"), " brings new candidates here."),
  ];
}

function queueList(found) {
  const rows = found.rows.map((row) => h("li", {},
    h("a", { href: `#/review/${encodeURIComponent(row.version_id)}`, "aria-current": row.version_id === current.version_id ? "true" : null },
      h("strong", {}, row.name), h("span", { class: "dim" }, row.kind, row.status === "quarantined" ? [" ", chip(row.status)] : null, row.folded ? " · folded away" : null))));
  return h("nav", { class: "queue", "aria-label": "Candidates" }, h("ol", {}, rows), pager(found, (to) => { skip = to; refresh(); }));
}

function page(shown) {
  const before = shown.approved_before;
  const support = shown.sessions ? `Seen in ${counted(shown.sessions, "session")}` : "Proposed, not seen in a session";
  return h("article", { class: "candidate", "aria-label": shown.name },
    h("div", { class: "line" }, h("h2", { tabindex: "-1" }, shown.name), h("span", {}, h("span", { class: "dim" }, `${shown.kind} `), chip(shown.status))),
    h("p", { class: "lead" }, prose(shown.description)),
    shown.changed ? h("div", { class: "notice", role: "alert" }, h("strong", {}, "Changed while you were reading. "), changes(shown.changed)) : null,
    shown.withheld ? empty("The checks found something dangerous in it, so its text is shown only after you unlock this page.") : [
      h("p", { class: "dim" }, `${support}. Agents see it ${shown.when}. Made by ${maker(shown.made_by)}.`,
        shown.gate && !shown.gate.open ? ` For the project it takes ${shown.gate.needed} sessions, or your approval.` : null),
      shown.folded ? h("p", { class: "doubt" }, `Folded away: ${shown.folded.why}.`) : null,
      shown.doubts.map((doubt) => h("p", { class: "doubt" }, `Doubtful: ${doubt}.`)),
    ],
    before?.diff ? section("Changes to the version in use", h("p", { class: "dim" }, before.by ? `approved by ${before.by} ` : "", time(before.at)), diff(before.diff)) : null,
    findings(shown.findings),
    shown.withheld ? null : h("div", { class: "beside" },
      section("What agents would get", fields(shown)),
      section(shown.of_earlier ? "Evidence of the version in use" : "Evidence", evidence(shown.snippets))),
    shown.merged_of?.length ? section("Merged from", h("ul", {}, shown.merged_of.map((part) => h("li", {}, part.name,
      part.lost.length ? h("ul", {}, part.lost.map((line) => h("li", { class: "lost" }, `not taken over: ${line}`))) : null)))) : null,
    actions(shown));
}

function findings(found) {
  if (!found.length) return null;
  return section("Findings", h("ul", { class: "findings" }, found.map((each) => h("li", { class: each.severity },
    chip(each.severity), " ", prose(each.message ?? each.rule.replaceAll("_", " ")), each.excerpt ? h("code", { class: "excerpt" }, each.excerpt) : null))));
}

const isOutside = (field) => ["external", "unknown"].includes(field.origin);
const MINOR = /^(name|description|category|tags|example_queries|parameters|metadata|surroundings)\b/;

// Every text with who wrote it, what agents rely on first; what came from outside stands out.
function fields(shown) {
  const list = (found) => h("dl", { class: "fields" }, found.map((each) => [
    h("dt", {}, each.name, " ", chip(each.origin)),
    h("dd", { class: isOutside(each) ? "outside" : null }, text(each, shown.content), each.sources.filter((source) => source !== "source not known").map((source) => h("p", { class: "dim" }, source))),
  ]));
  const minor = shown.fields.filter((each) => MINOR.test(each.path) && !(shown.fields.length < 5));
  const main = shown.fields.filter((each) => !minor.includes(each));
  const outside = minor.filter(isOutside).length;
  return [list(main), minor.length ? h("details", { class: "minor" },
    h("summary", {}, `Name, description, parameters and examples: ${counted(minor.length, "text")}`, outside ? [", ", chip("external", `${outside} from outside`)] : null), list(minor)) : null];
}

// A step is its sentence, and whatever of its call the sentence does not say word by word.
function text(field, content) {
  const step = /^steps\.(\d+)$/.exec(field.path);
  if (!step) return h("pre", {}, field.text);
  const { text: sentence, tool, arguments: given } = content.steps[Number(step[1])];
  const unsaid = Object.entries(given ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]).filter(([, value]) => !sentence.includes(value));
  return [h("p", {}, prose(sentence), tool ? h("span", { class: "dim" }, ` ${tool}`) : null),
    unsaid.length ? h("pre", {}, unsaid.map(([name, value]) => `${name}: ${value}`).join("\n")) : null];
}

export function evidence(snippets) {
  if (!snippets?.length) return empty("No place in a session is known for it.");
  return h("ol", { class: "evidence" }, snippets.map((each) => h("li", { class: each.failed ? "failed" : "" },
    h("p", { class: "dim" }, each.who, each.failed ? [" ", chip("failure")] : "", " ", time(each.at), " ",
      each.session ? toStep(each, "in its session") : null),
    h("pre", {}, each.text))));
}

function actions(shown) {
  const isWaiting = waits(shown);
  const button = (key, label, act, kind = "") => h("button", { type: "button", class: kind, onclick: act, "aria-keyshortcuts": key }, label, h("kbd", {}, key));
  return h("div", { class: "actions sticky", role: "group", "aria-label": "Decide" },
    isWaiting && shown.withheld ? [h("button", { type: "button", class: "main", onclick: async () => { if (await unlock()) refresh(); } }, "Unlock to read it"), button("r", "Reject", reject)]
      : isWaiting && [button("a", "Approve", approve, "main"), button("r", "Reject", reject), button("e", "Edit", edit), button("m", "Merge", merge)],
    button("j", "Next", () => step(1)), button("k", "Previous", () => step(-1)),
    isWaiting ? null : h("p", {}, `It is ${shown.status}.`));
}

export function reviewKey(event) {
  const act = KEYS[event.key.toLowerCase()];
  if (!act || event.repeat || isDeciding) return; // a held key decides nothing
  event.preventDefault();
  // What was typed before a candidate appeared decides nothing about it.
  if (act !== approve && act !== reject || performance.now() - openedAt > READ_MS) act();
}

function step(by) {
  const at = queue.findIndex((row) => row.version_id === current?.version_id);
  const next = queue[at + by];
  if (next) go(next.version_id);
  else say(by > 0 ? "This is the last candidate of this page." : "This is the first candidate of this page.");
}

// Asks in a dialog; resolves with the form once it is confirmed, else with null. Enter confirms only where that is said.
export function question(title, content, label, { enter = false } = {}) {
  const form = h("form", { method: "dialog" }, h("h2", { id: "question", tabindex: "-1" }, title), content,
    h("p", { class: "actions" },
      h("button", { type: "submit", class: "main", "aria-keyshortcuts": enter ? "Enter" : "Control+Enter" }, label, h("kbd", {}, enter ? "⏎" : "Ctrl ⏎")),
      h("button", { type: "button", onclick: () => dialog.close() }, "Cancel", h("kbd", {}, "Esc"))));
  const dialog = h("dialog", { "aria-labelledby": "question" }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let given = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      given = new FormData(form);
      dialog.close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.matches("button")) return;
      if (event.ctrlKey || event.metaKey || (enter && !event.repeat)) form.requestSubmit();
      if (!event.target.matches("textarea") || event.ctrlKey || event.metaKey) event.preventDefault();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(given);
    });
    dialog.showModal();
    (form.querySelector("textarea, input") ?? form.querySelector("h2")).focus();
  });
}

const reasonField = () => [h("label", { for: "reason" }, "Why (you may leave it empty)"), h("input", { id: "reason", name: "reason", autocomplete: "off" })];

const check = (name, value, text, required) => h("label", { class: "check" }, h("input", { type: "checkbox", name, value, required }), h("span", {}, text));

// Approves at once where there is nothing to confirm; otherwise each thing has a box of its own.
async function approve() {
  const shown = current;
  if (!shown || !waits(shown)) return;
  if (shown.withheld) return say("Unlock this page and read it first.");
  const grave = shown.findings.filter((each) => ["high", "critical"].includes(each.severity));
  if (!grave.length && !shown.confirm.length && !shown.tools.length) return decide(shown, "approve", {});
  const content = [
    h("p", {}, "Agents may use it from now on, on trial."),
    grave.length ? h("fieldset", {}, h("legend", {}, "A careful person would refuse this"),
      h("ul", {}, grave.map((each) => h("li", {}, each.message))), check("despite", "yes", "Approve it despite these findings", true)) : null,
    shown.confirm.length ? h("fieldset", {}, h("legend", {}, "Confirm each value from outside"), shown.confirm.map((each) => check("ticked", each.key, prose(each.text), true))) : null,
    shown.tools.length ? h("fieldset", {}, h("legend", {}, "Unlock tools that it asks for"), shown.tools.map((key) => check("ticked", key, key.replace("tool:", ""), false))) : null,
    reasonField(),
  ];
  const given = await question(`Approve ${shown.name}?`, content, "Approve");
  if (given) await decide(shown, "approve", { reason: given.get("reason"), ticked: given.getAll("ticked"), despite: given.has("despite") });
}

async function reject() {
  const shown = current;
  if (!shown || !waits(shown)) return;
  const given = await question(`Reject ${shown.name}?`, [h("p", {}, "The same text is not learned again."), reasonField()], "Reject", { enter: true });
  if (given) await decide(shown, "reject", { reason: given.get("reason") });
}

async function decide(shown, decision, more) {
  const next = queue[queue.findIndex((row) => row.version_id === shown.version_id) + 1];
  const seen = { version_id: shown.version_id, content_hash: shown.content_hash, state: shown.state };
  await attempt(async () => {
    const moved = await postSigned("/api/decide", { ...seen, decision, ...more });
    if (!moved) return;
    lastDecided = { name: shown.name, version_id: shown.version_id };
    const done = moved.after === "rejected" ? "rejected" : `${moved.after === "trial" ? "approved, on trial" : moved.after}`;
    say(`${shown.name}: ${done}. Press u to undo.`, moved.taught.length ? ` Your reason waits for review as a preference: ${moved.taught.join(", ")}.` : "");
    go(next?.version_id);
  });
}

function go(version_id) {
  openedAt = NOT_YET;
  const target = version_id ? `#/review/${encodeURIComponent(version_id)}` : "#/review";
  if (location.hash === target) refresh();
  else location.hash = target;
}

async function edit() {
  const shown = current;
  if (!shown || !waits(shown)) return;
  if (shown.withheld) return say("Unlock this page and read it first.");
  await editText(shown, (version_id) => go(version_id));
}

// Lets the person edit the SKILL.md of a version; the result waits for review as a new version.
export async function editText(shown, then) {
  const text = h("textarea", { name: "text", id: "text", rows: "22", spellcheck: "false" });
  text.value = shown.skill_md;
  const content = [h("p", {}, "Your text becomes the next version, which you then approve like any other."), h("label", { for: "text" }, "SKILL.md"), text];
  const given = await question(`Edit ${shown.name}`, content, "Save");
  if (!given) return;
  await attempt(async () => {
    const done = await postSigned("/api/edit", { version_id: shown.version_id, state: shown.state, text: given.get("text").replaceAll("\r\n", "\n") });
    if (!done) return;
    say(done.changed ? "Your text waits for review as a new version." : "You changed nothing.");
    if (done.changed) then(done.version_id);
  });
}

async function merge() {
  const shown = current;
  if (!shown) return;
  say("Looking for skills with the same content …");
  await attempt(async () => {
    const { merges } = await get(`/api/merges/${encodeURIComponent(shown.version_id)}`);
    if (!merges.length) return say("Nothing is similar enough to be merged with it.");
    const [care] = merges;
    const given = await question(`Merge ${shown.name}?`, h("p", {}, `${care.name}: ${care.reason}. ${care.effect}`), "Merge");
    if (!given) return;
    const done = await postSigned("/api/merge", { version_id: shown.version_id });
    if (done) say(done.applied ? "Merged. What is new waits for review." : `Not merged: ${done.advice}`);
    go();
  });
}

async function undo() {
  if (!lastDecided) return say("There is nothing to undo in this page.");
  const undone = lastDecided;
  await attempt(async () => {
    if (!(await postSigned("/api/undo", { version_id: undone.version_id }))) return;
    lastDecided = null;
    say(`Undone: ${undone.name} is as it was before.`);
    opened = {};
    go(undone.version_id);
  });
}

// Runs what may be refused; what somebody else changed meanwhile is shown, since the decision was about something else.
async function attempt(act) {
  isDeciding = true;
  try {
    await act();
  } catch (failure) {
    if (!failure.changed) return say(failure.message, failure.hint ? ` ${failure.hint}` : "");
    const { newer } = failure.changed;
    const content = [h("p", {}, "Nothing of yours was stored."), changes(failure.changed)];
    await question("It changed since you saw it", content, "Show it as it is now", { enter: true });
    opened = {}; // what changed was told
    go(newer?.version_id ?? location.hash.split("/")[2]);
  } finally {
    isDeciding = false;
  }
}

// What became of a candidate since it was seen: decisions of others, and a newer text.
function changes({ status, moves, newer }) {
  return [
    moves.length ? h("ul", {}, moves.map((move) => h("li", {}, `${move.by} made it `, chip(move.after), " ", time(move.at), move.why ? `: ${move.why}` : ""))) : null,
    newer ? [h("p", {}, `${newer.by} wrote a newer version. `, h("a", { href: `#/review/${encodeURIComponent(newer.version_id)}` }, "Review that one")), newer.diff ? diff(newer.diff) : null] : null,
    moves.length || newer ? null : h("p", {}, "It is ", chip(status), " now."),
  ];
}
