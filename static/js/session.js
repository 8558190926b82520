// The live side of a signed-in page. The socket only hints; what is true is asked for over HTTP.

const state = document.getElementById("session").dataset;
const banner = document.getElementById("new-posts");
const title = document.title;

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
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

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (!banner || detail.requestConfig.elt !== banner) return; // htmx sends this event to the feed, not to the button
  showCount(0, false);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scrollTo({ top: 0, behavior: still ? "auto" : "smooth" });
  // The pressed button is gone: carry keyboard users on to the newest post.
  document.querySelector("#feed .post-author")?.focus({ preventScroll: true });
});

// --- the socket ---------------------------------------------------------------

function signedOut(reason) {
  if (leaving) return;
  leaving = true;
  // A reason with a blank is a sentence for people; a bare word is a code of the server's.
  const words = reason && /\s|[^\x00-\x7f]/.test(reason) ? reason : state.signedOut;
  try {
    sessionStorage.setItem("notice", words);
  } catch {
    // the login page then comes without the reason
  }
  location.assign(`${state.login}?next=${encodeURIComponent(location.pathname + location.search)}`);
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
  let opened = false;
  let reason = "";
  socket = new WebSocket(`${scheme}//${location.host}${state.socket}`);

  socket.addEventListener("open", () => {
    opened = true;
    failures = 0;
    refreshCount(); // hints sent while there was no connection are lost
  });

  socket.addEventListener("message", (event) => {
    let hint;
    try {
      hint = JSON.parse(event.data);
    } catch {
      return;
    }
    if (hint.type === "new_posts") refreshCount();
    if (hint.type === "kicked") {
      reason = hint.reason;
      signedOut(reason);
    }
  });

  socket.addEventListener("close", async (event) => {
    socket = null;
    if (leaving) return;
    if (event.code === SIGNED_OUT) {
      signedOut(event.reason || reason);
      return;
    }
    if (event.code === REAUTHENTICATE || !opened) await renew();
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

connect();
