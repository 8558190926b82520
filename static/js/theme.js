// Applies the stored theme before the first paint (a classic script in the head), then runs the toggle.
(() => {
  const root = document.documentElement;
  const order = ["auto", "light", "dark"];
  root.classList.add("js");

  const read = () => {
    try {
      const stored = localStorage.getItem("theme");
      return order.includes(stored) ? stored : "auto";
    } catch {
      return "auto"; // storage is blocked: follow the system
    }
  };

  const apply = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.querySelector("span").textContent = button.dataset[theme];
    }
  };

  apply(read());
  document.addEventListener("DOMContentLoaded", () => apply(read()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const theme = order[(order.indexOf(read()) + 1) % order.length];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // the choice then lasts for this page only
    }
    apply(theme);
  });
  window.addEventListener("storage", (event) => {
    if (event.key === "theme") apply(read());
  });
})();
