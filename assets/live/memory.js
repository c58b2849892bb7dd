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
  const later = window.semfAfterNavigation ?? ((send) => send());
  const trigger = (name, value) => later(() => setTriggerValue(name, value));
  if (news && data.asks) trigger("known", known);
  const arrive = () => takeKey(trigger);
  arrive();
  window.addEventListener("hashchange", arrive);
  return () => window.removeEventListener("hashchange", arrive);
}

function takeKey(trigger) {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!key) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  const query = new URLSearchParams(location.search);
  const kind = KINDS.find((name) => query.has(name));
  if (kind) trigger("arrived", { kind, id: query.get(kind), key });
}
