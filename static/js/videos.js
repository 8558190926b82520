// Uploads the video of a post when it is chosen, with its progress; the form then sends its id. A video can be published
// while the site still prepares it.

const place = document.querySelector("[data-composer] [data-video]");
if (place) start();

function start() {
  const form = place.closest("form");
  const { accept, mb, label, cancel, remove, retry, sending, processing, ready, tooLarge, gone } = place.dataset;
  const toasts = document.getElementById("toasts").dataset;
  const UPLOAD = "/api/v1/media/videos";
  const POLL_MS = 3000;
  const MEGA = 1024 * 1024;
  const NOT_FOUND = 404;

  let request = null; // of the upload in work
  let chosen = null; // the file, for another try
  let timer = 0;

  const id = document.createElement("input");
  id.type = "hidden";
  id.name = "video";
  const input = document.createElement("input");
  input.type = "file";
  input.accept = accept;
  input.id = "id-video";
  input.setAttribute("aria-describedby", "video-hint");
  const choose = document.createElement("label");
  choose.className = "button icon i-play";
  choose.htmlFor = input.id;
  choose.textContent = label;
  const state = document.createElement("div");
  state.className = "composer-video-state";
  state.hidden = true;
  const words = document.createElement("p");
  words.setAttribute("role", "status");
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.setAttribute("aria-label", sending);
  const act = document.createElement("button");
  act.type = "button";
  act.className = "button";
  const again = document.createElement("button");
  again.type = "button";
  again.className = "button";
  again.textContent = retry;
  again.hidden = true;
  state.append(words, bar, again, act);
  const hint = place.querySelector(".hint");
  hint.querySelector("a").remove();
  hint.id = "video-hint";
  place.prepend(input, choose, state, id);

  const newKey = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join("");
  const isVideo = () => form.elements.kind.value === "video";

  function changed() {
    const isThere = Boolean(id.value || request || chosen);
    state.hidden = !isThere;
    choose.hidden = hint.hidden = isThere;
    input.hidden = isThere;
    form.elements.video_url.hidden = isThere;
    place.toggleAttribute("data-taken", isThere); // composer.js wants no address then
    form.dispatchEvent(new CustomEvent("draft:changed"));
  }

  function say(text, { isError = false, percent = null } = {}) {
    words.textContent = text;
    words.className = isError ? "errors" : "";
    words.setAttribute("role", isError ? "alert" : "status");
    bar.hidden = percent === null;
    if (percent !== null) bar.value = percent;
    again.hidden = !(isError && chosen);
    act.textContent = request ? cancel : remove;
    changed();
  }

  /** Forget the video; the site deletes an upload that no post uses. */
  function drop() {
    clearTimeout(timer);
    const running = request;
    request = chosen = null;
    running?.abort();
    id.value = "";
    input.value = "";
    say("");
    saved();
  }

  function saved() {
    form.dispatchEvent(new CustomEvent("draft:changed", { bubbles: true }));
  }

  // --- upload ---

  function upload(file) {
    chosen = file;
    id.value = "";
    if (file.size > mb * MEGA) {
      say(tooLarge, { isError: true });
      again.hidden = true;
      return;
    }
    const sent = new XMLHttpRequest();
    const data = new FormData();
    data.append("file", file, file.name);
    request = sent;
    sent.open("POST", UPLOAD);
    sent.responseType = "json";
    sent.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    sent.setRequestHeader("Idempotency-Key", newKey());
    sent.upload.addEventListener("progress", ({ loaded, total }) => {
      if (request === sent) say(sending, { percent: loaded / total });
    });
    sent.addEventListener("load", () => request === sent && arrived(sent.response || {}));
    sent.addEventListener("error", () => request === sent && failed(toasts.offline));
    say(sending, { percent: 0 });
    sent.send(data);
  }

  function arrived(video) {
    if (!video.id) {
      failed(Object.values(video.fields || {}).flat().join(" ") || video.detail || toasts.failed);
      return;
    }
    request = null;
    take(video);
    saved();
  }

  function failed(text) {
    request = null;
    say(text, { isError: true });
    saved();
  }

  // --- preparation ---

  function take(video) {
    id.value = video.id;
    if (video.state === "ready") say(ready);
    else if (video.state === "failed") {
      id.value = "";
      say(video.detail, { isError: true });
    } else {
      say(processing, { percent: video.progress / 100 });
      timer = setTimeout(ask, POLL_MS);
    }
  }

  async function ask() {
    const asked = id.value;
    if (!asked) return;
    try {
      const answer = await fetch(`${UPLOAD}/${asked}`, { cache: "no-store" });
      if (id.value !== asked) return;
      if (answer.ok) take(await answer.json());
      else if (answer.status === NOT_FOUND) {
        id.value = "";
        say(gone, { isError: true });
      } else timer = setTimeout(ask, POLL_MS);
    } catch {
      timer = setTimeout(ask, POLL_MS);
    }
  }

  input.addEventListener("change", () => input.files[0] && upload(input.files[0]));
  act.addEventListener("click", () => {
    drop();
    input.focus();
  });
  again.addEventListener("click", () => chosen && upload(chosen));

  // --- sending, when the video has arrived ---

  form.addEventListener("submit", async (event) => {
    if ("busy" in form.dataset || !isVideo() || !request) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    form.dataset.busy = "";
    form.setAttribute("aria-busy", true);
    while (request) await new Promise((resolve) => form.addEventListener("draft:changed", resolve, { once: true }));
    delete form.dataset.busy;
    form.setAttribute("aria-busy", false);
    form.dispatchEvent(new CustomEvent("draft:changed"));
    if (id.value) form.requestSubmit(event.submitter);
    else (again.hidden ? input : again).focus();
  });

  // --- drafts, see drafts.js ---

  form.addEventListener("draft:save", ({ detail }) => {
    if (id.value) detail.push({ id: id.value, isVideo: true });
  });
  form.addEventListener("draft:restored", ({ detail }) => {
    drop();
    const video = detail.find((one) => one.isVideo);
    if (!video) return;
    id.value = video.id;
    say(processing, { percent: 0 });
    ask();
  });

  // The video of the page: of a draft, of a form that was refused, or of a text that was kept before this script came.
  const kept = form.querySelector("[data-kept-video]");
  id.value = place.dataset.restored || kept?.querySelector("input").value || "";
  kept?.remove();
  if (id.value) {
    say(processing, { percent: 0 });
    ask();
  } else changed();
}
