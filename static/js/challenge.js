// The task at sign-up: find the number whose hash is given. The form waits for it.

const STEP = 500; // hashes at a time: about 30 ms of a slow phone

const encoder = new TextEncoder();
const hex = (hash) => Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Let the page react. Hashes alone would not: timers and keys wait for all of them. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** Return the solution as the site expects it: base64 of JSON. */
async function solve({ algorithm, challenge, maxnumber, salt, signature }) {
  for (let first = 0; first <= maxnumber; first += STEP) {
    const texts = Array.from({ length: STEP }, (_, index) => encoder.encode(salt + (first + index)));
    const hashes = await Promise.all(texts.map((text) => crypto.subtle.digest(algorithm, text)));
    const index = hashes.findIndex((hash) => hex(hash) === challenge);
    if (index >= 0) return btoa(JSON.stringify({ algorithm, challenge, number: first + index, salt, signature }));
    await pause();
  }
  return "";
}

const form = document.querySelector("form[data-challenge]");
const field = form.elements.challenge;
const status = form.querySelector("[data-solving]");
let solving;
let isSent = false;

async function begin() {
  status.textContent = status.dataset.solving;
  field.value = await solve(JSON.parse(form.dataset.challenge));
  status.textContent = status.dataset.solved;
}

/** Send the form once the task is solved. If it is not, the answer has a new one. */
async function send() {
  try {
    await (solving ??= begin());
  } finally {
    form.submit();
  }
}

// Browsers have no `crypto.subtle` on a page without HTTPS.
if (crypto.subtle) {
  form.addEventListener("input", () => (solving ??= begin()), { once: true });
  form.addEventListener("submit", (event) => {
    if (field.value) return;
    event.preventDefault();
    if (!isSent) send();
    isSent = true;
  });
} else {
  form.querySelector("[data-unsolvable]").classList.remove("no-js-only");
}
