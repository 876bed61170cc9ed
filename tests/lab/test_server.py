"""The lab as a server: whom it answers, what it refuses, how it starts and stops."""

import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from countless.cli.main import main
from countless.envs.catalog import make_mdp
from countless.envs.mdp_file import read_mdp
from countless.lab.app import STATIC, WEB
from countless.lab.guard import MOST_BYTES

from .conftest import started

QUESTION = {
    "client": "test",
    "number": 0,
    "env": "riverswim",
    "columns": [{"agent": "sarsa"}, {"agent": "sarsa-sr"}],
    "seed": 0,
}


def ask(address, path="", method="GET", body=None, base=None, **headers):
    """The status and the body of an answer; headers as they are given, Host too."""
    where = urlsplit(address)
    connection = HTTPConnection(where.hostname, where.port, timeout=60)
    target = (where.path if base is None else base) + path
    connection.putrequest(method, target, skip_host="Host" in headers)
    content = (
        None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    )
    if content is not None and "Transfer_Encoding" not in headers:
        headers.setdefault("Content_Length", str(len(content)))
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    if content is not None:
        connection.send(content)
    response = connection.getresponse()
    answer = response.status, response.read(), response.headers
    connection.close()
    return answer


def picture(address, **parts):
    status, content, _ = ask(address, "picture", "POST", QUESTION | parts)
    assert status == 200, content
    length = struct.unpack("<I", content[:4])[0]
    return json.loads(content[4 : 4 + length])


def test_the_page_and_its_files(address):
    status, content, headers = ask(address)
    assert status == 200
    assert b"Countless lab" in content
    assert headers["Content-Security-Policy"].startswith("default-src 'self'")
    for path in [*STATIC.iterdir(), *WEB.rglob("*.*")]:
        name = path.name if path.parent == STATIC else f"web/{path.relative_to(WEB)}"
        assert ask(address, name)[0] == 200, name
    assert "sarsa-sr" in json.loads(ask(address, "catalogue")[1])["agents"]


def test_no_page_loads_anything_from_elsewhere():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, path
        assert "https:" not in text, path


def test_pictures_grow_until_they_are_complete(address):
    for number in range(1, 100):
        answer = picture(address, number=number)
        if answer["done"]:
            break
    assert [column["summary_of_runs"]["runs"] for column in answer["columns"]] == [200, 200]
    assert answer["marks"][-1] == 5000


def test_the_export_is_the_mdp(address, tmp_path):
    status, content, _ = ask(address, "export", "POST", QUESTION)
    assert status == 200
    path = tmp_path / "river.mdp"
    path.write_bytes(content)
    assert read_mdp(path).fingerprint == make_mdp("riverswim").fingerprint


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
    ],
)
def test_strangers_are_refused(address, headers):
    assert ask(address, "catalogue", **headers)[0] == 403
    assert ask(address, "picture", "POST", QUESTION, **headers)[0] == 403


def test_its_own_page_is_not_refused(address):
    host = urlsplit(address).netloc
    assert ask(address, "catalogue", Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize("base", ["/", "//", "/wrong/", "/%2e%2e/"])
def test_without_the_token_there_is_nothing(address, base):
    for path in ("", "catalogue", "main.js"):
        status, content, _ = ask(address, path, base=base)
        assert status == 403
        assert b"token" in content


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("picture", "POST", b"not json", 400),
        ("picture", "POST", QUESTION | {"env": "/etc/passwd"}, 400),
        ("picture", "POST", QUESTION | {"columns": [{"agent": "psrl"}], "env": "fourrooms"}, 400),
        ("sr", "POST", QUESTION | {"column": 5, "step": 10}, 400),
        ("sr", "POST", QUESTION | {"column": 0, "step": 10}, 400),  # sarsa has none
        ("sr", "POST", QUESTION | {"column": 1, "step": 5001}, 400),
        ("sr", "POST", QUESTION | {"column": 1, "step": 5000}, 200),
        ("picture", "GET", None, 404),
        ("../serve.py", "GET", None, 404),
        ("%2e%2e/serve.py", "GET", None, 404),
        ("web/../lab/serve.py", "GET", None, 404),
        ("nothing", "GET", None, 404),
        ("picture", "POST", b" " * (MOST_BYTES + 1), 413),
    ],
)
def test_what_is_refused_and_how(address, path, method, body, status):
    found, content, _ = ask(address, path, method, body)
    assert found == status
    if status == 400:
        assert b"\n" not in content
        assert b"Traceback" not in content


def test_a_body_must_say_how_long_it_is(address):
    assert ask(address, "picture", "POST", b"0\r\n\r\n", Transfer_Encoding="chunked")[0] == 411
    assert ask(address, "picture", "POST", b"{}", Content_Length="-1")[0] in (400, 411)


def test_an_older_question_gives_way(address):
    picture(address, client="one", number=8)
    assert ask(address, "picture", "POST", QUESTION | {"client": "one", "number": 7})[0] == 409
    picture(address, client="another", number=7)


def test_four_pages_at_once_are_all_answered(address):
    ends, failures = [], []

    def page(client):
        try:
            for number in range(200):
                columns = [{"agent": "sarsa-sr", "parameters": {"beta": 10.0 * (client + 1)}}] * 2
                if picture(address, client=str(client), number=number, columns=columns)["done"]:
                    ends.append(client)
                    return
        except AssertionError as error:
            failures.append(error)

    pages = [threading.Thread(target=page, args=(client,)) for client in range(4)]
    for thread in pages:
        thread.start()
    assert ask(address, "catalogue")[0] == 200  # answered meanwhile
    for thread in pages:
        thread.join()
    assert sorted(ends) == [0, 1, 2, 3], failures


def test_it_listens_on_this_machine_only(address):
    port = urlsplit(address).port
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("there is no /proc/net/tcp to look into")
    lines = [line.split() for line in table.read_text().splitlines()[1:]]
    listening = {line[1] for line in lines if line[3] == "0A" and line[1].endswith(f":{port:04X}")}
    assert listening == {f"0100007F:{port:04X}"}
    six = Path("/proc/net/tcp6")
    assert not six.exists() or f":{port:04X} 00000000000000000000000000000000:0000 0A" not in (
        six.read_text()
    )


def test_ctrl_c_closes_it_and_each_start_has_a_token_of_its_own(address):
    with started() as (other, process):
        assert urlsplit(other).path != urlsplit(address).path
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "the lab is closed" in err
        assert "Traceback" not in err


def test_a_port_that_is_taken_is_bad_input(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["lab", "--no-browser", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot be used" in capsys.readouterr().err
    assert main(["lab", "--no-browser", "--port", "70000"]) == 2


def test_without_its_packages_it_says_what_to_install():
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "from countless.cli.main import main\nsys.exit(main(['lab']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install '.[lab]'" in done.stderr
    assert done.stderr.count("\n") == 1
