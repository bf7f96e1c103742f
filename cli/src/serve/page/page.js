"use strict";
// Text from the store gets into the page as text only, never as markup.

const at = id => document.getElementById(id);
let token = null, chosen = null, latest = null, mode = {}, history = [];

const headers = () => token ? { Authorization: `Bearer ${token}` } : {};

function short(ms) {
  if (ms === null || ms === undefined) return "-";
  const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, "0");
  if (s < 1) return `${ms}ms`;
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor(s / 3600) % 24)}h`;
}

function used(lock) {
  if (lock.kind === "rw_lock") {
    if (lock.used >= lock.capacity) return "writer";
    return lock.used === 1 ? "1 reader" : `${lock.used} readers`;
  }
  return lock.capacity ? `${lock.used}/${lock.capacity}` : "-";
}

// What people read in place of a name: it may have letters that are escaped in the name itself.
let shown = new Map();
const readable = name => shown.get(name) ?? name;

const process = p => p.host ? `${p.pod ?? p.host}:${p.pid}` : "unknown";
const place = p => (p.value ? `${p.value}  ` : "") + (p.file ? `${p.site} at ${p.file}:${p.line}` : p.site);

function cell(row, text, name) {
  const td = row.insertCell();
  td.textContent = text;
  if (name) td.className = name;
  return td;
}

function fill(body, items, make) {
  const rows = document.createDocumentFragment();
  for (const item of items) {
    const row = document.createElement("tr");
    make(row, item);
    rows.append(row);
  }
  body.replaceChildren(rows);
}

// The events have the first locks only, so the server searches, one search at a time.
let isSearching = false;
async function search() {
  const text = at("filter").value;
  if (!text) return showLocks(latest);
  if (isSearching) return;
  isSearching = true;
  try {
    const answer = await fetch(`search/${encodeURIComponent(text)}`, { headers: headers() });
    if (answer.ok && text === at("filter").value) showLocks(await answer.json());
  } finally {
    isSearching = false;
  }
  if (text !== at("filter").value) await search();
}

function showLocks({ count, locks }) {
  for (const lock of locks) shown.set(lock.name, lock.shown);
  const focused = document.activeElement?.dataset?.name;
  fill(at("locks"), locks, (row, lock) => {
    const button = document.createElement("button");
    button.className = "name";
    button.dataset.name = lock.name;
    button.textContent = readable(lock.name);
    cell(row, "", "long").append(button);
    row.classList.toggle("chosen", lock.name === chosen);
    row.onclick = () => choose(lock.name);
    cell(row, lock.kind ?? "-", "less");
    cell(row, used(lock), "n");
    cell(row, lock.holders, "n less");
    cell(row, lock.holder, "long less");
    cell(row, lock.value ?? "", "long less");
    cell(row, lock.kept ? "kept" : short(lock.held_ms), "n");
    // Standbys of a leader wait for as long as it leads.
    const waits = lock.waiters && lock.kind !== "leader" ? "n waits" : "n";
    cell(row, lock.waiters, waits);
    cell(row, short(lock.oldest_wait_ms), waits);
  });
  if (focused) [...at("locks").querySelectorAll("button")].find(b => b.dataset.name === focused)?.focus();
  const left = count - locks.length;
  at("more").textContent = left > 0 ? `and ${left} more: auto-mutex ls` : "";
}

async function choose(name) {
  chosen = chosen === name ? null : name;
  for (const button of at("locks").querySelectorAll("button")) {
    button.closest("tr").classList.toggle("chosen", button.dataset.name === chosen);
  }
  await showQueue();
}

async function showQueue() {
  at("queue").hidden = chosen === null;
  if (chosen === null) return;
  const name = chosen;
  const answer = await fetch(`api/show/${encodeURIComponent(name)}`, { headers: headers() });
  if (!answer.ok || name !== chosen) return;
  const lock = await answer.json();
  at("queue-name").textContent = `${readable(lock.name)}  ${used(lock)}`;
  const kicked = lock.kicked;
  at("kicked").textContent = kicked ? `The hold with token ${kicked.token} was broken at ${kicked.at} by ${place(kicked)} (${process(kicked)}).` : "";
  fill(at("holders"), lock.holders, (row, hold) => {
    cell(row, lock.kind === "rw_lock" && hold.units === lock.capacity ? "all" : hold.units);
    cell(row, hold.kept ? "kept" : short(hold.held_ms), "n");
    cell(row, process(hold), "long");
    cell(row, place(hold), "long");
    cell(row, hold.token, "mono less");
    const td = row.insertCell();
    if (mode.kicks) {
      const button = document.createElement("button");
      button.textContent = "break";
      button.onclick = () => kick(lock.name, hold);
      td.append(button);
    }
  });
  fill(at("waiters"), lock.waiters, (row, wait) => {
    cell(row, wait.place, "n");
    cell(row, short(wait.waited_ms), "n");
    cell(row, process(wait) + (wait.calls > 1 ? ` ×${wait.calls}` : ""), "long");
    cell(row, place(wait), "long");
    cell(row, wait.state.replace("_", " "), "less");
  });
}

async function kick(name, hold) {
  if (!token) { at("login").hidden = false; at("token").focus(); return; }
  if (!confirm(`Break the hold of ${readable(name)} by ${process(hold)}?`)) return;
  const body = JSON.stringify({ name, token: hold.token });
  const answer = await fetch("api/kick", { method: "POST", headers: headers(), body });
  if (answer.status === 401) { token = null; at("login").hidden = false; }
  complain(answer.ok ? null : answer.status === 409 ? "It was released meanwhile: nothing was changed." : await answer.text());
  await showQueue();
}

function complain(text) {
  at("trouble").hidden = !text;
  at("trouble").textContent = text ?? "";
}

// The tree: a box for each process, and below it, further to the right, one for each lock that it holds, and one for each waiter.
const SVG = "http://www.w3.org/2000/svg", ROW = 46, STEP = 28, WIDTH = 460, HEIGHT = 38, MOST = 60;

function svg(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

// Names of one function differ at their ends.
function cut(text, most) {
  const letters = [...text], end = Math.ceil(most * 2 / 3);
  return letters.length > most ? `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end).join("")}` : text;
}

function box(parent, { x, y }, lines, kind) {
  const group = svg("g", { class: kind }, parent);
  svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5 }, group);
  svg("text", { x: x + 8, y: y + 16 }, group).textContent = cut(lines[0], 60);
  svg("text", { x: x + 8, y: y + 31, class: "small" }, group).textContent = cut(lines[1], 64);
  svg("title", {}, group).textContent = lines.join("\n");
}

function line(parent, from, to) {
  const x = from.x + STEP / 2, y = to.y + HEIGHT / 2;
  svg("path", { d: `M${x} ${from.y + HEIGHT} V${y} H${to.x}` }, parent);
}

function drawChain(chain) {
  const hops = chain.hops.slice(0, MOST);
  if (!hops.length) return null;
  const picture = document.createElementNS(SVG, "svg");
  const lines = svg("g", {}, picture), kind = chain.cycle ? "cycle" : "process";
  let y = 0, right = WIDTH;
  const next = (depth, from, lines_, class_) => {
    const at = { x: depth * STEP, y };
    box(picture, at, lines_, class_);
    if (from) line(lines, from, at);
    y += ROW;
    right = Math.max(right, at.x + WIDTH);
    return at;
  };
  // The holder of depth 0 is the root; each hop adds its lock, once, and its waiter.
  const root = hops[0].holder, above = [next(0, null, root ? [process(root), place(root)] : ["nobody", ""], kind)], locks = [];
  for (const hop of hops) {
    const isSeat = hop.kind === "leader", hold = hop.holder;
    let lock = locks[hop.depth];
    if (lock?.name !== hop.name) {
      const held = !hold ? "held by nobody" : hold.kept ? "kept" : `${isSeat ? "led" : "held"} for ${short(hold.held_ms)}`;
      const at = next(hop.depth * 2 + 1, above[hop.depth], [readable(hop.name), `${hop.kind ?? ""} ${held}`], "lock");
      lock = { name: hop.name, at };
      locks.length = hop.depth;
      locks[hop.depth] = lock;
    }
    if (!hop.waiter) continue;
    const waits = `${isSeat ? "stands by for" : "waits for"} ${short(hop.waiter.waited_ms)}, place ${hop.waiter.place}  ${place(hop.waiter)}`;
    above[hop.depth + 1] = next(hop.depth * 2 + 2, lock.at, [process(hop.waiter), waits], kind);
    locks.length = hop.depth + 1;
  }
  const left = chain.hops.length - hops.length;
  if (left) {
    svg("text", { x: 0, y: y + 12 }, picture).textContent = `and ${left} more: auto-mutex tree`;
    y += ROW;
  }
  picture.setAttribute("width", right + 4);
  picture.setAttribute("viewBox", `-2 -2 ${right + 4} ${y + 4}`);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", chain.cycle ? "a cycle of waiters" : "a chain of waiters");
  return picture;
}

function showTree() {
  at("nobody").hidden = latest.chains.length > 0;
  const parts = [];
  for (const chain of latest.chains) {
    const cycle = chain.cycle ? "Cycle: these tasks wait for each other, a deadlock."
      : chain.possible ? "Possible cycle: a deadlock only if the same tasks of these processes hold and wait." : null;
    if (cycle) {
      const words = document.createElement("p");
      words.className = "waits";
      words.textContent = cycle;
      parts.push(words);
    }
    const picture = drawChain(chain);
    if (picture) parts.push(picture);
  }
  at("tree").replaceChildren(...parts);
  const left = latest.chain_count - latest.chains.length;
  at("more-chains").textContent = left > 0 ? `and ${left} more chains: auto-mutex tree` : "";
}

function showHistory() {
  history.push(latest.waiting);
  if (history.length > 120) history.shift();
  const most = Math.max(1, ...history);
  const points = history.map((n, i) => `${i * 120 / 119},${23 - 21 * n / most}`).join(" ");
  at("history").replaceChildren(svg("polyline", { points }));
}

// How old the locks are, which goes on while no event comes.
function showAge() {
  const age = latest && latest.age_ms !== null ? latest.age_ms + performance.now() - latest.came : null;
  at("age").textContent = age === null ? "" : `read ${short(Math.floor(age))} ago`;
  at("age").className = age > 5000 ? "waits" : "";
}
setInterval(showAge, 1000);

function take(update) {
  latest = update;
  latest.came = performance.now();
  shown = new Map(update.locks.map(lock => [lock.name, lock.shown]));
  at("place").textContent = update.place;
  at("summary").textContent = `${update.count} locks, ${update.waiting} waiting`;
  complain(update.trouble && `cannot look: ${update.trouble}`);
  showAge();
  search().catch(() => {});
  showTree();
  showHistory();
  showQueue().catch(() => {});
}

// Server-sent events by fetch: an EventSource can send no token.
async function listen() {
  const answer = await fetch("events", { headers: headers() });
  if (answer.status === 401) { token = null; at("login").hidden = false; return false; }
  if (!answer.ok) throw new Error(await answer.text());
  at("login").hidden = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the connection has ended");
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    const last = parts.pop();
    if (last?.startsWith("data: ")) take(JSON.parse(last.slice(6)));
  }
}

async function keepListening() {
  for (;;) {
    try {
      if (!await listen()) return;
    } catch (error) {
      complain(`not connected: ${error.message}`);
    }
    await new Promise(done => setTimeout(done, 1000));
  }
}

at("filter").oninput = () => latest && search().catch(() => {});
at("login").onsubmit = event => {
  event.preventDefault();
  token = at("token").value.trim();
  at("token").value = "";
  at("login").hidden = true;
  if (mode.reading_needs_token) keepListening();
};

(async () => {
  mode = await (await fetch("mode")).json();
  if (mode.reading_needs_token) at("login").hidden = false;
  else keepListening();
})();
