// For every page: toasts, menus, the dialog that asks first, the picture viewer, dates in local time.

const toasts = document.getElementById("toasts");
const TOAST_MS = 6000;

function toast(text) {
  const box = document.createElement("div");
  box.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "round icon i-close";
  close.setAttribute("aria-label", toasts.dataset.close);
  close.addEventListener("click", () => box.remove());
  box.append(words, close);
  toasts.querySelector(".toast:not(.toast-undo)")?.remove();
  toasts.append(box);
  setTimeout(() => box.remove(), TOAST_MS);
}

document.addEventListener("toast", (event) => toast(event.detail));

// --- htmx ---

// `hx-post` has no value: the address is that to which the form, the button or the link leads without script.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  const { elt } = detail;
  if (elt.hasAttribute("hx-post")) detail.path = elt.getAttribute("formaction") ?? elt.getAttribute("action") ?? elt.getAttribute("href");
});

function goToLogin() {
  const here = encodeURIComponent(location.pathname + location.search);
  location.assign(`${toasts.dataset.login}?next=${here}`);
}

/** The reason in an error answer: the envelope's detail, or the sentence of the error page. */
function reasonOf(xhr) {
  try {
    return JSON.parse(xhr.responseText).detail;
  } catch {
    return new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("[data-error-detail]")?.textContent;
  }
}

// The loader of a list says itself that it failed, and tries again (lists.js).
const isSilent = (event) => event.detail.elt.matches?.(".loader");
const sayOffline = (event) => isSilent(event) || toast(toasts.dataset.offline);

document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  if (xhr.status === 401) goToLogin();
  else if (!isSilent(event)) toast(reasonOf(xhr) || (xhr.status === 429 ? toasts.dataset.busy : toasts.dataset.failed));
});
document.addEventListener("htmx:sendError", sayOffline);
document.addEventListener("htmx:timeout", sayOffline);
document.addEventListener("htmx:beforeSwap", (event) => {
  // A redirect to the login page was followed: go there instead of drawing it inside a button.
  const address = event.detail.xhr.responseURL;
  if (address && new URL(address).pathname === toasts.dataset.login) {
    event.detail.shouldSwap = false;
    goToLogin();
  }
});

// --- deleting and blocking ask first ---

const dialog = document.getElementById("confirm");

/** Put the question of an element: `data-confirm`, or the dialog's text of that name, and what else it says. */
function ask({ confirm, confirmMore, confirmYes }, onYes) {
  const yes = dialog.querySelector("[value=yes]");
  const more = dialog.querySelector("#confirm-more");
  dialog.querySelector("#confirm-text").textContent = dialog.dataset[confirm] || confirm;
  more.textContent = confirmMore || "";
  more.hidden = !confirmMore;
  yes.textContent = confirmYes || yes.dataset.default;
  dialog.returnValue = "no";
  dialog.addEventListener("close", () => dialog.returnValue === "yes" && onYes(), { once: true });
  dialog.showModal();
}

/** Do what was asked for, unless it waits for an undo (undo.js). */
function doAsked(link, act) {
  if (link.dispatchEvent(new CustomEvent("deletion", { bubbles: true, cancelable: true }))) act();
}

document.addEventListener("htmx:confirm", (event) => {
  const { elt, issueRequest } = event.detail;
  if (!elt.dataset?.confirm) return;
  event.preventDefault();
  ask(elt.dataset, () => doAsked(elt, () => issueRequest(true)));
});

// A link to a page that asks: the dialog asks instead.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-confirm]");
  if (!link || link.hasAttribute("hx-post") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const acts = document.getElementById("acts");
  ask(link.dataset, () => doAsked(link, () => {
    acts.action = link.href;
    acts.submit();
  }));
});

// What is deleted takes the focus along: it moves on to what is beside it.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { elt } = detail.requestConfig;
  if (!elt.dataset.confirm || detail.requestConfig.verb !== "post" || detail.isError) return;
  const gone = elt.closest("article, li");
  const near = gone?.nextElementSibling || gone?.previousElementSibling || document.getElementById("main");
  setTimeout(() => {
    if (!near.isConnected || document.activeElement !== document.body) return;
    (near.querySelector("a[href]") || near).focus();
  });
});

let confirmed = null; // the button or form that sends after a yes

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  const asking = submitter?.dataset.confirm ? submitter : form;
  if (!asking.dataset.confirm || asking === confirmed || asking.hasAttribute("hx-post")) return;
  event.preventDefault();
  ask(asking.dataset, () => {
    confirmed = asking;
    form.requestSubmit(submitter);
    confirmed = null;
  });
});

// --- fields that complete names: their script comes with the first use ---

addEventListener("focusin", ({ target }) => {
  const field = target.form?.querySelector("[data-complete]") ?? target.closest("form")?.querySelector("[data-complete]");
  if (field) import(field.dataset.complete);
});

// --- menus ---

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
// Whoever goes on with the keyboard leaves no open menu behind. A press of a mouse is the case above.
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  const menu = target.closest("details.menu[open]");
  if (menu && relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// --- passwords can be shown while one types them ---

function reveal(button, isShown) {
  button.setAttribute("aria-pressed", isShown);
  document.getElementById(button.getAttribute("aria-controls")).type = isShown ? "text" : "password";
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-reveal]");
  if (button) reveal(button, button.getAttribute("aria-pressed") !== "true");
});
// Browsers know by its type that a field is a password, and do not keep it as a text.
document.addEventListener("submit", ({ target }) => {
  for (const button of target.querySelectorAll("[data-reveal]")) reveal(button, false);
});

// --- Ctrl+Enter sends the form one is writing in ---

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
    event.target.form?.requestSubmit();
  }
});

// --- the picture viewer ---

const viewer = document.getElementById("viewer");
const shown = viewer.querySelector("img");
let pictures = [];
let position = 0;

function show(index) {
  position = (index + pictures.length) % pictures.length;
  shown.src = pictures[position].href;
  shown.alt = pictures[position].querySelector("img").alt;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-viewer] a:has(> img)");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  pictures = [...link.closest("[data-viewer]").querySelectorAll("a:has(> img)")];
  for (const button of viewer.querySelectorAll(".viewer-prev, .viewer-next")) button.hidden = pictures.length < 2;
  show(pictures.indexOf(link));
  viewer.showModal();
});
viewer.addEventListener("click", (event) => {
  if (event.target.closest(".viewer-prev")) show(position - 1);
  else if (event.target.closest(".viewer-next")) show(position + 1);
  else viewer.close();
});
viewer.addEventListener("keydown", (event) => {
  if (event.key === "ArrowLeft") show(position - 1);
  if (event.key === "ArrowRight") show(position + 1);
});
viewer.addEventListener("close", () => shown.removeAttribute("src"));

// --- "Read on" unfolds a long post in its place; an article opens ---

document.addEventListener("click", async (event) => {
  const link = event.target.closest(".post:not(.post-article) .post-more a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const post = link.closest(".post");
  try {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const text = page.querySelector(`[data-post-id="${post.dataset.postId}"] .post-text`);
    if (!answer.ok || !text) throw new Error("no text");
    post.querySelector(".post-text-cut").replaceWith(text);
    link.parentElement.remove();
    text.tabIndex = -1;
    text.focus();
  } catch {
    location.assign(link.href);
  }
});

// --- times: the server writes "3 h"; the exact moment, in the reader's zone, is the tooltip ---

const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

function dateTooltips(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = exact.format(moment);
    if ("local" in time.dataset) time.textContent = time.title;
  }
}

dateTooltips(document);
document.addEventListener("htmx:load", (event) => dateTooltips(event.target));

// --- nobody is signed in: the Home that the service worker kept goes ---

if (!document.body.dataset.me) window.caches?.delete("home");
// Pushes to somebody who is gone from this browser end before the next person signs in.
if (document.querySelector(".gate-card") && !document.body.dataset.me) endPushes().catch(() => {}); // the browser forbids it

async function endPushes() {
  const registration = await navigator.serviceWorker?.getRegistration();
  const subscription = await registration?.pushManager?.getSubscription();
  await subscription?.unsubscribe();
}

// --- a notice left by the page before (see session.js) ---

const notice = document.getElementById("notice");
if (notice) {
  try {
    const { text, reason } = JSON.parse(sessionStorage.getItem("notice")) ?? {};
    sessionStorage.removeItem("notice");
    if (text) {
      notice.textContent = text;
      notice.hidden = false;
      for (const way of document.querySelectorAll("[data-help]")) way.hidden = !way.dataset.help.split(" ").includes(reason);
    }
  } catch {
    // storage is blocked: no notice
  }
}
