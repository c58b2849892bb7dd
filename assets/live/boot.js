// The Components-v2 entry: loads the view once for each element and hands later data on to it.
const views = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let entry = views.get(parentElement);
  const later = (send) => (window.semfAfterNavigation ?? ((go) => go()))(send); // looked up when it is needed: it may come after this view
  const trigger = (name, value) => later(() => entry.gone || setTriggerValue(name, value));
  if (entry) {
    clearTimeout(entry.ending);
    entry.data = data;
    entry.view?.update(data);
  } else {
    entry = { data, view: null, ending: 0 };
    views.set(parentElement, entry);
    import(new URL(data.module, window.location.origin).href).then(({ View }) => {
      if (!entry.gone) entry.view = new View(parentElement, entry.data, trigger);
    });
  }
  // Streamlit may call this between two updates of the same element: wait and see.
  return () => {
    entry.ending = setTimeout(() => {
      entry.gone = true;
      entry.view?.destroy();
      views.delete(parentElement);
    }, 400);
  };
}
