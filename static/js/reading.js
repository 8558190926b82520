// Reading: "Read on" unfolds a long post in its place (an article opens), and times have the exact moment as a tooltip.

import { isModified } from "./lib/elements.js";
import { fetchPage } from "./lib/requests.js";

document.addEventListener("click", async (event) => {
  const link = event.target.closest(".post:not(.post-article) .post-more a");
  if (!link || isModified(event)) return;
  event.preventDefault();
  const post = link.closest(".post");
  const answer = await fetchPage(link.href);
  const text = answer?.ok && answer.page.querySelector(`[data-post-id="${post.dataset.postId}"] .post-text`);
  if (!text) return location.assign(link.href);
  post.querySelector(".post-text-cut").replaceWith(text);
  link.parentElement.remove();
  text.tabIndex = -1;
  text.focus();
});

// The server writes "3 h"; the moment is in the reader's zone.
const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

function dateTooltips(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const moment = Date.parse(time.dateTime);
    if (!moment) continue;
    time.title = exact.format(moment);
    if ("local" in time.dataset) time.textContent = time.title;
  }
}

dateTooltips(document);
document.addEventListener("htmx:load", ({ target }) => dateTooltips(target));
