// Questions to the server about one presentation, for the page to follow and the one with the notes.
const { presentation, api, base } = document.body.dataset;

// The server knows a browser by a cookie, which this answer brings: without one a whole class counts as one visitor.
export async function greet() {
  await fetch(`${base}_stcore/host-config`).catch(() => {});
}

export async function asked(tail, headers = {}) {
  const response = await fetch(`${api}/${presentation}${tail}`, { headers });
  const reply = await response.json();
  if (response.ok) return reply;
  const final = response.status !== 429 && response.status < 500;
  throw Object.assign(new Error(reply.message ?? "This cannot be shown."), { final });
}

// As long as nobody looks, nothing is asked.
export async function visible() {
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}
