// Keeps what a person types in a form until the server has accepted it; a log-out deletes it. A form with `data-keep` has a
// random key in its field `once`; the page after an accepted form names that key. Tabs with the same form share one draft.

import { fire } from "./lib/elements.js";
import { isLogin, newKey } from "./lib/requests.js";
import { local, session } from "./lib/storage.js";
import { say } from "./lib/toasts.js";

const { me, sent, elsewhere } = document.body.dataset;
const DRAFT = "draft:";
const MINE = `${DRAFT}${me}:`;
const SENT = `sent:${me}`; // what accepted forms contained, for other tabs
const SENT_MOST = 5;
const SENDING = "sending"; // what this tab sent last
const DAY_MS = 86_400_000;
const DAYS = 30;
const MOST = 40; // drafts of all people of this browser
const LONGEST = 120_000; // characters of one draft
const WAIT_MS = 250;
const CLOCKS_MS = 300_000; // by which clocks may differ
const CHOICES = ["radio", "checkbox"];

const keys = () => local.keys().filter((key) => key.startsWith(DRAFT));
const removeAll = (once) => keys().filter((key) => local.read(key)?.values?.once?.includes(once)).forEach(local.remove);

// A reply belongs to its comment.
const keyOf = (form) => `${MINE}${form.getAttribute("action")}#${form.elements.parent?.value || ""}`;
const isHidden = ({ type, name }) => type === "hidden" && name !== "once" && name !== "version";
const isKept = (field) => field.name && !["submit", "button", "file"].includes(field.type) && !isHidden(field);
const isText = (field) => !CHOICES.includes(field.type) && field.type !== "hidden" && field.localName !== "select";

function valuesOf(form) {
  const values = {};
  for (const field of [...form.elements].filter(isKept)) {
    values[field.name] ||= [];
    if (!CHOICES.includes(field.type) || field.checked) values[field.name].push(field.value);
  }
  return values;
}

/** Whether a form has something that the server does not know. */
function isWritten(form, pictures) {
  const typed = form.dataset.keep === "typed"; // refused: these words are the person's
  return [...form.elements].filter(isKept).some((field) => {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    return isText(field) && (typed ? field.value.trim() : field.value !== field.defaultValue);
  }) || pictures.length > 0;
}

function picturesOf(form) {
  const pictures = [];
  fire(form, "draft:save", pictures);
  return pictures;
}

const contentOf = (form) => ({ values: valuesOf(form), pictures: picturesOf(form) });

const waiting = new Map();

function stop(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
}

function save(form) {
  stop(form);
  if (follow(form)) return;
  const draft = { at: Date.now(), ...contentOf(form) };
  if (!isWritten(form, draft.pictures)) removeAll(form.elements.once.value);
  else if (JSON.stringify(draft).length <= LONGEST) {
    local.write(keyOf(form), draft);
    tidy();
  }
}

const saveAll = () => [...waiting.keys()].forEach(save);

/** Delete old drafts and too many. */
function tidy() {
  const ages = keys().map((key) => [local.read(key)?.at || 0, key]);
  ages.sort(([one], [other]) => other - one);
  ages.filter(([at], place) => place >= MOST || at < Date.now() - DAYS * DAY_MS).forEach(([, key]) => local.remove(key));
}

// --- what another tab has sent ---

const restored = new WeakSet();

/** Whether all of a draft was sent: a text may be the beginning of the one that was sent. */
function covers(whole, { values, pictures }) {
  const isSent = ([name, own]) => own.every((value, place) => whole.values[name]?.[place]?.startsWith(value));
  return Object.entries({ ...values, once: [], version: [] }).every(isSent)
    && pictures.every(({ id }) => whole.pictures.some((one) => one.id === id));
}

/** The form with this key was accepted: remove its draft, and tell the other tabs. */
function accept(once) {
  const sending = session.read(SENDING);
  const whole = sending?.once === once ? sending : null;
  removeAll(once);
  if (whole) local.write(SENT, [whole, ...(local.read(SENT) || [])].slice(0, SENT_MOST));
}

/** Empty a form whose text another tab has sent, and return true. Another text stays, under a new key. */
function follow(form) {
  const { once } = form.elements;
  const found = (local.read(SENT) || []).find((one) => one.once === once.value);
  if (!found || [...form.elements].some((field) => isKept(field) && isText(field) && field.defaultValue)) return false;
  const content = contentOf(form);
  removeAll(once.value);
  once.value = newKey();
  if (!covers(found, content) || form.querySelector("progress, [data-failed]")) return false;
  if (isWritten(form, content.pictures)) say(elsewhere);
  form.reset();
  fire(form, "draft:restored", []);
  return true;
}

function followAll() {
  for (const form of formsIn(document.body)) {
    // The other tab may have removed the draft that was of this form too.
    if (!follow(form) && isWritten(form, picturesOf(form)) && !local.read(keyOf(form))) save(form);
  }
}

function forget(form) {
  stop(form);
  const { once } = form.elements;
  accept(once.value);
  once.value = newKey();
}

function restore(form) {
  if (restored.has(form)) return;
  restored.add(form);
  if (form.dataset.keep === "typed") {
    save(form); // the server shows what was typed
    return;
  }
  const kept = local.read(keyOf(form));
  if (!kept?.values) return;
  // Saved on the server long after that, maybe from elsewhere.
  if (form.dataset.since && Date.parse(form.dataset.since) > kept.at + CLOCKS_MS) {
    local.remove(keyOf(form));
    return;
  }
  const left = structuredClone(kept.values);
  for (const field of [...form.elements].filter(isKept)) {
    const values = left[field.name];
    if (!values) continue;
    if (CHOICES.includes(field.type)) field.checked = values.includes(field.value);
    else field.value = values.shift() ?? field.value;
  }
  fire(form, "draft:restored", kept.pictures || []);
}

const formsIn = (root) => [root, ...root.querySelectorAll("form[data-keep]")].filter((one) => one.matches("form[data-keep]"));

function changed({ target }) {
  const form = target.form || target;
  if (!form.matches?.("form[data-keep]")) return;
  clearTimeout(waiting.get(form));
  waiting.set(form, setTimeout(save, WAIT_MS, form));
}

for (const name of ["input", "change", "draft:changed"]) document.addEventListener(name, changed);
document.addEventListener("submit", ({ target }) => {
  saveAll();
  if (target.matches("form[data-keep]")) session.write(SENDING, { once: target.elements.once.value, ...contentOf(target) });
}, true);
document.addEventListener("visibilitychange", saveAll);
addEventListener("pagehide", saveAll);
document.addEventListener("draft:accepted", ({ target }) => forget(target));

// An answer of htmx that is neither a refusal nor the page to log in.
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig, successful, xhr } }) => {
  const { elt } = requestConfig; // the event has another element if it has left the page
  if (elt.matches("form[data-keep]") && successful && !isLogin(xhr.responseURL)) forget(elt);
});
document.addEventListener("htmx:load", ({ target }) => formsIn(target).forEach(restore));

document.addEventListener("submit", ({ target }) => {
  if (!target.matches("[data-log-out]")) return;
  [SENT, ...keys().filter((key) => key.startsWith(MINE))].forEach(local.remove);
  session.remove(SENDING);
});
addEventListener("storage", ({ key, newValue }) => key === SENT && newValue && followAll());
addEventListener("pageshow", ({ persisted }) => persisted && followAll());

if (sent) accept(sent);
tidy();
// After the module of the composer, which shows the pictures of a draft.
addEventListener("DOMContentLoaded", () => formsIn(document.body).forEach(restore));
