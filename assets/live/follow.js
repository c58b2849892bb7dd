// The page of somebody who follows: shows what the lecturer shows, by itself, and the way to try it oneself.
import { element } from "./dom.js";
import { asked, greet, visible } from "./presentation.js";
import { View as Pair } from "./beside.js";
import { plot } from "./figures.js";
import { loadPlotly } from "./plotly.js";
import { View } from "./view.js";

const EVERY_MS = 400; // a whole course looks at one run
const { presentation, base } = document.body.dataset;
const main = document.querySelector("main");
const title = element("h1", {});
const place = element("p", { class: "place" });
const words = element("div", { class: "words" });
const picture = element("div", { class: "picture" });
const own = element("a", { class: "own", text: "Try it myself" });
const state = element("span", { class: "state", role: "status", text: "following" });
const chart = element("div", { class: "chart" });
const said = element("p", {});
const figure = element("figure", { class: "drawing", hidden: true }, chart, element("figcaption", {}, said));
let view = null;
let pair = null; // two stages under one scrubber, instead of a view
let drawn = null; // the drawing of the stage, as a chart
let content = "";
let replay = false;

own.addEventListener("click", () => sessionStorage.setItem("semf-following", JSON.stringify(presentation)));

function build() {
  main.replaceChildren(element("header", {}, title, place, state, own), element("div", { class: "both" }, words, picture));
}

// The words and the run on show.
async function load(playing) {
  const reply = await asked("/content");
  content = reply.content;
  title.textContent = reply.title;
  document.title = `${reply.title} · SeMF Studio`;
  place.textContent = reply.place;
  words.innerHTML = reply.html; // made by the server from Markdown, in which HTML is text
  own.href = base + reply.own;
  document.body.classList.toggle("alone", !reply.view && !reply.figure && !reply.beside);
  show(reply.figure, reply.view ? words : picture);
  if (pair) pair = drop(pair);
  if (view && (reply.beside || view.data.splits !== reply.view?.splits)) view = drop(view);
  if (reply.beside) return together(reply.beside);
  if (!reply.view) return;
  const data = { ...reply.view, autoplay: playing, every: EVERY_MS };
  if (view) view.update(data);
  else view = look(data);
}

// A drawing of the stage: large, or below the words where a run has the picture.
function show(made, parent) {
  drawn = made;
  figure.hidden = !made;
  if (!made) return;
  parent.append(figure);
  said.textContent = made.words;
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", made.words);
  paint();
}

function paint() {
  const { plotly } = drawn;
  loadPlotly(plotly).then((Plotly) => drawn && plot(Plotly, drawn, chart));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn && paint());

function together({ titles, runs }) {
  pair = new Pair(picture, { runs: runs.map((run) => ({ ...run, every: EVERY_MS })) }, () => {});
  for (const side of pair.sides) side.root.classList.add("semf-follower");
  pair.places.forEach((place, i) => place.prepend(element("h2", { text: titles[i] })));
  pair.root.querySelector(".semf-scrubber").inert = true;
}

function look(data) {
  const made = new View(picture, data, () => {});
  made.root.classList.add("semf-follower");
  for (const part of made.root.querySelectorAll(".semf-scrubber, .semf-factor")) part.inert = true;
  made.root.addEventListener("click", (event) => event.target.closest(".semf-tile") && event.stopPropagation(), true);
  made.charts.onSeek = () => {};
  return made;
}

function drop(old) {
  old.destroy();
  old.root.remove();
  return null;
}

// The lecturer's iteration, factor and component.
function apply(news) {
  if (pair) return pair.at === news.at ? undefined : pair.seek(news.at ?? Infinity);
  if (!view) return;
  const { pictures } = view;
  if (news.factor !== pictures.factor) {
    pictures.choose(news.factor);
    view.refresh();
  }
  pictures.point(news.component, news.spot);
  const began = news.replay && !replay;
  replay = news.replay;
  if (replay) {
    if (began && !view.replay.on) view.replay.start(news.at ?? 0);
  } else if (news.at === null) {
    if (view.at !== null) view.follow();
  } else if (news.at !== view.at || view.replay.on) {
    view.scrubber.put(news.at);
    view.seek(news.at);
  }
}

async function go() {
  await greet();
  build();
  let revision = "";
  for (;;) {
    await visible();
    try {
      const news = await asked(`?revision=${revision}`);
      if (news.content !== content) {
        await load(news.replay);
        replay = news.replay;
      }
      apply(news);
      revision = news.revision;
      state.textContent = "following";
    } catch (problem) {
      if (problem.final) return end(problem.message);
      state.textContent = "connection lost, trying again …";
      revision = "";
      await new Promise((done) => setTimeout(done, 2000 + 2000 * Math.random()));
    }
  }
}

function end(message) {
  if (view) view = drop(view);
  if (pair) pair = drop(pair);
  drawn = null;
  document.body.classList.add("alone");
  title.textContent = "Follow";
  state.textContent = "";
  words.replaceChildren(element("p", { text: message }));
  if (!own.href) own.href = `${base}learn`;
}

go();
