"""What MkDocs asks for while it builds: generated pages, pictures from assets/, formulas as MathML.

MathML needs no script and no font from elsewhere, so the site works offline.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs.generate import commands, gallery, reference  # noqa: E402
from docs.generate.common import displayed, formula  # noqa: E402

PICTURES = ("presets/*.png", "screenshots/*.png", "icon.svg")
FROM_ROOT = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add what is made from the code and what stands elsewhere in the repository."""
    for maker in (gallery, reference, commands):
        for address, text in maker.pages():
            files.append(File.generated(config, address, content=text))
    for address, name in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, address, content=text))
    for pattern in PICTURES:
        for source in sorted((ROOT / "assets").glob(pattern)):
            address = f"pictures/{source.relative_to(ROOT / 'assets').as_posix()}"
            files.append(File.generated(config, address, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """$…$ and $$…$$ outside code become MathML; pictures of assets/ are found where `on_files` put them."""
    markdown = re.sub(r"\]\(((?:\.\./)+)assets/", lambda m: f"]({m[1].replace('../', '', 1)}pictures/", markdown)
    pieces = CODE.split(markdown)
    return "".join(piece if i % 2 else _typeset(piece) for i, piece in enumerate(pieces))


def _typeset(text: str) -> str:
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: displayed(m[1].strip()), text, flags=re.DOTALL)
    return re.sub(r"\$([^$\n]+)\$", lambda m: formula(m[1]), text)
