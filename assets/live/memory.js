// Keeps the control keys of this browser's runs and snapshots in its local storage, and gives them back after a reload.
const PLACES = { runs: ["semf-studio-runs", 50], snapshots: ["semf-studio-snapshots", 1000] };

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
      return; // a browser that keeps nothing: the control link still works
    }
    news ||= Object.keys(known[kind]).some((id) => !(id in data[kind]));
  }
  if (news) setTriggerValue("known", known);
}
