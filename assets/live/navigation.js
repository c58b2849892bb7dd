// What a press in the navigation means: leaving what is open on the present page, or going to another one.
const PATIENCE_MS = 10_000;

export default function ({ setTriggerValue }) {
  window.semfAfterNavigation = afterNavigation;
  stepsOfHistory();
  const press = (event) => {
    const link = event.target.closest?.('[data-testid$="NavLink"], [data-testid$="NavDropdownLink"]');
    if (!link?.href || event.ctrlKey || event.metaKey || event.shiftKey) return; // or it opens in a tab of its own
    const to = new URL(link.href).pathname;
    if (to !== location.pathname) window.semfLeaving = { to, until: Date.now() + PATIENCE_MS };
    else if (open(location.search) !== ",") {
      // Streamlit takes the entry of the present page for nowhere to go.
      event.preventDefault();
      event.stopPropagation();
      setTriggerValue("left", Date.now());
    }
  };
  document.addEventListener("click", press, true);
  return () => document.removeEventListener("click", press, true);
}

// What a page sends by itself names that page, and would undo a press that the browser is about to follow to another one: it waits.
function afterNavigation(send) {
  const { to, until } = window.semfLeaving ?? {};
  const waits = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState !== "notRunning"; // for the server's answer
  if (!to || location.pathname === to || (Date.now() > until && !waits)) send();
  else setTimeout(() => afterNavigation(send), 50);
}

// What is open on a page that lists things: going there is a step, and so is coming back.
const open = (search) => ["snapshot", "study"].map((name) => new URLSearchParams(search).get(name)).join();

// Streamlit makes every change of an address a step of its own: Back would have to be pressed for each of them. And it leaves a
// page in two steps, of which the first gives that page the query of the next one.
function stepsOfHistory() {
  if (history.semf) return;
  history.semf = true;
  const push = history.pushState.bind(history);
  let step = null; // what a press has done to the address of the present page
  for (const kind of ["click", "keydown", "popstate"]) addEventListener(kind, () => (step = null), true);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? location.href, location.href);
    if (to.pathname === location.pathname) {
      const opens = open(to.search) !== open(location.search);
      step = { from: step?.from ?? location.href, pushed: step?.pushed || opens };
      if (opens) push(state, title, url);
      else history.replaceState(state, title, url);
      return;
    }
    const inTwo = step && to.search === location.search;
    if (inTwo && !step.pushed) history.replaceState(history.state, "", step.from);
    if (inTwo && step.pushed) history.replaceState(state, title, url);
    else push(state, title, url);
    step = null;
  };
}
