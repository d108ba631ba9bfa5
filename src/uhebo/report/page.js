"use strict";
(function () {
  const light = JSON.parse(document.getElementById("light").textContent);

  function offer(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }

  function inLight(drawing) {
    const box = drawing.viewBox.baseVal;
    const copy = drawing.cloneNode(true);
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    copy.setAttribute("font-family", light.font);
    copy.style.background = light.colours.paper;
    let text = new XMLSerializer().serializeToString(copy);
    for (const name in light.colours) { text = text.replaceAll("var(--" + name + ")", light.colours[name]); }
    return text;
  }

  function save(figure, kind) {
    const drawing = figure.querySelector("svg");
    const name = light.file + "-" + figure.querySelector(".plot").id;
    const text = inLight(drawing);
    if (kind === "svg") { offer(name + ".svg", new Blob([text], { type: "image/svg+xml" })); return; }
    const image = new Image();
    image.onload = function () {
      const canvas = document.createElement("canvas");
      canvas.width = 3 * image.width;
      canvas.height = 3 * image.height;
      const pen = canvas.getContext("2d");
      pen.fillStyle = light.colours.paper;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) { offer(name + ".png", blob); });
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }

  function copied(button) {
    const code = button.parentElement.querySelector("code");
    const said = function (word) { button.textContent = word; };
    const chosen = window.getSelection();
    chosen.selectAllChildren(code);
    if (navigator.clipboard) {
      navigator.clipboard.writeText(code.textContent).then(function () { said("Copied"); }, function () { said("Selected"); });
    } else { said("Selected"); }
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("button");
    if (button === null) { return; }
    if (button.dataset.save) { save(button.closest("figure"), button.dataset.save); }
    if (button.classList.contains("copy")) { copied(button); }
  });

  function ready() {
    for (const hidden of document.querySelectorAll(".save, .copy")) { hidden.hidden = false; }
    document.documentElement.dataset.ready = String(document.querySelectorAll(".plot svg").length);
  }

  // Live pages only: the part of the page that shows the study is exchanged when the study has changed.
  const state = document.getElementById("live");

  function exchange(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const open = new Set(Array.from(document.querySelectorAll("details[open]"), function (e) { return e.id; }));
    const typed = new Map(Array.from(document.querySelectorAll(".tell input:not([type=hidden])"), function (e) { return [e.id, e.value]; }));
    const focused = document.activeElement && document.activeElement.id;
    const said = document.getElementById("said");
    document.querySelector("header").replaceWith(fresh.querySelector("header"));
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    state.dataset.version = fresh.getElementById("live").dataset.version;
    for (const part of document.querySelectorAll("details")) { if (open.has(part.id)) { part.open = true; } }
    for (const [id, value] of typed) { const input = document.getElementById(id); if (input) { input.value = value; } }
    if (focused && document.getElementById(focused)) { document.getElementById(focused).focus(); }
    if (said) { said.remove(); }
    ready();
  }

  async function follow() {
    try {
      const answer = await fetch("state", { cache: "no-store" });
      const now = await answer.json();
      if (now.version !== state.dataset.version) {
        exchange(await (await fetch(location.href, { cache: "no-store" })).text());
      }
      state.textContent = now.behind ? "Live: new results are being worked in …" : "Live: this page follows the study.";
    } catch (error) {
      state.textContent = "Not live: uhebo watch has ended, or cannot be reached. What you see is the last state.";
    }
    setTimeout(follow, 1500);
  }

  document.addEventListener("submit", async function (event) {
    const form = event.target;
    if (!state || !form.classList.contains("tell")) { return; }
    event.preventDefault();
    const answer = form.querySelector(".answer");
    const sent = new URLSearchParams(new FormData(form, event.submitter));
    answer.textContent = "…";
    try {
      const reply = await fetch(form.action, { method: "POST", body: sent });
      answer.textContent = await reply.text();
      form.dataset.told = reply.ok ? "yes" : "no";
    } catch (error) { answer.textContent = "not stored: uhebo watch cannot be reached"; }
  });

  ready();
  if (state) { follow(); }
})();
