// Requests to the server. The secret for decisions is kept in this page's memory alone: a reload asks for the passphrase again.

import { h } from "./dom.js";

let signing = "";
let access = {};

export class Failure extends Error {
  constructor(status, document) {
    super(document.error?.message ?? "The server does not answer. Is `tacit web` still running?");
    this.status = status;
    this.code = document.error?.code ?? "";
    this.hint = [document.error?.hint, ...(document.error?.problems ?? [])].filter(Boolean).join(" · ");
    this.changed = document.changed;
  }
}

async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", redirect: "error", ...options });
  } catch {
    throw new Failure(0, {});
  }
  const text = await answer.text();
  let document = {};
  try {
    document = JSON.parse(text);
  } catch {
    document = { error: { message: text } };
  }
  if (!answer.ok) throw new Failure(answer.status, document);
  return document;
}

export const get = (path) => request(path);

export function post(path, body) {
  const headers = { "Content-Type": "application/json", ...(signing ? { "Tacit-Signing": signing } : {}) };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export async function loadAccess() {
  access = await get("/api/access");
  return access;
}

export const isUnlocked = () => Boolean(signing) || access.needs_passphrase === false;

// Posts a decision; asks for the passphrase first where it is needed. Null where the person closed the question.
export async function postSigned(path, body) {
  if (!isUnlocked() && !(await unlock())) return null;
  try {
    return await post(path, body);
  } catch (failure) {
    if (failure.code !== "needs_passphrase") throw failure;
    signing = "";
    return (await unlock()) ? post(path, body) : null;
  }
}

export async function lock() {
  signing = "";
  await post("/api/lock", {});
}

// Asks for the passphrase; the first time it is chosen here.
export function unlock() {
  const isNew = !access.has_key;
  const typed = h("input", { type: "password", id: "passphrase", required: true, autocomplete: "off", minlength: isNew ? "8" : "1" });
  const again = h("input", { type: "password", id: "again", required: isNew, autocomplete: "off" });
  const problem = h("p", { class: "problem", role: "alert" });
  const dialog = h("dialog", { "aria-labelledby": "unlock-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "unlock-title" }, isNew ? "Choose a passphrase" : "Your passphrase"),
      h("p", {}, isNew
        ? "What agents may use is signed with it, so that no agent can approve anything. Nobody can recover it; at least 8 characters."
        : "It signs your decisions. The key stays in the running `tacit web` until you lock this page, stop it, or do nothing for half an hour."),
      h("label", { for: "passphrase" }, "Passphrase"), typed,
      isNew && [h("label", { for: "again" }, "The same again"), again],
      problem,
      h("p", { class: "actions" },
        h("button", { type: "submit", class: "main" }, "Unlock"),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(Boolean(signing));
    });
    dialog.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isNew && typed.value !== again.value) {
        problem.textContent = "The two passphrases differ.";
        return;
      }
      problem.textContent = "Opening the key …";
      try {
        signing = (await post("/api/unlock", { passphrase: typed.value, create: isNew })).signing;
        access.has_key = true;
        dialog.close();
      } catch (failure) {
        problem.textContent = failure.message;
        typed.select();
      }
    });
    dialog.showModal();
  });
}
