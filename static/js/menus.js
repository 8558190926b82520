// The menu of a post: its link is a page of acts; here the same acts open in one panel beside the card.

let panel = null; // the open panel
let opener = null;

function say(text) {
  if (text) document.dispatchEvent(new CustomEvent("toast", { detail: text }));
}

function close(withFocus = false) {
  if (!panel) return;
  panel.remove();
  opener.removeAttribute("aria-expanded");
  if (withFocus) opener.focus();
  panel = opener = null;
}

function open(link) {
  close();
  opener = link;
  panel = document.createElement("div");
  panel.className = "menu-panel post-panel";
  panel.setAttribute("aria-busy", "true");
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
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a.post-menu");
  if (link) {
    event.preventDefault();
    if (link === opener) close();
    else open(link);
    return;
  }
  const copied = event.target.closest("[data-copied]");
  if (copied && (navigator.clipboard || copied.dataset.copy)) {
    event.preventDefault();
    copy(copied);
    close(true);
    return;
  }
  const shared = event.target.closest("[data-share]");
  if (shared) {
    navigator.share({ url: shared.dataset.share }).catch(() => {}); // not shared after all
    close(true);
    return;
  }
  if (panel && !panel.contains(event.target) && !event.target.closest("dialog")) close();
});

document.addEventListener("deletion", (event) => event.defaultPrevented && close()); // it waits (undo.js)

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && panel && !document.querySelector("dialog[open]")) close(true);
});

document.addEventListener("htmx:afterRequest", ({ detail: { elt, successful } }) => {
  if (!panel?.contains(elt)) return;
  const { done, gone } = elt.dataset;
  if (!successful) return;
  say(done);
  close(true);
  if (!gone) return;
  for (const author of document.querySelectorAll(".post .post-author")) {
    if (author.getAttribute("href") === gone) author.closest("article").remove();
  }
  for (const link of document.querySelectorAll(".post-verb a")) {
    if (link.getAttribute("href") === gone) link.closest(".post-verb").remove();
  }
});
