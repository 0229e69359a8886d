// Keys and autosave of the grading page, and ctrl+Enter of the adjudication page.
// htmx sends every grade and comment; this file opens checkpoints, undoes, and sends again what did not arrive.
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

  const opened = () => checkpoints.findIndex((item) => item.open);
  const choices = (id) => document.getElementById("choices-" + id);
  const numberOf = (element) => element.closest("details").dataset.number;

  function show(index) {
    const target = checkpoints[Math.min(checkpoints.length - 1, Math.max(0, index))];
    if (!target) return;
    for (const item of checkpoints) item.open = item === target;
    target.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
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

  const keys = {
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
    group.dataset.value = button.value;
    for (const other of group.querySelectorAll("button[aria-pressed]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  }, true);

  // What did not arrive is said and sent again until it does.
  function place(element) {
    return element.matches("textarea") ? element.id : "grade-" + element.closest("details").dataset.checkpoint;
  }
  function say(why) {
    const numbers = [...new Set([...unsaved.values()].map((item) => numberOf(item.element)))].sort((a, b) => a - b);
    banner.hidden = !numbers.length;
    banner.textContent = numbers.length ? `Not saved: checkpoint ${numbers.join(", ")}. ${why} Trying again.` : "";
  }
  function forget(key) {
    const item = unsaved.get(key);
    if (item) clearTimeout(item.timer);
    unsaved.delete(key);
    return item;
  }
  function keep(element, why) {
    const key = place(element);
    const tries = (forget(key)?.tries ?? 0) + 1;
    const again = () => htmx.trigger(document.getElementById(element.id), "retry");
    unsaved.set(key, { element, tries, timer: setTimeout(again, Math.min(15000, 1000 * 2 ** (tries - 1))) });
    wantsSubmit = false;
    say(why);
  }
  const reasons = {
    "htmx:sendError": () => "The server does not answer.",
    "htmx:timeout": () => "The server is slow.",
    "htmx:responseError": (xhr) => `The server answered ${xhr.status}.`,
  };
  for (const [name, reason] of Object.entries(reasons)) {
    form.addEventListener(name, (event) => {
      const status = event.detail.xhr.status;
      if (status !== 404 && status !== 409) keep(event.detail.elt, reason(event.detail.xhr));
    });
  }
  // A sign-in page instead of an answer: the session is over, the grade was not taken.
  form.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, pathInfo, elt } = event.detail;
    if (xhr.status >= 300 || !xhr.responseURL || new URL(xhr.responseURL).pathname === pathInfo.requestPath) return;
    event.detail.shouldSwap = false;
    keep(elt, "You are signed out; sign in in another tab.");
  });
  form.addEventListener("htmx:beforeRequest", (event) => {
    inFlight += 1;
    const item = unsaved.get(place(event.detail.elt));
    if (item) clearTimeout(item.timer);
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    inFlight -= 1;
    const { xhr, pathInfo, elt, successful } = event.detail;
    const answered = xhr.responseURL && new URL(xhr.responseURL).pathname === pathInfo.requestPath;
    if ((successful && answered) || xhr.status === 422) {
      if (elt.closest("details") || document.getElementById(elt.id)) forget(place(document.getElementById(elt.id)));
      say("");
    }
    if (wantsSubmit && inFlight === 0 && !unsaved.size) form.requestSubmit(document.getElementById("submit"));
  });
  // Nothing is submitted before everything has arrived.
  form.addEventListener("submit", (event) => {
    if (inFlight === 0 && !unsaved.size) { unloading = true; return; }
    event.preventDefault();
    wantsSubmit = inFlight > 0;
  });
  let unloading = false;
  window.addEventListener("beforeunload", (event) => {
    if (!unloading && (unsaved.size || inFlight)) event.preventDefault();
  });
})();
