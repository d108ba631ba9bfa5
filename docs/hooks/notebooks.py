"""Notebooks under docs/notebooks: run, so that what they show is true, and shown as pages.

    python docs/hooks/notebooks.py     runs every notebook in an empty folder and keeps what its cells gave

As a hook of the documentation build it makes a page of each: text, code, and the outputs that are kept in it. Figures
are Plotly's, drawn by the copy of plotly.js that is put into the site; nothing is loaded from outside.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "notebooks"
PLOTLY = "application/vnd.plotly.v1+json"
SCRIPT = "assets/plotly.min.js"
COLOURS = """
const paint = () => {
  const ink = getComputedStyle(document.querySelector(".md-typeset")).color;
  const axes = {};
  for (const figure of document.querySelectorAll(".nb-figure")) {
    for (const name of Object.keys(figure.layout || {})) if (/^[xy]axis/.test(name))
      Object.assign(axes, {[name + ".gridcolor"]: "#8884", [name + ".linecolor"]: ink, [name + ".tickcolor"]: ink});
    const narrow = figure.clientWidth < 560 ? {"title.text": "", showlegend: false} : {};
    Plotly.relayout(figure, {...narrow, paper_bgcolor: "#0000", plot_bgcolor: "#0000", "font.color": ink,
      "legend.bgcolor": "#0000", ...axes});
  }
};
paint();
new MutationObserver(paint).observe(document.body, {attributeFilter: ["data-md-color-scheme"]});
"""
"""Figures in the colours of the page, also after it is switched to dark."""


def text_of(given: str | list[str]) -> str:
    """Text in a notebook is one string or a list of lines."""
    return given if isinstance(given, str) else "".join(given)


# ------------------------------------------------------------------------------------------------------------- running


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its cells give now, in order, in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"], cell["outputs"] = count, outputs_of(text_of(cell["source"]), names, count)
    return notebook


def outputs_of(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of the expression it ends with."""
    parsed = ast.parse(code)
    last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(parsed, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    made: list[dict[str, Any]] = []
    if printed.getvalue():
        made.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        made.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data_of(value)})
    return made


def data_of(value: Any) -> dict[str, Any]:
    """A value in the forms in which a notebook keeps it."""
    if hasattr(value, "to_plotly_json"):
        return {PLOTLY: json.loads(value.to_json()), "text/plain": ["a Plotly figure"]}
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def run_all() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                notebook = run(notebook)
            finally:
                os.chdir(before)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {sum(cell['cell_type'] == 'code' for cell in notebook['cells'])} cells")


# ------------------------------------------------------------------------------------------------------------- showing


def page_of(notebook: dict[str, Any], name: str) -> str:
    """Markdown: the cells, each with its outputs as HTML below it."""
    parts, figures = [], 0
    for cell in notebook["cells"]:
        source = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if PLOTLY in data:
                parts.append(figure(data[PLOTLY], figures))
                figures += 1
            elif "text/html" in data:
                parts.append(shown(text_of(data["text/html"])))
            else:
                said = text_of(output.get("text") or data["text/plain"])
                parts.append(shown(f"<pre>{html.escape(said)}</pre>"))
    end = f"<script>{COLOURS}</script>" if figures else ""
    download = f"[Download this notebook]({name}.ipynb){{ download }} to run it yourself."
    title, _, rest = parts[0].partition("\n")
    loaded = f'<script src="../{SCRIPT}"></script>\n\n' if figures else ""
    return "\n\n".join([title, download, loaded + rest, *parts[1:], end])


def shown(inner: str) -> str:
    lines = "\n".join(line for line in inner.splitlines() if line.strip() or "<pre>" in inner)
    return f'<div class="nb-output">{lines}</div>'


def figure(drawn: dict[str, Any], number: int) -> str:
    """A place of the figure's height, and what draws it there."""
    data = json.dumps({"data": drawn["data"], "layout": drawn["layout"]}).replace("</", "<\\/")
    height = drawn["layout"].get("height", 420)
    place = f'<div class="nb-figure" id="figure-{number}" style="height:{height}px"></div>'
    draw = f'Plotly.newPlot("figure-{number}", {{...{data}, config: {{responsive: true, displayModeBar: false}}}});'
    return f"{place}\n\n<script>{draw}</script>"


def on_files(files: Any, config: Any) -> Any:
    """A page for each notebook; the notebook itself is copied beside it."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page_of(notebook, path.stem)))
    return files


def on_post_build(config: Any) -> None:
    from plotly.offline import get_plotlyjs

    (Path(config.site_dir) / SCRIPT).write_text(get_plotlyjs(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run_all())
