// Requests that write JSON to the API.

import { csrf } from "./requests.js";

export function json(method, body) {
  return {
    method,
    headers: { "Content-Type": "application/json", Accept: "application/json", ...csrf() },
    body: JSON.stringify(body),
  };
}
