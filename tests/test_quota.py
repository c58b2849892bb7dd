"""The store keeps within its quota, and each visitor within his share."""

import os
import shutil

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, Reading
from semf_core.runs.expiry import expire
from semf_core.runs.files import FolderSizes
from semf_core.runs.home import MB, Quota
from semf_core.service import Service
from semf_core.studies import Study
from tests.runs.common import tiny, wait_for_iterations, wait_for_state


def test_the_quota_counts_what_grows_and_what_is_nested(tmp_path):
    quota = Quota(tmp_path)
    for place in ("runs/a/scalars.bin", "opened/b/data/data.npy", "studies/c/cells.db", "trash/d/x", "top"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    assert quota.used() == 5000
    for place in ("runs/a/scalars.bin", "studies/c/cells.db"):
        stamp = (tmp_path / place).parent.stat()
        with open(tmp_path / place, "ab") as file:
            file.write(b"x" * 500)
        assert (tmp_path / place).parent.stat().st_mtime_ns == stamp.st_mtime_ns, "else the test shows nothing"
    assert quota.used() == 6000


def test_room_is_reserved_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "3")
    first, second = Quota(tmp_path), Quota(tmp_path)
    with first.reserved(2 * MB):
        with pytest.raises(InvalidInput, match="is full"), second.reserved(2 * MB):
            pass
        assert not second.is_full(), "what is only reserved does not stop runs"
    with second.reserved(2 * MB):
        pass
    (tmp_path / "reserved" / "dead").write_bytes(b"x" * 3 * MB)  # of a process that has gone
    with second.reserved(2 * MB):
        pass
    assert FolderSizes().total(tmp_path) == 0


def test_running_runs_pause_at_the_quota(tmp_path, monkeypatch, no_reserve):
    service = Service(tmp_path, max_running=1)
    handle = service.start(tiny())
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "0.0001")
    status = wait_for_state(service, handle.id, "paused")
    assert "store is full" in status.message
    with pytest.raises(InvalidInput, match="is full"):
        service.resume(handle.id, handle.key)
    service.stop(handle.id, handle.key)
    monkeypatch.delenv("SEMF_MAX_STORE_MB")
    service.resume(handle.id, handle.key)
    wait_for_state(service, handle.id, "running")
    service.close()


def as_visitor(monkeypatch, name):
    monkeypatch.setattr("semf_core.common.visitors._WHO", [lambda: name])


def test_one_visitor_has_a_share_of_the_store(tmp_path, monkeypatch, no_reserve):
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "8")
    service, data = Service(tmp_path, max_running=1), Dataset(np.ones((500, 300)))
    as_visitor(monkeypatch, "greedy")
    upload = service.add_upload(data)
    with pytest.raises(InvalidInput, match=r"your share .* is 2 MB, with this you would have 2\.3 MB"):
        service.add_upload(data)
    shutil.rmtree(upload.folder(tmp_path))
    service.add_upload(data)
    as_visitor(monkeypatch, "modest")
    service.add_upload(data)
    as_visitor(monkeypatch, "")
    for _ in range(3):  # whoever owns the computer has all of it
        service.add_upload(data)
    service.close()


def test_only_the_runs_of_a_visitor_pause_at_his_share(tmp_path, monkeypatch, no_reserve):
    service = Service(tmp_path, max_running=2)
    greedy, modest = (service.start(tiny(), visitor=f"here/{name}") for name in ("greedy", "modest"))
    wait_for_iterations(service, modest.id, 1)
    wait_for_iterations(service, greedy.id, 1)
    (tmp_path / "runs" / greedy.id / "restore-0.npz").write_bytes(bytes(6 * MB))
    monkeypatch.setenv("SEMF_MAX_STORE_PER_VISITOR_MB", "5")
    assert "your share of the server's store is full" in wait_for_state(service, greedy.id, "paused").message
    with pytest.raises(InvalidInput, match="with this you would have"):
        service.resume(greedy.id, greedy.key)
    with pytest.raises(InvalidInput, match="with this you would have"):
        service.start(tiny(), visitor="elsewhere/greedy")
    assert service.status(modest.id).state == "running"
    service.delete(greedy.id, greedy.key)
    service.start(tiny(), paused=True, visitor="here/greedy")
    service.close()


def test_what_is_counted_for_a_visitor(tmp_path, monkeypatch, no_reserve):
    """Files on their way, data, snapshots in the gallery and in the trash, and a study that nobody has started before."""
    as_visitor(monkeypatch, "somebody")
    service, used = Service(tmp_path, max_running=1), [0]

    def grown():
        used.append(service._store.quota.shares.used("anywhere/somebody"))
        return used[-1] - used[-2]

    basket = service.arrivals.basket()
    basket.put("1", "m.csv", b"1,2,3\n4,5,6\n")
    assert grown() == 12
    basket.read(["1"], Reading())
    basket.take(None)
    assert grown() > 100
    run = service.start(tiny(20), visitor="here/somebody")
    wait_for_state(service, run.id, "finished")
    snapshot = service.save(run.id)
    service.delete(run.id, run.key)
    assert grown() == service.gallery.card(snapshot.id).size
    service.gallery.delete(snapshot.id, snapshot.key)
    assert grown() == 0, "it is still in the trash"
    form = {"base": tiny(5).to_dict(), "axes": [{"path": "seed", "range": [0, 2]}], "measures": ["relative_error"]}
    service.studies.start(Study.from_dict(form))
    assert grown() > 0
    as_visitor(monkeypatch, "another")
    service.studies.start(Study.from_dict(form))
    assert service._store.quota.shares.used("another") == 0
    service.close()


def test_ledgers_forget_what_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr("semf_core.runs.shares.MOST_GONE", 3)
    monkeypatch.setattr("semf_core.runs.shares.MAKING", 1)
    shares = Quota(tmp_path).shares
    (tmp_path / "runs" / "kept").mkdir(parents=True)
    (tmp_path / "runs" / "kept" / "x.bin").write_bytes(b"123")
    for name in ("kept", "a", "b", "c", "d"):
        shares.add("visitor", "runs", name)
    assert shares.used("visitor") == 3
    (ledger,) = (tmp_path / "owned").iterdir()
    assert ledger.read_text() == "runs/kept\nruns/d\n", "the newest may be in the making"
    os.utime(ledger, (0, 0))
    expire(tmp_path, 14, 1)
    assert ledger.exists()
    shutil.rmtree(tmp_path / "runs" / "kept")
    expire(tmp_path, 14, 1)
    assert not ledger.exists()


def test_what_is_in_the_making_stays_its_visitors(tmp_path):
    """It is noted before it is there: a study is checked for minutes meanwhile."""
    shares = Quota(tmp_path).shares
    shares.add("visitor", "studies", "checked")
    expire(tmp_path, 14, 1)
    (tmp_path / "studies" / "checked").mkdir(parents=True)
    (tmp_path / "studies" / "checked" / "x.bin").write_bytes(b"123")
    assert shares.used("visitor") == 3
