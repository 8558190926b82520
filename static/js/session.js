// The live side of a signed-in page. The socket only hints: facts are fetched by HTTP.

import { fetchJson, goToLogin, pause } from "./lib/requests.js";
import { deleteHome, endPushes, session } from "./lib/storage.js";

const place = document.getElementById("session");
const banner = document.getElementById("new-posts");
const title = document.title;

const LASTING_MS = 5000;
const ARRIVAL_MS = 150;
const UNREAD_WAIT_MS = 300;
const ANSWER_MS = 10_000;
const SIGNED_OUT = 4001;
const REAUTHENTICATE = 4002;
const TOO_MUCH = 4008;
const RESTART = 1012;
const RARELY = 6; // failures with the longest wait

let socket, timer, leaving, closing;
let failures = 0;

/**
 * Return a function that asks for a count and shows it: once for all hints within the wait, one request at a time, and once
 * more for hints that came meanwhile. Called with true, it ignores the answer that is on its way.
 */
function counter(url, show, wait) {
  let planned, due, isAsking, isLate, isVoid;
  let fails = 0;

  function plan(delay) {
    const at = Date.now() + delay;
    if (planned && due <= at) return;
    clearTimeout(planned);
    due = at;
    planned = setTimeout(ask, delay);
  }

  async function ask() {
    planned = isLate = isVoid = false;
    isAsking = true;
    const options = { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(ANSWER_MS) };
    const { said, mayRetry } = await fetchJson(url, options);
    isAsking = false;
    if (said) fails = 0;
    if (said && !isVoid) show(said);
    if (mayRetry) plan(pause(fails++));
    if (isLate) plan(wait);
  }

  return (isSeen) => {
    isVoid ||= isSeen;
    if (isAsking) isLate = true;
    else plan(wait);
  };
}

const refreshCount = banner ? counter("/api/v1/feed/new-count", showCount, 0) : () => {};

const NONE = { count: 0, more: false };
let unseen = NONE; // posts that the page got and does not show (scroll_restore.js)

document.addEventListener("unseen", ({ detail }) => {
  unseen = detail;
  if (banner) showCount(NONE);
});

function showCount(told) {
  const count = told.count + unseen.count;
  const shown = `${count}${told.more || unseen.more ? "+" : ""}`;
  banner.hidden = !count;
  document.title = count ? `(${shown}) ${title}` : title;
  const { one, many } = banner.dataset;
  banner.querySelector("span").textContent = shown === "1" ? one : many.replace("%(n)s", shown);
}

const refreshUnread = counter("/api/v1/notifications/unread-count", showUnread, UNREAD_WAIT_MS);

function showUnread({ count, more }) {
  for (const badge of document.querySelectorAll("[data-unread]")) {
    badge.hidden = !count;
    badge.textContent = more ? `${count}+` : count;
  }
  navigator.setAppBadge?.(count).catch(() => {}); // not installed, or not permitted
}

document.addEventListener("unread", ({ detail }) => showUnread(detail));

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (!banner || detail.requestConfig.elt !== banner) return;
  unseen = NONE;
  showCount(unseen);
  refreshCount(true); // there may be more by now
  scrollTo({ top: 0, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  // The pressed button is gone: carry keyboard users on to the newest post.
  document.querySelector("#feed .post-author")?.focus({ preventScroll: true });
});

/** Return the sentence for a reason of the server; the general one for an unknown reason. */
function wordsFor({ reason, by }) {
  const find = (wanted) => place.querySelector(`[data-reason="${CSS.escape(wanted)}"]`);
  const words = find(reason) || find("revoked");
  if (!words) return {};
  const { named, reason: found } = words.dataset;
  return { text: by && named ? named.replace("%(by)s", () => by) : words.textContent, reason: found };
}

function forget() {
  deleteHome();
  endPushes();
  navigator.clearAppBadge?.().catch(() => {});
}

function signedOut(kick) {
  if (leaving) return;
  leaving = true;
  forget();
  if (closing) return;
  session.write("notice", wordsFor(kick)); // or else the login page says what it knows by itself
  // New cookies of this browser get time to arrive: then the login page sends it back.
  setTimeout(goToLogin, ARRIVAL_MS);
}

/** Any page request lets the server renew the access cookie, which a socket cannot do. */
const renew = () => fetch(place.dataset.refresh, { method: "HEAD" }).catch(() => {}); // offline

function connect() {
  clearTimeout(timer);
  if (leaving || socket) return;
  let openedAt = 0;
  socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws/session/`);

  socket.addEventListener("open", () => {
    openedAt = Date.now();
    refreshCount(); // hints sent while there was no connection are lost
    refreshUnread();
  });

  socket.addEventListener("message", (event) => {
    let hint;
    try {
      hint = JSON.parse(event.data);
    } catch {
      return;
    }
    if (hint.type === "new_posts") refreshCount();
    if (hint.type === "notification") refreshUnread();
    if (hint.type === "kicked") signedOut(hint);
  });

  socket.addEventListener("close", async (event) => {
    socket = null;
    if (leaving) return;
    if (event.code === SIGNED_OUT) return signedOut({ reason: event.reason });
    // A server that opens and closes at once is no better than one that does not open.
    if (openedAt && Date.now() - openedAt > LASTING_MS) failures = 0;
    if (event.code === TOO_MUCH) failures = Math.max(failures, RARELY);
    if (event.code === REAUTHENTICATE || !openedAt) await renew();
    // Sockets of a process that starts again return one by one.
    timer = setTimeout(connect, event.code === RESTART ? 3000 + Math.random() * 27_000 : pause(failures++));
  });
}

// Who closes the account here gets the answer of the form.
document.addEventListener("submit", (event) => (closing ||= event.target.matches("[data-closing]")));

// Who logs out here is on the way home; the kick that follows is not for this page.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-log-out]")) return;
  leaving = true;
  forget();
  session.use((storage) => storage.clear()); // drafts are not for the next person
});

// --- the app ---

navigator.serviceWorker?.register("/sw.js").catch(() => {}); // the site does without
const install = document.querySelector("[data-install]");
addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  install.hidden = false;
  install.onclick = () => event.prompt();
});
addEventListener("appinstalled", () => (install.hidden = true));

addEventListener("online", connect);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && connect());
addEventListener("pagehide", () => {
  leaving = true;
  socket?.close();
});
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  leaving = false; // back from the page cache
  connect();
});

session.remove("notice"); // signed in again without passing the login page
connect();
