// Notifications count as read when they were on the screen for a moment; many are sent in one request.

const MOMENT_MS = 1000;
const BATCH_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const VISIBLE = 0.6; // of a notification
const MOST = 100; // ids of one request
const TOO_MANY = 429;
const SERVER_ERROR = 500;

const url = document.getElementById("session").dataset.read;
const { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers"));
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
  let answer, said;
  try {
    answer = await fetch(url, {
      method: "POST",
      keepalive: true,
      headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": token },
      body: JSON.stringify({ ids: notes.map((note) => note.dataset.id), until }),
    });
    if (answer.ok) said = await answer.json();
  } catch {
    // offline: sent again below
  }
  if (said) {
    failures = 0;
    for (const note of notes) delete note.dataset.isUnread; // its colour stays: the reader sees what is new
    document.dispatchEvent(new CustomEvent("unread", { detail: said }));
    const button = document.querySelector("[data-read-all]");
    const isTab = button?.elements.tab.value !== "all";
    if (!said.count || (isTab && !document.querySelector("[data-is-unread]"))) button?.remove();
    if (seen.size) plan(BATCH_MS);
  } else if (!answer || answer.status === TOO_MANY || answer.status >= SERVER_ERROR) {
    failures += 1;
    for (const note of notes) seen.add(note);
    plan(Math.min(LONGEST_WAIT_MS, BATCH_MS * 2 ** failures));
  }
}

for (const event of ["focus", "blur", "pageshow"]) addEventListener(event, look);
document.addEventListener("visibilitychange", look);
addEventListener("pagehide", () => {
  clearTimeout(planned);
  send();
});
document.addEventListener("htmx:load", ({ target }) => watch(target));
watch(document.body);
