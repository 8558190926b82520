// Completes @names and #tags where a text is written, and inserts emoji; loaded when such a field gets the focus.

import { fire } from "./lib/elements.js";
import { fetchPage } from "./lib/requests.js";

const WAIT_MS = 150;
const LOOKED_AT = 40; // characters before the caret
const SIGNS = ["@", "＠", "#", "＃"];
let list, timer;
let asked = 0;

function close() {
  list?.previousElementSibling?.removeAttribute("aria-activedescendant");
  list?.remove();
  list = undefined;
}

/** Whether a character is a digit, or a letter of a script that writes spaces between words. */
const isOfWord = (one) => one.toLowerCase() !== one.toUpperCase() || (one >= "0" && one <= "9");

/** The name or tag before the caret that is being typed, or "". */
function wordOf(field) {
  const end = field.selectionStart;
  if (end !== field.selectionEnd) return "";
  const text = field.value.slice(Math.max(0, end - LOOKED_AT), end);
  const begin = Math.max(...SIGNS.map((sign) => text.lastIndexOf(sign)));
  const word = begin < 0 || isOfWord(text[begin - 1] ?? " ") ? "" : text.slice(begin);
  return word.length > 1 && [...word].every((one) => one.trim()) ? word : "";
}

async function suggest(field) {
  const word = wordOf(field);
  const mine = ++asked;
  let found;
  if (word) {
    const visibility = field.form.elements.visibility?.value ?? "";
    const answer = await fetchPage(`${field.dataset.words}?${new URLSearchParams({ word, visibility })}`);
    if (answer?.ok) found = answer.page.getElementById("completions");
  }
  if (mine !== asked) return;
  close();
  if (!found || document.activeElement !== field || wordOf(field) !== word) return;
  list = found;
  field.after(list);
  list.style.top = `${field.offsetTop + field.offsetHeight}px`;
  mark(field, list.firstElementChild);
}

function mark(field, option) {
  field.setAttribute("aria-autocomplete", "list");
  list.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-activedescendant", option.id);
}

function insert(field, text, replaced) {
  field.focus();
  const end = field.selectionEnd;
  field.setRangeText(text, replaced ? end - replaced : field.selectionStart, end, "end");
  fire(field, "input");
}

function choose(field, option) {
  const { length } = wordOf(field);
  const { word } = option.dataset;
  close();
  if (length) insert(field, word, length);
}

document.addEventListener("input", ({ target, isComposing }) => {
  if (!target.dataset.complete || isComposing) return;
  clearTimeout(timer);
  timer = setTimeout(suggest, WAIT_MS, target);
});

// What was typed while this module was loaded.
if (document.activeElement?.dataset.complete) timer = setTimeout(suggest, WAIT_MS, document.activeElement);

// Before other keys of the page: Escape closes the list only.
document.addEventListener("keydown", (event) => {
  if (!list || event.isComposing || event.target !== list.previousElementSibling) return;
  const marked = list.querySelector("[aria-selected]");
  if (event.key === "ArrowDown") mark(event.target, marked.nextElementSibling ?? list.firstElementChild);
  else if (event.key === "ArrowUp") mark(event.target, marked.previousElementSibling ?? list.lastElementChild);
  else if (event.key === "Enter" || event.key === "Tab") choose(event.target, marked);
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("focusout", ({ target }) => target === list?.previousElementSibling && close());

// The field keeps the focus while somebody points at the list.
document.addEventListener("pointerdown", (event) => {
  const option = event.target.closest?.("#completions [role=option]");
  if (!option) return;
  event.preventDefault();
  choose(list.previousElementSibling, option);
});

document.addEventListener("click", ({ target }) => {
  const { emoji } = target.dataset;
  if (emoji) insert(target.closest("form").querySelector("[data-complete]"), emoji);
});
