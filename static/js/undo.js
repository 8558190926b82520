// Deletions that can be undone: the post or comment is hidden, and the request waits some seconds. A note in the browser stays
// until the server has answered: if the page is lost, the person's next page sends the request. It may arrive twice.

import "./confirm.js";
import { beside, button, focusIn, make } from "./lib/elements.js";
import { csrf, goToLogin, isLogin, reasonIn } from "./lib/requests.js";
import { local } from "./lib/storage.js";
import { say, toasts, words } from "./lib/toasts.js";

const WAIT_S = 5;
const TICK_MS = 1000; // browsers let hidden tabs run this often
const LEASE_MS = 15_000; // after which the page of a note is gone
const DAY_MS = 86_400_000; // older deletions are no longer expected
const ANSWER_MS = 20_000;
const LOG_OUT_MS = 3000;

const { me } = document.body.dataset;
const NOTE = "undo:";
const MINE = `${NOTE}${me}:`;

const open = new Set(); // deletions without an answer
let waiting = null; // the one that can be undone

function note({ key, find, begun }, more) {
  local.write(key, { at: Date.now(), begun, find, ...more });
}

const thingOf = ({ find }) => document.querySelector(find);

function show(deletion, isShown) {
  thingOf(deletion)?.toggleAttribute("hidden", !isShown);
}

function toastOf(deletion) {
  const press = button("button", () => undo(deletion), {
    textContent: words.undo,
    title: "Ctrl+Z",
    "aria-keyshortcuts": "Control+Z",
    "data-testid": "undo",
  });
  return make("div", { className: "toast toast-undo" }, make("span", { textContent: words.deleting }), press);
}

function begin(link) {
  if (waiting) send(waiting);
  const thing = link.closest("article, li");
  const { postId } = thing.dataset;
  const find = postId ? `[data-post-id="${CSS.escape(postId)}"]` : `#${CSS.escape(thing.id)}`;
  const path = link.getAttribute("href");
  const deletion = { path, key: MINE + path, find, begun: Date.now(), isPage: !link.hasAttribute("hx-post"), left: WAIT_S };
  waiting = deletion;
  open.add(deletion);
  note(deletion);
  thing.hidden = true;
  focusIn(beside(thing)); // what is hidden takes the focus along
  deletion.box = toastOf(deletion);
  toasts.replaceChildren(deletion.box);
  deletion.timer = setInterval(tick, TICK_MS, deletion);
}

function tick(deletion) {
  note(deletion);
  const isHeld = !document.hidden && deletion.box.matches(":hover, :focus-within");
  if (!isHeld) deletion.left -= 1;
  if (deletion.left <= 0) send(deletion);
}

function stop(deletion) {
  clearInterval(deletion.timer);
  deletion.box?.remove();
  if (waiting === deletion) waiting = null;
}

function undo(deletion) {
  stop(deletion);
  settle(deletion);
  show(deletion, true);
  thingOf(deletion)?.querySelector(".post-menu, .comment-delete")?.focus();
}

function settle(deletion) {
  open.delete(deletion);
  local.remove(deletion.key);
}

async function send(deletion) {
  stop(deletion);
  const headers = csrf();
  if (!deletion.isPage) headers["HX-Request"] = "true";
  let answer, text;
  try {
    answer = await fetch(deletion.path, { method: "POST", keepalive: true, headers, signal: AbortSignal.timeout(ANSWER_MS) });
    text = await answer.text();
  } catch {
    return refused(deletion, words.offline);
  }
  if (isLogin(answer.url) || answer.status === 401) {
    refused(deletion, words.failed);
    goToLogin();
  } else if (answer.ok || answer.status === 404) deleted(deletion, answer, text);
  else refused(deletion, reasonIn(text, answer.status));
}

function refused(deletion, reason) {
  settle(deletion);
  show(deletion, true);
  say(reason);
}

function deleted(deletion, answer, text) {
  settle(deletion);
  const next = answer.headers.get("HX-Redirect") || (deletion.isPage && answer.ok && answer.url);
  if (next) {
    note(deletion, { done: true }); // the next page says it
    return location.replace(next);
  }
  const thing = thingOf(deletion);
  const other = answer.headers.get("HX-Retarget");
  if (thing && answer.ok && text.trim()) {
    htmx.swap(other ? document.querySelector(other) : thing, text, { swapStyle: "outerHTML" });
  } else thing?.remove();
  say(words.deleted);
}

// --- notes of pages that are gone ---

function resume(key) {
  const { at, begun, find, done } = local.read(key) ?? {};
  if (!find || !(begun > Date.now() - DAY_MS)) local.remove(key);
  else if (!key.startsWith(MINE)) return; // of another person, who may come back
  else if (done) {
    local.remove(key);
    say(words.deleted);
  } else if (at < Date.now() - LEASE_MS) {
    const deletion = { path: key.slice(MINE.length), key, find, begun };
    open.add(deletion);
    note(deletion); // no other page sends it as well
    show(deletion, false);
    send(deletion);
  }
}

for (const key of local.keys()) if (key.startsWith(NOTE)) resume(key);

// Before the menu closes, which the link is part of.
document.addEventListener("deletion", (event) => {
  if (!event.target.matches("[data-confirm=post], [data-confirm=comment]")) return;
  event.preventDefault();
  begin(event.target);
}, true);

// A list that was loaded anew shows it again.
document.addEventListener("htmx:load", () => open.forEach((deletion) => show(deletion, false)));

document.addEventListener("keydown", (event) => {
  const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  if (!isUndo || !waiting || event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  undo(waiting);
});

addEventListener("pagehide", () => {
  if (waiting) send(waiting);
  for (const deletion of open) note(deletion, { at: 0 }); // the next page makes sure that it arrived
});
// A phone may drop hidden pages.
document.addEventListener("visibilitychange", () => {
  if (document.hidden && waiting && matchMedia("(pointer: coarse)").matches) send(waiting);
});

// After the log-out the server would refuse it.
document.addEventListener("submit", (event) => {
  if (!waiting || !event.target.matches("[data-log-out]")) return;
  event.preventDefault();
  const late = new Promise((done) => setTimeout(done, LOG_OUT_MS));
  Promise.race([send(waiting), late]).then(() => event.target.submit());
});
