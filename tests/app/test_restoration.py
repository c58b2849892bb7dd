"""The dictionary at work: a run on patches shows the picture before and after, other runs do not offer it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Patches, Swimmer
from semf_core.model import ModelSpec
from semf_core.solvers import Limits, SparseCoding, TruncatedSVD
from tests.app.runs import wait_for
from tests.app.test_workbench import open_bench

CODED = ModelSpec(Patches(count=60), 32, solver=SparseCoding(k=2), limits=Limits(max_iter=4))


def captions(page: AppTest) -> list[str]:
    return [picture.caption for image in page.get("image") for picture in image.proto.imgs]


def test_a_dictionary_restores_the_picture_of_its_patches(service):
    handle = service.start(CODED)
    wait_for(service, handle.id, "finished")
    page = open_bench(run=handle.id)
    assert not captions(page)
    page.button(key="restore-go").click().run()
    assert captions(page)[0] == "With noise: PSNR 20.0 dB" and captions(page)[1].startswith("After: PSNR 2")
    restored = service.restored(handle.id, "compress", 2)
    assert restored.after.shape == (256, 256) and restored.numbers <= 3 / 64 and restored.psnr_after > 20


def test_runs_on_other_data_do_not_offer_it(service):
    handle = service.start(ModelSpec(Swimmer(), 3, solver=TruncatedSVD()))
    wait_for(service, handle.id, "finished")
    assert "restore-go" not in [button.key for button in open_bench(run=handle.id).button]
    with pytest.raises(InvalidInput, match="patches"):
        service.restored(handle.id, "denoise", 0.1)
