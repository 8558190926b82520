// Keeps what a person types in a form until the server has accepted it. Nobody else who signs in with this browser is shown
// the drafts, and a log-out deletes them. A form with `data-keep` has a random key in its field `once`; the page that follows
// an accepted form names that key. Tabs with the same form share one draft; once it is sent, the others empty their copies.

const { me, sent, elsewhere } = document.body.dataset;
const DRAFT = "draft:";
const MINE = `${DRAFT}${me}:`;
const SENT = `sent:${me}`; // what accepted forms contained, with their keys, for other tabs
const SENT_MOST = 5;
const SENDING = "sending"; // the same of the form that this tab sent last
const DAY_MS = 86_400_000;
const DAYS = 30;
const MOST = 40; // drafts of all people of this browser
const LONGEST = 120_000; // characters of one draft
const WAIT_MS = 250;
const CLOCKS_MS = 300_000; // by which the clocks of browser and server may differ
const CHOICES = ["radio", "checkbox"];

const store = (act, session) => {
  try {
    return act(session ? sessionStorage : localStorage);
  } catch {
    return null; // blocked or full: the text lasts as long as the page
  }
};
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
const keys = () => store((s) => Object.keys(s).filter((key) => key.startsWith(DRAFT))) || [];
const read = (key) => parsed(store((s) => s.getItem(key)));
const write = (key, value) => store((s) => s.setItem(key, JSON.stringify(value)));
const remove = (key) => store((s) => s.removeItem(key));
/** Remove the draft of this form, not that of another tab. */
const removeOf = (form) => {
  const key = keyOf(form);
  if (read(key)?.values?.once?.includes(form.elements.once?.value) ?? true) remove(key);
};

/** The place of a form: its address, and for a reply the comment. */
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

/** Whether somebody wrote or chose something that the server does not know. */
function isWritten(form, pictures) {
  const typed = form.dataset.keep === "typed"; // refused: these words are the person's
  return [...form.elements].filter(isKept).some((field) => {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    return isText(field) && (typed ? field.value.trim() : field.value !== field.defaultValue);
  }) || pictures.length > 0;
}

function picturesOf(form) {
  const pictures = [];
  form.dispatchEvent(new CustomEvent("draft:save", { detail: pictures }));
  return pictures;
}

const waiting = new Map();

function save(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  if (follow(form)) return;
  const key = keyOf(form);
  const pictures = picturesOf(form);
  const text = JSON.stringify({ at: Date.now(), values: valuesOf(form), pictures });
  if (!isWritten(form, pictures)) removeOf(form);
  else if (text.length <= LONGEST) {
    store((s) => s.setItem(key, text));
    tidy();
  }
}

function saveAll() {
  for (const form of [...waiting.keys()]) save(form);
}

/** Delete old drafts, and the oldest of too many. */
function tidy() {
  const ages = keys().map((key) => [read(key)?.at || 0, key]);
  ages.sort(([one], [other]) => other - one);
  ages.filter(([at], place) => place >= MOST || at < Date.now() - DAYS * DAY_MS).forEach(([, key]) => remove(key));
}

// --- what another tab has sent ---

const restored = new WeakSet();

const newKey = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join("");

const contentOf = (form) => ({ values: valuesOf(form), pictures: picturesOf(form) });

/** Whether all that a draft contains was sent: a text may be the beginning of the one that was sent. */
function covers(whole, { values, pictures }) {
  return Object.entries({ ...values, once: [], version: [] }).every(([name, own]) => own.every((value, place) => whole.values[name]?.[place]?.startsWith(value)))
    && pictures.every(({ id }) => whole.pictures.some((one) => one.id === id));
}

/** The form with this key was accepted: remove its draft, and tell the other tabs. */
function accept(once) {
  const sending = parsed(store((s) => s.getItem(SENDING), true));
  const whole = sending?.once === once ? sending : null;
  for (const key of keys()) if (read(key)?.values?.once?.includes(once)) remove(key);
  if (whole) write(SENT, [whole, ...(read(SENT) || [])].slice(0, SENT_MOST));
}

/** Empty a form whose text another tab has sent, and return true. Another text stays, under a new key. */
function follow(form) {
  const { once } = form.elements;
  const found = (read(SENT) || []).find((one) => one.once === once.value);
  if (!found || [...form.elements].some((field) => isKept(field) && isText(field) && field.defaultValue)) return false;
  const content = contentOf(form);
  once.value = newKey();
  if (!covers(found, content) || form.querySelector("progress, [data-failed]")) return false;
  if (isWritten(form, content.pictures)) {
    document.dispatchEvent(new CustomEvent("toast", { detail: elsewhere }));
  }
  form.reset();
  form.dispatchEvent(new CustomEvent("draft:restored", { detail: [] }));
  return true;
}

function followAll() {
  for (const form of formsIn(document.body)) {
    // The other tab may have removed the draft that was of this form too.
    if (!follow(form) && isWritten(form, picturesOf(form)) && !read(keyOf(form))) save(form);
  }
}

function forget(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
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
  const kept = read(keyOf(form));
  if (!kept?.values) return;
  // Saved on the server long after that, maybe from elsewhere. In doubt the words are kept: clocks differ.
  if (form.dataset.since && Date.parse(form.dataset.since) > kept.at + CLOCKS_MS) {
    remove(keyOf(form));
    return;
  }
  const left = structuredClone(kept.values);
  for (const field of [...form.elements].filter(isKept)) {
    const values = left[field.name];
    if (!values) continue;
    if (CHOICES.includes(field.type)) field.checked = values.includes(field.value);
    else field.value = values.shift() ?? field.value;
  }
  form.dispatchEvent(new CustomEvent("draft:restored", { detail: kept.pictures || [] }));
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
  if (target.matches("form[data-keep]")) store((s) => s.setItem(SENDING, JSON.stringify({ once: target.elements.once.value, ...contentOf(target) })), true);
}, true);
document.addEventListener("visibilitychange", saveAll);
addEventListener("pagehide", saveAll);
document.addEventListener("draft:accepted", ({ target }) => forget(target));

// An answer of htmx that is neither a refusal nor the page to log in.
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig, successful, xhr } }) => {
  const { elt } = requestConfig; // by now it may have left the page, then the event has another element
  const login = document.getElementById("toasts").dataset.login;
  const isLogin = xhr.responseURL && new URL(xhr.responseURL).pathname === login;
  if (elt.matches("form[data-keep]") && successful && !isLogin) forget(elt);
});
document.addEventListener("htmx:load", ({ target }) => formsIn(target).forEach(restore));

document.addEventListener("submit", ({ target }) => {
  if (!target.matches("[data-log-out]")) return;
  [SENT, ...keys().filter((key) => key.startsWith(MINE))].forEach(remove);
  store((s) => s.removeItem(SENDING), true);
});
addEventListener("storage", ({ key, newValue }) => key === SENT && newValue && followAll());
addEventListener("pageshow", ({ persisted }) => persisted && followAll());

if (sent) accept(sent);
tidy();
// After the module of the composer, which shows the pictures of a draft.
addEventListener("DOMContentLoaded", () => formsIn(document.body).forEach(restore));
