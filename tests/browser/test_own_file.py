"""From a file of one's own to a named, exported result in six clicks."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from tests.browser.test_build import quiet


@pytest.fixture
def spectra(tmp_path):
    """Two substances in twelve mixtures, over Raman shifts; an entry is missing."""
    rng = np.random.default_rng(0)
    shift = np.arange(400, 1600, 20.0)
    pure = np.exp(-(((shift[:, None] - [700, 1200]) / 60) ** 2))
    M = pure @ rng.random((2, 12))
    lines = ["Raman shift (cm-1)," + ",".join(f"spot #{j + 1}" for j in range(12))]
    lines += [f"{s:g}," + ",".join(f"{v:.5f}" for v in row) for s, row in zip(shift, M, strict=True)]
    lines[30] = lines[30].rpartition(",")[0] + ","
    path = tmp_path / "spectra.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_file_to_named_and_exported_result_in_six_clicks(server, visit, spectra):
    page = visit(server.url)
    clicks = 0

    def click(thing):
        nonlocal clicks
        clicks += 1
        thing.click()

    click(page.get_by_role("link", name="Bring your own file"))
    with page.expect_file_chooser() as chooser:
        click(page.locator("[data-testid=stFileUploaderDropzone] button"))
    chooser.value.set_files(spectra)
    click(page.get_by_role("button", name="Use this data"))
    page.locator(".semf-state[data-state=finished]").wait_for()
    quiet(page)
    assert page.locator(".semf-basis .semf-tile").count() == 2, "two substances were proposed, the missing entry left out"
    click(page.get_by_label("Component 1", exact=True))
    page.keyboard.type("left peak")
    page.keyboard.press("Tab")
    page.keyboard.type("right <peak>")
    page.keyboard.press("Enter")
    page.locator(".semf-tile", has_text="left peak").wait_for()
    quiet(page)
    click(page.get_by_role("button", name="Download").first)
    with page.expect_download() as download:
        click(page.get_by_role("link", name="CSV in a ZIP"))
    with zipfile.ZipFile(download.value.path()) as archive:
        U, V = (archive.read(f"{name}.csv").decode().splitlines() for name in "UV")
    assert clicks == 6
    assert U[0] == "Raman shift (cm-1),left peak,right <peak>" and U[1].startswith("400.0,") and len(U) == 61
    assert V[0].startswith('component,"spot #1","spot #2"') and V[1].startswith("left peak,")
