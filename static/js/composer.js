// The composer without JavaScript is a complete form; this adds the count, the previews and the draft.

const form = document.querySelector("[data-composer]");
if (form) start();

function start() {
  const text = form.elements.content;
  const count = form.querySelector("[data-count]");
  const publish = form.querySelector("[data-testid=publish]");
  const input = form.elements.images;
  const previews = form.querySelector("[data-previews]");
  const maxImages = Number(form.dataset.maxImages);
  const numbers = new Intl.NumberFormat(document.documentElement.lang);
  const DRAFT = "draft";

  // One alt field per picture replaces the plain one; a hidden field must not be sent.
  form.querySelector("[data-alt-plain]").remove();

  // --- characters: code points, as the server counts ---

  function refresh() {
    const kind = form.elements.kind.value;
    const max = Number(form.dataset[`max${kind[0].toUpperCase()}${kind.slice(1)}`]);
    const used = [...text.value].length;
    count.textContent = used ? `${numbers.format(used)} / ${numbers.format(max)}` : "";
    count.toggleAttribute("data-over", used > max);
    publish.disabled = used > max;
    form.elements.title.required = kind === "article";
    form.elements.video_url.required = kind === "video";
    // What is hidden is not sent.
    form.elements.title.disabled = kind === "micro";
    form.elements.video_url.disabled = kind !== "video";
    input.disabled = kind === "video";
    for (const alt of previews.querySelectorAll("input")) alt.disabled = kind === "video";
  }

  // --- a draft survives a reload and a lost session, in this tab only ---

  // A draft of the server is saved there alone.
  const store = (act) => {
    if (form.elements.publish_at) return null;
    try {
      return act(sessionStorage);
    } catch {
      return null; // storage is blocked: no drafts
    }
  };
  if (!text.value) text.value = store((s) => s.getItem(DRAFT)) || "";
  form.addEventListener("input", () => {
    store((s) => s.setItem(DRAFT, text.value));
    refresh();
  });
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault(); // a double click publishes once
      return;
    }
    form.dataset.sent = "1";
    store((s) => s.removeItem(DRAFT));
  });
  addEventListener("pageshow", () => delete form.dataset.sent);

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

  // --- pictures: drawn on a canvas, because the content policy allows no blob: images ---

  let files = [];

  function toInput() {
    const list = new DataTransfer();
    for (const { file } of files) list.items.add(file);
    input.files = list.files;
    previews.hidden = files.length === 0;
  }

  async function draw(canvas, file) {
    canvas.width = canvas.height = 256;
    try {
      const picture = await createImageBitmap(file);
      const side = Math.min(picture.width, picture.height);
      const [left, top] = [(picture.width - side) / 2, (picture.height - side) / 2];
      canvas.getContext("2d").drawImage(picture, left, top, side, side, 0, 0, 256, 256);
      picture.close();
    } catch {
      // not a picture the browser can read: the server will say so
    }
  }

  function add(file) {
    const box = document.createElement("div");
    box.className = "preview";
    const canvas = document.createElement("canvas");
    const alt = document.createElement("input");
    alt.name = "alt";
    alt.maxLength = Number(form.dataset.maxAlt);
    alt.placeholder = form.dataset.altLabel;
    alt.setAttribute("aria-label", `${form.dataset.altLabel} (${file.name})`);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "icon i-close";
    remove.setAttribute("aria-label", `${form.dataset.removeLabel} (${file.name})`);
    box.append(canvas, alt, remove);
    const entry = { file, box };
    remove.addEventListener("click", () => {
      files = files.filter((other) => other !== entry);
      box.remove();
      toInput();
      input.focus();
    });
    files.push(entry);
    previews.append(box);
    draw(canvas, file);
  }

  function addAll(list) {
    const pictures = [...list].filter((file) => file.type.startsWith("image/"));
    const room = maxImages - files.length;
    if (pictures.length > room) {
      document.dispatchEvent(new CustomEvent("toast", { detail: form.dataset.tooMany }));
    }
    pictures.slice(0, room).forEach(add);
    toInput();
  }

  input.addEventListener("change", () => addAll(input.files));
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addAll(event.clipboardData.files);
  });

  addAll(input.files); // the browser may keep the choice over a reload
  refresh();
}
