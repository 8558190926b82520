// What the browser keeps. Its storage may be blocked or full: then nothing is kept, and null is read.

function open(name) {
  function use(act) {
    try {
      return act(window[name]);
    } catch {
      return null;
    }
  }
  return {
    use,
    keys: () => use(Object.keys) ?? [],
    read: (key) => use((storage) => JSON.parse(storage.getItem(key))),
    write: (key, value) => use((storage) => storage.setItem(key, JSON.stringify(value))),
    remove: (key) => use((storage) => storage.removeItem(key)),
  };
}

export const local = open("localStorage");
export const session = open("sessionStorage");

// The service worker keeps Home (sw.js).
export const deleteHome = () => window.caches?.delete("home");

/** End the pushes to this browser. The site sends none to somebody who is signed out, all the same. */
export async function endPushes() {
  try {
    const registration = await navigator.serviceWorker?.getRegistration();
    const subscription = await registration?.pushManager?.getSubscription();
    await subscription?.unsubscribe();
  } catch {
    // the browser forbids it
  }
}
