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
const SIGNED_OUT = 4001;
const REAUTHENTICATE = 4002;

let socket = null;
let timer = null;
let failures = 0;
let leaving = false;

// --- new posts ---------------------------------------------------------------

async function refreshCount() {
  if (!banner) return;
  let answer;
  try {
    answer = await fetch(state.newCount, { headers: { Accept: "application/json" } });
  } catch {
    return; // offline: the next connection asks again
  }
  if (!answer.ok) return;
  const { count, more } = await answer.json();
  showCount(count, more);
}

function showCount(count, more) {
  banner.hidden = !count;
  document.title = count ? `(${count}${more ? "+" : ""}) ${title}` : title;
  if (!count) return;
  const words = count === 1 && !more ? banner.dataset.one : banner.dataset.many;
  banner.querySelector("span").textContent = words.replace("%(n)s", `${count}${more ? "+" : ""}`);
}

// --- notifications -----------------------------------------------------------

let asking = 0;

/** Hints may come in bursts: after one the count is asked for once, a moment later. */
function refreshUnread() {
  clearTimeout(asking);
  asking = setTimeout(async () => {
    let answer;
    try {
      answer = await fetch(state.unreadCount, { headers: { Accept: "application/json" } });
    } catch {
      return; // offline: the next connection asks again
    }
    if (answer.ok) showUnread(await answer.json());
  }, UNREAD_WAIT_MS);
}

function showUnread({ count, more }) {
  for (const badge of document.querySelectorAll("[data-unread]")) {
    badge.hidden = !count;
    badge.textContent = more ? `${count}+` : count;
  }
}

/** Who follows a notification has read it as it was shown; the way there does not wait for that. */
function markRead(event) {
  const link = event.target.closest?.("a[data-notification]");
  if (!link || !link.closest("[data-is-unread]")) return;
  const { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers"));
  const { notification, until } = link.dataset;
  fetch(state.read, {
    method: "POST",
    keepalive: true,
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify({ ids: [notification], until }),
  }).catch(() => {}); // it stays unread
}

document.addEventListener("click", markRead);
document.addEventListener("auxclick", (event) => event.button === 1 && markRead(event));

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (!banner || detail.requestConfig.elt !== banner) return; // htmx sends this event to the feed, not to the button
  showCount(0, false);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scrollTo({ top: 0, behavior: still ? "auto" : "smooth" });
  // The pressed button is gone: carry keyboard users on to the newest post.
  document.querySelector("#feed .post-author")?.focus({ preventScroll: true });
});

// --- the socket ---------------------------------------------------------------

/** The sentence for a reason of the server's, in the page's language; a general one for a reason it does not have. */
function wordsFor({ reason, by }) {
  const known = [...session.querySelectorAll("[data-reason]")];
  const words = known.find((one) => one.dataset.reason === reason) || known.find((one) => one.dataset.reason === "revoked");
  if (!words) return "";
  return by && words.dataset.named ? words.dataset.named.replace("%(by)s", () => by) : words.textContent;
}

function signedOut(kick) {
  if (leaving) return;
  leaving = true;
  try {
    sessionStorage.setItem("notice", wordsFor(kick));
  } catch {
    // the login page then says what it knows by itself
  }
  const login = `${state.login}?next=${encodeURIComponent(location.pathname + location.search)}`;
  // Should this browser have signed in anew just now, its new cookies get time to arrive: then the login page sends it back.
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
    if (event.code === REAUTHENTICATE || !openedAt) await renew();
    schedule();
  });
}

/** Full jitter: many pages that lost the same server must not come back all at once. */
function schedule() {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
  failures += 1;
  clearTimeout(timer);
  timer = setTimeout(connect, longest / 4 + Math.random() * longest * 0.75);
}

// Who logs out here is on the way home; the kick that follows is not for this page.
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-log-out]")) leaving = true;
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
