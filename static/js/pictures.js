// Uploads the pictures of a form (`data-pictures`) when they are chosen; the form then sends their ids. Large photos are made
// smaller first. A canvas shows them, because the content policy allows no blob: images.

import { button, fire, make } from "./lib/elements.js";
import { newKey } from "./lib/requests.js";
import { say } from "./lib/toasts.js";
import { changed as formChanged, upload as send, waitWhile } from "./lib/uploads.js";

const form = document.querySelector("[data-pictures]");
if (form) start();

function start() {
  const { maxImages, maxAlt, overAlt, altLabel, insertLabel, removeLabel, forwardLabel, retryLabel } = form.dataset;
  const { still, gone, unseen, tooMany, tooLarge, notPicture } = form.dataset;
  const input = form.elements.images;
  const previews = form.querySelector("[data-previews]");
  const TYPES = input.accept.split(",");
  const BYTES_MAX = 10 * 1024 * 1024;
  const SMALL_BYTES = 1024 * 1024; // left as it is
  const SIDE = 2048; // of what the site keeps
  const THUMB = 256;
  const QUALITY = 0.9;
  // In the beginning of an animation. A smaller copy does not move.
  const MOVING = { "image/png": "acTL", "image/webp": "ANIM" };
  const HEAD = 64 * 1024;

  let entries = [];
  let queue = Promise.resolve();

  const waiting = []; // pictures of the draft, while this module was not there
  fire(form, "draft:save", waiting);
  form.dataset.pictures = ""; // it is there now

  // One description per picture replaces the plain one; a hidden field must not be sent.
  form.querySelector("[data-alt-plain]").remove();

  function changed() {
    previews.hidden = entries.length === 0;
    formChanged(form, true);
  }

  const act = (icon, label, pressed) => button(`icon i-${icon}`, pressed, { "aria-label": label });

  /** Add a file to upload, or a picture that the server has. */
  function add({ file, id = "", thumb = "", alt = "", animated = false }) {
    const name = file?.name || alt;
    const words = make("input", {
      maxLength: 2 * maxAlt,
      "data-most": maxAlt,
      "data-over": overAlt,
      value: alt,
      placeholder: altLabel,
      "aria-label": `${altLabel} (${name})`,
    });
    const kept = make("input", { type: "hidden" });
    const shown = document.createElement(file ? "canvas" : "img");
    const acts = make(
      "p",
      { className: "preview-acts" },
      act("back", `${forwardLabel} (${name})`, (event) => forward(entry, event.currentTarget)),
      act("pen preview-insert", `${insertLabel} (${name})`, () => insert(entry)),
      act("close", `${removeLabel} (${name})`, () => drop(entry)),
    );
    const box = make("div", { className: "preview" }, shown, acts, words, kept);
    const entry = { file, id, thumb, animated, box, words, kept, key: newKey() };
    if (!file) {
      shown.alt = "";
      shown.addEventListener("error", () => missing(entry, shown));
      shown.src = thumb;
    } else draw(shown, file);
    entries.push(entry);
    previews.append(box);
    if (id) named(entry);
    else upload(entry);
  }

  /** Say why a stored picture is not shown; only the person removes it. */
  async function missing(entry, image) {
    const answer = await fetch(entry.thumb, { method: "HEAD", cache: "no-store" }).catch(() => null); // no connection
    if (!entries.includes(entry)) return;
    // The post waits for the person's decision.
    if (answer?.status === 404) noted(entry, gone, removeLabel, () => drop(entry)).dataset.failed = "";
    else noted(entry, unseen, retryLabel, () => (image.src = entry.thumb));
    changed();
  }

  function named({ id, animated, box, words, kept }) {
    words.name = `alt-${id}`;
    kept.name = "keep";
    kept.value = id;
    if (animated) box.append(make("p", { className: "hint", role: "status", textContent: still }));
  }

  function drop(entry) {
    entry.request?.abort();
    entries = entries.filter((other) => other !== entry);
    entry.box.remove();
    changed();
    input.focus();
  }

  /** Put a picture at the caret of an article: its description, and its id as the address. */
  function insert({ id, words }) {
    if (!id) return; // not uploaded yet
    const text = form.elements.content;
    const alt = words.value.replaceAll("[", "(").replaceAll("]", ")");
    text.setRangeText(`\n\n![${alt}](${id})\n\n`, text.selectionStart, text.selectionEnd, "end");
    fire(text, "input");
    text.focus();
  }

  function forward(entry, pressed) {
    const place = entries.indexOf(entry);
    if (place < 1) return;
    entries.splice(place, 1);
    entries.splice(place - 1, 0, entry);
    entry.box.previousElementSibling.before(entry.box);
    pressed.focus();
    changed();
  }

  async function draw(canvas, file) {
    canvas.width = canvas.height = THUMB;
    try {
      const picture = await createImageBitmap(file);
      const side = Math.min(picture.width, picture.height);
      const [left, top] = [(picture.width - side) / 2, (picture.height - side) / 2];
      canvas.getContext("2d").drawImage(picture, left, top, side, side, 0, 0, THUMB, THUMB);
      picture.close();
    } catch {
      // the browser cannot read it: the server says what is wrong
    }
  }

  /** Return a smaller copy of a large photo, upright; everything else as it is. */
  async function smaller(entry) {
    const { file } = entry;
    if (file.type === "image/gif" || (file.size <= SMALL_BYTES && TYPES.includes(file.type))) return file;
    try {
      const picture = await createImageBitmap(file, { imageOrientation: "from-image" });
      const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
      const canvas = document.createElement("canvas");
      canvas.width = Math.max(1, Math.round(picture.width * scale));
      canvas.height = Math.max(1, Math.round(picture.height * scale));
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      picture.close();
      const type = ["image/png", "image/webp"].includes(file.type) ? "image/webp" : "image/jpeg";
      const made = await new Promise((resolve) => canvas.toBlob(resolve, type, QUALITY));
      if (!made || (made.size >= file.size && TYPES.includes(file.type))) return file;
      const mark = MOVING[file.type];
      entry.animated = Boolean(mark) && (await file.slice(0, HEAD).text()).includes(mark);
      return made;
    } catch {
      return file;
    }
  }

  function upload(entry) {
    entry.bar = make("progress", { max: 1, "aria-label": entry.file.name });
    entry.box.append(entry.bar);
    queue = queue.then(() => entries.includes(entry) && sent(entry));
    changed();
  }

  async function sent(entry) {
    const body = await smaller(entry);
    let wrong = "";
    if (!TYPES.includes(body.type)) wrong = notPicture;
    else if (body.size > BYTES_MAX) wrong = tooLarge;
    else if (entries.includes(entry)) wrong = await transfer(entry, body);
    entry.bar.remove();
    if (!entries.includes(entry)) return; // cancelled
    if (wrong) failed(entry, wrong);
    else named(entry);
    changed();
  }

  async function transfer(entry, body) {
    const { request, answer } = send("/api/v1/media", body, entry.file.name, entry.key, (part) => (entry.bar.value = part));
    entry.request = request;
    const { id, thumb, animated, wrong } = await answer;
    Object.assign(entry, { id, thumb, animated: entry.animated || animated });
    return wrong;
  }

  function failed(entry, words) {
    noted(entry, `${entry.file.name}: ${words}`, retryLabel, () => upload(entry)).dataset.failed = "";
  }

  /** Show words about a picture, and a button that ends them. */
  function noted(entry, words, label, act) {
    const pressed = () => {
      note.remove();
      act();
    };
    const note = make("p", { className: "errors", role: "alert" }, `${words} `, button("", pressed, { textContent: label }));
    entry.box.append(note);
    return note;
  }

  function addAll(files) {
    const stay = form.querySelectorAll("[name=remove]:not(:checked)").length; // pictures that the edited post has
    const room = Math.max(0, maxImages - entries.length - stay);
    if (files.length > room) say(tooMany);
    for (const file of [...files].slice(0, room)) add({ file });
  }

  function addChosen() {
    addAll([...input.files]);
    input.value = ""; // they are uploaded, not sent with the form
  }

  input.addEventListener("change", addChosen);
  form.elements.content.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addAll(event.clipboardData.files);
  });

  // --- sending, when the pictures have arrived ---

  const isVideo = () => form.elements.kind?.value === "video"; // sends no pictures

  form.addEventListener("submit", async (event) => {
    if ("busy" in form.dataset || isVideo() || !previews.querySelector("progress, [data-failed]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const moving = () => entries.filter(({ animated }) => animated).length;
    const known = moving();
    await waitWhile(form, () => previews.querySelector("progress"));
    const failed = previews.querySelector("[data-failed] button");
    if (failed) failed.focus();
    else if (moving() > known) say(still); // the next press sends
    else form.requestSubmit(event.submitter);
  }, true); // before the composer, which may have been there first
  // A second press sends nothing more.
  form.addEventListener("submit", (event) => "busy" in form.dataset && event.preventDefault(), true);

  // --- drafts, see drafts.js ---

  form.addEventListener("draft:save", ({ detail }) => {
    for (const { id, thumb, animated, words } of entries) if (id) detail.push({ id, thumb, animated, alt: words.value });
  });
  const addStored = (media) => media.filter((one) => !one.isVideo).forEach(add);

  form.addEventListener("draft:restored", ({ detail }) => {
    for (const { box, request } of entries) {
      request?.abort();
      box.remove();
    }
    entries = [];
    addStored(detail);
    changed();
  });

  // Pictures that the page shows: of a draft, or of a form that was refused.
  const known = [...form.querySelectorAll(".composer-kept [name=keep]")].map((box) => {
    const image = box.parentElement.querySelector("img");
    return { id: box.value, thumb: image.getAttribute("src"), alt: form.elements[`alt-${box.value}`].value };
  });
  form.querySelector(".composer-kept")?.remove();
  known.forEach(add);
  addStored(waiting);
  addChosen(); // the browser may keep the choice over a reload
  previews.hidden = entries.length === 0;
}
