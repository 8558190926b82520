// Fields of all forms: their length, errors in folded parts, Ctrl+Enter, and the completion of names.

// The length is that of code points, as the server counts.
document.addEventListener("input", ({ target }) => {
  const { most, over } = target.dataset;
  if (most) target.setCustomValidity([...target.value.trim()].length > most ? over : "");
});

document.addEventListener("invalid", ({ target }) => {
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
}, true);

// Ctrl+Enter sends the form one is writing in.
document.addEventListener("keydown", ({ key, ctrlKey, metaKey, target }) => {
  if (key === "Enter" && (ctrlKey || metaKey) && target.matches("textarea")) target.form?.requestSubmit();
});

// The script that completes names comes with the first use (complete.js).
addEventListener("focusin", ({ target }) => {
  const field = (target.form ?? target.closest("form"))?.querySelector("[data-complete]");
  if (field) import(field.dataset.complete);
});
