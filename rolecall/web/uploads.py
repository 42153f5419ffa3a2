"""Read a multipart form: hash its files while streaming them to disk, and stop as soon as a limit is exceeded."""

import hashlib
import re
from contextlib import ExitStack, suppress
from urllib.parse import unquote_to_bytes

import msgspec
from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser, parse_options_header

from rolecall.core.config import Config
from rolecall.core.errors import Invalid, TooLarge, UnsupportedMediaType
from rolecall.core.files import Upload, UploadedFile, Writing, without_path
from rolecall.core.text import byte_size, is_storable
from rolecall.web.bodies import AnyRequest, Carried, in_time

_MAX_FIELDS = 100
_MAX_FIELD_BYTES = 64 * 1024


async def read_upload(request: AnyRequest, config: Config) -> Carried:
    media_type, options = parse_options_header(request.headers.get("content-type", ""))
    if media_type != "multipart/form-data":
        raise UnsupportedMediaType("Send the files as multipart/form-data")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > config.max_upload_bytes:
        raise _too_large(config)
    with ExitStack() as failing:
        form = _Form(config)
        failing.callback(form.abandon)
        try:
            await _read(request, config, options.get("boundary", ""), form)
        except ParserLimitReached:
            said = "The form has too many parts, or a part whose header is too large"
            raise TooLarge(f"{said}; send fewer files, with shorter names") from None
        except MultipartError:
            raise Invalid.on("body", "Body is not valid multipart/form-data") from None
        # From here on, `Carried` removes the files.
        failing.pop_all()
    return Carried(form.upload, _digest(form.upload), held=form.upload)


async def _read(request: AnyRequest, config: Config, boundary: str, form: "_Form") -> None:
    parser = PushMultipartParser(boundary, max_segment_count=config.max_upload_files + _MAX_FIELDS)
    size = 0
    async with in_time() as came:
        async for chunk in request.stream():
            came(chunk)
            size += len(chunk)
            if size > config.max_upload_bytes:
                raise _too_large(config)
            # An empty chunk would tell the parser that the body has ended.
            for event in parser.parse(chunk) if chunk else ():
                match event:
                    case MultipartSegment():
                        form.begin(event)
                    case None:
                        await form.end()
                    case _:
                        await form.take(event)
    # `close` raises an error if the closing boundary is missing.
    parser.close()


class _Form:
    """The parts of a form as they arrive; a part with a file name is a file, any other part is a field."""

    def __init__(self, config: Config) -> None:
        self.upload = Upload()
        self._config = config
        self._name = ""
        self._file_name = ""
        self._value = bytearray()
        self._writing: Writing | None = None

    def begin(self, part: MultipartSegment) -> None:
        self._name = part.name or ""
        if not is_storable(self._name):
            raise Invalid.on("body", "The name of a form field must be UTF-8 text without NUL characters")
        filename = _filename_of(part)
        if filename is None:
            return
        if len(self.upload.files) == self._config.max_upload_files:
            raise TooLarge(f"Send at most {self._config.max_upload_files} files")
        self._file_name = without_path(filename)
        self._writing = Writing(self._config.store)

    async def take(self, chunk: bytes) -> None:
        if self._writing is None:
            self._value += chunk
            if len(self._value) > _MAX_FIELD_BYTES:
                raise TooLarge(f"A form field is larger than {byte_size(_MAX_FIELD_BYTES)}")
            return
        await self._writing.write(chunk)
        if self._writing.size > self._config.max_file_bytes:
            raise TooLarge(f"{self._file_name} is larger than {byte_size(self._config.max_file_bytes)}")

    async def end(self) -> None:
        if self._writing is None:
            self.upload.fields.append((self._name, _text(self._name, self._value)))
            self._value = bytearray()
            return
        writing = self._writing
        sha256 = await writing.finish()
        self.upload.files.append(UploadedFile(self._name, self._file_name, writing.path, writing.size, sha256))
        self._writing = None

    def abandon(self) -> None:
        if self._writing:
            self._writing.abandon()
        for file in self.upload.files:
            file.path.unlink(missing_ok=True)


_QUOTED = re.compile(r'"(?:\\"|[^"])*"')
_EXTENDED = re.compile(r";\s*filename\*\s*=\s*(utf-8|iso-8859-1)'[^';]*'([^;\s]*)", re.IGNORECASE)


def _filename_of(part: MultipartSegment) -> str | None:
    """Return the file name of a part: `filename*` (RFC 6266) if it can be decoded, else `filename`."""
    # Leave out quoted values: a quoted file name may contain `; filename*=` itself.
    extended = _EXTENDED.search(_QUOTED.sub("", part.header("Content-Disposition", "")))
    if extended:
        with suppress(UnicodeDecodeError):
            return unquote_to_bytes(extended[2]).decode(extended[1])
    filename: str | None = part.filename
    return filename


def _text(name: str, value: bytearray) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise Invalid.on(name, "Form field must be UTF-8 text") from None
    if "\x00" in text:
        raise Invalid.on(name, "Form field must not contain NUL characters")
    return text


def _too_large(config: Config) -> TooLarge:
    return TooLarge(f"The upload is larger than {byte_size(config.max_upload_bytes)}")


def _digest(upload: Upload) -> bytes:
    """Return a digest of fields and files that does not depend on the boundary or the order of the parts."""
    files = [(file.field, file.name, file.sha256.hex()) for file in upload.files]
    return hashlib.sha256(msgspec.json.encode([sorted(upload.fields), sorted(files)])).digest()
