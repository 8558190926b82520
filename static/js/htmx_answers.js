// Where htmx sends a request, and what happens to an answer that is an error or the login page.

import { goToLogin, isLogin, reasonIn } from "./lib/requests.js";
import { say, words } from "./lib/toasts.js";

// `hx-post` has no value: the address is the one without script.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  const address = (name) => detail.elt.getAttribute(name);
  if (detail.elt.hasAttribute("hx-post")) detail.path = address("formaction") ?? address("action") ?? address("href");
});

// The loader of a list says itself that it failed, and tries again (lists.js).
const sayFor = ({ detail: { elt } }, text) => elt.matches?.(".loader") || say(text);
const sayOffline = (event) => sayFor(event, words.offline);

document.addEventListener("htmx:responseError", (event) => {
  const { status, responseText } = event.detail.xhr;
  if (status === 401) goToLogin();
  else sayFor(event, reasonIn(responseText, status));
});
document.addEventListener("htmx:sendError", sayOffline);
document.addEventListener("htmx:timeout", sayOffline);

// A redirect to the login page was followed: go there instead of drawing it inside a button.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!isLogin(detail.xhr.responseURL)) return;
  detail.shouldSwap = false;
  goToLogin();
});
