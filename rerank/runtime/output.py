"""Output files and folders that are written completely or not at all.

The content of a file NAME is written to a part file, `.NAME.<random>.part` in the same folder, which is renamed at the
end, with the mode of the file that it replaces, and its owner and group where the system allows it. The content of a
folder is written to the folder `.NAME.<random>.part.new` next to a part file that stays empty. The writing process
holds an flock on the part file, which the system releases when the process ends in any way. A part file without a lock
was left by a killed process; the next process that writes the same target removes it with its folders.

Windows has no such lock, and renames and removes no file that is open or mapped: there, a part file is closed before it
is renamed, and what a killed process left stays.
"""

import errno
import gzip
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, RerankError, shown
from rerank.runtime.cache_folder import cache_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

GZIP_LEVEL = 6
OTHER_PACKERS = (".bz2", ".xz", ".zst", ".lz4", ".zip")  # endings of compressed files that are not written
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WRITE_ERRORS = (*FULL, errno.EIO, errno.EROFS)  # errors of the disk, not of the program
LONGEST_NAME = 255  # bytes of a file's name
_PART = re.compile(r"\.[0-9a-f]{12}\.part")  # ending of a part file's name
_N_RESERVED = len(".") + len(".0123456789ab.part") + len(".new")


def path_of(path: Any) -> Path:
    """Return a path; refuse what is not a path, and a name that no file can have."""
    try:
        if isinstance(path, str | os.PathLike) and "\n" not in str(path):
            os.stat(path)
            return Path(path)
    except ValueError:  # NUL, half surrogate pairs
        pass
    except OSError as fault:
        if fault.errno not in (errno.ENAMETOOLONG, errno.ELOOP):
            return Path(path)
        if len(str(path)) <= 4 * LONGEST_NAME:  # a longer text is the content of a file
            raise FileFormatError(
                path, None, f"expected a path that can be used, got: {os.strerror(fault.errno)}. Name another."
            ) from None
    is_text = isinstance(path, str | os.PathLike)
    got = str(path) if is_text else repr(path)
    remedy = "Name another, or write the content to a file" if is_text else "Pass one as text"
    raise InvalidInputError(f"path: expected the name of a file, got {shown(got)}. {remedy}.")


@contextmanager
def whole_file(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Yield a handle whose content becomes the file `path` if the block ends without an error.

    The content is written to a hidden file in the same folder, which replaces `path` at the end and is removed after an
    error or Ctrl-C.
    """
    if str(path) == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    path = path_of(path)
    with _system_errors(path):
        target, is_device = _target(path)
        if is_device:
            with _handle(io.FileIO(path, "w"), path, binary) as handle:
                yield handle
            return
        with _new_part(target) as raw:
            copy_mode(raw.name, target)
            with _handle(raw, target, binary) as handle:
                yield handle
            os.replace(raw.name, target)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    with whole_file(path) as file:
        file.write(text)


@contextmanager
def staged_folder(
    target: Path, move: Callable[[Path, Path], None], error: type[RerankError], within: bool = False
) -> Iterator[Path]:
    """Yield a new hidden folder next to `target`; `move(folder, target)` is called if the block ends without an error.

    After an error or Ctrl-C the folder is removed. If a killed process was replacing the target, the old target is
    restored first.

    error   raised for errors of writing in these folders, and for a full disk
    within  whether the hidden folder is in `target`, which exists, and so on the same disk as its files
    """
    place = target / target.name if within else target
    with _system_errors(target, error, target.parents), _part_with_parents(place) as raw:
        folder = Path(f"{raw.name}.new")
        try:
            folder.mkdir()
            copy_mode(folder, target)
            yield folder
            for path in folder.rglob("*"):
                copy_mode(path, target / path.relative_to(folder))
            move(folder, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sole_writer(target: Path) -> Iterator[None]:
    """Keep other processes from writing a folder or file during the block; refuse one that another process writes."""
    place = target / target.name if target.is_dir() else target
    if _remove_abandoned(place):
        raise InvalidInputError(
            f"{target}: expected an output that nobody else writes, got one that another process is writing. Wait for "
            "it, or name another."
        )
    with ExitStack() as stack:
        with _system_errors(target, InvalidInputError, target.parents):
            stack.enter_context(_part_with_parents(place))
        yield


@contextmanager
def _part_with_parents(target: Path) -> Iterator[io.FileIO]:
    """Yield a new part file; parents that are made for it, and stay empty, are removed at the end."""
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _new_part(target) as raw:
            yield raw
    finally:
        for parent in created:  # the innermost first
            with suppress(OSError):  # the target is in it, or another process uses it
                parent.rmdir()


def copy_mode(path: str | Path, target: Path) -> None:
    """Give a file or folder the mode of the one that it will replace, and where possible its owner and group."""
    with suppress(FileNotFoundError, NotADirectoryError):
        replaced = os.stat(target)
        for owner in (replaced.st_uid, -1):  # a user who cannot change the owner may be allowed to change the group
            with suppress(OSError, AttributeError):  # Windows has no owners
                os.chown(path, owner, replaced.st_gid)
                break
        os.chmod(path, stat.S_IMODE(replaced.st_mode))


def replace_folder(folder: Path, target: Path, foreign: Callable[[Path], Iterable[Path]]) -> None:
    """Rename the folder that `staged_folder` yields to its target.

    An existing target is moved aside first, to `.old0`, or to `.old1` and so on where others appear meanwhile, and is
    removed at the end.

    foreign  returns the paths in the replaced folder that are not removed but moved into the new one
    """
    moved: list[Path] = []
    while True:
        try:
            os.rename(folder, target)
            break
        except OSError:
            if not target.is_dir():
                if moved:
                    os.rename(moved[-1], target)
                raise
            aside = folder.with_suffix(f".old{len(moved)}")
            with suppress(FileNotFoundError):
                os.rename(target, aside)
                moved.append(aside)
    for old in moved:
        for path in list(foreign(old)):
            (target / path.relative_to(old)).parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, target / path.relative_to(old))
        shutil.rmtree(old, ignore_errors=True)


def check_outputs(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse an output whose folder does not exist, and two outputs to one file: the second would replace the first."""
    names: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None or str(path) == "-" or path_of(path).is_char_device():
            continue
        first = names.setdefault(_target(path_of(path))[0], name)
        if first != name:
            raise InvalidInputError(
                f"{name}: expected another file than that of {first}, got {path} for both. Name another."
            )


@contextmanager
def _new_part(target: Path) -> Iterator[io.FileIO]:
    """Yield a new part file next to the target, which stays locked to the end of the block and is removed there."""
    _remove_abandoned(target)
    while True:
        part = target.with_name(f"{_beginning(target)}.{os.urandom(6).hex()}.part")
        raw = io.FileIO(part, "x")
        # Before the file is locked, another process may remove it as one of a killed process.
        if _lock(raw.fileno()) is not False and part.exists():
            break
        raw.close()
        part.unlink(missing_ok=True)
    lock = None if fcntl is None else os.dup(raw.fileno())  # keeps the lock: the file is closed before it is renamed
    try:
        with raw:
            yield raw
    finally:
        part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _beginning(target: Path) -> str:
    """Return what the names of a target's part files begin with."""
    name = target.name
    while len(os.fsencode(name)) > LONGEST_NAME - _N_RESERVED:
        name = name[:-1]  # whole characters: macOS refuses other names
    return f".{name}"


def _remove_abandoned(target: Path) -> bool:
    """Remove part files and folders that killed processes left; return whether a process still writes the target."""
    beginning = _beginning(target)
    is_written = False
    with suppress(OSError):  # a folder that cannot be listed
        for name in os.listdir(target.parent):
            if name.startswith(beginning) and _PART.fullmatch(name, len(beginning)):
                # Another process may remove the file, too. Some network file systems lock only what is open to write.
                with suppress(OSError), open(target.with_name(name), "r+b") as file:
                    is_free = _lock(file.fileno())
                    is_written = is_written or is_free is False
                    if is_free:
                        _remove_part(target.with_name(name), target)
    return is_written


def _remove_part(part: Path, target: Path) -> None:
    """Remove a part file after its folders; a target that was moved aside, and not replaced, is moved back."""
    for name in sorted(os.listdir(part.parent), reverse=True):
        folder = part.with_name(name)
        if name.startswith(f"{part.name}.old") and not os.path.lexists(target):
            os.rename(folder, target)
        elif name.startswith(f"{part.name}."):
            shutil.rmtree(folder, ignore_errors=True)
    part.unlink(missing_ok=True)


def wait_for_lock(file: int) -> None:
    """Lock a file that is open for writing, until it is closed; on Windows OSError after 10 s of waiting."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
    elif fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)


def _lock(file: int) -> bool | None:
    """Lock a file; return False if another process holds the lock, None if the system has no such locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _target(path: Path) -> tuple[Path, bool]:
    """Return the file that symbolic links lead to, in an existing folder, and whether it is a device or pipe."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return path, True
    if path.suffix.lower() in OTHER_PACKERS:
        raise InvalidInputError(
            f"{path}: expected a plain file or .gz, got {path.suffix}. Name one, and compress it later."
        )
    target = path.resolve()
    if stat.S_ISDIR(mode):
        raise InvalidInputError(f"{path}: expected a file to write, got a folder. Name a file in it.")
    if not target.parent.is_dir():
        if target.parent.exists():
            raise InvalidInputError(f"{path.parent}: expected a folder to write into, got a file. Name a folder.")
        raise MissingFileError(path.parent, "a folder to write into")
    return target, False


@contextmanager
def _handle(raw: io.FileIO, target: Path, binary: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        handle: IO[Any] = stack.enter_context(io.BufferedWriter(raw))
        if target.suffix.lower() == ".gz":
            # Without a name and a time in the header, so that the same content gives the same bytes.
            handle = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, handle, mtime=0)))
        if not binary:
            handle = stack.enter_context(io.TextIOWrapper(handle, encoding="utf-8", newline="\n"))
        yield handle


def reason_of(fault: OSError) -> str:
    """Return what the operating system says of a fault."""
    return os.strerror(fault.errno) if fault.errno else "an error of the system"


@contextmanager
def _system_errors(
    path: str | Path, error: type[RerankError] = InvalidInputError, folders: Iterable[Path] = ()
) -> Iterator[None]:
    """Raise `error` in place of a full disk, and of errors of writing the path, its part file or one of `folders`."""
    try:
        yield
    except OSError as fault:
        name = "" if fault.filename is None else str(fault.filename)
        is_own = name in map(str, (path, *folders)) or _PART.search(name) is not None
        if isinstance(fault, RerankError) or (not is_own and fault.errno not in FULL):
            raise
        remedy = (
            "Name another folder by RERANK_CACHE" if Path(path).is_relative_to(cache_folder()) else "Write elsewhere"
        )
        raise error(f"{path}: expected a path that can be written, got: {reason_of(fault)}. {remedy}.") from fault
