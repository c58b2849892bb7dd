// Keeps the control keys of this browser's runs in its local storage, and gives them back after a reload.
const PLACE = "semf-studio-runs";
const MOST = 50;

export default function ({ data, setTriggerValue }) {
  let stored = {};
  try {
    stored = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
  } catch {
    stored = {};
  }
  const all = { ...stored, ...data.runs };
  for (const gone of data.gone) delete all[gone];
  const kept = Object.fromEntries(Object.entries(all).slice(-MOST));
  try {
    localStorage.setItem(PLACE, JSON.stringify(kept));
  } catch {
    return; // a browser that keeps nothing: the control link still works
  }
  if (Object.keys(kept).some((id) => !(id in data.runs))) setTriggerValue("known", kept);
}
