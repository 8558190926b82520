// Uploads the pictures of a form (`data-pictures`) when they are chosen, one after the other; the form then sends their ids.
// Large photos are made smaller first. A canvas shows them, because the content policy allows no blob: images.

const form = document.querySelector("[data-pictures]");
if (form) start();

function start() {
  const { maxImages, maxAlt, altLabel, insertLabel, removeLabel, forwardLabel, retryLabel, gone, unseen, tooMany, tooLarge, notPicture } = form.dataset;
  const input = form.elements.images;
  const previews = form.querySelector("[data-previews]");
  const toasts = document.getElementById("toasts").dataset;
  const TYPES = input.accept.split(",");
  const UPLOAD = "/api/v1/media";
  const BYTES_MAX = 10 * 1024 * 1024;
  const SMALL_BYTES = 1024 * 1024; // left as it is
  const SIDE = 2048; // of what the site keeps
  const THUMB = 256;
  const QUALITY = 0.9;
  const NOT_FOUND = 404;

  let entries = [];
  let queue = Promise.resolve();

  // One description per picture replaces the plain one; a hidden field must not be sent.
  form.querySelector("[data-alt-plain]").remove();

  const say = (words) => document.dispatchEvent(new CustomEvent("toast", { detail: words }));

  function changed() {
    previews.hidden = entries.length === 0;
    form.dispatchEvent(new CustomEvent("draft:changed", { bubbles: true }));
  }

  function button(icon, label, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = `icon i-${icon}`;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }

  /** Add a picture: a file to upload, or one that the server has (`id`, `thumb`, `alt`). */
  function add({ file, id = "", thumb = "", alt = "" }) {
    const name = file?.name || alt;
    const box = document.createElement("div");
    const words = document.createElement("input");
    const kept = document.createElement("input");
    const shown = document.createElement(file ? "canvas" : "img");
    const acts = document.createElement("p");
    const entry = { file, id, thumb, box, words, kept, key: newKey() };
    box.className = "preview";
    acts.className = "preview-acts";
    words.maxLength = maxAlt;
    words.value = alt;
    words.placeholder = altLabel;
    words.setAttribute("aria-label", `${altLabel} (${name})`);
    kept.type = "hidden";
    acts.append(
      button("back", `${forwardLabel} (${name})`, (event) => forward(entry, event.currentTarget)),
      button("pen preview-insert", `${insertLabel} (${name})`, () => insert(entry)),
      button("close", `${removeLabel} (${name})`, () => drop(entry)),
    );
    if (!file) {
      shown.alt = "";
      shown.addEventListener("error", () => missing(entry, shown));
      shown.src = thumb;
    } else draw(shown, file);
    box.append(shown, acts, words, kept);
    entries.push(entry);
    previews.append(box);
    if (id) named(entry);
    else upload(entry);
  }

  /** Say why a stored picture is not shown; only the person removes it. */
  async function missing(entry, image) {
    let status = 0;
    try {
      ({ status } = await fetch(entry.thumb, { method: "HEAD", cache: "no-store" }));
    } catch {
      // no connection
    }
    if (!entries.includes(entry)) return;
    const isGone = status === NOT_FOUND;
    const act = isGone ? () => drop(entry) : () => (image.src = entry.thumb);
    const note = noted(entry, isGone ? gone : unseen, isGone ? removeLabel : retryLabel, act);
    if (isGone) note.dataset.failed = ""; // the post waits for the person's decision
    changed();
  }

  function named({ id, words, kept }) {
    words.name = `alt-${id}`;
    kept.name = "keep";
    kept.value = id;
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
    text.dispatchEvent(new Event("input", { bubbles: true }));
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

  const newKey = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join("");

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

  // --- upload ---

  /** Return a smaller copy of a large photo, upright; everything else as it is. */
  async function smaller(file) {
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
      return made && (made.size < file.size || !TYPES.includes(file.type)) ? made : file;
    } catch {
      return file;
    }
  }

  function upload(entry) {
    entry.bar = document.createElement("progress");
    entry.bar.max = 1;
    entry.bar.setAttribute("aria-label", entry.file.name);
    entry.box.append(entry.bar);
    queue = queue.then(() => entries.includes(entry) && sent(entry));
    changed();
  }

  async function sent(entry) {
    const body = await smaller(entry.file);
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

  /** Send the file; return what went wrong. A repeat with the same key stores it once. */
  function transfer(entry, body) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const data = new FormData();
      data.append("file", body, entry.file.name);
      request.open("POST", UPLOAD);
      request.responseType = "json";
      request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
      request.setRequestHeader("Idempotency-Key", entry.key);
      request.upload.addEventListener("progress", ({ loaded, total }) => (entry.bar.value = loaded / total));
      request.addEventListener("load", () => {
        const { id, thumb, detail, fields } = request.response || {};
        Object.assign(entry, { id, thumb });
        resolve(id ? "" : Object.values(fields || {}).flat().join(" ") || detail || toasts.failed);
      });
      request.addEventListener("error", () => resolve(toasts.offline));
      request.addEventListener("abort", () => resolve(toasts.failed));
      entry.request = request;
      request.send(data);
    });
  }

  function failed(entry, words) {
    noted(entry, `${entry.file.name}: ${words}`, retryLabel, () => upload(entry)).dataset.failed = "";
  }

  /** Show words about a picture, and a button which ends them. */
  function noted(entry, words, label, act) {
    const note = document.createElement("p");
    note.className = "errors";
    note.setAttribute("role", "alert");
    const pressed = document.createElement("button");
    pressed.type = "button";
    pressed.textContent = label;
    pressed.addEventListener("click", () => {
      note.remove();
      act();
    });
    note.append(`${words} `, pressed);
    entry.box.append(note);
    return note;
  }

  // --- choosing ---

  function addAll(files) {
    const stay = form.querySelectorAll("[name=remove]:not(:checked)").length; // pictures that the edited post has
    const room = Math.max(0, maxImages - entries.length - stay);
    if (files.length > room) say(tooMany);
    for (const file of [...files].slice(0, room)) add({ file });
  }

  input.addEventListener("change", () => {
    addAll([...input.files]);
    input.value = ""; // they are uploaded, not sent with the form
  });
  form.elements.content.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addAll(event.clipboardData.files);
  });

  // --- sending, when the pictures have arrived ---

  const isVideo = () => form.elements.kind?.value === "video"; // sends no pictures

  function setBusy(isBusy) {
    form.toggleAttribute("data-busy", isBusy);
    form.setAttribute("aria-busy", isBusy);
    form.dispatchEvent(new CustomEvent("draft:changed"));
  }

  form.addEventListener("submit", async (event) => {
    if ("busy" in form.dataset || isVideo() || !previews.querySelector("progress, [data-failed]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    setBusy(true);
    while (previews.querySelector("progress")) {
      await new Promise((resolve) => form.addEventListener("draft:changed", resolve, { once: true }));
    }
    setBusy(false);
    const failed = previews.querySelector("[data-failed] button");
    if (failed) failed.focus();
    else form.requestSubmit(event.submitter);
  });
  // A second press while pictures are on their way sends nothing more.
  form.addEventListener("submit", (event) => "busy" in form.dataset && event.preventDefault());

  // --- drafts, see drafts.js ---

  function replaceAll(pictures) {
    for (const { box, request } of entries) {
      request?.abort();
      box.remove();
    }
    entries = [];
    pictures.forEach(add);
    changed();
  }

  form.addEventListener("draft:save", ({ detail }) => {
    for (const { id, thumb, words } of entries) if (id) detail.push({ id, thumb, alt: words.value });
  });
  form.addEventListener("draft:restored", ({ detail }) => replaceAll(detail.filter(({ isVideo }) => !isVideo)));

  // Pictures that the page shows: of a draft, or of a form that was refused.
  const known = [...form.querySelectorAll(".composer-kept [name=keep]")].map((box) => {
    const image = box.parentElement.querySelector("img");
    return { id: box.value, thumb: image.getAttribute("src"), alt: form.elements[`alt-${box.value}`].value };
  });
  form.querySelector(".composer-kept")?.remove();
  known.forEach(add);
  addAll([...input.files]); // the browser may keep the choice over a reload
  input.value = "";
  previews.hidden = entries.length === 0;
}
