// The composer without JavaScript is a complete form; this adds the count, and publishes without leaving the page.

const form = document.querySelector("[data-composer]");
if (form) start();

function start() {
  const text = form.elements.content;
  const texts = [text, form.elements.title, form.elements.video_url];
  const count = form.querySelector("[data-count]");
  const publish = form.querySelector("[data-testid=publish]");
  const input = form.elements.images;
  const film = form.querySelector("[data-video]");
  const previews = form.querySelector("[data-previews]");
  const feed = document.getElementById("feed");
  const toasts = document.getElementById("toasts");
  const numbers = new Intl.NumberFormat(document.documentElement.lang);
  const UNAUTHORIZED = 401;

  // --- characters: code points, as the server counts ---

  function refresh() {
    const kind = form.elements.kind.value;
    const max = Number(form.dataset[`max${kind[0].toUpperCase()}${kind.slice(1)}`]);
    const used = [...text.value].length;
    count.textContent = used ? `${numbers.format(used)} / ${numbers.format(max)}` : "";
    count.toggleAttribute("data-over", used > max);
    publish.disabled = used > max || "busy" in form.dataset;
    form.elements.title.required = kind === "article";
    if (kind === "video" && film?.dataset.script) import(film.dataset.script);
    const isUploaded = film?.matches("[data-taken]");
    form.elements.video_url.required = kind === "video" && !isUploaded;
    // What is hidden is not sent.
    form.elements.title.disabled = kind === "micro";
    form.elements.video_url.disabled = kind !== "video" || isUploaded;
    input.disabled = kind === "video";
    for (const field of previews.querySelectorAll("input")) field.disabled = kind === "video";
  }

  form.addEventListener("input", refresh);
  form.addEventListener("draft:restored", ({ detail }) => {
    if (film) film.dataset.restored = detail.find(({ isVideo }) => isVideo)?.id || ""; // for videos.js, if it is not there yet
    refresh();
  });
  form.addEventListener("draft:changed", refresh);
  addEventListener("pageshow", () => setBusy(false)); // also back from the browser's page cache

  // --- a time is chosen in the reader's own zone; the form says which ---

  const time = form.elements.publish_at; // on the page of a draft only
  const offset = form.elements.utc_offset;
  const inZone = (moment) => {
    const local = new Date(moment - moment.getTimezoneOffset() * 60_000);
    return local.toISOString().slice(0, 16);
  };
  if (time) {
    form.querySelector("[data-zone]").remove();
    // A stored time is in UTC; what was refused is as it was typed.
    if (time.value && !time.dataset.typed) time.value = inZone(new Date(`${time.value}Z`));
    form.addEventListener("submit", () => {
      offset.value = time.value ? new Date(time.value).getTimezoneOffset() : 0;
    });
  }

  // --- sending: once; pictures.js waits for the pictures before ---

  const say = (words) => document.dispatchEvent(new CustomEvent("toast", { detail: words }));

  function setBusy(isBusy) {
    form.toggleAttribute("data-busy", isBusy);
    form.setAttribute("aria-busy", isBusy);
    for (const field of texts) field.readOnly = isBusy; // what is typed now would not be sent
    refresh();
  }

  form.addEventListener("submit", async (event) => {
    const isBusy = "busy" in form.dataset; // a second press publishes nothing more
    if (event.submitter?.matches(".to-preview")) {
      event.preventDefault();
      if (!isBusy) await preview(event.submitter);
      return;
    }
    const isHere = feed && !time && !event.submitter?.hasAttribute("formaction");
    if (isBusy || isHere) event.preventDefault();
    if (isBusy) return;
    form.dataset.busy = ""; // no button is disabled: that of an act is sent with the form
    if (isHere) await send();
  });

  async function preview(button) {
    const data = new FormData(form);
    data.delete("images");
    try {
      const answer = await fetch(button.formAction, { method: "POST", body: data, headers: { "HX-Request": "true" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const part = page.getElementById("preview");
      if (!part) {
        say(page.querySelector("[data-error-detail]")?.textContent || toasts.dataset.failed);
        return;
      }
      document.getElementById("preview")?.remove();
      form.after(part);
      part.focus();
    } catch {
      say(toasts.dataset.offline);
    }
  }

  async function send() {
    let answer, page;
    setBusy(true);
    try {
      answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      // offline: the text stays
    }
    setBusy(false);
    clearErrors();
    if (answer?.ok) published(page);
    else if (answer?.status === UNAUTHORIZED) location.assign(`${toasts.dataset.login}?next=${encodeURIComponent(location.pathname)}`);
    else refused(page);
  }

  function published(page) {
    const post = page.querySelector("article");
    form.dispatchEvent(new CustomEvent("draft:accepted", { bubbles: true }));
    for (const field of texts) field.value = field.defaultValue = "";
    form.elements.kind.value = "micro";
    document.getElementById("preview")?.remove();
    form.dataset.keep = "";
    form.dispatchEvent(new CustomEvent("draft:restored", { detail: [] }));
    if (post) {
      feed.querySelector(".empty")?.remove();
      feed.prepend(post);
      window.htmx.process(post);
      post.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
    }
    text.focus();
    say(form.dataset.published);
  }

  // --- what was wrong, at its field ---

  function clearErrors() {
    for (const list of form.querySelectorAll(".errors")) list.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }

  function refused(page) {
    const lists = page ? [...page.querySelectorAll("[data-composer] .errors")] : [];
    for (const list of lists) {
      const field = form.elements[list.id.slice("err-".length)];
      if (field?.type === "file") previews.after(list);
      else if (field?.setAttribute) {
        field.setAttribute("aria-invalid", "true");
        field.setAttribute("aria-describedby", `${list.id} composer-count`);
        field.after(list);
      } else form.querySelector(".composer-main").before(list);
    }
    form.querySelector("[aria-invalid]")?.focus();
    if (lists.length === 0) say(page?.querySelector("[data-error-detail]")?.textContent || toasts.dataset[page ? "failed" : "offline"]);
  }

  refresh();
}
