"""The routes of the lab: the page, what it offers, pictures, rows of the SR, and the exported MDP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import countless
from countless.core.errors import BadInput, CountlessError
from countless.core.parameters import check_count
from countless.envs.mdp_file import mdp_text
from countless.lab.board import Board, Superseded
from countless.lab.catalogue import column_controls, mdp_description, page_catalogue
from countless.lab.guard import Guard
from countless.lab.pictures import RUNS, representation
from countless.lab.settings import Request as LabRequest
from countless.lab.settings import read_request
from countless.lab.wire import pack

PACKAGE = Path(countless.__file__).parent
STATIC, WEB = PACKAGE / "lab" / "static", PACKAGE / "web"
ASKERS = 8  # questions that are waited for at once
MOST_WAITING = 32


class Lab:
    """What the routes share."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._askers = ThreadPoolExecutor(ASKERS, thread_name_prefix="countless-lab-question")
        self._waiting = 0

    def close(self) -> None:
        self._askers.shutdown(wait=False, cancel_futures=True)
        self.board.close()

    async def ask(self, request: Request, answer: Callable[[LabRequest], bytes]) -> Response:
        """Read a question, let a thread answer it, and turn errors into one line."""
        if self._waiting >= MOST_WAITING:
            return PlainTextResponse("The lab is busy: too many questions at once.", 503)
        self._waiting += 1
        try:
            question = read_request(await request.body())
            loop = asyncio.get_running_loop()
            content = await loop.run_in_executor(self._askers, answer, question)
        except BadInput as error:
            return PlainTextResponse(_line(error), 400)
        except CountlessError as error:
            return PlainTextResponse(_line(error), 422)
        except Superseded:
            return PlainTextResponse("Superseded by a newer question.", 409)
        finally:
            self._waiting -= 1
        return Response(content, media_type="application/octet-stream")

    def picture(self, question: LabRequest) -> bytes:
        """Curves and maps of every column, as far as they are made."""
        setting = question.setting
        pictures = self.board.answer(question, self.board.announce(question))
        # Before anything is read: another page's turn may add runs while this one is answered.
        done = all(picture.done == RUNS for picture in pictures)
        columns: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[np.float64]] = {}
        for i, (column, picture) in enumerate(zip(setting.columns, pictures, strict=True)):
            columns.append({
                **column_controls(column.agent.name, setting.mdp, column.given),
                "summary_of_runs": picture.summary(),
                "command": setting.command(column),
                "python": setting.python(column),
            })  # fmt: skip
            arrays |= {f"{name}{i}": array for name, array in picture.arrays().items()}
        header = {
            "mdp": mdp_description(setting.mdp),
            "marks": pictures[0].marks.tolist(),
            "done": done,
            "columns": columns,
        }
        return pack(header, arrays)

    def sr(self, question: LabRequest) -> bytes:
        """The SR of one column after a number of steps: all rows, so that a pointer may move."""
        setting, body = question.setting, question.body
        at = check_count("column", body.get("column"), len(setting.columns) - 1, least=0)
        step = check_count("step", body.get("step"))
        agent = setting.columns[at].agent
        matrix = representation(agent, setting.mdp, setting.seed, step)
        return pack({"column": at, "step": step}, {"sr": matrix})

    def export(self, question: LabRequest) -> bytes:
        """The MDP as a file."""
        return mdp_text(question.setting.mdp).encode()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def make_app(token: str, port: int) -> Guard:
    """The lab as an ASGI application, behind its guard."""
    lab = Lab(Board())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        lab.close()

    def route(answer: Callable[[LabRequest], bytes]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await lab.ask(request, answer)

        return endpoint

    async def catalogue(request: Request) -> Response:
        content: dict[str, Any] = page_catalogue()
        return JSONResponse(content)

    post = partial(Route, methods=["POST"])
    app = Starlette(
        routes=[
            Route("/catalogue", catalogue),
            post("/picture", route(lab.picture)),
            post("/sr", route(lab.sr)),
            post("/export", route(lab.export)),
            Mount("/web", StaticFiles(directory=WEB)),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        lifespan=lifespan,
    )
    return Guard(app, token, port)
