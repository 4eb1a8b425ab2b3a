// The frame of all pages: which page is shown, messages, and updates when something else has changed the store.

import { Failure, get, loadAccess } from "./api.js";
import { empty, h, heading } from "./dom.js";
import { showFacts } from "./facts.js";
import { showPlayground } from "./playground.js";
import { reviewKey, showReview } from "./review.js";
import { showSession, showSessions } from "./sessions.js";
import { showSkill, showSkills } from "./skills.js";
import { showToday } from "./today.js";

const PAGES = {
  today: ["Today", showToday],
  review: ["Review", showReview],
  skills: ["Skills", (parts) => (parts.length ? showSkill(parts) : showSkills())],
  sessions: ["Sessions", (parts) => (parts.length ? showSession(parts) : showSessions())],
  facts: ["Facts", showFacts],
  playground: ["Playground", showPlayground],
};
const POLL_MS = 4000;
const main = document.getElementById("main");
let shown = 0;
let state = null;

function place() {
  const [page, ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return [page in PAGES ? page : "today", parts.filter(Boolean)];
}

let fading = 0;

// Says something for a while, to screen readers too.
export function say(...children) {
  const place = document.getElementById("message");
  place.replaceChildren(h("p", {}, ...children));
  clearTimeout(fading);
  fading = setTimeout(() => place.replaceChildren(), 10000);
}

// Shows the page of the address. Focus moves to its heading when the person went there, and stays on an update.
async function show(moved) {
  const number = ++shown;
  const [page, parts] = place();
  const [title, build] = PAGES[page];
  for (const each of document.querySelectorAll("header nav a")) {
    if (each.hash === `#/${page}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  document.title = `${title} · Tacit`;
  main.setAttribute("aria-busy", "true");
  let content;
  try {
    content = await build(parts);
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    content = [heading(title), empty(failure.message, failure.hint ? ` ${failure.hint}` : "")];
  }
  if (number !== shown) return; // the person went on meanwhile
  main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  main.removeAttribute("aria-busy");
  if (moved) {
    const target = main.querySelector("[data-focus]") ?? main.querySelector("h1");
    target?.focus();
    if (target?.matches("[data-focus]")) target.scrollIntoView({ block: "center" });
  }
}

export const refresh = () => show(false);

// Looks whether the store has changed, and shows the page again unless somebody is typing or deciding in it.
async function poll() {
  if (document.visibilityState === "visible") {
    try {
      const found = (await get("/api/changes")).state;
      const isBusy = document.querySelector("dialog[open]") || main.querySelector("[data-busy]") || document.activeElement?.matches("input, textarea, select");
      if (state !== null && found !== state && !isBusy) await show(false);
      if (!isBusy) state = found;
      document.body.classList.remove("offline");
    } catch {
      document.body.classList.add("offline");
      say("The server does not answer. Is `tacit web` still running?");
    }
  }
  setTimeout(poll, POLL_MS);
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping || place()[0] !== "review") return;
  reviewKey(event);
});
window.addEventListener("hashchange", () => show(true));

try {
  const access = await loadAccess();
  document.getElementById("store").textContent = access.project || access.store;
} finally {
  await show(false);
  poll();
}
