"""Corpora and runs at URLs: on an S3-compatible server on loopback, and on this disk."""

from __future__ import annotations

import gzip
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from pyarrow import fs as pa_fs

import headscope as hs
from headscope.corpora import Corpus
from headscope.engine import Settings
from headscope.errors import InputError, RunError
from headscope.models import LoadedModel
from headscope.store import ModelRecord, RunRecord, RunWriter, check_writable, is_run, open_run
from headscope.store.file_systems import file_system
from headscope.store.remote import RemoteRun
from headscope.types import Result

TEXT = "\n".join(f"the {animal} sat on the mat." for animal in ("cat", "dog", "bird", "mouse") * 5)
COLUMNS = {"layer": [0], "head": [0], "x": [0.1], "y": [0.2]}
RECORD = RunRecord(model=ModelRecord(name="tiny", fingerprint="f"))


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of a bucket on a server of this process."""
    server_of = pytest.importorskip("moto.server", reason="moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        bucket = "headscope-runs"
        endpoint = f"{host}:{port}"
        system = pa_fs.S3FileSystem(
            allow_bucket_creation=True, endpoint_override=endpoint, scheme="http"
        )
        system.create_dir(bucket)
        yield f"s3://{bucket}"
    server.stop()


@pytest.fixture(params=["s3", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a test may write: a URL of its own; the local copies are in its own folder too."""
    cache = tmp_path / "cache"
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: cache)
    if request.param == "file":
        return f"file://{tmp_path}/there"
    return f"{request.getfixturevalue('s3')}/{tmp_path.name}"


def put(url: str, content: bytes) -> None:
    system, path = file_system(url)
    if not isinstance(system, pa_fs.S3FileSystem):
        system.create_dir(path.rpartition("/")[0])
    with system.open_output_stream(path, compression=None) as stream:
        stream.write(content)


def names(url: str) -> set[str]:
    system, path = file_system(url)
    found = system.get_file_info(pa_fs.FileSelector(path, recursive=True, allow_not_found=True))
    return {i.path[len(path) + 1 :] for i in found if i.type == pa_fs.FileType.File}


def write(url: str, **options: Any) -> None:
    with RunWriter.open(url, RECORD, **options) as writer:
        writer.complete({"map": Result(tables={"head_map": COLUMNS})}, writer.record)


def test_a_corpus_at_a_url_is_the_corpus(place: str, tmp_path: Path) -> None:
    here = tmp_path / "toy.txt"
    here.write_text(TEXT, encoding="utf-8")
    put(f"{place}/toy.txt", TEXT.encode())
    put(f"{place}/packed/toy.txt.gz", gzip.compress(TEXT.encode()))
    local = Corpus(here)
    for url in (f"{place}/toy.txt", f"{place}/packed/toy.txt.gz"):
        there = Corpus(url)
        assert there.scan().fingerprint == local.scan().fingerprint
        assert [s.text for s in there] == [s.text for s in local]
        assert there.scan().files[0].name == url
    put(f"{place}/bad.txt", b"fine\n\xff\n")
    with pytest.raises(InputError, match=r"bad\.txt:2: .*UTF-8"):
        Corpus(f"{place}/bad.txt").scan()
    with pytest.raises(InputError, match="no such file"):
        Corpus(f"{place}/none.txt").scan()


def test_a_run_is_written_there_and_read_from_there(place: str, tmp_path: Path) -> None:
    url = f"{place}/runs/one"
    check_writable(url, resume=False)
    write(url)
    assert names(url) == {"run.json", "tables/head_map.parquet"}
    shutil.rmtree(tmp_path / "cache")  # another machine
    for given in (url, Path(url)):
        run = open_run(given)
        assert run.url == url
        assert run.table("head_map")["x"].to_pylist() == [0.1]
    run.add_table("more", {"layer": [1]})
    run.write_file("report.html", "<p>")
    assert {"tables/more.parquet", "report.html"} <= names(url)
    shutil.rmtree(tmp_path / "cache")
    assert open_run(url).tables == ("head_map", "more")
    with pytest.raises(RunError, match=f"{url} holds a finished run"):
        check_writable(url, resume=False)
    with pytest.raises(RunError, match=f"{url} holds a finished run"):
        write(url)
    with RunWriter.open(url, RECORD, resume=True) as again:
        assert again.already_complete


def test_what_changed_there_is_seen_here(place: str, tmp_path: Path) -> None:
    url = f"{place}/run"
    write(url)
    assert open_run(url).tables == ("head_map",)
    copy = RemoteRun(url).folder
    elsewhere = tmp_path / "elsewhere"
    copy.rename(elsewhere)
    open_run(url).add_table("added", {"layer": [1]})  # by another machine
    shutil.rmtree(copy)
    elsewhere.rename(copy)
    assert open_run(url).tables == ("added", "head_map")
    # deleted there: no longer a run here, and free to be written again
    system, path = file_system(url)
    system.delete_dir_contents(path)
    with pytest.raises(RunError, match="expected a folder that headscope wrote"):
        open_run(url)
    write(url)
    assert open_run(url).tables == ("head_map",)


def test_a_killed_publication_leaves_no_run_and_is_made_good(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, real = f"{place}/run", RemoteRun._upload

    def broken(remote: RemoteRun, name: str) -> None:
        if name == "run.json":
            raise OSError("the line is dead")
        real(remote, name)

    monkeypatch.setattr(RemoteRun, "_upload", broken)
    with pytest.raises(RunError, match=f"cannot write {url}: the line is dead"):
        write(url)
    monkeypatch.setattr(RemoteRun, "_upload", real)
    assert names(url) == {"tables/head_map.parquet"}
    with RunWriter.open(url, RECORD, resume=True) as writer:
        assert writer.already_complete
    assert "run.json" in names(url)
    assert open_run(url).tables == ("head_map",)


def test_strangers_are_left_alone(place: str) -> None:
    put(f"{place}/mine/photo.jpg", b"x")
    with pytest.raises(RunError, match=r"not empty and not a run \(it has photo\.jpg\)"):
        write(f"{place}/mine")
    assert names(f"{place}/mine") == {"photo.jpg"}


def test_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path)
    assert not is_run("nonsense://a/b")
    with pytest.raises(RunError, match="cannot write nonsense://a/b"):
        check_writable("nonsense://a/b", resume=False)
    with pytest.raises(InputError, match="cannot be read"):
        Corpus("nonsense://a/b.txt").scan()


class _Plug:
    def __init__(self, after: int) -> None:
        self.left = after

    def stage(self, title: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, n: int, n_sequences: int = 0) -> None:
        if n != n_sequences:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


def test_a_pass_from_there_to_there_killed_on_the_way(
    place: str, planted_bert: LoadedModel, tmp_path: Path
) -> None:
    put(f"{place}/toy.txt", TEXT.encode())
    options: dict[str, Any] = {
        "measures": ["surface", "entropy"],
        "settings": Settings(shard_size=4),
    }
    here = hs.analyze(planted_bert, Corpus(f"{place}/toy.txt"), tmp_path / "here", **options)
    url = f"{place}/run"
    with pytest.raises(KeyboardInterrupt):
        hs.analyze(planted_bert, f"{place}/toy.txt", url, progress=_Plug(2), **options)
    assert names(url) == set()
    with pytest.raises(RunError, match=f"{url} holds an unfinished run; add --resume"):
        hs.analyze(planted_bert, f"{place}/toy.txt", url, **options)
    there = hs.analyze(planted_bert, f"{place}/toy.txt", url, resume=True, **options)
    assert there.url == url
    assert {"run.json", "report.html"} <= names(url)
    for name in here.tables:
        file = f"tables/{name}.parquet"
        assert (there.path / file).read_bytes() == (here.path / file).read_bytes()
    shutil.rmtree(tmp_path / "cache")
    assert hs.open_run(url).tables == here.tables
