// Asks before something is deleted, blocked or signed out: what has `data-confirm`.

import { beside, fire, focusIn, isModified } from "./lib/elements.js";

const dialog = document.getElementById("confirm");
const yes = dialog.querySelector("[value=yes]");
const more = dialog.querySelector("#confirm-more");

/** Put the question of an element: `data-confirm`, or the dialog's text of that name, and what else it says. */
function ask({ confirm, confirmMore, confirmYes }, onYes) {
  dialog.querySelector("#confirm-text").textContent = dialog.dataset[confirm] || confirm;
  more.textContent = confirmMore || "";
  more.hidden = !confirmMore;
  yes.textContent = confirmYes || yes.dataset.default;
  dialog.returnValue = "no";
  dialog.addEventListener("close", () => dialog.returnValue === "yes" && onYes(), { once: true });
  dialog.showModal();
}

/** Ask, and act on a yes unless the deletion waits for an undo (undo.js). */
function askToDelete(link, act) {
  ask(link.dataset, () => fire(link, "deletion") && act());
}

document.addEventListener("htmx:confirm", (event) => {
  const { elt, issueRequest } = event.detail;
  if (!elt.dataset?.confirm) return;
  event.preventDefault();
  askToDelete(elt, () => issueRequest(true));
});

// A link to a page that asks: the dialog asks instead.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-confirm]");
  if (!link || link.hasAttribute("hx-post") || isModified(event)) return;
  event.preventDefault();
  const acts = document.getElementById("acts");
  askToDelete(link, () => {
    acts.action = link.href;
    acts.submit();
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

// What is deleted takes the focus along.
document.addEventListener("htmx:beforeSwap", ({ detail: { isError, requestConfig: { elt, verb } } }) => {
  if (!elt.dataset.confirm || verb !== "post" || isError) return;
  const near = beside(elt.closest("article, li"));
  setTimeout(() => near.isConnected && document.activeElement === document.body && focusIn(near));
});
