// Menus of the page and of posts.

import { isModified, make } from "./lib/elements.js";
import { say } from "./lib/toasts.js";

document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = menu.contains(target);
});
// Whoever goes on with the keyboard leaves no open menu behind.
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  const menu = target.closest("details.menu[open]");
  if (menu && relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  const menu = key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// The menu of a post shows the page that its link leads to in a panel beside the card.
let panel, opener; // the open panel and its link

function close(withFocus = false) {
  if (!panel) return;
  panel.remove();
  opener.removeAttribute("aria-expanded");
  if (withFocus) opener.focus();
  panel = opener = undefined;
}

function open(link) {
  close();
  opener = link;
  panel = make("div", { className: "menu-panel post-panel", "aria-busy": "true" });
  link.after(panel);
  link.setAttribute("aria-expanded", "true");
  const opened = panel;
  htmx.ajax("GET", link.getAttribute("href"), { source: link, target: panel, swap: "innerHTML" }).then(() => {
    if (panel !== opened) return;
    panel.removeAttribute("aria-busy");
    if (!panel.childElementCount) return close(); // no answer: a toast says so
    for (const button of panel.querySelectorAll("[data-share]")) button.hidden = !navigator.share;
    if (panel.getBoundingClientRect().bottom > innerHeight) panel.scrollIntoView({ block: "nearest" });
  });
}

/** Copy a link, or the text of the field that a button names. */
async function copy(pressed) {
  const field = document.getElementById(pressed.dataset.copy);
  try {
    await navigator.clipboard.writeText(field ? field.value : pressed.href);
    say(pressed.dataset.copied);
  } catch {
    if (field) field.select(); // the browser forbids it, or has no clipboard: the person copies
    else location.assign(pressed.href); // the address bar has the link then
  }
}

document.addEventListener("click", (event) => {
  if (isModified(event)) return;
  const link = event.target.closest("a.post-menu");
  if (link) {
    event.preventDefault();
    return link === opener ? close() : open(link);
  }
  const copied = event.target.closest("[data-copied]");
  if (copied && (navigator.clipboard || copied.dataset.copy)) {
    event.preventDefault();
    copy(copied);
    return close(true);
  }
  const shared = event.target.closest("[data-share]");
  if (shared) {
    navigator.share({ url: shared.dataset.share }).catch(() => {}); // not shared after all
    return close(true);
  }
  if (panel && !panel.contains(event.target) && !event.target.closest("dialog")) close();
});

document.addEventListener("deletion", (event) => event.defaultPrevented && close()); // it waits (undo.js)

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && panel && !document.querySelector("dialog[open]")) close(true);
});

document.addEventListener("htmx:afterRequest", ({ detail: { elt, successful } }) => {
  if (!successful || !panel?.contains(elt)) return;
  const { done, gone } = elt.dataset;
  if (done) say(done);
  close(true);
  if (!gone) return;
  for (const link of document.querySelectorAll(".post .post-author, .post-verb a")) {
    if (link.getAttribute("href") === gone) link.closest(".post-verb, article").remove();
  }
});
