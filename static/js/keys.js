// Keys of a page. [data-key="x" data-key-label="what it does"] is clicked (or focused, if a field) by x.
// [data-row] elements move with j and k or the arrows; Enter opens a row's first link.
(function () {
  "use strict";
  const isField = (el) => el.matches("input:not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable]");
  // What is folded away has a box in some browsers and takes no focus.
  const folded = (el) => !el.matches("summary") && el.closest("details:not([open])") !== null;
  const visible = (el) => el.offsetParent !== null && !el.disabled && !folded(el);
  const rows = () => [...document.querySelectorAll("[data-row]")].filter(visible);
  const keyed = () => [...document.querySelectorAll("[data-key]")].filter(visible);

  function move(step) {
    const all = rows();
    if (!all.length) return false;
    const at = all.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    if (!next.hasAttribute("tabindex") && !next.matches("a, button, summary")) next.tabIndex = -1;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }

  function entry(keys, label) {
    const dt = document.createElement("dt");
    for (const key of keys) {
      const kbd = document.createElement("kbd");
      kbd.textContent = key;
      dt.append(kbd, " ");
    }
    const dd = document.createElement("dd");
    dd.textContent = label;
    return [dt, dd];
  }

  function help() {
    const dialog = document.getElementById("keys");
    if (!dialog) return;
    if (dialog.open) { dialog.close(); return; }
    const list = dialog.querySelector("[data-keys-found]");
    list.replaceChildren();
    if (rows().length) list.append(...entry(["j", "k"], "next, previous row"));
    if (rows().some((row) => row.querySelector("a[href], summary"))) list.append(...entry(["Enter"], "open the row"));
    for (const el of keyed()) {
      list.append(...entry([el.dataset.key], el.dataset.keyLabel || el.getAttribute("aria-label") || el.textContent.trim()));
    }
    dialog.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (event.key === "Escape" && isField(target)) { target.blur(); return; }
    if (isField(target) || (document.querySelector("dialog[open]") && event.key !== "?")) return;
    let done = false;
    if (event.key === "?") { help(); done = true; }
    else if (event.key === "j" || event.key === "ArrowDown") {
      done = (event.key === "j" || target.closest("[data-row]") !== null) && move(1);
    } else if (event.key === "k" || event.key === "ArrowUp") {
      done = (event.key === "k" || target.closest("[data-row]") !== null) && move(-1);
    } else if (event.key === "Enter" && target.matches("[data-row]:not(a, button, summary)")) {
      const link = target.querySelector("a[href], summary");
      if (link) { link.click(); done = true; }
    } else {
      const el = keyed().find((item) => item.dataset.key === event.key);
      if (el) { if (isField(el)) { el.focus(); } else { el.click(); } done = true; }
    }
    if (done) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys-help]")) help();
  });
  // A control marked [data-autosubmit] sends its form when it changes; without JavaScript its button does.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-autosubmit]")) event.target.form.requestSubmit();
  });
  document.documentElement.classList.add("js");
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".nav [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
  });

  // Signing in anew in another tab changes the protection token; the cookie has the one that counts now.
  document.addEventListener("formdata", (event) => {
    const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    if (token && event.formData.has("csrfmiddlewaretoken")) event.formData.set("csrfmiddlewaretoken", token[1]);
  });

  function report(text) {
    const box = document.getElementById("htmx-error");
    if (box) box.textContent = text;
  }
  document.addEventListener("htmx:sendError", () => report("The server does not answer. What you see may be out of date; reload the page."));
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status !== 422) report("The server refused this (" + event.detail.xhr.status + "). Reload the page and try again.");
  });
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) report(""); });
})();
