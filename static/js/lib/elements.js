// Elements: making them, moving the focus, sending events.

/** Return a new element. Names that are no properties become attributes. */
export function make(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function button(className, onClick, properties) {
  const made = make("button", { type: "button", className, ...properties });
  made.addEventListener("click", onClick);
  return made;
}

/** Return the element that gets the focus if `gone` goes. */
export const beside = (gone) =>
  [gone?.nextElementSibling, gone?.previousElementSibling].find((one) => one?.checkVisibility()) || document.getElementById("main");
export const focusIn = (near) => (near.querySelector("a[href]") || near).focus({ preventScroll: true });

/** Send an event; return false if a listener prevented its default. */
export const fire = (target, name, detail, bubbles = true) =>
  target.dispatchEvent(new CustomEvent(name, { bubbles, cancelable: true, detail }));

/** Whether a click opens another tab or window. */
export const isModified = (event) => event.ctrlKey || event.metaKey || event.shiftKey;
