// The live side of a signed-in page. The socket only hints; what is true is asked for over HTTP.

const session = document.getElementById("session");
const state = session.dataset;
const banner = document.getElementById("new-posts");
const title = document.title;

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const LASTING_MS = 5000;
const ARRIVAL_MS = 150;
const UNREAD_WAIT_MS = 300;
const ANSWER_MS = 10_000;
const TOO_MANY = 429;
const SERVER_ERROR = 500;
const SIGNED_OUT = 4001;
const REAUTHENTICATE = 4002;
const TOO_MUCH = 4008;
const RARELY = 6; // failures after which the wait is the longest

let socket = null;
let timer = null;
let failures = 0;
let leaving = false;

/** With jitter: many pages that lost the same server must not come back all at once. */
function pause(times) {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** times);
  return longest / 4 + Math.random() * longest * 0.75;
}

/**
 * A function that asks for a count and shows it: once for all hints within the wait, one request at a time, again
 * without an answer, and once more for hints that came meanwhile. Called with true, it lets an answer that is on its
 * way count for nothing.
 */
function counter(url, show, wait) {
  let planned = 0;
  let due = 0;
  let fails = 0;
  let isAsking = false;
  let isLate = false;
  let isVoid = false;

  function plan(delay) {
    const at = Date.now() + delay;
    if (planned && due <= at) return;
    clearTimeout(planned);
    due = at;
    planned = setTimeout(ask, delay);
  }

  async function ask() {
    planned = 0;
    isAsking = true;
    isLate = isVoid = false;
    let answer, said;
    try {
      answer = await fetch(url, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(ANSWER_MS) });
      if (answer.ok) said = await answer.json();
    } catch {
      // offline, cut off, or too late
    }
    isAsking = false;
    if (said) {
      fails = 0;
      if (!isVoid) show(said);
    } else if (!answer || answer.ok || answer.status === TOO_MANY || answer.status >= SERVER_ERROR) {
      plan(pause(fails));
      fails += 1;
    }
    if (isLate) plan(wait);
  }

  return (isSeen = false) => {
    isVoid ||= isSeen;
    if (isAsking) isLate = true;
    else plan(wait);
  };
}

// --- new posts ---

const refreshCount = banner ? counter(state.newCount, showCount, 0) : () => {};

let unseen = { count: 0, more: false }; // posts that the server has sent, and the page does not show (place.js)

document.addEventListener("unseen", ({ detail }) => {
  unseen = detail;
  if (banner) showCount({ count: 0, more: false });
});

function showCount(told) {
  const count = told.count + unseen.count;
  const more = told.more || unseen.more;
  banner.hidden = !count;
  document.title = count ? `(${count}${more ? "+" : ""}) ${title}` : title;
  if (!count) return;
  const words = count === 1 && !more ? banner.dataset.one : banner.dataset.many;
  banner.querySelector("span").textContent = words.replace("%(n)s", `${count}${more ? "+" : ""}`);
}

// --- notifications ---

const refreshUnread = counter(state.unreadCount, showUnread, UNREAD_WAIT_MS);

function showUnread({ count, more }) {
  for (const badge of document.querySelectorAll("[data-unread]")) {
    badge.hidden = !count;
    badge.textContent = more ? `${count}+` : count;
  }
  navigator.setAppBadge?.(count).catch(() => {}); // not installed, or not permitted
}

/** Who follows a notification has read it as it was shown; the way there does not wait for that. */
function markRead(event) {
  const link = event.target.closest?.("a[data-notification]");
  const note = link?.closest("[data-is-unread]");
  if (!note) return;
  const { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers"));
  const { id, until } = note.dataset;
  fetch(state.read, {
    method: "POST",
    keepalive: true,
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify({ ids: [id], until }),
  }).catch(() => {}); // it stays unread
}

document.addEventListener("unread", ({ detail }) => showUnread(detail));
document.addEventListener("click", markRead);
document.addEventListener("auxclick", (event) => event.button === 1 && markRead(event));

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (!banner || detail.requestConfig.elt !== banner) return; // htmx sends this event to the feed, not to the button
  unseen = { count: 0, more: false };
  showCount(unseen);
  refreshCount(true); // there may be more by now
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scrollTo({ top: 0, behavior: still ? "auto" : "smooth" });
  // The pressed button is gone: carry keyboard users on to the newest post.
  document.querySelector("#feed .post-author")?.focus({ preventScroll: true });
});

// --- the socket ---

/** The sentence for a reason of the server's, in the page's language; the general one for an unknown reason. */
function wordsFor({ reason, by }) {
  const known = [...session.querySelectorAll("[data-reason]")];
  const words = known.find((one) => one.dataset.reason === reason) || known.find((one) => one.dataset.reason === "revoked");
  if (!words) return {};
  const { named, reason: found } = words.dataset;
  return { text: by && named ? named.replace("%(by)s", () => by) : words.textContent, reason: found };
}

/** What the browser keeps of a person outside of pages: Home without a connection (sw.js), pushes, the app's badge. */
function forget() {
  window.caches?.delete("home");
  navigator.serviceWorker
    ?.getRegistration()
    .then((registration) => registration?.pushManager?.getSubscription())
    .then((subscription) => subscription?.unsubscribe())
    .catch(() => {}); // the site sends nothing more to it all the same
  navigator.clearAppBadge?.().catch(() => {});
}

function signedOut(kick) {
  if (leaving) return;
  leaving = true;
  forget();
  try {
    sessionStorage.setItem("notice", JSON.stringify(wordsFor(kick)));
  } catch {
    // the login page then says what it knows by itself
  }
  const login = `${state.login}?next=${encodeURIComponent(location.pathname + location.search)}`;
  // New cookies of this browser get time to arrive: then the login page sends it back.
  setTimeout(() => location.assign(login), ARRIVAL_MS);
}

/** Any page request lets the server renew the access cookie, which a socket cannot do. */
async function renew() {
  try {
    await fetch(state.refresh, { method: "HEAD" });
  } catch {
    // offline: the wait before the next try grows
  }
}

function connect() {
  clearTimeout(timer);
  if (leaving || socket) return;
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  let openedAt = 0;
  socket = new WebSocket(`${scheme}//${location.host}${state.socket}`);

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
    if (event.code === SIGNED_OUT) {
      signedOut({ reason: event.reason });
      return;
    }
    // A server that opens and closes at once is no better than one that does not open.
    if (openedAt && Date.now() - openedAt > LASTING_MS) failures = 0;
    if (event.code === TOO_MUCH) failures = Math.max(failures, RARELY);
    if (event.code === REAUTHENTICATE || !openedAt) await renew();
    schedule();
  });
}

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(connect, pause(failures));
  failures += 1;
}

// Who logs out here is on the way home; the kick that follows is not for this page.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-log-out]")) return;
  leaving = true;
  forget();
  try {
    sessionStorage.clear(); // a draft is not for the next person at this browser
  } catch {
    // storage is blocked: there is nothing in it
  }
});

// --- the app ---

navigator.serviceWorker?.register("/sw.js").catch(() => {}); // the site does without
addEventListener("beforeinstallprompt", (event) => {
  const button = document.querySelector("[data-install]");
  event.preventDefault();
  button.hidden = false;
  button.onclick = () => event.prompt();
});
addEventListener("appinstalled", () => {
  document.querySelector("[data-install]").hidden = true;
});

addEventListener("online", connect);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && connect());
addEventListener("pagehide", () => {
  leaving = true;
  socket?.close();
});
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  leaving = false; // back from the browser's page cache
  connect();
});

try {
  sessionStorage.removeItem("notice"); // signed in again without passing the login page
} catch {
  // storage is blocked: there is none
}
connect();
