"""What whoever runs a broker does over HTTP: backups, and homes that will not return."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse

from twigcast.broker.access import Permission
from twigcast.broker.http.bodies import body_of, read_model
from twigcast.broker.http.context import KnownCaller
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import Backup, BackupRequest, ForgottenHome
from twigcast.broker.http.pages_elsewhere import require_mark
from twigcast.errors import RefusedError, StoreError

router = APIRouter(tags=["administration"])

_FOLDER: Final = "backups"
_UNFINISHED: Final = ".unfinished"


@router.delete(
    "/v1/homes/{name:path}",
    responses=answers(
        "Nothing is owed to that home any more.", 400, 401, 403, 404, 409, model=ForgottenHome
    ),
)
async def forget_home(
    caller: KnownCaller,
    name: Annotated[str, Path(description="As `homes` and `owed` of the status name it.")],
) -> JSONResponse:
    """Owe nothing more to a broker that will not return."""
    caller.require(Permission.ADMINISTER)
    broker = caller.broker
    if name not in broker.homes.patterns and name not in broker.owed:
        raise RefusedError(f"nothing is known of durable subscriptions at {name!r}", "unknown")
    return JSONResponse({"dropped": broker.forget_home(name)})


@router.post(
    "/v1/backup",
    dependencies=[Depends(require_mark)],
    responses=answers("The copy is there.", 400, 401, 403, 408, 409, 413, 503, model=Backup),
    openapi_extra={"requestBody": body_of(BackupRequest, required=False)},
)
async def backup(request: Request, caller: KnownCaller) -> JSONResponse:
    """Copy the store to a file beside it, while the broker goes on."""
    caller.require(Permission.ADMINISTER)
    said = await read_model(request, BackupRequest)
    store, folder = caller.broker.store, caller.broker.config.store.folder
    if store is None:
        raise RefusedError("this broker keeps nothing, so there is nothing to copy", "unavailable")
    if folder is None:
        raise RefusedError("the store is in PostgreSQL: copy it with pg_dump", "unavailable")
    name = said.path or f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%f}.sqlite"
    if name.endswith(_UNFINISHED):
        raise RefusedError(f"unfinished copies end in {_UNFINISHED}; name another file", "invalid")
    path = folder / _FOLDER / name
    async with caller.api.backups:
        if path.exists():
            raise RefusedError(f"there is a {name!r} already; name a new file", "taken")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent}: it cannot be made: {error.strerror}") from error
        await store.backup(path)
    return JSONResponse({"path": str(path), "bytes": path.stat().st_size})
