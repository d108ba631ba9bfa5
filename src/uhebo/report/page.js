"use strict";
(function () {
  const book = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paperWidth = 680;
  let printing = false;

  function settings(layout, mode) {
    const clear = "rgba(0,0,0,0)";
    return Object.assign({}, layout, { template: book.templates[mode], paper_bgcolor: clear, plot_bgcolor: clear });
  }

  function draw() {
    const mode = dark.matches && !printing ? "dark" : "light";
    document.documentElement.dataset.mode = mode;
    for (const item of book.figures) {
      const layout = settings(item.figure.layout, mode);
      if (printing) { layout.width = paperWidth; layout.autosize = false; }
      Plotly.react(item.key, item.figure.data, layout, { displayModeBar: false, responsive: !printing });
    }
  }

  function save(item) {
    const top = item.figure.layout.margin.t + 40;
    const layout = Object.assign({}, item.figure.layout, {
      template: book.templates.light,
      title: { text: item.title },
      margin: Object.assign({}, item.figure.layout.margin, { t: top }),
    });
    const options = { format: "png", width: 1000, height: layout.height || 450, scale: 2, filename: item.file };
    Plotly.downloadImage({ data: item.figure.data, layout: layout }, options);
  }

  for (const item of book.figures) {
    const button = document.getElementById("save-" + item.key);
    button.hidden = false;
    button.addEventListener("click", function () { save(item); });
  }
  dark.addEventListener("change", draw);
  window.addEventListener("beforeprint", function () { printing = true; draw(); });
  window.addEventListener("afterprint", function () { printing = false; draw(); });
  draw();
  document.documentElement.dataset.ready = String(book.figures.length);
})();
