// Opens the composer, counts its characters, and publishes without leaving the page.

import { fire } from "./lib/elements.js";
import { fetchPage, goToLogin, reasonIn } from "./lib/requests.js";
import { say, words } from "./lib/toasts.js";
import { setBusy as setFormBusy } from "./lib/uploads.js";

const MINUTE_MS = 60_000;

const fieldsIn = (part) => [...part.querySelectorAll("textarea, input:not([type=hidden], [type=radio], [type=file])")];
const isFilled = (part) => fieldsIn(part).some(({ type, checked, value }) => (type === "checkbox" ? checked : value));

function empty(field) {
  if (field.type === "checkbox") field.checked = field.defaultChecked = false;
  else field.value = field.defaultValue = "";
}

function inZone(moment) {
  const local = new Date(moment - moment.getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, 16);
}

const form = document.querySelector("[data-composer]");
if (form) start();

function start() {
  const { content: text, title, video_url: address, images: input, publish_at: time, utc_offset: offset } = form.elements;
  const texts = [text, title, address];
  const count = form.querySelector("[data-count]");
  const publish = form.querySelector("[data-testid=publish]");
  const film = form.querySelector("[data-video]");
  const previews = form.querySelector("[data-previews]");
  const more = form.querySelector(".composer-more");
  const feed = document.getElementById("feed");
  const now = publish.textContent;
  const numbers = new Intl.NumberFormat(document.documentElement.lang);

  let waiting = []; // pictures of the draft, until `pictures.js` shows them

  /** Show all that a post may have. It stays open: what is below would move under a press. */
  function open() {
    more.open = true;
    if (form.dataset.pictures) import(form.dataset.pictures).catch(() => {}); // no connection: the form sends its files
  }

  function refresh() {
    const kind = form.elements.kind.value;
    const max = Number(form.dataset[`max${kind[0].toUpperCase()}${kind.slice(1)}`]);
    const used = [...text.value].length; // code points, as the server counts
    count.textContent = used ? `${numbers.format(used)} / ${numbers.format(max)}` : "";
    count.toggleAttribute("data-over", used > max);
    publish.disabled = used > max || "busy" in form.dataset;
    const isVideo = kind === "video";
    if (isVideo && film?.dataset.script) import(film.dataset.script);
    const hasAddress = isVideo && !film?.matches("[data-taken]");
    title.required = kind === "article";
    address.required = hasAddress;
    // What is hidden is not sent.
    title.disabled = kind === "micro";
    address.disabled = !hasAddress;
    for (const field of [input, ...previews.querySelectorAll("input")]) field.disabled = isVideo;
    const { later } = publish.dataset;
    if (later) publish.textContent = time.value ? later : now;
  }

  form.addEventListener("input", refresh);
  form.addEventListener("input", () => more.open || open());
  text.addEventListener("focus", open);
  more.addEventListener("toggle", open);
  more.querySelector("summary").addEventListener("click", (event) => {
    event.preventDefault(); // it goes away, and the focus with it
    open();
    form.querySelector("[name=kind]:checked").focus();
  });
  form.addEventListener("draft:save", ({ detail }) => form.dataset.pictures && detail.push(...waiting));
  form.addEventListener("draft:restored", ({ detail }) => {
    if (film) film.dataset.restored = detail.find(({ isVideo }) => isVideo)?.id || ""; // for videos.js, if it is not there yet
    waiting = detail.filter(({ isVideo }) => !isVideo);
    for (const part of form.querySelectorAll(".composer-part")) part.open = isFilled(part);
    if (isFilled(form) || detail.length) open();
    refresh();
  });
  form.addEventListener("draft:changed", refresh);
  addEventListener("pageshow", () => setBusy(false)); // also from the page cache

  function setBusy(isBusy) {
    for (const field of texts) field.readOnly = isBusy; // what is typed now would not be sent
    setFormBusy(form, isBusy);
  }

  form.addEventListener("submit", async (event) => {
    const isBusy = "busy" in form.dataset; // a second press publishes nothing more
    if (event.submitter?.matches(".to-preview")) {
      event.preventDefault();
      if (!isBusy) await preview(event.submitter);
      return;
    }
    const isHere = feed && !time.value && !event.submitter?.hasAttribute("formaction");
    // The time is in the reader's zone. `getTimezoneOffset` is an hour early in an hour that the clocks skip.
    offset.value = time.value ? (new Date(time.value) - new Date(`${time.value}Z`)) / MINUTE_MS : 0;
    if (isBusy || isHere) event.preventDefault();
    if (isBusy) return;
    if (form.dataset.pictures && waiting.length) {
      event.preventDefault();
      await import(form.dataset.pictures).then(() => form.requestSubmit(event.submitter), () => sayWhy());
      return;
    }
    form.dataset.busy = ""; // no button is disabled: that of an act is sent with the form
    if (isHere) await send();
  });

  const post = (to, body) => fetchPage(to, { method: "POST", body, headers: { "HX-Request": "true" } });

  const sayWhy = (answer) => say(answer ? reasonIn(answer.text, answer.status) : words.offline);

  async function preview(button) {
    const data = new FormData(form);
    data.delete("images");
    const answer = await post(button.formAction, data);
    const part = answer?.page.getElementById("preview");
    if (!part) return sayWhy(answer);
    document.getElementById("preview")?.remove();
    form.after(part);
    part.focus();
  }

  async function send() {
    setBusy(true);
    const answer = await post(form.action, new FormData(form));
    setBusy(false);
    clearErrors();
    if (!answer) sayWhy(); // the text stays
    else if (answer.ok) published(answer.page);
    else if (answer.status === 401) goToLogin();
    else refused(answer);
  }

  function published(page) {
    const post = page.querySelector("article");
    fire(form, "draft:accepted");
    fieldsIn(form).forEach(empty);
    form.elements.kind.value = "micro";
    document.getElementById("preview")?.remove();
    form.dataset.keep = "";
    fire(form, "draft:restored", []);
    if (post) {
      feed.querySelector(".empty")?.remove();
      feed.prepend(post);
      window.htmx.process(post);
      fire(post, "htmx:load");
    }
    text.focus();
    say(form.dataset.published);
  }

  function clearErrors() {
    for (const list of form.querySelectorAll(".errors")) list.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }

  /** Show what was wrong at its field. */
  function refused(answer) {
    const lists = answer.page.querySelectorAll("[data-composer] .errors");
    for (const list of lists) {
      const field = form.elements[list.id.slice("err-".length)];
      if (field?.type === "file") previews.after(list);
      else if (field?.setAttribute) {
        field.setAttribute("aria-invalid", "true");
        field.setAttribute("aria-describedby", `${list.id} composer-count`);
        field.after(list);
        const part = field.closest(".composer-part");
        if (part) part.open = true;
      } else form.querySelector(".composer-body").before(list);
    }
    form.querySelector("[aria-invalid]")?.focus();
    if (!lists.length) sayWhy(answer);
  }

  form.querySelector("[data-zone]").remove();
  // A stored time is in UTC; what was refused is as it was typed.
  if (time.value && !time.dataset.typed) time.value = inZone(new Date(`${time.value}Z`));
  if (more.open || isFilled(form)) open();
  refresh();
}
