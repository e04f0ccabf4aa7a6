"use strict";

const FIRST = 20;
const LABELS = ["not relevant", "relevant", "highly relevant"];
const MOST_LABEL = 9; // a key for each
const STORE = "rerank.judgements";
const $ = (id) => document.getElementById(id);
const state = {
  models: new Map(), fields: [], query: "", hits: [], model: "", token: "", all: false, number: 0, documents: 0, labels: LABELS,
};
const EXPERIMENT = String(new URLSearchParams([...new URLSearchParams(location.search)].filter(
  ([name]) => ["compare", "assign", "method"].includes(name))));
const SESSION = Math.random().toString(36).slice(2);
let judgements = stored();

// Elements are made from text alone: nothing of a document is read as HTML.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Objects without a prototype: a query or an id may be called "constructor" or "__proto__".
function plain(entries = []) {
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

function stored() {
  try {
    const queries = Object.entries(JSON.parse(localStorage.getItem(STORE)) ?? {});
    return plain(queries.map(([query, own]) => [query, plain(Object.entries(own))]));
  } catch {
    return plain(); // no storage, or another program's text in it
  }
}

function store() {
  try {
    localStorage.setItem(STORE, JSON.stringify(judgements));
  } catch {
    // no storage: judgements last as long as the page
  }
}

async function ask(path, body) {
  const headers = {};
  const token = $("token").value;
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { headers, method: body === undefined ? "GET" : "POST" };
  if (body !== undefined) options.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The service does not answer.");
  }
  if (answer.status === 401) $("token-row").hidden = false;
  const content = await answer.json().catch(() => ({ message: `The service answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(content.message);
  return content;
}

function complain(error) {
  $("error").textContent = error.message;
  $("error").hidden = false;
  $("status").textContent = "";
}

async function readModels() {
  const answer = await ask("models");
  const select = $("model");
  select.replaceChildren();
  for (const entry of answer.data) {
    state.models.set(entry.id, entry);
    select.append(make("option", { value: entry.id }, entry.id));
  }
  select.value = answer.served;
  state.fields = answer.fields;
  state.logs = answer.logs;
  state.documents = answer.documents;
  const highest = Math.min(Math.max(...answer.data.map((entry) => entry.highest_label)), MOST_LABEL);
  state.labels = Array.from({ length: highest + 1 }, (_, label) => (highest <= 2 ? LABELS[label] : label ? `grade ${label}` : LABELS[0]));
  drawStart(answer);
  const counts = [20, 50, 100].filter((count) => count < answer.most_documents);
  if (answer.most_documents <= 100) counts.push(answer.most_documents);
  $("candidates").replaceChildren(...counts.map((count) => make("option", { value: count }, String(count))));
  $("candidates").value = String(counts.at(-1));
}

function drawStart({ documents, examples, served }) {
  const count = new Intl.NumberFormat("en").format(documents);
  const shown = state.fields.join(", ");
  const collection = `${count} document${documents === 1 ? "" : "s"} with the fields ${shown}`;
  $("about").textContent = `${collection}. Each search shows BM25's order and that of the model ${served}.`;
  $("examples").replaceChildren("Try: ", ...examples.map((text) => make("a", { href: `#q=${encodeURIComponent(text)}` }, text)));
  $("examples").hidden = !examples.length;
  $("start").hidden = Boolean(state.query);
  $("tabs").hidden = !documents;
}

async function rankTexts() {
  const documents = $("text-box").value.split("\n").map((text) => text.trim()).filter(Boolean);
  $("error").hidden = true;
  try {
    const { results, meta } = await ask("rerank", { query: $("text-query").value, documents, model: $("model").value });
    const shares = !meta.reason;
    $("text-scale").textContent = shares ? "Probability of relevance" : "Scores order the texts of one query; they are no probabilities";
    $("ranked").replaceChildren(...results.map(({ index, relevance_score: share, score }) => make("li", {},
      make("span", { class: "rank" }, shares ? `${Math.round(100 * share)} %` : score.toFixed(3)), ` ${documents[index]}`)));
  } catch (error) {
    complain(error);
  }
}

function shownFields() {
  const texts = state.fields.filter((name) => ["title", "body", "contents", "text"].includes(name));
  const wanted = texts.filter((name) => name !== "contents");
  return wanted.length ? wanted : texts.length ? texts : state.fields.slice(0, 2);
}

async function search() {
  const query = $("query").value.trim();
  if (!query) return;
  const number = ++state.number;
  $("error").hidden = true;
  $("status").textContent = "Searching …";
  try {
    if (!state.models.size) await readModels();
    const model = $("model").value;
    const candidates = Number($("candidates").value);
    const chosen = EXPERIMENT ? {} : { model, explain: state.models.get(model).explains };
    const answer = await ask(EXPERIMENT ? `search?${EXPERIMENT}` : "search", {
      query, k: candidates, candidates, fields: shownFields(), excerpt: 240, highlight: true, session: SESSION, ...chosen,
    });
    if (number !== state.number) return; // a later search has begun
    const { hits, token = "" } = answer.results[0];
    Object.assign(state, { query, model: answer.model, hits, token, all: false });
    $("start").hidden = true;
    const hash = `#q=${encodeURIComponent(query)}`;
    if (location.hash !== hash) history.pushState(null, "", hash);
    $("tab-search").href = hash;
    showTab();
    draw();
    const moved = state.hits.filter((hit) => hit.rank !== hit.bm25.rank).length;
    const documents = `${state.hits.length} document${state.hits.length === 1 ? "" : "s"}`;
    const moves = isReranked() ? `, ${moved} moved` : "";
    $("status").textContent = state.hits.length ? `${documents}${moves}, ${answer.took_ms.toFixed(0)} ms` : "No document has a word of the query.";
  } catch (error) {
    if (number === state.number) complain(error);
  }
}

const isReranked = () => state.model !== "bm25";

// Where the service logs, one list is shown, so that positions mean something, and what is shown and clicked is told.
const isAlone = () => state.logs || !isReranked();

function report(events) {
  if (state.token) ask("events", { token: state.token, ...events }).catch(complain);
}

function draw() {
  const count = state.all ? state.hits.length : FIRST;
  const before = [...state.hits].sort((a, b) => a.bm25.rank - b.bm25.rank);
  $("bm25").querySelector("ol").replaceChildren(...before.slice(0, count).map((hit) => item(hit, "bm25")));
  $("reranked").querySelector("ol").replaceChildren(
    ...(isReranked() ? state.hits.slice(0, count).map((hit) => item(hit, "reranked")) : []));
  $("reranked").hidden = !isReranked();
  $("bm25").hidden = isReranked() && isAlone();
  $("reranked-title").textContent = `Reranked by ${state.model}`;
  $("lists").classList.toggle("one", isAlone());
  $("lists").style.gridTemplateRows = `repeat(${1 + Math.min(count, state.hits.length)}, auto)`; // a row for each rank
  $("lists").hidden = !state.hits.length;
  $("switch").hidden = !state.hits.length || isAlone();
  show(isReranked() ? $("lists").dataset.shown : "bm25");
  $("more-row").hidden = state.all || state.hits.length <= FIRST;
  $("more").textContent = `Show all ${state.hits.length}`;
  report({ shown: (isReranked() ? state.hits : before).slice(0, count).map((hit) => hit.id) });
  drawJudged();
}

function item(hit, list) {
  const names = shownFields().filter((name) => typeof hit.fields[name] === "string");
  const title = names.length < 2 ? undefined : names.includes("title") ? "title" : names[0];
  const entry = make("li", { tabindex: "-1", "data-id": hit.id });
  const line = make("div", { class: "line" }, make("span", { class: "rank" }, String(list === "bm25" ? hit.bm25.rank : hit.rank)));
  line.append(make("span", { class: "title" }, ...(title ? marked(hit, title) : [hit.id])));
  if (isReranked()) line.append(movement(hit, list));
  entry.append(line);
  for (const name of names) {
    if (name !== title) entry.append(make("p", { class: "text" }, ...marked(hit, name)));
  }
  for (const part of entry.children) part.addEventListener("click", () => report({ clicks: [hit.id] }));
  entry.append(tools(hit, entry, list));
  entry.addEventListener("focusin", () => pair(hit.id));
  entry.addEventListener("focusout", (event) => leave(event, entry));
  entry.addEventListener("mouseenter", () => pair(hit.id));
  return entry;
}

function movement(hit, list) {
  const up = hit.bm25.rank - hit.rank;
  const kind = up > 0 ? "up" : up < 0 ? "down" : "";
  const other = list === "bm25" ? hit.rank : hit.bm25.rank;
  const text = up === 0 ? "=" : `${up > 0 ? "▲" : "▼"} ${Math.abs(up)}`;
  const spoken = up === 0 ? "not moved" : `moved ${up > 0 ? "up" : "down"} by ${Math.abs(up)}`;
  const where = list === "bm25" ? "reranked" : "BM25";
  return make("span", { class: `move ${kind}`, title: `${spoken}; rank ${other} in ${where}`, "aria-label": spoken, role: "img" }, text);
}

// Matches are counted in characters, of which JavaScript stores some in two units.
function marked(hit, name) {
  const letters = Array.from(hit.fields[name]);
  const parts = [];
  let last = 0;
  for (const [begin, end] of hit.matches?.[name] ?? []) {
    parts.push(letters.slice(last, begin).join(""), make("mark", {}, letters.slice(begin, end).join("")));
    last = end;
  }
  parts.push(letters.slice(last).join(""));
  return parts;
}

function tools(hit, entry, list) {
  const score = list === "bm25" ? hit.bm25.score : hit.score;
  const row = make("div", { class: "tools" });
  state.labels.forEach((meaning, label) => {
    row.append(make("button", {
      type: "button", "data-label": label, title: meaning, "aria-label": `${label}: ${meaning}, ${hit.id}`,
      "aria-pressed": String(judgements[state.query]?.[hit.id] === label), onclick: () => judge(hit.id, label),
    }, String(label)));
  });
  if (hit.features?.length) {
    row.append(make("button", { type: "button", class: "why-button", "aria-expanded": "false", onclick: () => explain(hit, entry) }, "Why"));
  }
  const isLikely = list !== "bm25" && hit.probability !== undefined; // of a calibrated model
  const shown = isLikely ? `${Math.round(100 * hit.probability)} % likely relevant` : `score ${score.toFixed(3)}`;
  row.append(make("span", { class: "id" }, `id ${hit.id}`), make("span", { class: "score", title: `score ${score}` }, shown));
  return row;
}

function explain(hit, entry) {
  const button = entry.querySelector(".why-button");
  const open = entry.querySelector(".why");
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    open.remove();
    return;
  }
  const largest = Math.max(...hit.features.map((each) => Math.abs(each.contribution)));
  const rows = hit.features.flatMap((each) => {
    const bar = make("div", { class: each.contribution < 0 ? "bar down" : "bar" });
    bar.style.width = `${(100 * Math.abs(each.contribution)) / largest}%`;
    const value = each.value === null ? "missing" : Number(each.value.toPrecision(4)).toString();
    const sign = each.contribution < 0 ? "−" : "+";
    const row = make("tr", {}, make("th", { scope: "row" }, ...broken(each.feature)), make("td", { class: "number" }, value),
      make("td", { class: "number" }, `${sign}${Math.abs(each.contribution).toFixed(3)}`), make("td", { class: "bar-cell" }, bar));
    return each.meaning ? [row, make("tr", {}, make("td", { class: "meaning", colspan: 4 }, each.meaning))] : [row];
  });
  const names = [["Feature", ""], ["Value", "number"], ["Adds to score", "number"], ["", ""]];
  const head = make("tr", {}, ...names.map(([name, kind]) => make(name ? "th" : "td", name ? { scope: "col", class: kind } : {}, name)));
  const panel = make("div", { class: "why" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  entry.append(panel);
  panel.scrollIntoView({ block: "nearest" });
}

// The parts of a name of a feature, between which a line may end.
const broken = (name) => name.split(/(?<=[._])/).flatMap((part, number) => (number ? [make("wbr"), part] : [part]));

// A panel that lies over the next rows is closed when these are read.
function leave(event, entry) {
  const panel = entry.querySelector(".why");
  if (panel && document.hasFocus() && !entry.contains(event.relatedTarget) && getComputedStyle(panel).position === "absolute") {
    entry.querySelector(".why-button").click();
  }
}

function pair(id) {
  for (const entry of document.querySelectorAll("li[data-id]")) entry.classList.toggle("twin", entry.dataset.id === id);
}

function judge(id, label) {
  const own = (judgements[state.query] ??= plain());
  if (own[id] === label) delete own[id];
  else own[id] = label;
  if (!Object.keys(own).length) delete judgements[state.query];
  store();
  for (const entry of document.querySelectorAll("li[data-id]")) {
    if (entry.dataset.id !== id) continue;
    for (const button of entry.querySelectorAll("[data-label]")) {
      button.setAttribute("aria-pressed", String(judgements[state.query]?.[id] === Number(button.dataset.label)));
    }
  }
  drawJudged();
}

function drawJudged() {
  const queries = Object.values(judgements);
  const count = queries.reduce((sum, own) => sum + Object.keys(own).length, 0);
  $("judged").hidden = !count;
  $("judged-count").textContent = `${count} judged, ${queries.length} ${queries.length === 1 ? "query" : "queries"}`;
}

function save(name, lines) {
  const url = URL.createObjectURL(new Blob([lines.join("")], { type: "text/plain" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function saveQrels() {
  save("qrels.txt", Object.values(judgements).flatMap((own, number) =>
    Object.entries(own).map(([id, label]) => `q${number + 1} 0 ${id} ${label}\n`)));
}

function saveTopics() {
  save("topics.tsv", Object.keys(judgements).map((query, number) => `q${number + 1}\t${query.replace(/\s+/g, " ")}\n`));
}

function show(name) {
  $("lists").dataset.shown = name;
  $("show-bm25").setAttribute("aria-pressed", String(name === "bm25"));
  $("show-model").setAttribute("aria-pressed", String(name === "model"));
}

function entries(section) {
  return [...$(section).querySelectorAll("li")];
}

function focusOn(section, number) {
  const all = entries(section);
  if (!all.length) return;
  show(section === "bm25" ? "bm25" : "model");
  const entry = all[Math.max(0, Math.min(number, all.length - 1))];
  entry.focus();
  entry.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const entry = event.target.closest("li[data-id]");
  const section = entry?.closest("section").id ?? (isReranked() ? "reranked" : "bm25");
  const number = entry ? entries(section).indexOf(entry) : -1;
  const actions = {
    "/": () => $("query").focus(),
    j: () => focusOn(section, number + 1),
    k: () => focusOn(section, number - 1),
    h: () => focusOn("bm25", Math.max(number, 0)),
    l: () => focusOn(isReranked() ? "reranked" : "bm25", Math.max(number, 0)),
    e: () => entry?.querySelector(".why-button")?.click(),
    Escape: () => entry?.querySelector(".why-button[aria-expanded=true]")?.click(),
  };
  if (entry && /^[0-9]$/.test(event.key) && Number(event.key) < state.labels.length) judge(entry.dataset.id, Number(event.key));
  else if (actions[event.key]) actions[event.key]();
  else return;
  event.preventDefault();
}

function showTab() {
  const isTexts = location.hash === "#texts" || (state.models.size > 0 && !state.documents);
  for (const id of ["form", "status", "found"]) $(id).hidden = isTexts;
  $("texts").hidden = !isTexts;
  for (const id of ["tab-search", "tab-texts"]) $(id).removeAttribute("aria-current");
  $(isTexts ? "tab-texts" : "tab-search").setAttribute("aria-current", "page");
  document.title = `${isTexts ? "Rank texts - " : state.query ? `${state.query} - ` : ""}rerank`;
  return isTexts;
}

function fromAddress() {
  if (showTab()) return;
  const query = new URLSearchParams(location.hash.slice(1)).get("q");
  if (query && query !== state.query) {
    $("query").value = query;
    search();
  } else if (!query && state.query) { // back to the first screen
    Object.assign(state, { query: "", hits: [], token: "", number: state.number + 1 });
    $("tab-search").href = "#";
    $("query").value = $("status").textContent = "";
    $("start").hidden = false;
    draw();
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  $("query").blur();
  search();
});
$("text-form").addEventListener("submit", (event) => {
  event.preventDefault();
  rankTexts();
});
$("settings").addEventListener("submit", (event) => event.preventDefault()); // Enter in a token changes it
for (const id of ["model", "candidates"]) $(id).addEventListener("change", search);
$("token").addEventListener("change", () => readModels().then(showTab).then(search, complain));
$("more").addEventListener("click", () => {
  state.all = true;
  draw();
});
$("show-bm25").addEventListener("click", () => show("bm25"));
$("show-model").addEventListener("click", () => show("model"));
$("save-qrels").addEventListener("click", saveQrels);
$("save-topics").addEventListener("click", saveTopics);
$("forget").addEventListener("click", () => {
  judgements = plain();
  store();
  draw();
});
document.addEventListener("keydown", onKey);
window.addEventListener("popstate", fromAddress);
drawJudged();
readModels().then(fromAddress, complain);
$("query").focus();
