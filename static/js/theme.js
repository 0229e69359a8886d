// Three states: as the system, light, dark. Loaded before the page is painted.
(function () {
  "use strict";
  const order = ["system", "light", "dark"];
  const signs = { system: "◐", light: "☼", dark: "☾" };
  function stored() {
    try { return localStorage.getItem("theme") || "system"; } catch { return "system"; }
  }
  function apply(theme) {
    const root = document.documentElement;
    if (theme === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.textContent = signs[theme];
      button.setAttribute("aria-label", "Theme: " + theme);
      button.title = "Theme: " + theme;
      button.hidden = false;
    }
  }
  let theme = order.includes(stored()) ? stored() : "system";
  apply(theme);
  document.addEventListener("DOMContentLoaded", () => apply(theme));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try { localStorage.setItem("theme", theme); } catch { /* storage is off: the choice lasts for this page */ }
    apply(theme);
  });
})();
