// Requests to the site: their headers, what answers say, when to try again, the way to the login page.

import { words } from "./toasts.js";

const LONGEST_WAIT_MS = 60_000;
const TOO_MANY = 429;

/** The header of a request that writes. */
export const csrf = () => JSON.parse(document.body.getAttribute("hx-headers"));

/** A random key, under which the site accepts a form or a file once. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(3)).join("-");

const parse = (text) => new DOMParser().parseFromString(text, "text/html");

/** Fetch a page; null without a connection. */
export async function fetchPage(address, options) {
  try {
    const answer = await fetch(address, options);
    const text = await answer.text();
    return { ok: answer.ok, status: answer.status, text, page: parse(text) };
  } catch {
    return null;
  }
}

export async function fetchJson(url, options) {
  let answer, said;
  try {
    answer = await fetch(url, options);
    if (answer.ok) said = await answer.json();
  } catch {
    // offline, cut off, or too late
  }
  return { said, mayRetry: !said && (answer?.ok || isPassing(answer?.status)) };
}

/** Whether another try may help; without an answer there is no status. */
export const isPassing = (status) => !status || status === TOO_MANY || status >= 500;

/** Milliseconds to wait after failures. With jitter: many pages must not come back all at once. */
export function pause(failures) {
  const longest = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** failures);
  return longest / 4 + Math.random() * longest * 0.75;
}

/** The reason in an error answer: of the envelope, of the error page, or words for the status. */
export function reasonIn(text, status) {
  let reason;
  try {
    reason = JSON.parse(text).detail;
  } catch {
    reason = parse(text).querySelector("[data-error-detail]")?.textContent;
  }
  return reason || (status === TOO_MANY ? words.busy : words.failed);
}

/** Whether a request was led on to the login page. */
export const isLogin = (address) => Boolean(address) && new URL(address).pathname === words.login;

export const goToLogin = () => location.assign(`${words.login}?next=${encodeURIComponent(location.pathname + location.search)}`);
