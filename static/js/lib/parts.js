// Sends a file in parts: a connection that breaks costs one part, not the whole upload.

import { csrf, isPassing } from "./requests.js";
import { words } from "./toasts.js";

const PART = "application/offset+octet-stream";
// Between tries; after the last one the reader is told.
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];
const GONE = 404;
const ELSEWHERE = 409;

const reason = ({ fields, detail } = {}) => Object.values(fields || {}).flat().join(" ") || detail;

/** Let the site forget an upload that nobody goes on with; a finished one keeps its video. */
export function forget(url, place) {
  if (place.id) fetch(`${url}/${place.id}`, { method: "DELETE", headers: csrf(), keepalive: true }).catch(() => {});
  place.id = "";
}

/**
 * Send a file. `answer` is a promise of the video, of its `wrong` reason, or null after `stop`. `place` is an object that knows
 * the upload; with the same one a later call goes on where this one broke off.
 */
export function sendInParts(url, file, place, progress) {
  let request = null;
  let isStopped = false;

  const ask = (method, address, body = null, headers = {}, sent = null) =>
    new Promise((resolve) => {
      request = new XMLHttpRequest();
      request.open(method, address);
      request.responseType = "json";
      for (const header of Object.entries({ ...csrf(), ...headers })) request.setRequestHeader(...header);
      if (sent) request.upload.addEventListener("progress", ({ loaded }) => sent(loaded));
      request.addEventListener("loadend", ({ target }) => resolve({ status: target.status, found: target.response || {} }));
      request.send(body);
    });

  function next(upload) {
    if (!place.id) {
      return ask("POST", url, JSON.stringify({ size: file.size }), { "Content-Type": "application/json" });
    }
    if (!upload) return ask("GET", `${url}/${place.id}`);
    const { received, part } = upload;
    const headers = { "Content-Type": PART, "Upload-Offset": received };
    const data = file.slice(received, received + part);
    return ask("PATCH", `${url}/${place.id}`, data, headers, (loaded) => progress((received + loaded) / file.size));
  }

  async function run() {
    let upload = null;
    let tries = 0;
    while (!isStopped) {
      const isKnown = Boolean(place.id);
      const { status, found } = await next(upload);
      if (isStopped) break;
      if (status && status < 300) {
        [upload, tries, place.id] = [found, 0, found.id];
        if (found.video) return found.video;
        continue;
      }
      upload = null;
      if (status === GONE) place.id = "";
      const isWorthATry = isPassing(status) || (isKnown && (status === GONE || status === ELSEWHERE));
      if (!isWorthATry || tries === PAUSES_MS.length) {
        return { wrong: reason(found) || (status ? words.failed : words.offline) };
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSES_MS[tries++]));
    }
    return null;
  }

  function stop() {
    isStopped = true;
    request?.abort();
    forget(url, place);
  }

  return { stop, answer: run() };
}
