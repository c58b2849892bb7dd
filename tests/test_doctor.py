"""The command that examines an installation."""

import json

import pytest

from semf_core.command_line import doctor
from semf_core.command_line.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "not" / "there" / "yet"
    monkeypatch.setenv("SEMF_HOME", str(folder))
    monkeypatch.delenv("SEMF_DASK", raising=False)
    return folder


def examined(capsys):
    code = main(["doctor", "--json"])
    return code, {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)}


def test_a_sound_installation(capsys, home):
    code, found = examined(capsys)
    assert code == 0 and not any(finding["state"] == "fault" for finding in found.values())
    assert "17 of 17 parts found" in found["engine"]["detail"] and "openblas" in found["BLAS"]["detail"].lower()
    assert str(home) in found["home"]["detail"] and not home.exists()
    assert main(["doctor"]) == 0 and "semf app" in capsys.readouterr().out


def test_a_package_of_several_modules_is_named_once(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda package: "1.0")
    state, detail = doctor.CHECKS["exports"]()
    assert state == "ok" and detail.count("jinja2") == 1


def test_a_home_that_cannot_be_written(capsys, home):
    home.parent.parent.mkdir(parents=True)
    home.parent.write_text("a file where a folder should be")
    code, found = examined(capsys)
    assert code == 1 and found["home"]["state"] == "fault" and str(home.parent) in found["home"]["detail"]


def test_a_cluster_that_does_not_answer(capsys, monkeypatch):
    monkeypatch.setenv("SEMF_DASK", "tcp://127.0.0.1:1")
    monkeypatch.setattr(doctor, "DASK_SECONDS", 0.2)
    code, found = examined(capsys)
    assert code == 1 and "127.0.0.1:1" in found["Dask"]["detail"]


def test_an_extra_that_is_missing_is_named(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "clarabel" else "1.0")
    code, found = examined(capsys)
    assert code == 0 and found["peers"]["state"] == "note"
    assert "clarabel" in found["peers"]["detail"] and "semf-studio[peers]" in found["peers"]["detail"]
