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
  let unloading = false;

  const opened = () => checkpoints.findIndex((item) => item.open);
  const choices = (id) => document.getElementById("choices-" + id);
  const idOf = (element) => element.id.slice(element.id.lastIndexOf("-") + 1);
  const itemOf = (element) => checkpoints.find((item) => item.dataset.checkpoint === idOf(element));

  function show(index) {
    const target = checkpoints[Math.min(checkpoints.length - 1, Math.max(0, index))];
    if (!target) return;
    for (const item of checkpoints) item.open = item === target;
    target.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
  }

  // The buttons stay in the page, since a grade that waits for its turn would be lost with its button.
  function press(group, value) {
    group.dataset.value = value;
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
    press(group, button.value);
  }, true);

  // What did not arrive is said and sent again until it does. One entry a comment and one a grade.
  const place = (element) => (element.matches("textarea") ? element.id : "grade-" + idOf(element));
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
    if (!element.matches("textarea")) press(choices(id), document.getElementById("mark-" + id).dataset.value);
  }
  // A sign-in page instead of an answer: the session is over, the grade was not taken.
  function answered({ xhr, pathInfo }) {
    return Boolean(xhr.responseURL) && new URL(xhr.responseURL).pathname === pathInfo.requestPath;
  }
  function settle(element, detail) {
    const { status } = detail.xhr;
    if (status === 0) keep(element, "The server does not answer.");
    else if (status < 300 && !answered(detail)) keep(element, "You are signed out; sign in in another tab.");
    else if (status < 300) { forget(place(element)); say(""); }
    else if (status === 404 || status === 409 || status === 422) { forget(place(element)); refused(element); say(""); }
    else keep(element, `The server answered ${status}.`);
  }
  form.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    inFlight += 1;
    const item = unsaved.get(place(elt));
    if (item) clearTimeout(item.timer);
    event.detail.xhr.addEventListener("loadend", () => {
      inFlight -= 1;
      settle(elt, event.detail);
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
