// The page of a draft: the time to publish it is chosen in the reader's own zone; the form says which.

const form = document.querySelector("[data-composer]");
const { publish_at: time, utc_offset: offset } = form?.elements ?? {};
const MINUTE_MS = 60_000;

function inZone(moment) {
  const local = new Date(moment - moment.getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, 16);
}

if (time) {
  form.querySelector("[data-zone]").remove();
  // A stored time is in UTC; what was refused is as it was typed.
  if (time.value && !time.dataset.typed) time.value = inZone(new Date(`${time.value}Z`));
  // `getTimezoneOffset` is an hour early in an hour that the clocks skip.
  form.addEventListener("submit", () => {
    offset.value = time.value ? (new Date(time.value) - new Date(`${time.value}Z`)) / MINUTE_MS : 0;
  });
}
