// Progressive enhancement: every page works without this script.

// Write dates as the server does in texts and charts (16 Nov 2026), so that one page has one format.
const LOCALE = "en-GB";
// Create the formatters once, because creating one is slower than formatting all times of a page.
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
// A calendar day is the same in every time zone.
const date = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" });
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "long" });
const minute = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });

// Intl abbreviates September as Sept, the server as Sep.
const shortDate = (format, moment) => format.format(moment).replace("Sept", "Sep");

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const isDay = time.dateTime.length === 10;
    const moment = new Date(time.dateTime);
    const format = isDay ? date : "day" in time.dataset ? day : minute;
    if (!("age" in time.dataset)) time.textContent = shortDate(format, moment);
    if (!isDay) time.title = `${shortDate(exact, moment)} (${time.dateTime})`;
    time.dataset.local = "";
  }
}

// On a narrow screen a row is shown as a card: label each cell with the name of its column.
function nameCells(root) {
  for (const table of root.querySelectorAll("table.cards")) {
    const names = [...table.querySelectorAll("thead th")].map((cell) => (cell.querySelector(".unseen") ? "" : cell.textContent.trim()));
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, n) => (cell.dataset.name = names[n] ?? ""));
    }
  }
}

// Sort a table by the clicked column, if the whole list is on the page.
const RISKS = ["low", "moderate", "high", "critical"];
const TEXT = new Intl.Collator(undefined, { numeric: true });

function sortKey(row, n) {
  const cell = row.cells[n];
  const moment = cell.querySelector("time")?.dateTime;
  if (moment) return moment;
  const risk = cell.querySelector(".risk");
  if (risk) return String(RISKS.findIndex((name) => risk.classList.contains(name)) + 1);
  return cell.textContent.replace(/(?<=\d),(?=\d{3})/g, "").trim();
}

function sortBy(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const up = head.ariaSort !== "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  head.ariaSort = up ? "ascending" : "descending";
  const keys = [...body.rows].map((row) => [sortKey(row, head.cellIndex), row]);
  // Empty cells come last in both directions.
  keys.sort(([one], [other]) => !one - !other || TEXT.compare(one, other) * (up ? 1 : -1));
  body.append(...keys.map(([, row]) => row));
}

function offerSorting(root) {
  for (const head of root.querySelectorAll("table[data-sort] thead th")) {
    if (head.querySelector(".unseen, button") || head.closest("table").tBodies[0].rows.length < 2) continue;
    const button = made("button", ...head.childNodes);
    Object.assign(button, { type: "button", className: "sort" });
    head.append(button);
  }
}

// Show how many rows are selected, including on the buttons.
const ticks = () => [...document.querySelectorAll("[data-rows] .tick input")];

function countSelected() {
  const all = document.querySelector("[data-all]");
  if (!all) return;
  const place = document.querySelector("[data-selected]");
  const count = ticks().filter((tick) => tick.checked).length;
  all.checked = count > 0 && count === ticks().length;
  all.indeterminate = count > 0 && !all.checked;
  place.replaceChildren(...(count ? [made("b", `${count} of ${ticks().length}`), " selected"] : [`Select all ${ticks().length}`]));
  for (const number of document.querySelectorAll(".bulk [data-count]")) number.textContent = count || "selected";
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-all]")) for (const tick of ticks()) tick.checked = event.target.checked;
  if (event.target.matches("[data-all], .tick input")) countSelected();
  if (event.target.matches("[data-choice]")) showNeeded(event.target.form);
  if (event.target.matches("[name=kind], [name=authentication]")) showKind();
  if (event.target.matches("[data-again]")) event.target.form.querySelector("button[name=again]").click();
});

// Show only the fields that the chosen decision uses; without this script all of them are shown.
function showNeeded(form) {
  const chosen = form.querySelector("[data-choice]:checked")?.value;
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(",").includes(chosen);
  const button = form.querySelector("[data-verb]");
  if (button && chosen) button.textContent = `${PASSED_ON.includes(chosen) ? `${chosen}: pass on` : chosen} and go to next`;
}

// Decisions that give the item to another person at once, so a key alone does not send them.
const PASSED_ON = ["Not Mine", "Unsure"];

// Return the first empty field that the chosen decision needs.
function missing(form) {
  const chosen = form.querySelector("[data-choice]:checked")?.value;
  return [...form.querySelectorAll("[data-needed]")].find((field) => field.dataset.needed.split(",").includes(chosen) && !field.value.trim());
}

// Show next to a field why the decision was not sent or not stored.
function complain(field, text) {
  document.getElementById("refusal")?.remove();
  const place = made("p", text);
  Object.assign(place, { id: "refusal", className: "notice bad", role: "alert" });
  field.after(place);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", "refusal");
  field.focus();
}

document.addEventListener(
  "submit",
  (event) => {
    const field = event.target.matches("form.deciding") && missing(event.target);
    if (!field) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    complain(field, field.dataset.missing);
  },
  true,
);

// An action replaces the page: keep the selection, and the input of a refused decision.
let ticked = [];
let typed;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!isSent(event.detail)) return;
  ticked = document.querySelector("table.work") ? ticks().filter((tick) => tick.checked).map((tick) => tick.value) : [];
  const form = event.target.closest("form.deciding");
  typed = form && { action: form.getAttribute("action"), values: [...new FormData(form)] };
});

function restore() {
  for (const tick of ticks()) tick.checked ||= ticked.includes(tick.value);
  const notice = document.querySelector("main > .notice.bad");
  const form = typed && notice && document.querySelector(`form.deciding[action="${typed.action}"]`);
  if (form) refill(form, typed.values, notice.textContent);
  [ticked, typed] = [[], undefined];
  countSelected();
}

function refill(form, values, refusal) {
  for (const [name, value] of values) {
    for (const field of form.querySelectorAll(`[name="${name}"]:not([type=hidden])`)) {
      if (field.type === "radio") field.checked = field.value === value;
      else field.value = value;
    }
  }
  showNeeded(form);
  const fields = [...form.querySelectorAll("[data-for]:not([hidden]) :is(input, select)")];
  complain(missing(form) ?? fields[0] ?? form.querySelector("textarea"), refusal);
}

// Show only the fields of the chosen kind of source or carrier; without this script all of them are shown.
function showKind() {
  const kind = document.querySelector("form:has([data-kinds]) [name=kind]")?.value;
  if (!kind) return;
  const authentication = document.querySelector("[name=authentication]")?.value;
  const isHttp = ["SCIM", "REST"].includes(kind);
  for (const part of document.querySelectorAll("[data-kinds]")) {
    const needed = isHttp && part.dataset.authentications;
    part.hidden = !part.dataset.kinds.split("|").includes(kind) || Boolean(needed && needed !== authentication);
  }
}

// Show that a slow action is running, and prevent a second click.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button?.dataset.busy) return;
  button.textContent = button.dataset.busy;
  button.ariaBusy = "true";
  requestAnimationFrame(() => (button.disabled = true));
});

// Select the rows that a button refers to, such as those recommended to keep.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-pick]");
  if (!link) return;
  event.preventDefault();
  for (const tick of ticks()) tick.checked = link.dataset.pick === "" || tick.dataset.verdict === link.dataset.pick;
  countSelected();
});

const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("[data-rows] tr[data-href]")];
const chosen = () => document.querySelector("[data-rows] tr.chosen");
const split = () => document.querySelector("[data-split]");
const link = (row) => row?.querySelector("a");

// Debounce: while a key is held down, move only the selection; fetch the detail after a short pause.
const RESTS = 120;
let resting;

function choose(step, held) {
  const all = rows();
  const next = all[Math.min(Math.max(all.indexOf(chosen()) + step, 0), all.length - 1)];
  if (!next || next === chosen()) return;
  mark(next);
  link(next).focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  if (!split()) return;
  htmx.trigger(next.closest("table"), "htmx:abort");
  clearTimeout(resting);
  resting = setTimeout(() => link(next).click(), held ? RESTS : 0);
}

function mark(row) {
  link(chosen())?.removeAttribute("aria-current");
  chosen()?.classList.remove("chosen");
  row?.classList.add("chosen");
  const detail = document.getElementById("detail");
  if (!row || !detail) return;
  link(row).setAttribute("aria-current", "true");
  // Disable the actions of the detail until it shows the selected request.
  const waits = detail.dataset.id !== row.dataset.id;
  detail.toggleAttribute("inert", waits);
  detail.ariaBusy = waits;
}

// After only the detail was replaced, update the rest of the page to match it.
document.addEventListener("htmx:beforeRequest", (event) => {
  const row = event.target.closest("[data-split] tr[data-href]");
  if (row) mark(row);
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "detail") return;
  split().classList.replace("closed", "opened");
  document.querySelector("main > .notice")?.remove();
  say(document.querySelector("#detail :is(h1, h2)")?.textContent);
});

// Screen readers announce a message only in a live region that already exists.
function say(text) {
  const place = document.getElementById("announcement");
  if (place) setTimeout(() => (place.textContent = text), 50);
}

// Fetch the detail of the next item of a review while this one is read, so that a decision shows it at once.
let ahead;

async function fetchAhead() {
  const next = document.querySelector("#detail [data-choice]") && rows()[rows().indexOf(chosen()) + 1];
  if (!next || ahead?.id === next.dataset.id) return;
  const answer = await fetch(link(next).href, { headers: { "HX-Target": "detail", Purpose: "prefetch" } }).catch(() => null);
  if (answer?.ok && !answer.redirected) ahead = { id: next.dataset.id, html: await answer.text() };
}

// Show the next item while the service stores a decision. The response then replaces the page.
function showAhead(detail) {
  const row = chosen();
  const next = row?.dataset.id === detail.dataset.id && rows()[rows().indexOf(row) + 1];
  if (!next || ahead?.id !== next.dataset.id) return;
  const template = document.createElement("template");
  template.innerHTML = ahead.html;
  const fresh = template.content.querySelector("#detail");
  if (!fresh) return;
  Object.assign(detail, { id: "decided", hidden: true });
  detail.after(fresh);
  localTimes(fresh);
  for (const form of fresh.querySelectorAll("form:has([data-choice])")) showNeeded(form);
  row.classList.add("decided");
  mark(next);
  Object.assign(fresh, { inert: true, ariaBusy: true });
  next.scrollIntoView({ block: "nearest" });
}

// The decision was not stored: show its item again.
function takeBack() {
  const detail = document.getElementById("decided");
  if (!detail) return;
  document.getElementById("detail").remove();
  Object.assign(detail, { id: "detail", hidden: false });
  const row = rows().find((one) => one.dataset.id === detail.dataset.id);
  row?.classList.remove("decided");
  mark(row);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  const detail = event.target.closest("form.deciding") && event.target.closest("#detail");
  if (detail) showAhead(detail);
});

// Send a response only once, and only for the request that is shown.
let acting = false;
const isSent = (detail) => detail.requestConfig.verb !== "get";
document.addEventListener("htmx:beforeRequest", (event) => (acting ||= isSent(event.detail)));
document.addEventListener("htmx:afterRequest", (event) => (acting &&= !isSent(event.detail)));
const answerable = () => !acting && !document.querySelector("#detail[inert]");

function reject() {
  const form = document.getElementById("reject");
  if (!form) return;
  form.open = true;
  document.getElementById("reason").focus();
}

// Decide an item of a review: send the decision, or ask first for the fields that it needs.
function decide(key) {
  const choice = document.querySelector(`#detail [data-choice="${key}"]`);
  if (!choice) return false;
  choice.click();
  const needed = missing(choice.form);
  if (needed) needed.focus();
  else if (PASSED_ON.includes(choice.value)) choice.form.querySelector("[data-verb]").focus();
  else choice.form.requestSubmit();
  return true;
}

// With a selection, the keys of the bar decide the selected items.
function decideSelected(key) {
  const button = ticks().some((tick) => tick.checked) && document.querySelector(`#several [data-several="${key}"]`);
  if (button) button.click();
  return Boolean(button);
}

// Undo the decision about the item that is shown, or else the last one.
function undo() {
  const button = document.querySelector("#detail [data-key=z]") ?? document.querySelector("[data-key=z]");
  if (button) button.click();
  else say("There is no decision to undo");
  return true;
}

// Defer a key that is pressed while a decision is being stored, and apply it to the item that is shown now.
let kept;
const perform = (key) => (key === "z" ? undo() : decideSelected(key)) || decide(key) || (key === "r" ? reject() : document.querySelector(`[data-key=${key}]`)?.click());
const press = (key) => {
  if (answerable()) perform(key);
  else if (document.getElementById("decided")) kept = { key, id: document.getElementById("detail").dataset.id };
};

function pressKept() {
  const { key, id } = kept ?? {};
  kept = undefined;
  if (key && document.getElementById("detail")?.dataset.id === id) press(key);
}

const isShown = (id) => document.getElementById(id)?.checkVisibility();

const KEYS = {
  "/": () => (isShown("search") ? document.getElementById("search").focus() : document.querySelector(".find")?.click()),
  "?": () => document.getElementById("keys")?.showModal(),
  j: (held) => choose(1, held),
  k: (held) => choose(-1, held),
  x: () => chosen()?.querySelector(".tick input")?.click(),
  Enter: () => link(chosen())?.click(),
  Escape: () => document.querySelector("[data-back]")?.click(),
};
for (const key of ["a", "r", "u", "c", "n", "s", "z"]) KEYS[key] = () => press(key);
const HELD = ["j", "k"];

document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key === "k") {
    event.preventDefault();
    KEYS["/"]();
    return;
  }
  // Send a decision from its comment.
  if ((event.metaKey || event.ctrlKey) && event.key === "Enter") return event.target.closest("form.deciding")?.requestSubmit();
  // Ignore shortcuts while a dialog or popover is open.
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector(":popover-open, dialog[open]")) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || (event.key === "Enter" && event.target.closest("a, button, summary"))) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat || HELD.includes(event.key)) act(event.repeat);
});

// If the service is unavailable or the session has ended, keep the page and its input, and show a message.
function why(detail) {
  const { status, responseURL } = detail.xhr;
  if (status === 0) return "The service cannot be reached";
  if (status === 500) return "Something went wrong in the service";
  if (status > 500) return `The service is not available (${status})`;
  const isAsked = new URL(responseURL).pathname === "/sign-in" && !location.pathname.startsWith("/sign-in");
  return isAsked && isSent(detail) && detail.requestConfig.path !== "/sign-out" && "You are signed out. Sign in in another window, then try again here";
}

document.addEventListener("htmx:sendError", (event) => tellAway(event.detail));
// Do not refresh a page that asks for confirmation: this would close the question.
document.addEventListener("htmx:beforeSwap", (event) => {
  const isPoll = event.detail.requestConfig.elt.matches("[hx-trigger^=every]");
  if (isPoll && document.querySelector("[popover]:popover-open")) event.preventDefault();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  document.getElementById("away")?.remove();
  if (!why(event.detail)) return;
  event.detail.shouldSwap = false;
  tellAway(event.detail);
});

const made = (name, ...parts) => {
  const element = document.createElement(name);
  element.append(...parts);
  return element;
};

function tellAway(detail) {
  takeBack();
  document.getElementById("away")?.remove();
  const id = detail.xhr.getResponseHeader("x-correlation-id");
  const again = made("button", "Try again");
  const close = made("button", "Close");
  const kept = isSent(detail) ? " What you typed is still here." : "";
  const place = made("div", made("p", `${why(detail)}.${kept}`), again, " ", close);
  if (id) again.before(made("p", "When asking for help, quote ", made("code", id)));
  Object.assign(place, { id: "away", className: "notice bad", role: "alert" });
  close.className = "second";
  place.addEventListener("click", (event) => {
    if (event.target === again || event.target === close) place.remove();
    if (event.target === again) sendAgain(detail.requestConfig);
  });
  document.body.append(place);
}

function sendAgain({ elt, triggeringEvent }) {
  if (elt.matches("form")) elt.requestSubmit(triggeringEvent?.submitter);
  else elt.click();
}

async function copy(button) {
  const text = document.querySelector(button.dataset.copy).textContent.trim();
  await navigator.clipboard.writeText(text);
  button.dataset.said ??= button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = button.dataset.said), 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) return copy(button);
  if (event.target.closest("[data-key=r]")) {
    event.preventDefault();
    return reject();
  }
  const head = event.target.closest("th")?.querySelector("button.sort") && event.target.closest("th");
  if (head && event.target.closest("button")) return sortBy(head);
  // A click on a row opens its link, unless text is being selected.
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button, input, select, label, [popover]") && getSelection().isCollapsed) {
    row.querySelector("a").click();
  }
});

// A download does not change the page: reload the list of runs a moment later, and again when it is probably complete.
document.addEventListener("submit", (event) => {
  const place = event.target.dataset.reads;
  if (!place) return;
  const again = { target: place, select: place, swap: "outerHTML" };
  for (const wait of [1000, 5000]) {
    setTimeout(() => document.querySelector(place) && htmx.ajax("GET", location.pathname, again), wait);
  }
});

// A download stores a notice for the next page, such as the seal of evidence: poll for it and show it on this page.
async function showNotice() {
  if (document.querySelector("main > .notice")) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const notice = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main > .notice");
  if (!notice) return;
  document.querySelector(".top").after(document.adoptNode(notice));
  say(notice.textContent);
}
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-notice]")) for (const wait of [1000, 5000, 20000]) setTimeout(showNotice, wait);
});

for (const type of ["dragover", "drop"]) {
  document.addEventListener(type, (event) => {
    const field = event.target.closest(".drop")?.querySelector("input[type=file]");
    if (!field) return;
    event.preventDefault();
    if (type === "dragover") return;
    field.files = event.dataTransfer.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// Suggest people while a name is typed.
let asked;
document.addEventListener("input", (event) => {
  const field = event.target.closest("[data-people]");
  if (!field || field.value.includes("(") || field.value.trim().length < 2) return;
  clearTimeout(asked);
  asked = setTimeout(async () => {
    const answer = await fetch(`/people?q=${encodeURIComponent(field.value)}`);
    if (answer.ok) field.list.innerHTML = await answer.text();
  }, 120);
});

// Show the first rows of a chosen file, and which of its columns are known.
const same = (header) => header.toLowerCase().replace(/[\s_-]/g, "");
document.addEventListener("change", async (event) => {
  const field = event.target.closest("input[type=file][data-fields]");
  if (!field) return;
  const known = new Set(field.dataset.fields.split("|").map(same));
  const place = document.getElementById(field.getAttribute("aria-describedby"));
  place.replaceChildren();
  for (const file of field.files) {
    const lines = document.createElement("span");
    lines.className = "preview";
    lines.append(`${file.name}, ${file.size.toLocaleString()} bytes`);
    if (/\.(csv|tsv|txt)$/i.test(file.name)) {
      const [head, ...rest] = (await file.slice(0, 4096).text()).split(/\r?\n/, 4);
      const columns = head.split(/[,;\t]/).map((name) => name.trim().replace(/^"|"$/g, ""));
      const names = columns.filter((name) => known.has(same(name)));
      const others = columns.filter((name) => !known.has(same(name)));
      lines.append(`\nKnown: ${names.join(", ") || "none"}${others.length ? `. Also kept: ${others.join(", ")}` : ""}`);
      lines.append(...rest.filter(Boolean).map((line) => `\n${line.slice(0, 120)}`));
    }
    place.append(lines);
  }
});

document.addEventListener("htmx:xhr:progress", (event) => {
  const bar = event.target.querySelector?.("progress");
  if (!bar || !event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.value = (100 * event.detail.loaded) / event.detail.total;
  // The files are uploaded. The service now reads them, which takes an unknown time.
  if (event.detail.loaded >= event.detail.total) bar.removeAttribute("value");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful) for (const bar of document.querySelectorAll("[data-upload] > progress")) bar.hidden = true;
});

// Follow the log of an import, or a request that a carrier works on. Any server process can resume a broken stream.
let stream;
const isTyped = () => [...document.querySelectorAll("main textarea, main input[type=text]")].some((field) => field.value !== field.defaultValue);
// Keep what was typed, and offer to load the page again.
function announceChange() {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.role = "status";
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = "Load the page again";
  notice.append("This page is out of date; your text is not sent yet. ", again);
  document.querySelector("main").prepend(notice);
}
function follow(root) {
  const place = root.querySelector("[data-stream]");
  stream?.close();
  if (!place) return;
  stream = new EventSource(place.dataset.stream);
  let waiting = place.dataset.stream.endsWith("after=0");
  stream.onmessage = (event) => {
    if (waiting) place.textContent = "";
    waiting = false;
    place.append(`${event.data}\n`);
    place.scrollTop = place.scrollHeight;
  };
  stream.addEventListener("look", () => {
    stream.close();
    if (isTyped()) announceChange();
    else location.reload();
  });
}

// On a narrow screen, scroll the current tab into view.
function showPlace() {
  for (const place of document.querySelectorAll(".tabs a[aria-current]")) {
    const list = place.closest("ul");
    const left = place.offsetLeft - list.offsetLeft;
    if (left + place.offsetWidth > list.clientWidth) list.scrollLeft = left - 48;
  }
}

// Filter by days in the reader's time zone.
function nameZone(root) {
  for (const field of root.querySelectorAll("[data-zone]")) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function begin(root) {
  if (root === document.body || root === document) {
    showPlace();
    if (split()) chosen()?.scrollIntoView({ block: "nearest" });
  }
  localTimes(root);
  nameCells(root);
  offerSorting(root);
  countSelected();
  nameZone(root);
  showKind();
  for (const form of document.querySelectorAll("form:has([data-choice])")) showNeeded(form);
  fetchAhead();
  follow(document);
}

document.addEventListener("htmx:load", (event) => begin(event.target));
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target !== document.body) return;
  showPlace();
  // Run after the browser has scrolled to the top of the new page.
  requestAnimationFrame(() => {
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
    arrive(isSent(event.detail));
    if (isSent(event.detail)) restore();
    pressKept();
  });
});

// After an action, move the focus to the first problem, the next request or the notice.
function arrive(acted) {
  const notice = document.querySelector("main > .notice");
  const row = split() && chosen();
  say(notice?.textContent ?? document.title);
  row?.scrollIntoView({ block: "nearest" });
  if (acted) (document.querySelector("[aria-invalid=true]") ?? link(row) ?? notice)?.focus({ preventScroll: Boolean(row) });
}
// Open folded sections for printing.
const printed = new Set();
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("main details:not([open], #reject)")) {
    part.open = true;
    printed.add(part);
  }
});
addEventListener("afterprint", () => {
  for (const part of printed) part.open = false;
  printed.clear();
});
// A page from the browser's back-forward cache may be out of date.
addEventListener("pageshow", (event) => event.persisted && location.reload());
if (!window.htmx) begin(document);
