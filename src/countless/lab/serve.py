"""Start the lab: a socket on this machine, a token, the compiled kernels, then the page."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable

from countless.agents.catalogue import make_agent
from countless.agents.tabular.simulate import compile_kernels
from countless.core.errors import BadInput, install_hint
from countless.core.parameters import check_count
from countless.core.progress import Reporter
from countless.envs.catalog import make_mdp

LOOPBACK = "127.0.0.1"
FIRST_ENV, FIRST_AGENTS = "riverswim", ("sarsa", "sarsa-sr", "sarsa-counts")


def require_lab() -> None:
    """A `BadInput` that says how to install what the lab needs."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise BadInput(f"the lab needs starlette and uvicorn: {install_hint('lab')}") from None


def warm_up(reporter: Reporter) -> None:
    """Compile what the first screen calls, or read it from the cache."""
    mdp = make_mdp(FIRST_ENV)
    with reporter.task("compiling the kernels of the first screen", len(FIRST_AGENTS)) as task:
        for name in FIRST_AGENTS:
            compile_kernels([make_agent(name, mdp)], mdp, "countless", traced=True)
            task.advance(1)


def listen(port: int) -> socket.socket:
    """A socket on the loopback interface; port 0 takes any that is free."""
    check_count("port", port, 65_535, least=0)
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((LOOPBACK, port))
        taken.listen()  # a page that is quicker than the server waits
    except OSError as error:
        taken.close()
        raise BadInput(
            f"port {port} cannot be used: {error.strerror}; 0 takes a free one"
        ) from None
    return taken


def address(port: int, token: str) -> str:
    """Where the page is; the token is part of it."""
    return f"http://{LOOPBACK}:{port}/{token}/"


def serve(
    port: int, ready: Callable[[str], None], reporter: Reporter, *, open_browser: bool
) -> None:
    """Serve the lab until it is interrupted; `ready` is told the address."""
    import uvicorn

    from countless.lab.app import make_app

    with listen(port) as listening:
        warm_up(reporter)
        number = listening.getsockname()[1]
        token = secrets.token_urlsafe(18)
        config = uvicorn.Config(
            make_app(token, number),
            http="h11",
            ws="none",
            log_level="critical",
            access_log=False,
            server_header=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        where = address(number, token)
        ready(where)
        if open_browser:
            webbrowser.open(where)
        uvicorn.Server(config).run(sockets=[listening])
