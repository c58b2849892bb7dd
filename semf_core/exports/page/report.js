// The report of one run.
new Player(document.querySelector("main"), JSON.parse(document.querySelector("#data").textContent));
for (const button of document.querySelectorAll("button[data-copies]")) copying(button);
document.documentElement.dataset.ready = "yes";
