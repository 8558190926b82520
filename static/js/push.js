// Turns pushes to this device on and off; what they show is decided by the site and by the service worker (sw.js).

import { json } from "./lib/api.js";

const place = document.getElementById("push");
const { key, url, busy, failed } = place.dataset;
const words = place.querySelector("[data-state=words]");

const isSupported = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

function show(state, text = "") {
  for (const part of place.querySelectorAll("[data-state]")) part.hidden = part.dataset.state !== state;
  words.hidden = false;
  words.textContent = text;
  for (const button of place.querySelectorAll("[data-push]")) {
    button.hidden = !["on", "off"].includes(state) || button.dataset.push === state;
    button.disabled = false;
  }
}

/** The state as browser and site know it: on only if both say so. */
async function look(text) {
  if (!isSupported) return show("unsupported", text);
  if (Notification.permission === "denied") return show("blocked", text);
  const subscription = await (await worker()).pushManager.getSubscription();
  const isOn = subscription && Notification.permission === "granted" && "on" in place.dataset;
  return show(isOn ? "on" : "off", text);
}

async function worker() {
  await navigator.serviceWorker.register("/sw.js");
  return navigator.serviceWorker.ready;
}

function bytes(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

async function send(method, body) {
  const answer = await fetch(url, json(method, body));
  if (!answer.ok) throw new Error(answer.statusText);
}

/** Always by a new subscription: one that is there may be of another person, or of an older key of the site. */
async function turnOn() {
  if ((await Notification.requestPermission()) !== "granted") return;
  const { pushManager } = await worker();
  await (await pushManager.getSubscription())?.unsubscribe();
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  try {
    await send("POST", subscription);
  } catch (error) {
    await subscription.unsubscribe();
    throw error;
  }
  place.dataset.on = "";
}

async function turnOff() {
  await send("DELETE");
  delete place.dataset.on;
  await (await (await worker()).pushManager.getSubscription())?.unsubscribe();
}

place.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-push]");
  if (!button) return;
  button.disabled = true;
  words.textContent = busy;
  let text = "";
  try {
    await (button.dataset.push === "on" ? turnOn() : turnOff());
  } catch {
    text = failed;
  }
  await look(text);
  place.querySelector("[data-push]:not([hidden])")?.focus();
});

look("").catch(() => show("unsupported"));
