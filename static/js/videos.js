// Uploads the video of a post when it is chosen, with its progress; the form then sends its id. A video can be published
// while the site still prepares it.

import { button, make } from "./lib/elements.js";
import { forget, sendInParts } from "./lib/parts.js";
import { changed as formChanged, waitWhile } from "./lib/uploads.js";

const place = document.querySelector("[data-composer] [data-video]");
if (place) start();

function start() {
  const form = place.closest("form");
  const { accept, mb, label, cancel, remove, retry, sending, processing, ready, tooLarge, gone, texts, address } = place.dataset;
  const UPLOADS = "/api/v1/media/uploads";
  const VIDEOS = "/api/v1/media/videos";
  const POLL_MS = 3000;
  const MEGA = 1024 * 1024;
  const NOT_FOUND = 404;

  let running = null; // the upload in work
  let chosen = null; // the file, for another try,
  const at = {}; // which goes on where the last one broke off
  let timer = 0;

  const id = make("input", { type: "hidden", name: "video" });
  const input = make("input", { type: "file", accept, id: "id-video", "aria-describedby": "video-hint" });
  const choose = make("label", { className: "button icon i-play", htmlFor: input.id, textContent: label });
  const words = make("p", { role: "status" });
  const bar = make("progress", { max: 1, "aria-label": sending });
  const again = button("button", () => chosen && upload(chosen), { textContent: retry, hidden: true });
  const act = button("button", () => {
    drop();
    input.focus();
  });
  const more = make("a", { textContent: texts, target: "_blank" });
  const state = make("div", { className: "composer-video-state", hidden: true }, words, bar, more, again, act);
  const hint = place.querySelector(".hint");
  hint.querySelector("a").remove();
  hint.id = "video-hint";
  place.prepend(input, choose, state, id);

  const isVideo = () => form.elements.kind.value === "video";

  function changed() {
    const isThere = Boolean(id.value || running || chosen);
    state.hidden = !isThere;
    more.hidden = !id.value;
    more.href = `${address}/${id.value}`;
    choose.hidden = hint.hidden = isThere;
    input.hidden = isThere;
    form.elements.video_url.hidden = isThere;
    place.toggleAttribute("data-taken", isThere); // composer.js wants no address then
    formChanged(form, false);
  }

  function say(text, { isError = false, percent = null } = {}) {
    words.textContent = text;
    words.className = isError ? "errors" : "";
    words.setAttribute("role", isError ? "alert" : "status");
    bar.hidden = percent === null;
    if (percent !== null) bar.value = percent;
    again.hidden = !(isError && chosen);
    act.textContent = running ? cancel : remove;
    changed();
  }

  /** Forget the video; the site deletes an upload that no post uses. */
  function drop() {
    clearTimeout(timer);
    const stopped = running;
    running = chosen = null;
    stopped?.stop();
    forget(UPLOADS, at);
    id.value = "";
    input.value = "";
    say("");
    saved();
  }

  const saved = () => formChanged(form, true);

  // --- upload ---

  async function upload(file) {
    chosen = file;
    id.value = "";
    if (file.size > mb * MEGA) {
      say(tooLarge, { isError: true });
      again.hidden = true;
      return;
    }
    const sent = sendInParts(UPLOADS, file, at, (percent) => running === sent && say(sending, { percent }));
    running = sent;
    say(sending, { percent: 0 });
    const video = await sent.answer;
    if (running !== sent) return; // cancelled
    running = null;
    if (video.wrong) say(video.wrong, { isError: true });
    else take(video);
    saved();
  }

  addEventListener("pagehide", () => running?.stop()); // the next page does not have the file

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
      const answer = await fetch(`${VIDEOS}/${asked}`, { cache: "no-store" });
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

  input.addEventListener("change", () => {
    forget(UPLOADS, at);
    if (input.files[0]) upload(input.files[0]);
  });

  // --- sending, when the video has arrived ---

  form.addEventListener("submit", async (event) => {
    if ("busy" in form.dataset || !isVideo() || !running) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    await waitWhile(form, () => running);
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
  form.querySelector("[data-kept-texts]")?.remove();
  if (id.value) {
    say(processing, { percent: 0 });
    ask();
  } else changed();
}
