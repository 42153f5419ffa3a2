// What the browser adds; every page works without it.

const day = { dateStyle: "medium" };
const minute = { dateStyle: "medium", timeStyle: "short" };

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(time.dateTime);
    time.textContent = new Intl.DateTimeFormat(undefined, "day" in time.dataset ? day : minute).format(moment);
    time.dataset.local = "";
  }
}

const typing = (target) => target.closest("input, textarea, select, dialog, [contenteditable]");
const rows = () => [...document.querySelectorAll("[data-rows] tr[data-href]")];
const chosen = () => document.querySelector("[data-rows] tr.chosen");

function choose(step) {
  const all = rows();
  const next = all[Math.min(Math.max(all.indexOf(chosen()) + step, 0), all.length - 1)];
  chosen()?.classList.remove("chosen");
  next?.classList.add("chosen");
  next?.scrollIntoView({ block: "nearest" });
  if (next && document.querySelector("[data-split]")) next.querySelector("a").click();
}

const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  j: () => choose(1),
  k: () => choose(-1),
  Enter: () => chosen()?.querySelector("a")?.click(),
  Escape: () => document.querySelector("[data-back]")?.click(),
  a: () => document.querySelector("[data-key=a]")?.click(),
  r: () => document.querySelector("[data-key=r]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key === "k") {
    event.preventDefault();
    KEYS["/"]();
    return;
  }
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || event.target.closest("a, button") && event.key === "Enter") return;
  const act = KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.querySelector(copy.dataset.copy).textContent.trim());
  const opens = event.target.closest("[data-opens]");
  if (opens) document.getElementById(opens.dataset.opens).showModal();
});

document.addEventListener("htmx:load", (event) => localTimes(event.target));
localTimes(document);
