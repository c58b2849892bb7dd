// Keeps the control keys of this browser's runs, strips and snapshots and its progress in lessons in its local storage, and gives them back after a reload.
// A control link brings its key behind the #, which browsers send to nobody: it is taken from there, and out of the address.
const PLACES = { strips: ["semf-studio-strips", 200], runs: ["semf-studio-runs", 50], snapshots: ["semf-studio-snapshots", 1000], lessons: ["semf-studio-lessons", 500] };
const KINDS = ["bench", "run", "study", "snapshot"];

export default function ({ data, setTriggerValue }) {
  const known = {};
  let news = false;
  for (const [kind, [place, most]] of Object.entries(PLACES)) {
    let stored = {};
    try {
      stored = JSON.parse(localStorage.getItem(place) ?? "{}");
    } catch {
      stored = {};
    }
    const all = { ...stored, ...data[kind] };
    for (const gone of data.gone) delete all[gone];
    known[kind] = Object.fromEntries(Object.entries(all).slice(-most));
    try {
      localStorage.setItem(place, JSON.stringify(known[kind]));
    } catch {
      continue; // a browser that keeps nothing: the control link still works
    }
    news ||= Object.keys(known[kind]).some((id) => !(id in data[kind]));
  }
  if (news) setTriggerValue("known", known);
  stepsOfHistory();
  const arrive = () => takeKey(setTriggerValue);
  const leave = (event) => leavesWhatIsOpen(event) && setTriggerValue("left", Date.now());
  arrive();
  window.addEventListener("hashchange", arrive);
  document.addEventListener("click", leave, true);
  return () => {
    window.removeEventListener("hashchange", arrive);
    document.removeEventListener("click", leave, true);
  };
}

// What is open on a page that lists things: going there is a step, and so is coming back.
const open = (search) => ["snapshot", "study"].map((name) => new URLSearchParams(search).get(name)).join();

// Streamlit makes every change of an address a step of its own: Back would have to be pressed for each of them.
function stepsOfHistory() {
  if (history.semf) return;
  history.semf = true;
  const push = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? location.href, location.href);
    const same = to.pathname === location.pathname && open(to.search) === open(location.search);
    if (same) history.replaceState(state, title, url);
    else push(state, title, url);
  };
}

// The entry of the present page in the navigation, which Streamlit takes for nowhere to go.
function leavesWhatIsOpen(event) {
  const link = event.target.closest?.('[data-testid$="NavLink"], [data-testid$="NavDropdownLink"]');
  if (!link?.href || new URL(link.href).pathname !== location.pathname || open(location.search) === ",") return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

function takeKey(setTriggerValue) {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!key) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  const query = new URLSearchParams(location.search);
  const kind = KINDS.find((name) => query.has(name));
  if (kind) setTriggerValue("arrived", { kind, id: query.get(kind), key });
}
