// The Components-v2 entry of the presenter's view: hands what the page shows on to the script that all pages share.
export default function ({ data }) {
  let module = null;
  let gone = false;
  import(new URL(data.module, window.location.origin).href).then((loaded) => {
    module = loaded;
    if (!gone) module.arrive(data);
  });
  return () => {
    gone = true;
    module?.leave();
  };
}
