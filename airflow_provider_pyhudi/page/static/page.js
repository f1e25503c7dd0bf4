"use strict";
// Airflow's own theme, the later parts of a page, and links that lead out of Airflow's frame.

const airflow = document.currentScript.dataset.airflow;

function applyTheme() {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Storage may be forbidden; the system's theme is used.
  }
  const isDark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

// Airflow shows plugins in a frame that may not move the window; its router listens to its history.
function leaveFrame(event) {
  const link = event.target.closest("a[data-airflow]");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey);
  if (!link || window.parent === window || !isPlain) return;
  try {
    window.parent.history.pushState(null, "", link.href);
    window.parent.dispatchEvent(new PopStateEvent("popstate", { state: null }));
    event.preventDefault();
  } catch {
    // The frame is somebody else's: the link opens where it is.
  }
}

async function fill(place, address) {
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    place.innerHTML = await answer.text();
  } catch {
    place.innerHTML = '<p class="notice bad" role="alert">Airflow cannot be reached.</p>';
  }
  place.removeAttribute("aria-busy");
}

applyTheme();
window.addEventListener("storage", applyTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
document.addEventListener("click", leaveFrame);
document.addEventListener("click", (event) => {
  const place = event.target.closest("[data-ask]");
  if (!place || !event.target.closest("a")) return;
  event.preventDefault();
  fill(place, place.dataset.ask);
});
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("[data-part]")) fill(place, place.dataset.part);
});
