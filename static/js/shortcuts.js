// Keys for people who read without a mouse. Their list, which `?` opens, turns them off.

import { local } from "./lib/storage.js";

const SECOND_KEY_MS = 1500;
const BELOW_BAR = 8;

const sheet = document.getElementById("keys");
const choice = sheet.querySelector("input");
let led = 0; // when `g` was pressed

const isOn = () => local.use((storage) => storage.getItem("keys")) !== "off";

/** The post that has the focus. */
const current = () => document.activeElement?.closest("article.post");

function step(by) {
  const every = [...document.querySelectorAll("article.post:not([hidden])")];
  const here = current();
  const bar = Number.parseFloat(getComputedStyle(every[0] ?? document.body).scrollMarginTop) || 0;
  let next;
  if (here) next = every[every.indexOf(here) + by];
  else if (by > 0) next = every.find((post) => post.getBoundingClientRect().top >= bar - BELOW_BAR);
  else next = every.findLast((post) => post.getBoundingClientRect().top < bar - BELOW_BAR);
  if (!next) return;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start", behavior: "instant" });
}

function write() {
  const field = document.querySelector("[data-testid=composer] textarea[name=content]");
  if (field) field.focus();
  else location.assign(`${sheet.dataset.home}#write`);
}

function search() {
  const field = [...document.querySelectorAll("input[type=search]")].find((one) => one.checkVisibility());
  if (field) field.focus();
  else location.assign(sheet.dataset.search);
}

const ACTS = {
  j: () => step(1),
  k: () => step(-1),
  l: () => current()?.querySelector(".act.i-heart")?.click(),
  n: write,
  "/": search,
  "?": () => sheet.showModal(),
};
const PLACES = { h: sheet.dataset.home, n: sheet.dataset.notifications };

const isTyping = ({ target, isComposing }) => isComposing || target.isContentEditable || target.matches?.("input, textarea, select");

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event) || document.querySelector("dialog[open]") || !isOn()) return;
  const isSecond = Date.now() - led < SECOND_KEY_MS;
  led = event.key === "g" && !isSecond ? Date.now() : 0;
  if (isSecond && PLACES[event.key]) location.assign(PLACES[event.key]);
  else if (!isSecond && Object.hasOwn(ACTS, event.key)) ACTS[event.key]();
  else return;
  event.preventDefault();
});

choice.checked = isOn();
choice.addEventListener("change", () => local.use((storage) => storage.setItem("keys", choice.checked ? "on" : "off")));
document.querySelector("[data-keys]")?.addEventListener("click", () => sheet.showModal());
if (location.hash === "#write") write();
