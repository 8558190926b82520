// Passwords can be shown while one types them.

function reveal(button, isShown) {
  button.setAttribute("aria-pressed", isShown);
  document.getElementById(button.getAttribute("aria-controls")).type = isShown ? "text" : "password";
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-reveal]");
  if (button) reveal(button, button.getAttribute("aria-pressed") !== "true");
});
// Browsers know by its type that a field is a password, and do not keep it as a text.
document.addEventListener("submit", ({ target }) => {
  for (const button of target.querySelectorAll("[data-reveal]")) reveal(button, false);
});
