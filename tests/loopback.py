"""Servers on the loopback for tests: a file server whose faults are scripted, and a model hub.

Both are real HTTP servers on a free port of 127.0.0.1 and are used as context managers.
"""

import hashlib
import json
import re
import socket
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Fault:
    """How the server fails at one GET request.

    `status`: an error status instead of the file. `break_after`: the connection ends after this
    number of bytes, with `reset` abruptly. `ignore_range`: always the whole file. `late_range`:
    ranges begin this number of bytes too late. `content`: other bytes than the file's.
    `extra_length`: the announced Content-Length exceeds the sent bytes by this number. `no_length`:
    none is announced, and the end of the connection ends the body.
    """

    status: int | None = None
    break_after: int | None = None
    reset: bool = False
    ignore_range: bool = False
    late_range: int = 0
    content: bytes | None = None
    extra_length: int = 0
    no_length: bool = False


@dataclass(frozen=True)
class Request:
    """A request that arrived, with header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]


class FileServer:
    """Serves `files` (path without leading slash -> content) with support for Range requests.

    `faults[path]` is a list of faults (None: no fault), one for each GET of that path in order.
    `always[path]` is a fault for every later GET. `requests` lists the requests that arrived.
    """

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = files or {}
        self.faults: dict[str, list[Fault | None]] = {}
        self.always: dict[str, Fault] = {}
        self.requests: list[Request] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.receive(self)

            do_HEAD = do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output free of a line for each request."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def gets(self, path: str) -> list[Request]:
        """Return the GET requests that arrived for one path."""
        return [
            request
            for request in self.requests
            if request.method == "GET" and request.path.partition("?")[0] == f"/{path}"
        ]

    def ranges(self, path: str) -> list[str | None]:
        """Return the Range header of each GET request for one path, or None."""
        return [request.headers.get("range") for request in self.gets(path)]

    def receive(self, handler: BaseHTTPRequestHandler) -> None:
        """Record a request and answer it."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(Request(handler.command, handler.path, headers))
        self.answer(handler, unquote(urlsplit(handler.path).path).lstrip("/"))

    def answer(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        """Answer a request for a path."""
        self.send_file(handler, path, self.files.get(path))

    def send_file(
        self,
        handler: BaseHTTPRequestHandler,
        path: str,
        content: bytes | None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Send a file, the range of it that was asked for, or the fault that comes next."""
        fault = self._next_fault(path) if handler.command == "GET" else None
        fault = fault or Fault()
        content = content if fault.content is None else fault.content
        headers = {"Accept-Ranges": "bytes", **(headers or {})}
        if fault.status is not None or content is None:
            send(handler, fault.status or 404, b"no such file", headers)
            return
        headers.setdefault("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        status, body = 200, content
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
        if asked and not fault.ignore_range:
            first, last = int(asked[1]) + fault.late_range, int(asked[2] or len(content) - 1)
            if first >= len(content):
                send(handler, 416, b"", headers | {"Content-Range": f"bytes */{len(content)}"})
                return
            status, body = 206, content[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        send(handler, status, body, headers, fault)

    def _next_fault(self, path: str) -> Fault | None:
        waiting = self.faults.get(path)
        return waiting.pop(0) if waiting else self.always.get(path)


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str],
    fault: Fault | None = None,
) -> None:
    """Send one answer. A fault may end its body early."""
    fault = fault or Fault()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if fault.no_length:
        handler.send_header("Connection", "close")
    else:
        handler.send_header("Content-Length", str(len(body) + fault.extra_length))
    handler.end_headers()
    if handler.command == "HEAD":
        return
    try:
        handler.wfile.write(body if fault.break_after is None else body[: fault.break_after])
    except (BrokenPipeError, ConnectionResetError):  # the client hung up, as some tests do
        handler.close_connection = True
    if fault.break_after is not None or fault.extra_length:
        handler.close_connection = True
    if fault.reset:
        # Closing with unsent data discarded makes the kernel send RST instead of FIN.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.close(handler.connection.detach())


@dataclass
class Repository:
    """A repository of a model or of data: `files` are at `commit`, which `tags` (and branches)
    name too.

    Files in `lfs` are kept in large file storage, which `resolve` redirects to. A `gated` one
    gives its listing to all, and its files only with the `token`. A `private` one gives nothing
    without it.
    """

    commit: str
    files: dict[str, bytes]
    lfs: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=lambda: {"main"})
    gated: bool = False
    private: bool = False
    token: str = "hub-token"


class HubServer(FileServer):
    """A stand-in for the model hub, with the part of its HTTP interface that its client uses.

    Point HF_ENDPOINT at its `url`. Large files come from `storage`, a separate server. Their
    faults go to `storage.faults[sha256]`, faults of small ones to
    `faults["OWNER/NAME/resolve/COMMIT/FILE"]`, faults of the listing to `faults["api/models/..."]`.
    """

    def __init__(self, repositories: dict[str, Repository]) -> None:
        super().__init__()
        self.repositories = repositories
        self.storage = FileServer(
            {
                hashlib.sha256(content).hexdigest(): content
                for repository in repositories.values()
                for name, content in repository.files.items()
                if name in repository.lfs
            }
        )

    def __enter__(self) -> Self:
        self.storage.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.storage.__exit__(*error)

    def answer(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        """Answer a request to the interface of models or data, or for a file."""
        api = re.fullmatch(
            r"api/(?:models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+).*)?", path
        )
        resolve = re.fullmatch(r"(?:datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        name, revision = (
            (api[1], api[3] or "main") if api else (resolve[1], resolve[2]) if resolve else ("", "")
        )
        repository = self.repositories.get(name)
        token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository is None or (repository.private and token != repository.token):
            refuse(handler, 404 if token else 401, "RepoNotFound", "Repository not found")
        elif revision != repository.commit and revision not in repository.tags:
            refuse(handler, 404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif api:
            self._send_api(handler, path, name, repository)
        elif resolve and repository.gated and token != repository.token:
            message = f"Access to model {name} is restricted."
            refuse(handler, 403 if token else 401, "GatedRepo", message)
        elif resolve:
            self._send_resolved(handler, path, repository, resolve[3])

    def _send_api(
        self, handler: BaseHTTPRequestHandler, path: str, name: str, repository: Repository
    ) -> None:
        answer: Any
        if "/tree/" in path:
            folder = re.sub(r".*/tree/[^/]+/?", "", path)
            answer = listed(repository, folder)
        elif "/paths-info/" in path:
            body = handler.rfile.read(int(handler.headers["Content-Length"]))
            asked = (
                json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
            )
            answer = [found for name in asked for found in described(repository, name)]
        else:
            blobs = "blobs" in parse_qs(urlsplit(handler.path).query)
            answer = {
                "id": name, "modelId": name, "sha": repository.commit,
                "private": repository.private, "gated": "manual" if repository.gated else False,
                "siblings": [sibling(repository, file, blobs) for file in sorted(repository.files)],
            }  # fmt: skip
        headers = {"Content-Type": "application/json", "ETag": "listing"}
        self.send_file(handler, path, json.dumps(answer).encode(), headers)

    def _send_resolved(
        self, handler: BaseHTTPRequestHandler, path: str, repository: Repository, file: str
    ) -> None:
        headers = {"X-Repo-Commit": repository.commit}
        content = repository.files.get(file)
        if content is None:
            refuse(handler, 404, "EntryNotFound", "Entry not found", headers)
        elif file in repository.lfs:
            digest = hashlib.sha256(content).hexdigest()
            headers |= {"X-Linked-Size": str(len(content)), "X-Linked-Etag": f'"{digest}"'}
            send(handler, 302, b"", headers | {"Location": f"{self.storage.url}/{digest}"})
        else:
            self.send_file(handler, path, content, headers | {"ETag": f'"{git_blob(content)}"'})


def refuse(
    handler: BaseHTTPRequestHandler,
    status: int,
    code: str,
    message: str,
    headers: dict[str, str] | None = None,
) -> None:
    """Send one of the hub's errors, which its client tells apart by X-Error-Code."""
    described = {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})}
    send(handler, status, json.dumps({"error": message}).encode(), described)


def listed(repository: Repository, folder: str) -> list[dict[str, Any]]:
    """Return the files and folders below a folder, as the hub's tree interface describes them."""
    inside = [
        name for name in sorted(repository.files) if name.startswith(f"{folder}/" * bool(folder))
    ]
    folders = {str(above) for name in inside for above in PurePosixPath(name).parents}
    below = sorted(name for name in folders - {"."} if name != folder and name.startswith(folder))
    return [found for name in (*below, *inside) for found in described(repository, name)]


def described(repository: Repository, name: str) -> list[dict[str, Any]]:
    """Return a file or folder as the hub describes it, or None."""
    if name in repository.files:
        return [entry(repository, name)]
    if any(file.startswith(f"{name}/") for file in repository.files):
        return [{"type": "directory", "path": name, "oid": git_blob(name.encode()), "size": 0}]
    return []


def git_blob(content: bytes) -> str:
    """Return git's id of a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def entry(repository: Repository, name: str) -> dict[str, Any]:
    """Return a file as the hub's tree interface describes it."""
    content = repository.files[name]
    described: dict[str, Any] = {
        "type": "file", "path": name, "size": len(content), "oid": git_blob(content),
    }  # fmt: skip
    if name in repository.lfs:
        digest = hashlib.sha256(content).hexdigest()
        described["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 134}
    return described


def sibling(repository: Repository, name: str, blobs: bool) -> dict[str, Any]:
    """Return a file as the hub's model interface describes it, in full if `blobs`."""
    if not blobs:
        return {"rfilename": name}
    described = entry(repository, name)
    answer = {"rfilename": name, "size": described["size"], "blobId": described["oid"]}
    if "lfs" in described:
        lfs = described["lfs"]
        answer["lfs"] = {"sha256": lfs["oid"], "size": lfs["size"], "pointerSize": 134}
    return answer
