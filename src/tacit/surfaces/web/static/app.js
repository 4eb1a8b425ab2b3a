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
let said = 0;

// Says something for a while, to screen readers too.
export function say(...children) {
  const place = document.getElementById("message");
  place.replaceChildren(h("p", {}, ...children));
  said = performance.now();
  clearTimeout(fading);
  fading = setTimeout(() => place.replaceChildren(), 10000);
}

// Shows the page of the address. Focus moves to its heading when the person went there, and stays on an update.
async function show(moved) {
  const number = ++shown;
  const [page, parts] = place();
  const [title, build] = PAGES[page];
  for (const each of document.querySelectorAll("header nav a")) {
    if (each.hash === `#/${page}`) {
      each.setAttribute("aria-current", "page");
      each.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else each.removeAttribute("aria-current");
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
  const kept = moved ? () => {} : rememberPlace();
  main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  main.removeAttribute("aria-busy");
  kept();
  if (moved) {
    const wanted = main.querySelector("[data-focus]");
    (wanted ?? main.querySelector("article h2") ?? main.querySelector("h1"))?.focus({ preventScroll: true });
    if (wanted) wanted.scrollIntoView({ block: "center" });
    else scrollTo(0, 0);
  }
}

// Notes which element has the focus and what is unfolded, to have it so again after an update.
function rememberPlace() {
  const focused = main.contains(document.activeElement) ? document.activeElement : null;
  const name = (element) => `${element.tagName} ${element.id} ${element.getAttribute("href")} ${element.textContent.slice(0, 80)}`;
  const wanted = focused && name(focused);
  const unfolded = [...main.querySelectorAll("details")].map((each) => each.open);
  return () => {
    const folds = [...main.querySelectorAll("details")];
    if (folds.length === unfolded.length) folds.forEach((each, at) => { each.open = unfolded[at]; });
    const again = wanted && [...main.querySelectorAll(focused.tagName)].find((each) => name(each) === wanted);
    again?.focus({ preventScroll: true });
  };
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
window.addEventListener("hashchange", () => {
  if (performance.now() - said > 500) document.getElementById("message").replaceChildren();
  show(true);
});

try {
  const access = await loadAccess();
  document.getElementById("store").textContent = access.project || access.store;
} finally {
  await show(false);
  poll();
}
