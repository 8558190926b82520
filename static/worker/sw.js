// The service worker, served as /sw.js behind the lines that name VERSION, FILES, OFFLINE and STATIC_URL.
//
// It keeps static files, the page for readers without a connection, and one page of a person: the last Home. A page
// always comes from the site if the site can be reached, so nothing kept is shown to somebody who was signed out. The
// kept Home is deleted by the next page without a person (signed_out.js), at a log-out (session.js), and after a day.

const HOME = "home";
const KEPT_MS = 24 * 3600 * 1000;
const STATIC = `static-${VERSION}`;
const HASHED = /\.[0-9a-f]{12}\.[^/.]+$/;
const NOTICE = /(<p class="notice" data-kept) hidden>([^<]*)/;

let clearedAt = 0;

async function install() {
  const cache = await caches.open(STATIC);
  await cache.addAll(FILES);
  await skipWaiting();
}

/** The files of older versions go, and with them the Home that names them. */
async function activate() {
  for (const name of await caches.keys()) if (name !== STATIC) await caches.delete(name);
  await clients.claim();
}

async function clear() {
  clearedAt = Date.now();
  await caches.delete(HOME);
}

/** Keep Home of a person; a page without a person ends what was kept. */
async function keep(answer, began) {
  const text = answer.ok ? await answer.text() : "";
  if (!/<body data-me="\d/.test(text)) {
    if (answer.status < 500) await clear();
    return;
  }
  if (began < clearedAt) return; // an answer from before a log-out
  const headers = new Headers(answer.headers);
  headers.delete("Content-Encoding");
  headers.delete("Content-Length");
  headers.set("X-Kept-At", Date.now());
  const cache = await caches.open(HOME);
  await cache.put("/", new Response(text, { headers }));
}

async function keptHome() {
  const found = await caches.match("/", { cacheName: HOME });
  if (!found) return null;
  const at = Number(found.headers.get("X-Kept-At"));
  if (!(Math.abs(Date.now() - at) < KEPT_MS)) {
    await clear();
    return null;
  }
  const text = await found.text();
  const language = /<html lang="([\w-]+)"/.exec(text)?.[1] ?? "en";
  const time = new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(at);
  const shown = text.replace(NOTICE, (_all, tag, words) => `${tag}>${words.replace("%(time)s", time)}`);
  return new Response(shown, { headers: found.headers });
}

async function page(event, url) {
  const began = Date.now();
  const isHome = url.pathname === "/" && !url.search;
  try {
    const answer = await fetch(event.request);
    if (isHome) event.waitUntil(keep(answer.clone(), began));
    return answer;
  } catch {
    return (isHome && (await keptHome())) || (await caches.match(OFFLINE)) || Response.error();
  }
}

/** A name with a hash never changes its content; other files are kept for when there is no connection. */
async function file(event) {
  const cache = await caches.open(STATIC);
  const found = await cache.match(event.request);
  if (found && HASHED.test(event.request.url)) return found;
  try {
    const answer = await fetch(event.request);
    if (answer.ok) event.waitUntil(cache.put(event.request, answer.clone()));
    return answer;
  } catch {
    return found ?? Response.error();
  }
}

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate") event.respondWith(page(event, url));
  else if ((url.pathname.startsWith(STATIC_URL) || FILES.includes(url.pathname)) && !url.search) {
    event.respondWith(file(event));
  }
});

// --- pushes: what they say is decided by the site (interactions/notifying/push.py) ---

const SETTINGS = "/settings/notifications";
const SUBSCRIPTIONS = "/api/v1/me/push";
const LIST = "/notifications";
const READ = "/api/v1/notifications/read";

/** A browser wants every push to be shown, also one that cannot be read. */
async function show(data) {
  let told = {};
  try {
    told = { ...data.json() };
  } catch {
    // the notification then leads to the list
  }
  const { title = "socialsite", url, ...more } = told;
  await registration.showNotification(title, { ...more, data: { url: url ?? LIST, id: more.tag?.slice(1) } });
}

/** Send JSON as the person who is signed in; a page has the token for that, and renews their cookies. */
async function send(path, body) {
  const text = await (await fetch(SETTINGS)).text();
  const token = /"X-CSRFToken": "(\w+)"/.exec(text)?.[1];
  if (!token || !/<body data-me="\d/.test(text)) return;
  await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify(body),
  });
}

async function open({ url, id }) {
  const target = new URL(url, location.origin);
  if (target.origin !== location.origin) return;
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const found = pages.find((page) => page.url === target.href);
  await (found ? found.focus() : clients.openWindow(target.href));
  if (id) await send(READ, { ids: [id] }).catch(() => {}); // it stays unread
}

/** The browser has replaced the subscription: the site gets the new one, if it still knows the old one. */
async function renew({ oldSubscription: old, newSubscription }) {
  if (!old) return;
  const fresh = newSubscription ?? (await registration.pushManager.subscribe(old.options));
  await send(SUBSCRIPTIONS, { ...fresh.toJSON(), replaces: old.endpoint });
}

addEventListener("push", (event) => event.waitUntil(show(event.data)));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? { url: LIST }));
});
addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
