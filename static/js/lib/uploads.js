// Files that are uploaded while a form is being written, and the form that waits for them.

import { fire } from "./elements.js";
import { csrf } from "./requests.js";
import { words } from "./toasts.js";

/** Send a file; `answer` is a promise of what the site says, with the reason in `wrong` if it has not stored the file. */
export function upload(url, file, name, key, progress) {
  const request = new XMLHttpRequest();
  const data = new FormData();
  data.append("file", file, name);
  request.open("POST", url);
  request.responseType = "json";
  for (const header of Object.entries({ ...csrf(), "Idempotency-Key": key })) request.setRequestHeader(...header);
  request.upload.addEventListener("progress", ({ loaded, total }) => progress(loaded / total));
  const answer = new Promise((resolve) => {
    request.addEventListener("load", () => {
      const { id, fields, detail } = request.response || {};
      resolve({ ...request.response, wrong: !id && (Object.values(fields || {}).flat().join(" ") || detail || words.failed) });
    });
    request.addEventListener("error", () => resolve({ wrong: words.offline }));
    request.addEventListener("abort", () => resolve({ wrong: words.failed }));
  });
  request.send(data);
  return { request, answer };
}

/** Tell the scripts of a form that it changed; drafts.js stores it if `isDraft`. */
export const changed = (form, isDraft) => fire(form, "draft:changed", null, isDraft);

export function setBusy(form, isBusy) {
  form.toggleAttribute("data-busy", isBusy);
  form.setAttribute("aria-busy", isBusy);
  changed(form, false);
}

export async function waitWhile(form, isWaiting) {
  setBusy(form, true);
  while (isWaiting()) await new Promise((resolve) => form.addEventListener("draft:changed", resolve, { once: true }));
  setBusy(form, false);
}
