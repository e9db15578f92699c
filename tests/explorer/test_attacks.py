"""Attacks on the explorer: nothing gets in, nothing leaks out, nobody else is harmed."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.explorer.limits import Limits
from headscope.explorer.live.passes import LiveModel
from tests.explorer.conftest import GENEROUS, HOSTILE
from tests.explorer.served import Served, serving

SECRETS = (b"root:", b"not to be served", b"run_format")


# --- paths --------------------------------------------------------------------------------------

PATHS = [
    "/../../../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd",
    "/static/../../../../etc/passwd", "/static/..%2fpages.py", "/static/%2e%2e%2fpages.py",
    "/static/..%5cpages.py", "/static//etc/passwd", "/static/%00", "/static/style.css%00.js",
    "/secret.txt", "/run/..", "/run/../secret.txt", "/run/%2e%2e", "/run/..%2fsecret.txt",
    "/run/first%2f..%2f..%2fsecret.txt", "/run//etc", "/run/first/run.json",
    "/run/first/../../secret.txt", "/run/first/tables/../run.json", "/api/runs/../../x/tables",
    "/api/runs/%2e%2e%2f%2e%2e%2fetc/tables", "/api/runs/first%00/tables", "/api/runs/./tables",
    "/api/labels/..%2fsecret", "/api/labels/secret", "/api/labels/first%2frun", "/api/labels/run",
    "/api/labels/x/maps/0", "/compare/first,..%2f..", "/compare/..,.", "/run/%F0%9F%92%A9%FF",
    "/api/live/passes/..%2f..%2fsecret/map?head=1-1", "/%", "/%zz", "//evil.example/run/first",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_folder(served: Served, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n\r\n"
    with served.raw(request.encode()) as opened:
        answer = b"".join(iter(lambda: opened.recv(65536), b""))
    status = int(answer.split(b" ", 2)[1])
    assert 400 <= status < 500, answer[:200]
    assert not any(secret in answer for secret in SECRETS)


def test_links_that_lead_out_are_not_followed(runs_folder: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    shutil.copytree(runs_folder / "first", inside / "honest")
    shutil.copytree(runs_folder / "first", inside / "sly")
    outside = tmp_path / "outside"
    shutil.copytree(runs_folder / "first", outside / "run")
    (outside / "maps.json").write_text('{\n  "format": "headscope pattern labels 1"}')
    (outside / "maps.npz").write_bytes(b"")
    (inside / "linked").symlink_to(outside / "run", target_is_directory=True)
    (inside / "maps.json").symlink_to(outside / "maps.json")
    (inside / "maps.npz").symlink_to(outside / "maps.npz")
    table = inside / "sly" / "tables" / "surface.parquet"
    table.unlink()
    table.symlink_to(outside / "run" / "tables" / "surface.parquet")
    half = inside / "half"
    half.mkdir()
    (half / "run.json").symlink_to(outside / "run" / "run.json")
    with serving(inside, limits=GENEROUS) as served:
        assert [r["id"] for r in served.ask("/api/runs").json["runs"]] == ["honest", "sly"]
        assert served.ask("/api/labels").json["sets"] == []
        assert served.ask("/run/honest").status == 200
        for path in ("/run/sly", "/run/sly/report", "/run/sly/tables", "/api/runs/sly/tables"):
            assert served.ask(path).status == 422
        asked = {"sql": "select * from surface"}
        assert served.post("/api/runs/sly/query", asked).status == 422
        assert served.ask("/run/linked").status == 404


def test_a_page_lying_in_a_run_is_never_served(runs_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(runs_folder / "first", tmp_path / "run")
    evil = "<script>document.title='hacked'</script>"
    (tmp_path / "run" / "report.html").write_text(evil)
    with serving(tmp_path, limits=GENEROUS) as served:
        for path in ("/run/run", "/run/run/report"):
            assert "hacked" not in served.ask(path).text


# --- other sites ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example",
        "127.0.0.1.evil.example:{port}", "127.0.0.1:{port}@evil.example", "", " ",
        "[::ffff:127.0.0.1]:{port}", "0.0.0.0:{port}", "2130706433:{port}", "127.1:{port}",
        "127.0.0.1:{port}.", None,
    ],
)  # fmt: skip
def test_a_rebound_name_is_refused(served: Served, host: str | None) -> None:
    told = None if host is None else host.format(port=served.port)
    for path in ("/", "/api/runs", "/static/style.css"):
        assert served.ask(path, Host=told).status in (400, 421)


def test_two_hosts_are_one_too_many(served: Served) -> None:
    lines = f"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nHost: evil.example\r\n\r\n"
    with served.raw(lines.encode()) as opened:
        assert opened.recv(100).split(b" ")[1] in (b"400", b"421")


def test_the_names_of_loopback_are_good(served: Served) -> None:
    for host in (f"localhost:{served.port}", f"127.0.0.1:{served.port}", f"[::1]:{served.port}"):
        assert served.ask("/api/runs", Host=host).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1",
     "http://localhost:{port}", "http://127.0.0.1:{port}.evil.example", "file://", ""],
)  # fmt: skip
def test_other_origins_are_refused(served: Served, origin: str) -> None:
    told = origin.format(port=served.port)
    assert served.ask("/api/runs", Origin=told).status == 403
    asked = {"sql": "select 1"}
    assert served.post("/api/runs/first/query", asked, Origin=told).status == 403
    assert served.ask("/api/runs", "OPTIONS", Origin=told).status == 403
    found = served.ask("/api/runs", Origin=told)
    assert "access-control-allow-origin" not in found.headers


def test_requests_other_sites_cause_are_refused_and_links_are_not(served: Served) -> None:
    for site in ("cross-site", "same-site"):
        told = {"Sec_Fetch_Site": site}
        assert served.ask("/api/runs", **told).status == 403
        assert served.ask("/static/live.js", Sec_Fetch_Mode="no-cors", **told).status == 403
        assert served.post("/api/live/read", {"text": "a"}, **told).status == 403
        post = served.ask("/", "POST", b"", Sec_Fetch_Mode="navigate", **told)
        assert post.status == 403
        assert served.ask("/run/first", Sec_Fetch_Mode="navigate", **told).status == 200
    own = f"http://127.0.0.1:{served.port}"
    found = served.ask("/api/runs", Origin=own, Sec_Fetch_Site="same-origin")
    assert found.status == 200


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""],
)
def test_what_a_form_can_send_is_no_question(served: Served, kind: str) -> None:
    body = json.dumps({"sql": "select 1"}).encode()
    found = served.ask("/api/runs/first/query", "POST", body, Content_Type=kind)
    assert found.status == 415


def test_every_answer_carries_its_safety_headers(served: Served) -> None:
    for path in ("/", "/live", "/label", "/api/runs", "/nowhere", "/static/live.js", "/run/first"):
        found = served.ask(path)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        script = next(p for p in policy.split(";") if p.strip().startswith("script-src"))
        assert "unsafe" not in script
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cross-origin-resource-policy"] == "same-origin"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert "server" not in found.headers
    for page in ("/", "/live", "/label", "/run/first/tables", "/run/first/sentences"):
        text = served.ask(page).text
        assert " style=" not in text
        assert " onclick" not in text
        assert text.count("<script") == 1


# --- open addresses ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(runs_folder: Path) -> Iterator[Served]:
    """As with `--host 0.0.0.0`: a token is needed."""
    with serving(runs_folder, host="0.0.0.0", token="s3cret-token", limits=GENEROUS) as found:
        yield found


def test_an_open_address_gives_nothing_without_the_token(guarded: Served) -> None:
    for path in ("/", "/static/live.js", "/api/runs", "/run/first", "/nowhere", "/label"):
        assert guarded.ask(path).status == 401
    assert guarded.post("/api/runs/first/query", {"sql": "select 1"}).status == 401
    for wrong in ("x", "S3cret-token", "s3cret-token ", "s3cret-toke", "é"):
        assert guarded.ask(f"/?token={wrong.encode().hex()}").status == 401
        assert guarded.ask("/api/runs", Cookie=f"headscope={wrong.strip()[:5]}").status == 401


def test_the_token_moves_from_the_address_into_a_cookie(guarded: Served) -> None:
    found = guarded.ask("/run/first?token=s3cret-token&a=b")
    assert found.status == 303
    assert found.headers["location"] == "/run/first?a=b"
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert guarded.ask("/api/runs", Cookie=cookie.split(";")[0]).status == 200
    assert guarded.ask("/api/runs", Authorization="Bearer s3cret-token").status == 200
    assert guarded.ask("//evil.example?token=s3cret-token").headers["location"].startswith("/evil")
    page = guarded.ask("/", Cookie="headscope=s3cret-token")
    assert "s3cret" not in page.text


def test_guessing_tokens_is_slowed_down(runs_folder: Path) -> None:
    limits = Limits(requests=(1e4, 10_000), wrong_tokens=(0.01, 5))
    with serving(runs_folder, host="0.0.0.0", token="right", limits=limits) as served:
        statuses = [served.ask(f"/?token=guess{i}").status for i in range(8)]
        assert statuses == [401] * 5 + [429] * 3
        assert served.ask("/api/runs", Cookie="headscope=right").status == 200


def test_an_open_address_takes_addresses_but_no_strange_names(guarded: Served) -> None:
    told = {"Cookie": "headscope=s3cret-token"}
    assert guarded.ask("/api/runs", Host=f"192.168.1.5:{guarded.port}", **told).status == 200
    assert guarded.ask("/api/runs", Host=f"evil.example:{guarded.port}", **told).status == 421


# --- injection -----------------------------------------------------------------------------------


def test_hostile_names_are_text_wherever_they_appear(runs_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    shutil.copytree(runs_folder / "first", folder)
    record = json.loads((folder / "run.json").read_text())
    record["model"]["name"] = HOSTILE
    (folder / "run.json").write_text(json.dumps(record))
    with serving(tmp_path, limits=GENEROUS) as served:
        run = served.ask("/api/runs").json["runs"][0]
        assert run["model"].startswith("</script><img")  # as data: the page makes text of it
        assert "\u202e" not in run["model"]
        for path in ("", "/tables", "/sentences"):
            text = served.ask(f"/run/{run['id']}{path}").text
            assert "<img" not in text
            assert "\u202e" not in text


def test_one_megabyte_of_text_in_a_table_is_cut(runs_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(runs_folder / "first", tmp_path / "run")
    run = hs.open_run(tmp_path / "run")
    rows = run.table("parser_examples").to_pydict()
    rows["sentence"][:20] = ["x" * 1_000_000] * 20
    run.add_table("parser_examples", rows)
    with serving(tmp_path, limits=GENEROUS) as served:
        assert len(served.ask("/run/run").body) < 5_000_000
        head = f"{rows['layer'][0] + 1}-{rows['head'][0] + 1}"
        found = served.ask(f"/api/runs/run/sentences?head={head}")
        assert found.json["sentences"]
        assert len(found.body) < 200_000
        answer = served.post("/api/runs/run/query", {"sql": "select sentence from parser_examples"})
        assert len(answer.body) < 5_000_000


@pytest.mark.parametrize(
    "sql",
    [
        "drop table surface", "create table x as select 1", "insert into surface select 1",
        "update surface set mean = 0", "delete from surface", "attach '/tmp/x.db'",
        "copy surface to '/tmp/x.csv'", "copy (select 1) to '/dev/stdout'",
        "select * from read_csv('/etc/passwd')", "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'", "select * from glob('/*')", "install httpfs", "load httpfs",
        "select * from read_parquet('http://evil.example/x')", "set enable_external_access = true",
        "pragma database_list", "select 1; drop view surface", "export database '/tmp/x'",
        "call pragma_version()", "select getenv('HOME')", "vacuum", "checkpoint", "", ";",
        "select", "select '\ud800'",
        "select * from sqlite_scan('/etc/passwd', 'x')",
        "select * from duckdb_secrets() s, read_blob('/etc/*')",
    ],
)  # fmt: skip
def test_sql_only_reads_the_tables(served: Served, runs_folder: Path, sql: str) -> None:
    before = (runs_folder / "first" / "tables" / "surface.parquet").read_bytes()
    found = served.post("/api/runs/first/query", {"sql": sql})
    assert found.status == 422, found.text
    assert not any(secret in found.body for secret in SECRETS)
    assert (runs_folder / "first" / "tables" / "surface.parquet").read_bytes() == before


@pytest.fixture(scope="module")
def quick(runs_folder: Path) -> Iterator[Served]:
    limits = Limits(sql_seconds=1.0, requests=(1e4, 10_000), questions=(1e4, 10_000))
    with serving(runs_folder, limits=limits) as found:
        yield found


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from range(1000000000000) a",
        "select length(repeat('x', 2000000000))",
        "select list(i) from range(1000000000) t(i)",
        "with recursive t(i) as (select 1 union all select i + 1 from t) select count(*) from t",
        "select sum(a.i * b.i) from range(10000000) a(i), range(10000000) b(i)",
    ],
)
def test_sql_that_never_ends_is_ended_and_harms_no_one(quick: Served, sql: str) -> None:
    assert quick.post("/api/runs/first/query", {"sql": "select 1"}).json["rows"] == [[1]]
    told: list[Any] = []
    asking = threading.Thread(
        target=lambda: told.append(quick.post("/api/runs/first/query", {"sql": sql}))
    )
    started = time.monotonic()
    asking.start()
    assert quick.ask("/api/runs").status == 200
    if sql.startswith(("select count", "select sum")):  # the others may run out of memory first
        assert asking.is_alive()
    asking.join()
    assert time.monotonic() - started < 30.0
    assert told[0].status == 422
    assert "stopped" in told[0].json["error"] or "Memory" in told[0].json["error"]
    assert quick.post("/api/runs/first/query", {"sql": "select 2"}).json["rows"] == [[2]]


def test_wide_answers_are_cut(served: Served) -> None:
    sql = "select repeat('é', 5000) as a, repeat('b', 9000) as b from range(1000)"
    found = served.post("/api/runs/first/query", {"sql": sql})
    assert found.json["more"]
    assert len(found.body) < 9_000_000


# --- too much ------------------------------------------------------------------------------------


def test_oversized_requests_are_refused(served: Served) -> None:
    megabyte = "a" * 1_000_000
    assert served.post("/api/live/read", {"text": megabyte}).status == 413
    assert served.post("/api/live/read", {"text": "a " * 15_000}).status == 413
    assert (
        served.post("/api/runs/first/query", {"sql": "select 1 -- " + "x" * 20_000}).status == 413
    )
    deep = b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert served.ask("/api/live/read", "POST", deep).status in (400, 413, 422)
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"text": NaN}', b'"' + b"\\" * 999):
        assert served.ask("/api/live/read", "POST", body).status in (400, 422)
    edits = [{"edit": "zero", "heads": ["1-1"] * 3000}]
    assert served.post("/api/live/read", {"text": "a", "edits": edits}).status == 422


def test_a_body_of_unknown_length_is_bounded_too(served: Served) -> None:
    head = (
        f"POST /api/live/read HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with served.raw(head.encode()) as opened:
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        answer = b""
        try:
            for _ in range(40):
                opened.sendall(chunk)
            opened.settimeout(10)
            answer = opened.recv(100)
        except (ConnectionError, TimeoutError):
            pass  # the server hung up, which is fine too
        assert not answer or b" 413 " in answer
    assert served.ask("/api/runs").status == 200


def test_oversized_heads_are_refused(served: Served) -> None:
    for line in (b"X-Long: " + b"a" * 200_000, b"Cookie: " + b"headscope=x; " * 20_000):
        request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n\r\n" % (served.port, line)
        try:
            with served.raw(request) as opened:
                answer = opened.recv(100)
        except ConnectionError:
            answer = b""
        assert not answer or answer.split(b" ")[1] in (b"400", b"431")
    assert served.ask("/" + "a" * 20_000).status == 404


@pytest.mark.parametrize(
    "path",
    [
        "{pass}/map", "{pass}/map?head=", "{pass}/map?head=0-0", "{pass}/map?head=cross:1-1",
        "{pass}/map?head=1-1&first=-1", "{pass}/map?head=1-1&first=9999999999",
        "{pass}/map?head=1-1&first=5&last=2", "{pass}/map?head=1-1&last=x",
        "{pass}/map?head=1-1&first=%C2%B2", "{pass}/pictures?layer=0", "{pass}/pictures?layer=99",
        "{pass}/pictures?stack=__proto__", "{pass}/changes?from=x", "{pass}/changes",
        "/api/live/passes/x/map?head=1-1", "/api/runs/first/sentences?head=99999-1%00",
        "/api/labels/x?look=y",
    ],
)  # fmt: skip
def test_nonsense_gets_a_refusal_never_a_fault(served: Served, path: str) -> None:
    key = served.post("/api/live/read", {"text": "the cat"}).json["key"]
    found = served.ask(path.replace("{pass}", f"/api/live/passes/{key}"))
    assert found.status in (400, 404, 410, 422)
    assert found.json["error"]


def test_requests_per_second_are_bounded_and_the_bound_passes(runs_folder: Path) -> None:
    limits = Limits(requests=(20.0, 30))
    with serving(runs_folder, limits=limits) as served:
        statuses = [served.ask("/static/half.js").status for _ in range(60)]
        assert statuses[:30] == [200] * 30
        assert 429 in statuses[30:]
        time.sleep(0.5)
        assert served.ask("/static/half.js").status == 200


def test_refused_requests_use_up_nothing(runs_folder: Path) -> None:
    with serving(runs_folder, limits=Limits(requests=(0.1, 5))) as served:
        for _ in range(20):
            assert served.ask("/api/runs", Origin="http://evil.example").status == 403
        assert served.ask("/static/half.js").status == 200


def test_passes_of_the_model_are_bounded(runs_folder: Path, live_model: LiveModel) -> None:
    limits = Limits(requests=(1e4, 10_000), passes=(0.1, 3))
    live = LiveModel(live_model.loaded, limits)
    with serving(runs_folder, live=live, limits=limits) as served:
        statuses = [served.post("/api/live/read", {"text": f"cat {i}"}).status for i in range(6)]
        assert statuses == [200] * 3 + [429] * 3


# --- slow and vanished clients -------------------------------------------------------------------

IMPATIENT = Limits(
    requests=(1e4, 10_000), passes=(1e4, 10_000), connections=20, head_seconds=1.0,
    body_seconds=1.0, write_seconds=1.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def impatient(runs_folder: Path, live_model: LiveModel) -> Iterator[Served]:
    live = LiveModel(live_model.loaded, IMPATIENT)
    with serving(runs_folder, live=live, limits=IMPATIENT) as found:
        yield found


def closed(opened: socket.socket, seconds: float) -> bool:
    """Whether the server hangs up in time."""
    opened.settimeout(seconds)
    try:
        while opened.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def test_a_hundred_silent_clients_keep_nobody_out(runs_folder: Path) -> None:
    """No clock helps here: all places are taken, and the most silent clients lose theirs."""
    limits = Limits(requests=(1e4, 10_000), connections=20, head_seconds=600.0)
    with serving(runs_folder, limits=limits) as served:
        part = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Slow: ".encode()
        silent = [served.raw(part if i % 2 else b"") for i in range(100)]
        try:
            for _ in range(5):
                started = time.monotonic()
                assert served.ask("/api/runs").status == 200
                assert time.monotonic() - started < 10.0
            assert sum(closed(one, 5.0) for one in silent[:80]) == 80
        finally:
            for one in silent:
                one.close()


def test_silent_clients_are_let_go(impatient: Served) -> None:
    part = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\nX-Slow: ".encode()
    silent = [impatient.raw(part if i % 2 else b"") for i in range(10)]
    try:
        assert impatient.ask("/api/runs").status == 200
        assert all(closed(one, 10.0) for one in silent)
    finally:
        for one in silent:
            one.close()


def test_a_busy_client_keeps_its_connection(impatient: Served) -> None:
    """Many quick requests on one connection, for longer than a head may take."""
    connection = http.client.HTTPConnection("127.0.0.1", impatient.port, timeout=30)
    try:
        connection.connect()
        own = connection.sock.getsockname()
        ends = time.monotonic() + 3.5
        while time.monotonic() < ends:
            connection.request("GET", "/static/half.js")
            assert connection.getresponse().read()
            assert connection.sock is not None
            assert connection.sock.getsockname() == own  # never reconnected
            time.sleep(0.2)
    finally:
        connection.close()


def test_a_client_that_drips_its_head_is_let_go(impatient: Served) -> None:
    with impatient.raw(b"GET / HTTP/1.1\r\n") as opened:
        ends = time.monotonic() + 15.0
        gone = False
        while time.monotonic() < ends and not gone:
            try:
                opened.sendall(b"X-A: b\r\n")
                time.sleep(0.2)
            except ConnectionError:
                gone = True
        assert gone


def test_a_client_that_never_ends_its_body_is_let_go(impatient: Served) -> None:
    head = (
        f"POST /api/live/read HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    with impatient.raw(head.encode()) as opened:
        assert closed(opened, 10.0)


def test_a_client_that_does_not_read_is_let_go(impatient: Served, runs_folder: Path) -> None:
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect(("127.0.0.1", impatient.port))
    ask = f"GET /run/first HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\n\r\n"
    with opened:
        for _ in range(40):  # more than the system's buffers hold
            try:
                opened.sendall(ask.encode())
            except ConnectionError:
                break
        time.sleep(0.5)
        assert impatient.ask("/api/runs").status == 200
        ends = time.monotonic() + 20.0
        gone = False
        while time.monotonic() < ends and not gone:
            time.sleep(0.25)
            try:
                opened.sendall(b"\r\n")
            except ConnectionError:
                gone = True
        assert gone


def test_clients_that_vanish_leave_nothing_behind(impatient: Served) -> None:
    body = json.dumps({"text": "the cat sat on the mat. " * 50}).encode()
    head = (
        f"POST /api/live/read HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    for _ in range(10):
        impatient.raw(head + body).close()
    found = impatient.post("/api/live/read", {"text": "the cat"})
    assert found.status in (200, 503)
    time.sleep(0.5)
    assert impatient.post("/api/live/read", {"text": "the cat"}).status == 200
    assert impatient.explorer.runs.sql._waiting == 0


def test_what_is_no_http_is_hung_up_on(impatient: Served) -> None:
    for noise in (
        b"\x16\x03\x01\x02\x00",
        b"\x00" * 1000,
        b"SSH-2.0-x\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
    ):
        with impatient.raw(noise) as opened:
            assert closed(opened, 10.0)
    upgrade = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{impatient.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with impatient.raw(upgrade.encode()) as opened:
        assert b"101" not in opened.recv(100).split(b"\r\n")[0]
