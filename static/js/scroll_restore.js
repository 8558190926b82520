// Back to a list leads to the same post at the same height: the page notes its further pages and the post at the top.

import { button, fire, make } from "./lib/elements.js";
import { fetchPage } from "./lib/requests.js";
import { words } from "./lib/toasts.js";

const AFTER = 5; // posts that stand in for the first one, should it be gone
const SETTLING_MS = 4000;
const ANSWER_MS = 20_000;

const feed = document.getElementById("feed");
const topOf = (root) => root.querySelector("[data-top]")?.dataset.top;
let pages = []; // addresses of the further pages
let top = topOf(document);
let isOnTheWay; // to a place, which stays noted until it is reached

const articles = () => [...feed.querySelectorAll("[data-post-id]")];
const idsOf = (posts) => posts.map((post) => post.dataset.postId);

function note() {
  if (isOnTheWay) return;
  const shown = articles();
  const first = shown.findIndex((article) => article.getBoundingClientRect().bottom > 0);
  let place = null;
  if (scrollY > 0 && first >= 0) {
    place = { ids: idsOf(shown.slice(first, first + AFTER)), offset: shown[first].getBoundingClientRect().top, pages, top };
  }
  history.replaceState({ ...history.state, place }, "");
}

/** Keep the post at its height while pictures and panels above it arrive, until the reader moves. */
function keepAt(article, offset) {
  const moves = ["wheel", "touchstart", "keydown", "pointerdown"];
  const fit = () => scrollBy({ top: article.getBoundingClientRect().top - offset, behavior: "instant" });
  const watch = new ResizeObserver(fit);
  const stop = () => {
    watch.disconnect();
    for (const move of moves) removeEventListener(move, stop);
  };
  fit();
  watch.observe(document.body);
  for (const move of moves) addEventListener(move, stop, { passive: true });
  setTimeout(stop, SETTLING_MS);
}

function find(ids) {
  const shown = articles();
  return ids.map((id) => shown.find((one) => one.dataset.postId === id)).find(Boolean);
}

/** Put a page at the end of the list; return its loader. */
function append(page) {
  const loader = page.querySelector(".loader");
  loader?.remove();
  for (const item of page.querySelectorAll(".post")) {
    feed.append(item);
    htmx.process(item);
    htmx.trigger(item, "htmx:load");
  }
  return loader;
}

/** Tell the banner how many posts came since. */
function sayNew(newest) {
  const known = new Set(idsOf(articles()));
  const count = newest.findIndex((id) => known.has(id));
  const detail = count < 0 ? { count: newest.length, more: true } : { count, more: false };
  if (detail.count) fire(document, "unseen", detail);
}

function ask(resume) {
  const box = make("div", { className: "place-note", role: "alert" }, make("p", { textContent: words.lost }));
  const again = () => {
    box.remove();
    resume();
  };
  box.append(button("button button-main", again, { textContent: words.again, "data-testid": "place-again" }));
  feed.before(box);
}

async function goBack({ ids, offset, pages: known, top: former }) {
  let found = find(ids);
  if (found) return keepAt(found, offset);
  let loader = feed.querySelector(".loader");
  const isSame = loader?.getAttribute("hx-get") === known[0];
  if (!isSame && !former) return;
  const wanted = isSame ? [...known] : [former, ...known];
  const newest = idsOf(articles());
  loader?.remove(); // it would load its page as well
  let isEmptied = isSame;
  feed.setAttribute("aria-busy", "true");
  isOnTheWay = true;

  async function go() {
    while (wanted.length && !found) {
      const headers = { "HX-Request": "true", "HX-Current-URL": location.href };
      const answer = await fetchPage(wanted[0], { headers, signal: AbortSignal.timeout(ANSWER_MS) });
      if (!answer?.ok) return ask(go);
      if (!isEmptied) feed.replaceChildren();
      isEmptied = true;
      const address = wanted.shift();
      if (address !== former) pages.push(address);
      loader = append(answer.page);
      found = find(ids);
    }
    feed.removeAttribute("aria-busy");
    isOnTheWay = false;
    if (loader) {
      feed.append(loader);
      htmx.process(loader);
    }
    if (!isSame) {
      top = former;
      sayNew(newest);
    }
    if (found) keepAt(found, offset);
  }

  await go();
}

if (feed) {
  history.scrollRestoration = "manual";
  addEventListener("pagehide", note);
  // A phone may drop hidden pages.
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && note());
  document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, shouldSwap } }) => {
    if (shouldSwap && requestConfig.elt.matches(".loader")) pages.push(requestConfig.elt.getAttribute("hx-get"));
  });
  document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
    if (target !== feed) return;
    pages = [];
    top = topOf(feed);
  });
  const [visit] = performance.getEntriesByType("navigation");
  const place = visit?.type === "navigate" ? null : history.state?.place;
  if (place) goBack(place);
}
