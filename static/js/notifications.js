// Notifications count as read when they were on the screen for a moment, many in one request, or when they are followed.

import { json } from "./lib/api.js";
import { fire } from "./lib/elements.js";
import { fetchJson, pause } from "./lib/requests.js";

const MOMENT_MS = 1000;
const BATCH_MS = 1000;
const VISIBLE = 0.6; // of a notification
const MOST = 100; // ids of one request

const url = "/api/v1/notifications/read";
const onScreen = new Map(); // unread notification → timer, 0 while nobody looks
const watched = new WeakSet();
const seen = new Set(); // and not sent yet
let planned = 0;
let failures = 0;

function isLookedAt() {
  return document.visibilityState === "visible" && document.hasFocus();
}

function plan(delay) {
  planned ||= setTimeout(send, delay);
}

function isSeen(note) {
  observer.unobserve(note);
  onScreen.delete(note);
  seen.add(note);
  plan(BATCH_MS);
}

/** Start or stop the moments of what is on the screen. */
function look() {
  const looks = isLookedAt();
  for (const [note, timer] of onScreen) {
    if (looks && !timer) onScreen.set(note, setTimeout(isSeen, MOMENT_MS, note));
    if (looks || !timer) continue;
    clearTimeout(timer);
    onScreen.set(note, 0);
  }
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !onScreen.has(target)) onScreen.set(target, 0);
      if (isIntersecting || !onScreen.has(target)) continue;
      clearTimeout(onScreen.get(target));
      onScreen.delete(target);
    }
    look();
  },
  { threshold: VISIBLE },
);

function watch(root) {
  for (const note of [root, ...root.querySelectorAll("[data-is-unread]")]) {
    if (!note.matches("[data-is-unread]") || watched.has(note)) continue;
    watched.add(note);
    observer.observe(note);
  }
}

/** `until` keeps those unread that somebody joined after this page was made. */
async function send() {
  planned = 0;
  const notes = [...seen].slice(0, MOST);
  if (!notes.length) return;
  for (const note of notes) seen.delete(note);
  const until = notes.map((note) => note.dataset.until).sort().at(-1);
  const ids = notes.map((note) => note.dataset.id);
  const { said, mayRetry } = await fetchJson(url, { ...json("POST", { ids, until }), keepalive: true });
  if (said) {
    failures = 0;
    for (const note of notes) delete note.dataset.isUnread; // its colour stays: the reader sees what is new
    fire(document, "unread", said);
    const button = document.querySelector("[data-read-all]");
    const isTab = button?.elements.tab.value !== "all";
    if (!said.count || (isTab && !document.querySelector("[data-is-unread]"))) button?.remove();
    if (seen.size) plan(BATCH_MS);
  } else if (mayRetry) {
    for (const note of notes) seen.add(note);
    plan(pause(failures++));
  }
}

// Who follows a notification has read it as it was shown; the way there does not wait for that.
function follow({ target }) {
  const note = target.closest?.("a[data-notification]")?.closest("[data-is-unread]");
  if (!note) return;
  const { id, until } = note.dataset;
  fetch(url, { ...json("POST", { ids: [id], until }), keepalive: true }).catch(() => {}); // it stays unread
}

document.addEventListener("click", follow);
document.addEventListener("auxclick", (event) => event.button === 1 && follow(event));
for (const event of ["focus", "blur", "pageshow"]) addEventListener(event, look);
document.addEventListener("visibilitychange", look);
addEventListener("pagehide", () => {
  clearTimeout(planned);
  send();
});
document.addEventListener("htmx:load", ({ target }) => watch(target));
watch(document.body);
