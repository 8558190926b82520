// Passkeys: log in with one, and add one. The site and the browser speak WebAuthn in JSON.

import { json } from "./lib/api.js";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

// The browsers' own functions for this are younger than the passkeys that they have.
const named = (found) => ({ ...found, id: bytes(found.id) });

function decoded({ challenge, user, allowCredentials, excludeCredentials, ...rest }) {
  return {
    ...rest,
    challenge: bytes(challenge),
    ...(user && { user: named(user) }),
    ...(allowCredentials && { allowCredentials: allowCredentials.map(named) }),
    ...(excludeCredentials && { excludeCredentials: excludeCredentials.map(named) }),
  };
}

function encoded({ id, rawId, type, response }) {
  const parts = { clientDataJSON: text(response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) parts[name] = text(response[name]);
  }
  if (response.getTransports) parts.transports = response.getTransports();
  return { id, rawId: text(rawId), type, response: parts };
}

/** An answer of the API; an error carries its text. */
async function send(url, body) {
  const answer = await fetch(url, json("POST", body));
  const found = await answer.json();
  if (answer.ok) return found;
  const error = new Error(found.detail);
  error.isOfSite = true;
  error.isStale = found.error === "FRESH_LOGIN_NEEDED";
  throw error;
}

async function logIn(form) {
  const { options, url } = form.dataset;
  const publicKey = decoded(options ? JSON.parse(options) : (await send(url, {})).publicKey);
  const credential = await navigator.credentials.get({ publicKey });
  form.elements.credential.value = JSON.stringify(encoded(credential));
  form.submit();
}

async function add(form) {
  const { publicKey } = await send(`${form.dataset.url}/options`, {});
  const credential = await navigator.credentials.create({ publicKey: decoded(publicKey) });
  await send(form.dataset.url, { name: form.elements.name.value, credential: encoded(credential) });
  location.reload();
}

async function run(form, act) {
  const button = form.querySelector("button");
  const status = form.querySelector("[data-status]");
  button.disabled = true;
  status.textContent = "";
  try {
    await act(form);
  } catch (error) {
    if (error.isStale) return location.assign(form.dataset.prove);
    // The browser does not say whether its person cancelled or has no passkey.
    status.textContent = error.isOfSite ? error.message : form.dataset.failed;
  }
  button.disabled = false;
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      run(form, form.dataset.passkey === "add" ? add : logIn);
    });
  }
}
