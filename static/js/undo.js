// Deletions that can be undone: the post or comment is hidden, and the request waits some seconds. A note in the browser stays
// until the server has answered: if the page is lost, the person's next page sends the request. A second request for the same
// thing is harmless.

const WAIT_S = 5;
const TICK_MS = 1000; // browsers let hidden tabs run this often
const LEASE_MS = 15_000; // the page of a note that was not renewed for so long is gone
const DAY_MS = 86_400_000; // the person no longer expects an older deletion
const ANSWER_MS = 20_000;
const LOG_OUT_MS = 3000;

const { me } = document.body.dataset;
const NOTE = "undo:";
const MINE = `${NOTE}${me}:`;
const toasts = document.getElementById("toasts");
const words = toasts.dataset;

const open = new Set(); // deletions without an answer
let waiting = null; // the one that can be undone

const store = (act) => {
  try {
    return act(localStorage);
  } catch {
    return null; // storage is blocked: only a crash of the tab loses the deletion
  }
};
const read = (key) => {
  try {
    return JSON.parse(store((s) => s.getItem(key))) ?? {};
  } catch {
    return {};
  }
};
const remove = (key) => store((s) => s.removeItem(key));

function note({ key, find, begun }, more) {
  const text = JSON.stringify({ at: Date.now(), begun, find, ...more });
  store((s) => s.setItem(key, text));
}

const say = (detail) => document.dispatchEvent(new CustomEvent("toast", { detail }));
const thingOf = ({ find }) => document.querySelector(find);

function show(deletion, isShown) {
  const thing = thingOf(deletion);
  if (thing) thing.hidden = !isShown;
}

/** What is hidden takes the focus along: it moves on to what is beside it. */
function focusBeside(thing) {
  const beside = [thing.nextElementSibling, thing.previousElementSibling];
  const near = beside.find((one) => one?.checkVisibility()) || document.getElementById("main");
  (near.querySelector("a[href]") || near).focus({ preventScroll: true });
}

function toastOf(deletion) {
  const box = document.createElement("div");
  box.className = "toast toast-undo";
  const text = document.createElement("span");
  text.textContent = words.deleting;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = words.undo;
  button.title = "Ctrl+Z";
  button.setAttribute("aria-keyshortcuts", "Control+Z");
  button.dataset.testid = "undo";
  button.addEventListener("click", () => undo(deletion));
  box.append(text, button);
  return box;
}

// --- waiting ---

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
  focusBeside(thing);
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
  const thing = thingOf(deletion);
  thing?.querySelector(".post-menu, .comment-delete")?.focus();
}

function settle(deletion) {
  open.delete(deletion);
  remove(deletion.key);
}

// --- sending ---

/** Ask the server to delete. The browser finishes the request also when the page is left. */
async function send(deletion) {
  stop(deletion);
  const headers = JSON.parse(document.body.getAttribute("hx-headers"));
  if (!deletion.isPage) headers["HX-Request"] = "true";
  let answer, text;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    answer = await fetch(deletion.path, { method: "POST", keepalive: true, headers, signal });
    text = await answer.text();
  } catch {
    refused(deletion, words.offline);
    return;
  }
  const isLogin = new URL(answer.url).pathname === words.login;
  if (isLogin || answer.status === 401) {
    refused(deletion, words.failed);
    location.assign(`${words.login}?next=${encodeURIComponent(location.pathname + location.search)}`);
  } else if (answer.ok || answer.status === 404) deleted(deletion, answer, text);
  else refused(deletion, reasonIn(text) || (answer.status === 429 ? words.busy : words.failed));
}

/** The reason in an error answer: the envelope's detail, or the sentence of the error page. */
function reasonIn(text) {
  try {
    return JSON.parse(text).detail;
  } catch {
    return new DOMParser().parseFromString(text, "text/html").querySelector("[data-error-detail]")?.textContent;
  }
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
    location.replace(next);
    return;
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
  const { at, begun, find, done } = read(key);
  if (!find || !(begun > Date.now() - DAY_MS)) remove(key);
  else if (!key.startsWith(MINE)) return; // of another person, who may come back
  else if (done) {
    remove(key);
    say(words.deleted);
  } else if (at < Date.now() - LEASE_MS) {
    const deletion = { path: key.slice(MINE.length), key, find, begun };
    open.add(deletion);
    note(deletion); // no other page sends it as well
    show(deletion, false);
    send(deletion);
  }
}

for (const key of store((s) => Object.keys(s)) ?? []) if (key.startsWith(NOTE)) resume(key);

// --- what happens to the page ---

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
// A phone may end a page in the background without another word.
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
