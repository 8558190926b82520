// The picture viewer.

import { isModified } from "./lib/elements.js";

const viewer = document.getElementById("viewer");
const shown = viewer.querySelector("img");
let pictures = [];
let position = 0;

function show(index) {
  position = (index + pictures.length) % pictures.length;
  shown.src = pictures[position].href;
  shown.alt = pictures[position].querySelector("img").alt;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-viewer] a:has(> img)");
  if (!link || isModified(event)) return;
  event.preventDefault();
  pictures = [...link.closest("[data-viewer]").querySelectorAll("a:has(> img)")];
  for (const button of viewer.querySelectorAll(".viewer-prev, .viewer-next")) button.hidden = pictures.length < 2;
  show(pictures.indexOf(link));
  viewer.showModal();
});
viewer.addEventListener("click", ({ target }) => {
  if (target.closest(".viewer-prev")) show(position - 1);
  else if (target.closest(".viewer-next")) show(position + 1);
  else viewer.close();
});
viewer.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowLeft") show(position - 1);
  if (key === "ArrowRight") show(position + 1);
});
viewer.addEventListener("close", () => shown.removeAttribute("src"));
