// Pages without a person: what the browser keeps of the last one goes, and the notice of their last page is shown.

import { deleteHome, endPushes, session } from "./lib/storage.js";

deleteHome();
// Pushes to somebody who is gone from this browser end before the next person signs in.
if (document.querySelector(".gate-card")) endPushes();

// A notice left by session.js.
const notice = document.getElementById("notice");
const { text, reason } = (notice && session.read("notice")) ?? {};
if (text) {
  session.remove("notice");
  notice.textContent = text;
  notice.hidden = false;
  for (const way of document.querySelectorAll("[data-help]")) way.hidden = !way.dataset.help.split(" ").includes(reason);
}
