// The strip of variants along the bottom, and the filmstrip of a sweep: cards that are kept and only updated.
import { element, icon } from "./dom.js";

const MOVING_MS = 900;
const FOLLOW_MS = 3000;

export class Strip {
  constructor(view) {
    this.view = view;
    this.cards = new Map();
    this.place = element("div", { class: "semf-variants", role: "list", "aria-label": "Variants" });
    this.tools = element("div", { class: "semf-strip-tools" });
    this.box = element("section", { class: "semf-strip", "aria-label": "What was tried" }, this.place, this.tools);
    this.film = element("section", { class: "semf-film", "aria-label": "Several values", hidden: true }, element("div", { class: "semf-film-head" }), element("div", { class: "semf-film-cards", role: "list" }));
    const foot = element("div", { class: "semf-foot" }, this.film, this.box);
    view.root.append(foot);
    view.charts.sized.observe(foot); // the chart ends above it
    this.box.hidden = true;
    this.refresh();
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
  }

  refresh() {
    clearTimeout(this.timer);
    if (this.asking) this.again = true; // the theme or the strip may be another since
    else if (this.view.data.strip) this.tick();
    else this.box.hidden = this.film.hidden = true;
  }

  async tick() {
    if (this.gone || document.hidden) return;
    Object.assign(this, { asking: true, again: false });
    const { data, charts } = this.view;
    let wait = FOLLOW_MS;
    try {
      const have = [...this.cards.values()].map((card) => card.token).join(",");
      const query = new URLSearchParams({ have, theme: charts.theme.dark ? "dark" : "light", shown: data.still ? data.run : "" });
      const reply = await (await fetch(`${data.stripFeed}/${data.strip}?${query}`)).json();
      if (this.gone) return;
      if (reply.cards) wait = this.take(reply);
    } catch {
      wait = FOLLOW_MS; // the server is busy or restarts
    } finally {
      this.asking = false;
    }
    if (this.again) this.refresh();
    else if (Number.isFinite(wait)) this.timer = setTimeout(() => this.tick(), wait);
  }

  // The next question comes soon while something moves; who only follows asks now and then, for ever.
  take(reply) {
    const { data } = this.view;
    this.reply = reply;
    this.box.hidden = reply.cards.length < 1;
    this.list(this.place, reply.cards, reply, false);
    this.sweep(reply);
    this.toolsFor(reply);
    this.reveal(reply.current);
    this.view.controls.undoable(reply.undo && data.owner, reply.redo && data.owner);
    this.view.line(reply.line);
    const known = new Set([...reply.cards.map((card) => card.run), ...(reply.sweep?.cards ?? []).map((card) => `film ${card.run}`)]);
    for (const name of this.cards.keys()) if (!known.has(name)) this.cards.delete(name);
    if (data.follow && reply.current !== data.run) this.view.act({ do: "follow", run: reply.current });
    if (reply.moving) return MOVING_MS;
    return data.owner || data.still ? Infinity : FOLLOW_MS;
  }

  list(place, sent, reply, film) {
    const nodes = sent.map((card) => {
      const name = film ? `film ${card.run}` : card.run; // an adopted run has a card in both
      const known = this.cards.get(name) ?? { node: null };
      if (card.name !== undefined) Object.assign(known, card);
      this.cards.set(name, known);
      known.node ??= this.build(card.run, film);
      if (card.name !== undefined) this.fill(known);
      known.node.classList.toggle("semf-current", card.run === reply.current);
      known.node.classList.toggle("semf-previous", !film && card.run === reply.before);
      known.node.querySelector(".semf-go").setAttribute("aria-current", card.run === reply.current ? "true" : "false");
      return known.node;
    });
    const same = nodes.length === place.children.length && nodes.every((node, i) => node === place.children[i]);
    if (!same) place.replaceChildren(...nodes);
  }

  // The variant on show is in sight; where it was before, the cards stay as somebody has scrolled them.
  reveal(run) {
    if (run === this.revealed) return;
    this.revealed = run;
    const node = this.cards.get(run)?.node;
    if (node) this.place.scrollLeft = node.offsetLeft - this.place.offsetLeft - (this.place.clientWidth - node.offsetWidth) / 2;
  }

  build(run, film) {
    const { data } = this.view;
    const go = element("button", { type: "button", class: "semf-go" }, element("img", { alt: "Nothing recorded yet", class: "semf-pixels", hidden: true }), element("span", { class: "semf-name" }), element("span", { class: "semf-figures" }));
    go.disabled = !data.owner && data.follow;
    go.addEventListener("click", () => this.view.act({ do: film ? "adopt" : "go", run }));
    const node = element("div", { class: "semf-variant", role: "listitem" }, go);
    if (!data.owner || film) return node;
    const small = (name, glyph, act) => {
      const button = element("button", { type: "button", class: `semf-small semf-${name}`, "data-name": name }, icon(glyph));
      button.addEventListener("click", act);
      return button;
    };
    node.append(
      element("span", { class: "semf-smalls" }, small("pin", "keep", () => this.view.act({ do: "pin", run })), small("rename", "edit", () => this.rename(run)), small("drop", "close", () => this.view.act({ do: "drop", run }))),
    );
    return node;
  }

  fill(card) {
    const { node } = card;
    const image = node.querySelector("img");
    if (card.thumb && image.src !== card.thumb) image.src = card.thumb;
    image.hidden = !card.thumb;
    image.alt = `Components of ${card.name}`;
    node.querySelector(".semf-name").textContent = card.name;
    const figures = [card.error && `error ${card.error}`, ...card.badges.map((text) => text.replace(/ (found|right)$/, ""))];
    node.querySelector(".semf-figures").textContent = card.moving ? `${figures[0]} …` : figures.filter(Boolean).join(" · ") || card.state;
    node.querySelector(".semf-go").title = `${card.name}. ${card.title}`;
    node.classList.toggle("semf-pinned", card.pinned);
    for (const button of node.querySelectorAll(".semf-small")) {
      const word = { pin: card.pinned ? "Unpin" : "Pin", rename: "Rename", drop: "Drop" }[button.dataset.name];
      button.setAttribute("aria-label", `${word} ${card.name}`);
      button.title = word;
    }
  }

  rename(run) {
    const card = this.cards.get(run);
    const field = element("input", { type: "text", value: card.name, maxlength: 80, "aria-label": "New name", class: "semf-new-name" });
    let over = false;
    const done = (keep) => {
      if (over) return;
      over = true; // taking the field away is a blur as well
      field.remove();
      if (keep && field.value.trim() && field.value !== card.name) this.view.act({ do: "rename", run, name: field.value });
      card.node.querySelector(".semf-go").focus();
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault(); // else the button that gets the focus is pressed by the same key
      done(event.key === "Enter");
    });
    field.addEventListener("blur", () => done(true));
    card.node.append(field);
    field.focus();
    field.select();
  }

  // -- what can be done with several -------------------------------------------------------------

  toolsFor(reply) {
    const { data } = this.view;
    const pins = reply.cards.filter((card) => this.cards.get(card.run)?.pinned).map((card) => card.run);
    const wanted = [];
    if (pins.length === 2) wanted.push(["Compare the pinned two", { do: "compare", runs: pins }]);
    else if (data.before) wanted.push(["Compare with the previous", { do: "compare", runs: [data.before, data.run] }]);
    if (data.owner && reply.dropped) wanted.push([`Bring back ${reply.dropped}`, { do: "restore" }]);
    const seen = JSON.stringify(wanted);
    if (this.tools.dataset.seen === seen) return;
    this.tools.dataset.seen = seen;
    this.tools.replaceChildren(...wanted.map(([text, command]) => {
      const button = element("button", { type: "button", class: "semf-tool", title: text, "aria-label": text }, icon(command.do === "compare" ? "compare" : "undo"), element("span", { text }));
      button.addEventListener("click", () => this.view.act(command));
      return button;
    }));
  }

  sweep(reply) {
    this.film.hidden = !reply.sweep;
    if (!reply.sweep) return;
    const { words, cards } = reply.sweep;
    const head = this.film.querySelector(".semf-film-head");
    if (head.dataset.words !== words) {
      head.dataset.words = words;
      const close = element("button", { type: "button", class: "semf-tool", text: "Put away" });
      close.addEventListener("click", () => this.view.act({ do: "end_sweep" }));
      head.replaceChildren(element("strong", { text: words }), element("span", { text: "click one to adopt it" }), this.view.data.owner ? close : "");
    }
    this.list(this.film.querySelector(".semf-film-cards"), cards, reply, true);
  }
}
