// Keys and autosave of the grading page, and ctrl+Enter of the adjudication page.
// htmx sends every grade, comment and anchor; this file opens checkpoints, points at parts of the transcript, undoes,
// and sends again what did not arrive.
(function () {
  "use strict";
  const decision = document.querySelector("[data-decision]");
  const form = document.getElementById("grading");
  const isField = (el) => el.matches("textarea, select, input:not([type=checkbox]):not([type=radio])");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    if (decision) decision.requestSubmit();
    if (form) form.requestSubmit(document.getElementById("submit"));
    if (decision || form) event.preventDefault();
  });
  if (!form) return;

  const checkpoints = [...form.querySelectorAll("details[data-checkpoint]")];
  const banner = document.getElementById("unsaved");
  const undoButton = form.querySelector("[data-undo]");
  const history = []; // {id, value}: the grade before each change, the newest last
  const unsaved = new Map(); // element id -> {element, tries, timer}
  let inFlight = 0;
  let wantsSubmit = false;
  let undoing = false;
  let unloading = false;

  const opened = () => checkpoints.findIndex((item) => item.open);
  const choices = (id) => document.getElementById("choices-" + id);
  const idOf = (element) => element.id.slice(element.id.lastIndexOf("-") + 1);
  const itemOf = (element) => checkpoints.find((item) => item.dataset.checkpoint === idOf(element));

  function show(index) {
    const target = checkpoints[Math.min(checkpoints.length - 1, Math.max(0, index))];
    if (!target) return;
    for (const item of checkpoints) item.open = item === target;
    highlight();
    target.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
  }

  // The buttons stay in the page, since a grade that waits for its turn would be lost with its button.
  function press(group, value) {
    group.dataset.value = value;
    form.elements["shown-" + idOf(group)].value = value;
    for (const button of group.querySelectorAll("button")) {
      if (button.value) button.setAttribute("aria-pressed", String(button.value === value));
      else button.hidden = !value;
    }
  }

  function grade(value) {
    const item = checkpoints[opened()];
    if (item) choices(item.dataset.checkpoint).querySelector(`button[value="${value}"]`).click();
  }

  function undo() {
    const last = history.pop();
    if (!last) return;
    undoing = true;
    show(checkpoints.findIndex((item) => item.dataset.checkpoint === last.id));
    choices(last.id).querySelector(`button[value="${last.value}"]`).click();
    undoing = false;
    undoButton.disabled = !history.length;
  }

  // The part that the open checkpoint's comment is about is marked; while pointing, every part can be chosen.
  const hint = document.getElementById("pointing");
  const anchorOf = (item) => item.querySelector("select[id^=anchor-]");
  const choosable = () => {
    const item = checkpoints[opened()];
    const all = [...form.querySelectorAll(".transcript [data-part]"), ...(item ? item.querySelectorAll("[data-part]") : [])];
    return all.filter((part) => part.offsetParent !== null);
  };
  function highlight() {
    const item = checkpoints[opened()];
    const name = item ? anchorOf(item).value : "";
    for (const part of form.querySelectorAll(".anchored")) part.classList.remove("anchored", "shade-own");
    for (const part of choosable()) if (name && part.dataset.part === name) part.classList.add("anchored", "shade-own");
  }
  function point(on) {
    if (on && opened() < 0) return;
    form.classList.toggle("is-pointing", on);
    hint.hidden = !on;
    for (const part of form.querySelectorAll("[data-part]")) { part.removeAttribute("tabindex"); part.removeAttribute("role"); }
    if (on) {
      for (const part of choosable()) { part.tabIndex = 0; part.setAttribute("role", "button"); }
      (form.querySelector(".anchored") || choosable()[0]).focus();
    } else show(opened());
  }
  function choose(part) {
    const select = anchorOf(checkpoints[opened()]);
    select.value = part.dataset.part;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    point(false);
  }
  function pointingKey(key) {
    const all = choosable();
    const at = all.indexOf(document.activeElement);
    if (key === "Escape") point(false);
    else if (key === "j" || key === "ArrowDown") all[Math.min(all.length - 1, at + 1)].focus();
    else if (key === "k" || key === "ArrowUp") all[Math.max(0, at - 1)].focus();
    else if ((key === "Enter" || key === " ") && at >= 0) choose(all[at]);
    else return key.length === 1 && key !== "?"; // no grade is given by accident
    return true;
  }
  const isPointing = () => form.classList.contains("is-pointing");
  form.addEventListener("toggle", () => { if (isPointing()) point(false); highlight(); }, true);
  form.addEventListener("change", highlight);
  for (const button of form.querySelectorAll("[data-point]")) {
    button.hidden = false;
    button.addEventListener("click", () => point(!isPointing()));
  }
  form.addEventListener("click", (event) => {
    const part = isPointing() && event.target.closest("[data-part]");
    if (part && choosable().includes(part)) { event.preventDefault(); choose(part); }
  });
  highlight();

  const keys = {
    a: () => point(true),
    p: () => grade("pass"),
    f: () => grade("fail"),
    c: () => grade("cannot_judge"),
    u: undo,
    j: () => show(opened() + 1),
    k: () => show(opened() < 0 ? checkpoints.length - 1 : opened() - 1),
    n: () => {
      const item = checkpoints[opened()];
      if (item) item.querySelector("textarea").focus();
    },
  };
  // Capturing, so that the keys of all pages do not answer too.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    if (isPointing() && !document.querySelector("dialog[open]")) {
      if (pointingKey(event.key)) { event.preventDefault(); event.stopPropagation(); }
      return;
    }
    if (document.querySelector("dialog[open]") || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    if (!event.repeat || event.key === "j" || event.key === "k") keys[event.key]();
  }, true);

  undoButton.hidden = false;
  undoButton.disabled = true;
  undoButton.addEventListener("click", undo);
  form.addEventListener("click", (event) => {
    const button = event.target.closest(".choices button");
    if (!button) return;
    const group = button.closest(".choices");
    const before = group.dataset.value;
    if (before === button.value) return;
    if (!undoing) history.push({ id: group.closest("details").dataset.checkpoint, value: before });
    undoButton.disabled = !history.length;
    // Shown at once; what the server answers replaces it.
    press(group, button.value);
  }, true);

  // A field that was not changed here is never sent, so that a second tab cannot undo what the first has saved.
  const saved = new WeakMap(); // comment or anchor -> what the server has of it
  const isOwnField = (element) => element.matches("textarea, select");
  for (const field of form.querySelectorAll("textarea")) saved.set(field, field.defaultValue);
  for (const field of form.querySelectorAll("select")) saved.set(field, field.dataset.saved);
  form.addEventListener("formdata", (event) => {
    for (const field of form.querySelectorAll("textarea, select")) {
      if (field.value === saved.get(field)) event.formData.delete(field.name);
    }
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  // What did not arrive is said and sent again until it does. One entry a comment, an anchor and a grade.
  const place = (element) => (isOwnField(element) ? element.id : "grade-" + idOf(element));
  function say(why) {
    const numbers = [...unsaved.values()].map((item) => Number(itemOf(item.element).dataset.number));
    const listed = [...new Set(numbers)].sort((a, b) => a - b).join(", ");
    banner.hidden = !listed;
    banner.textContent = listed ? `Not saved: checkpoint ${listed}. ${why} Trying again.` : "";
  }
  function forget(key) {
    const item = unsaved.get(key);
    if (item) clearTimeout(item.timer);
    unsaved.delete(key);
    return item;
  }
  function keep(element, why) {
    const tries = (forget(place(element))?.tries ?? 0) + 1;
    const timer = setTimeout(() => htmx.trigger(element, "retry"), Math.min(15000, 1000 * 2 ** (tries - 1)));
    unsaved.set(place(element), { element, tries, timer });
    wantsSubmit = false;
    say(why);
  }
  function refused(element) {
    const id = idOf(element);
    if (element.matches("select")) { element.value = saved.get(element); highlight(); }
    else if (!isOwnField(element)) press(choices(id), document.getElementById("mark-" + id).dataset.value);
  }
  // A sign-in page instead of an answer: the session is over, the grade was not taken.
  function answered({ xhr, pathInfo }) {
    return Boolean(xhr.responseURL) && new URL(xhr.responseURL).pathname === pathInfo.requestPath;
  }
  function settle(element, detail, sent) {
    const { status } = detail.xhr;
    if (status === 0) keep(element, "The server does not answer.");
    else if (status < 300 && !answered(detail)) keep(element, "You are signed out; sign in in another tab.");
    else if (status < 300) { forget(place(element)); say(""); if (isOwnField(element)) saved.set(element, sent); }
    else if (status === 404 || status === 409 || status === 422) { forget(place(element)); refused(element); say(""); }
    else keep(element, `The server answered ${status}.`);
  }
  form.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    const sent = elt.value;
    inFlight += 1;
    const item = unsaved.get(place(elt));
    if (item) clearTimeout(item.timer);
    event.detail.xhr.addEventListener("loadend", () => {
      inFlight -= 1;
      settle(elt, event.detail, sent);
      if (wantsSubmit && inFlight === 0 && !unsaved.size) form.requestSubmit(document.getElementById("submit"));
    });
  });
  form.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status < 300 && !answered(event.detail)) event.detail.shouldSwap = false;
  });
  // Nothing is submitted before everything has arrived.
  form.addEventListener("submit", (event) => {
    if (inFlight === 0 && !unsaved.size) { unloading = true; return; }
    event.preventDefault();
    wantsSubmit = inFlight > 0;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!unloading && (unsaved.size || inFlight)) event.preventDefault();
  });
})();
