"""What MkDocs does beyond its theme, so that the site works when its HTML files are opened as files.

- Every table gets a box of its own that scrolls sideways, so that a wide table does not widen the page.
- The search index is also written as a script: browsers refuse to fetch a JSON file over ``file://`` but load scripts.
- Notebooks become pages, with their stored outputs.
- The tables of ``renamed.md`` are made from `penstock.renamed` and from what each module says of its old names.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

SOURCE = Path(__file__).parents[2] / "src/penstock"
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
RULES = re.compile(r"[\u2500-\u257f¶\s]+")
BOX = '<div class="table-box" tabindex="0">{}</div>'


def on_page_content(html: str, **_: Any) -> str:
    """Put every table into a box that scrolls."""
    return TABLE.sub(lambda table: BOX.format(table.group()), html)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in the tables of renamed.md."""
    if page.file.src_uri != "renamed.md":
        return markdown
    tables = {"<!-- modules -->": renamed_modules(), "<!-- names -->": renamed_names()}
    for place, rows in tables.items():
        lines = [f"| `penstock.{old}` | `penstock.{new}` |" for old, new in sorted(rows.items())]
        markdown = markdown.replace(place, "\n".join(["| in 0.1 | now |", "|---|---|", *lines]))
    return markdown


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook. The notebook itself stays in the site, to be downloaded."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = file.src_uri.removesuffix(".ipynb") + ".md"
        files.append(File.generated(config, page, content=notebook_page(json.loads(file.content_string), file.src_uri)))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, **_: Any) -> None:
    """Remember the order of the pages, in which equally good results of a search are shown, and name the first one."""
    config.extra["page_order"] = [page.url for page in nav.pages]
    nav.homepage = nav.pages[0]  # MkDocs knows it only outside of groups


def on_post_build(config: MkDocsConfig) -> None:
    """Write the search index as a script, and drop what only a server uses."""
    site = Path(config.site_dir)
    entries = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    text = json.dumps(sections(entries, config.extra["page_order"]), ensure_ascii=False, separators=(",", ":"))
    (site / "search/search_index.js").write_text(f"window.searchIndex = {text};\n", encoding="utf-8")
    for unused in ("404.html", "search/search_index.json", "sitemap.xml", "sitemap.xml.gz"):
        (site / unused).unlink()


def sections(entries: list[dict[str, str]], order: list[str]) -> list[dict[str, str]]:
    """The sections of all pages in the order of the navigation, each with the title of its page and without rules of tables.

    MkDocs also has each page as a whole, which would show everything twice.
    """
    titles = {entry["location"]: entry["title"] for entry in entries if "#" not in entry["location"]}
    place = {url: number for number, url in enumerate(order)}
    found = []
    for entry in entries:
        url, _, anchor = entry["location"].partition("#")
        if anchor:
            found.append({**entry, "text": RULES.sub(" ", entry["text"]), "page": titles[url]})
    return sorted(found, key=lambda entry: place.get(entry["location"].partition("#")[0], len(place)))


def tables_of_renamed() -> dict[str, Any]:
    """The literal tables `MODULES` and `NAMES` of `penstock.renamed`, without importing the package."""
    tree = ast.parse((SOURCE / "renamed.py").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)]
    return {node.target.id: ast.literal_eval(node.value) for node in found if isinstance(node.target, ast.Name)}


def renamed_modules() -> dict[str, str]:
    """Old modules and where their contents are now."""
    return dict(tables_of_renamed()["MODULES"])


def renamed_names() -> dict[str, str]:
    """Old names of classes and functions and their new ones, in modules that moved and in those that stayed."""
    tables = tables_of_renamed()
    names = {
        f"{module}.{old}": new if "." in new else f"{tables['MODULES'][module]}.{new}"
        for module, renamed in tables["NAMES"].items()
        for old, new in renamed.items()
    }
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "old_names":
                names |= {f"{module}.{key.arg}": f"{module}.{ast.literal_eval(key.value)}" for key in node.keywords}
    return names


def notebook_page(notebook: dict[str, Any], path: str) -> str:
    """A notebook as Markdown: its text, its code and the outputs stored in it."""
    name = path.rpartition("/")[2]
    cells = ["".join(cell["source"]) if cell["cell_type"] == "markdown" else code_cell(cell) for cell in notebook["cells"]]
    cells.insert(1, f"This page is the notebook [{name}]({name}): download it and run it yourself.")
    return "\n\n".join(cells) + "\n"


def code_cell(cell: dict[str, Any]) -> str:
    """A code cell and what it printed, showed or drew."""
    parts = ["```python\n" + "".join(cell["source"]) + "\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            parts.append(f"![output](data:image/png;base64,{''.join(data['image/png']).strip()})")
        elif "text/html" in data:
            parts.append("".join(data["text/html"]))
        else:
            text = "".join(output.get("text") or data.get("text/plain", []))
            parts.append("```text\n" + text.rstrip("\n") + "\n```")
    return "\n\n".join(parts)
