// A lesson to take home: each stage has its player, and what a question asks is not shown before the answer.
function record(stage) {
  const place = stage.querySelector(".run");
  const data = place && document.getElementById(`run-${place.dataset.run}`);
  if (!data || place.dataset.playing) return;
  place.dataset.playing = "yes";
  new Player(place, JSON.parse(data.textContent));
}

function reveal(stage) {
  for (const hidden of stage.querySelectorAll(".seen")) hidden.hidden = false;
  record(stage);
}

function asking(stage, question) {
  for (const hidden of stage.querySelectorAll(".seen")) hidden.hidden = true;
  const buttons = [...question.querySelectorAll(".choices button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.classList.add("chosen");
      for (const other of buttons) other.disabled = true;
      question.querySelector(".verdict").textContent = button.classList.contains("right") ? "That is right." : `It is: ${question.querySelector(".right").textContent.trim()}`;
      reveal(stage);
    });
  }
  const place = question.querySelector(".sketch");
  if (!place) return;
  const { truth, ...data } = JSON.parse(question.querySelector(".sketch-data").textContent);
  const sketch = new Sketch(place, data, (drawn) => {
    sketch.update({ ...data, drawn, truth });
    reveal(stage);
  });
}

// Charts of a stage are made when it comes near: a lesson may have many.
const near = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => record(e.target)), { rootMargin: "800px" });
for (const stage of document.querySelectorAll(".stage")) {
  const question = stage.querySelector(".question");
  if (question) asking(stage, question);
  else near.observe(stage);
}
for (const button of document.querySelectorAll("button[data-copies]")) copying(button);
window.addEventListener("beforeprint", () => document.querySelectorAll(".stage").forEach(reveal));
document.documentElement.dataset.ready = "yes";
