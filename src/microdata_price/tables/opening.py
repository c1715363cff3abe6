"""Opening what people bring: packed or not, in any Unicode encoding, with any usual separator."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import gzip
import io
import lzma
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, cast

from ..exceptions import InputError

SEPARATORS = (",", ";", "\t", "|")
"""What may stand between the columns; the first goes before where several would do."""
_PACKED: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook; save the sheet as a CSV file"),
    (b"%PDF", "a PDF; a CSV file is needed"),
    (b"PAR1", "a Parquet file; save it as a CSV file"),
    (b"SQLite format 3", "a database; save the table as a CSV file"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it and give the CSV file in it"),
    (b"Rar!", "a RAR archive; unpack it and give the CSV file in it"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd; unpack it and give the CSV file"),
    (b"$FL2", "an SPSS file; save it as a CSV file"),
    (b"<stata_dta>", "a Stata file; save it as a CSV file"),
    (b"HEADER RECORD***", "a SAS transport file; save it as a CSV file"),
    (b"ARROW1", "an Arrow (Feather) file; save it as a CSV file"),
    (b"FEA1", "a Feather file; save it as a CSV file"),
    (b"\x89HDF", "an HDF5 file; save the table as a CSV file"),
    (b"{\\rtf", "a text with formats (RTF); save the table as a CSV file"),
)
_INNER = (".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar", ".tgz")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SNIFFED = 1 << 16
_LINES = 20
_BLOCK = 512
"""So many rows are read at once: few enough to stay in a processor's cache."""
Ending = Literal["drop", "keep", "refuse"]
_BREAK = re.compile(r"\s*[\r\n]\s*")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def plain_text(text: str) -> str:
    """Return text as it is compared: accents composed (NFC), every space a space, none around.

    Examples
    --------
    >>> plain_text("Ko" + chr(0x308) + "ln" + chr(0xA0)) == "K" + chr(0xF6) + "ln"
    True
    """
    if text.isascii():
        return text.strip()
    text = unicodedata.normalize("NFC", text.replace("\ufeff", ""))
    return _SPACES.sub(" ", text).strip()


@dataclass(frozen=True)
class Source:
    """A file of text: by itself, packed, or a member of a zip archive.

    Parameters
    ----------
    path
        The file.
    member
        The member's name, or ``None``.
    """

    path: Path
    member: str | None = None

    @property
    def place(self) -> str:
        """What messages call it."""
        return str(self.path) if self.member is None else f"{self.path} ({self.member})"

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open it as the bytes of its text."""
        with _unpacking(self.path), contextlib.ExitStack() as stack:
            if self.member is not None:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                yield stack.enter_context(archive.open(self.member))
                return
            raw = stack.enter_context(self.path.open("rb"))
            first = raw.read(16)
            raw.seek(0)
            unpack = next((how for mark, how in _PACKED if first.startswith(mark)), None)
            yield raw if unpack is None else cast(IO[bytes], stack.enter_context(unpack(raw)))


@contextlib.contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise InputError(f"{path} is damaged: it cannot be unpacked to its end") from None
    except (NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"{path} cannot be unpacked here ({error}); unpack it and give the CSV file in it"
        ) from None
    except OSError as error:
        if error.errno is not None:  # otherwise bz2 says that its stream is damaged
            raise
        raise InputError(f"{path} is damaged: it cannot be unpacked to its end") from None


def sources(path: Path) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Return the files of text in a file, and the names of what else is in it.

    Parameters
    ----------
    path
        A CSV file, one packed by gzip, bzip2 or xz, or a zip archive of one or more.

    Raises
    ------
    InputError
        What is no text: a workbook, another archive, an archive without a CSV file, with an archive
        inside, with a password, or with the same file twice.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path} is a pipe or a device, and a table is read more than once; save it as a file "
            "and give its name"
        )
    try:
        with path.open("rb") as raw:
            first = raw.read(16)
    except (FileNotFoundError, IsADirectoryError):
        raise InputError(f"there is no file {path}; a table is a CSV file") from None
    what = next((said for mark, said in _FOREIGN if first.startswith(mark)), None)
    if what is not None:
        raise InputError(f"{path} is {what}")
    if not first.startswith(b"PK") or not zipfile.is_zipfile(path):
        if first.startswith(b"PK"):
            raise InputError(f"{path} is damaged: it cannot be unpacked to its end")
        return (Source(path),), ()
    with _unpacking(path), zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if not m.is_dir()]
    return _members(path, members)


def _members(
    path: Path, members: Sequence[zipfile.ZipInfo]
) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    names = [m.filename for m in members]
    if "[Content_Types].xml" in names or "content.xml" in names:
        raise InputError(f"{path} is a workbook; save the sheet as a CSV file")
    real = [m for m in members if not _left_by_a_system(m.filename)]
    texts = [m for m in real if m.filename.lower().endswith((".csv", ".tsv"))]
    inner = [m.filename for m in real if m.filename.lower().endswith(_INNER)]
    if inner:
        raise InputError(
            f"{path} holds another archive, {inner[0]}; unpack it once and give what is inside"
        )
    if not texts:
        raise InputError(f"{path} is a zip archive without a .csv file in it")
    seen: dict[object, str] = {}
    for member in texts:
        if member.flag_bits & 1:
            raise InputError(
                f"{path} has a password; unpack it and give the CSV file in it ({member.filename})"
            )
        for key in (member.filename, (member.CRC, member.file_size)):
            if key in seen:
                raise InputError(
                    f"{path} holds the same file twice, {seen[key]} and {member.filename}, and "
                    "everybody in it would count twice; unpack it and give one of them"
                )
        seen[member.filename] = seen[member.CRC, member.file_size] = member.filename
    unread = tuple(m.filename for m in members if m not in texts)
    return tuple(Source(path, m.filename) for m in texts), unread


def _left_by_a_system(name: str) -> bool:
    """Say whether a member is what a system leaves in archives, such as ``__MACOSX/._a.csv``."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or parts[-1].startswith(".")


@dataclass(frozen=True)
class Layout:
    """How a file of text is written.

    Parameters
    ----------
    encoding
        Its encoding, as Python calls it.
    separator
        What stands between its columns.
    skipped
        How many lines stand above the header: 1 where Excel's ``sep=`` line does.
    header
        The names in its first row, in the form in which text is compared.
    """

    encoding: str
    separator: str
    skipped: int
    header: tuple[str, ...]


def encoding_of(first: bytes) -> str:
    """Return the encoding that the first bytes of a text tell.

    Examples
    --------
    >>> encoding_of("a,b".encode("utf-16")), encoding_of("a,b".encode("utf-16-le"))
    ('utf-16', 'utf-16-le')
    """
    for mark, name in _MARKS:
        if first.startswith(mark):
            return name
    zeros = [first[k::2].count(0) for k in (0, 1)]
    if max(zeros) > len(first) // 4:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    return "utf-8-sig"


def layout(source: Source) -> Layout:
    """Find out how a file is written, from its first lines.

    Raises
    ------
    InputError
        No text, an empty file, or names that cannot be told apart.
    """
    with source.open() as stream:
        first = stream.read(_SNIFFED)
    encoding = encoding_of(first)
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(first, final=len(first) < _SNIFFED)
    except UnicodeDecodeError:
        raise not_text(source.place) from None
    if "\x00" in text:
        raise InputError(f"{source.place} is not a text file; a table is a CSV file")
    other = re.match(r"\s*(?:(\{|\[\s*[\[{])|<(?:[!?]|html|table))", text, re.IGNORECASE)
    if other is not None:
        what = "JSON" if other[1] else "a page of a browser (HTML or XML)"
        raise InputError(f"{source.place} looks like {what}; save the table as a CSV file")
    if re.match(r"[^\t\n]*\\[^\t\n]*\t", text):
        raise InputError(
            f"{source.place} looks like Eurostat's TSV form, whose first column holds several, "
            "joined by commas; take the SDMX-CSV form of the same data, or split that column"
        )
    lines = text.splitlines()
    if len(first) == _SNIFFED and len(lines) > 1:
        lines.pop()  # perhaps cut in the middle
    skipped, said = 0, re.fullmatch(r'\s*"?sep=(.)"?[\s,;|]*', lines[0], re.I) if lines else None
    if said is not None:
        skipped, lines = 1, lines[1:]
    filled = [line for line in lines if line.strip()][:_LINES]
    if not filled:
        raise InputError(f"{source.place} is empty; its first row must name the columns")
    separator = said[1] if said is not None else _separator(filled)
    header = _first_row(filled, separator)
    if header is None:
        raise InputError(
            f"{source.place} is not a CSV file (a quotation mark is in a wrong place); correct it, "
            "or save it again as a CSV file from the program that made it"
        )
    names = tuple(plain_text(_BREAK.sub(" ", name)) for name in header)
    _check_names(source.place, names, _fields(filled, separator) or [])
    return Layout(encoding, separator, skipped, names)


def not_text(place: str) -> InputError:
    """Return the error for bytes that are no text."""
    return InputError(
        f"{place} is not a text file in UTF-8; save it again as a CSV file in that encoding (UTF-8)"
    )


def _fields(lines: Sequence[str], separator: str) -> list[list[str]] | None:
    ended = [f"{line}\n" for line in lines]
    try:
        return list(csv.reader(ended, delimiter=separator, strict=True)) or None
    except csv.Error:
        return None


def _first_row(lines: Sequence[str], separator: str) -> list[str] | None:
    """Return the fields of the first row, which is of several lines where names hold breaks."""
    tried = (_fields(lines[:k], separator) for k in range(1, len(lines) + 1))
    return next((rows[0] for rows in tried if rows), None)


def _separator(lines: Sequence[str]) -> str:
    """Choose the separator by which the first lines have most columns and one number of them."""
    best, chosen = (False, 1), SEPARATORS[0]
    for mark in SEPARATORS:
        head, every = _first_row(lines, mark), _fields(lines, mark)
        width = len(head) if head else 1
        even = every is not None and {len(row) for row in every} == {width}
        if width > 1 and (even, width) > best:
            best, chosen = (even, width), mark
    return chosen


def _check_names(place: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Refuse names that cannot be told apart; several may be empty where their columns are."""
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InputError(f"{place} names column {twice[0]!r} twice; each name must occur once")
    nameless = [k for k, name in enumerate(names) if not name]
    filled = [k for k in nameless if any(row[k : k + 1] not in ([], [""]) for row in rows[1:])]
    if len(filled) > 1:
        raise InputError(
            f"{place} names only {len(names) - len(nameless)} of {len(names)} columns in its first "
            "row; one row must name every column, without a title above it or headings over "
            "several columns"
        )


def read_rows(source: Source, how: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header that are not blank, with their numbers as an editor counts.

    Raises
    ------
    InputError
        A row with another number of fields than the header, or no CSV file.
    """
    for numbers, rows in read_blocks(source, how):
        yield from zip(numbers, rows, strict=True)


def read_blocks(
    source: Source, how: Layout, ending: Ending = "drop"
) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
    """Yield what `read_rows` yields, a few hundred rows at once: their numbers, and the rows.

    Parameters
    ----------
    source, how
        The file, and how it is written.
    ending
        What is done with rows of several empty fields at the end of the file, which spreadsheets
        add: they are dropped, kept or refused.

    Raises
    ------
    InputError
        As `read_rows` does.
    """
    numbers: Sequence[int]
    held: list[tuple[int, list[str]]] = []
    for numbers, block, fault in _raw_blocks(source, how):
        blank = [k for k, row in enumerate(block) if not row or not row[0].strip()]
        if blank or held:
            kept = [(n, row) for n, row in zip(numbers, block, strict=True) if row]
            last = len(kept)
            while last and ending != "keep" and _is_blank(kept[last - 1][1]):
                last -= 1
            rows, held = ([*held, *kept[:last]], kept[last:]) if last else ([], [*held, *kept])
            numbers, block = [n for n, _ in rows], [row for _, row in rows]
        _check_widths(source.place, numbers, block, how.header)
        if fault is not None:  # what is wrong above it is said first
            raise fault
        if block:
            yield numbers, block
    if held and ending == "refuse":
        raise InputError(
            f"{source.place}, row {held[0][0]}: it is empty, as are all below it; leave them out, "
            "or add --records if each is a record of which nothing is stated"
        )


def _is_blank(row: Sequence[str]) -> bool:
    return len(row) > 1 and not "".join(row).strip()


def _raw_blocks(
    source: Source, how: Layout
) -> Iterator[tuple[Sequence[int], list[list[str]], InputError | None]]:
    """Yield rows below the header, empty lines too, and what is wrong below them."""
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
        try:
            for _ in range(how.skipped):
                text.readline()
            reader = csv.reader(text, delimiter=how.separator, strict=True)
            number = 1 + how.skipped
            while not next(reader):  # the header, below blank lines
                number += 1
        except UnicodeDecodeError:
            raise not_text(source.place) from None
        except csv.Error as error:
            raise _not_csv(source.place, error) from None
        while True:
            block: list[list[str]] = []
            fault: InputError | None = None
            try:
                block.extend(islice(reader, _BLOCK))
            except UnicodeDecodeError:
                fault = not_text(source.place)
            except csv.Error as error:
                fault = _not_csv(source.place, error)
            if not block and fault is None:
                return
            yield range(number + 1, number + 1 + len(block)), block, fault
            number += len(block)


def _check_widths(
    place: str, numbers: Sequence[int], rows: Sequence[Sequence[str]], header: Sequence[str]
) -> None:
    width = len(header)
    if set(map(len, rows)) <= {width}:
        return
    number, row = next((n, r) for n, r in zip(numbers, rows, strict=True) if len(r) != width)
    hint = ""
    if width == 1:
        hint = " (the first row must name the columns: leave out titles and comments above it)"
    elif len(row) == 1:
        hint = (
            " (leave out notes and comments; all rows must have the header's mark between fields)"
        )
    elif len(row) == width + 1:
        hint = (
            " (a mark between thousands or decimals, perhaps, or names of rows without a heading)"
        )
    raise InputError(
        f"{place}, row {number}: {len(row)} fields where the header has {width}; every row needs "
        f"one field a column{hint}"
    )


def _not_csv(place: str, error: csv.Error) -> InputError:
    unclosed = "end of data" in str(error)
    why = "a quotation mark is opened and not closed" if unclosed else str(error)
    return InputError(
        f"{place} is not a CSV file ({why}); correct it, or save it again as a CSV file from the "
        "program that made it"
    )
