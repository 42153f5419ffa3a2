// What the browser adds; every page works without it.

// Made once: a formatter costs more than the page's times together.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
// A day of the calendar is the same in every zone.
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const format = time.dateTime.length === 10 ? date : "day" in time.dataset ? day : minute;
    time.textContent = format.format(new Date(time.dateTime));
    time.dataset.local = "";
  }
}

// On a narrow screen a row is a card: each cell says what its column is called.
function nameCells(root) {
  for (const table of root.querySelectorAll("table.cards")) {
    const names = [...table.querySelectorAll("thead th")].map((cell) => (cell.querySelector(".unseen") ? "" : cell.textContent.trim()));
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, n) => (cell.dataset.name = names[n] ?? ""));
    }
  }
}

const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("[data-rows] tr[data-href]")];
const chosen = () => document.querySelector("[data-rows] tr.chosen");

function choose(step) {
  const all = rows();
  const next = all[Math.min(Math.max(all.indexOf(chosen()) + step, 0), all.length - 1)];
  mark(next);
  next?.scrollIntoView({ block: "nearest" });
  if (next && document.querySelector("[data-split]")) next.querySelector("a").click();
}

function mark(row) {
  chosen()?.querySelector("a").removeAttribute("aria-current");
  chosen()?.classList.remove("chosen");
  row?.classList.add("chosen");
}

// Only the detail is another one: what the rest of the page says about it follows.
document.addEventListener("htmx:beforeRequest", (event) => {
  const row = event.target.closest("[data-split] tr[data-href]");
  if (!row) return;
  mark(row);
  row.querySelector("a").setAttribute("aria-current", "true");
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "detail") return;
  document.querySelector("[data-split]").classList.replace("closed", "opened");
  document.querySelector(".notice")?.remove();
});

function reject() {
  const form = document.getElementById("reject");
  if (!form) return;
  form.open = true;
  document.getElementById("reason").focus();
}

const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  j: () => choose(1),
  k: () => choose(-1),
  Enter: () => chosen()?.querySelector("a")?.click(),
  Escape: () => document.querySelector("[data-back]")?.click(),
  a: () => document.querySelector("[data-key=a]")?.click(),
  r: reject,
};

document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key === "k") {
    event.preventDefault();
    KEYS["/"]();
    return;
  }
  // What is open on top of the page has the keys to itself.
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector(":popover-open, dialog[open]")) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || (event.key === "Enter" && event.target.closest("a, button, summary"))) return;
  const act = KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

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
  // A row is as good as the link in it, unless somebody selects its text.
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button, input, select, label, [popover]") && getSelection().isCollapsed) {
    row.querySelector("a").click();
  }
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

// The people whom a field may mean, while somebody types.
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

// The first rows of a file that was chosen, and which of its columns are known.
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
});

// The log of an import as it is written. A stream that breaks goes on where it was, in whatever process.
let stream;
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
    location.reload();
  });
}

// On a narrow screen the navigation and tabs scroll: where one is must be in sight.
function showPlace() {
  for (const place of document.querySelectorAll("nav a[aria-current], .tabs a[aria-current]")) {
    const list = place.closest("ul");
    const left = place.offsetLeft - list.offsetLeft;
    if (left + place.offsetWidth > list.clientWidth) list.scrollLeft = left - 48;
  }
}

function begin(root) {
  if (root === document.body || root === document) showPlace();
  localTimes(root);
  nameCells(root);
  follow(document);
}

document.addEventListener("htmx:load", (event) => begin(event.target));
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target !== document.body) return;
  showPlace();
  // After the jump to the top that comes with another page.
  requestAnimationFrame(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
});
// A page that came back from the browser's own memory may be old.
addEventListener("pageshow", (event) => event.persisted && location.reload());
if (!window.htmx) begin(document);
