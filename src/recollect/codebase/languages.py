"""Which language a file is in, which files are never text, and what a file is for: all by its path.

Names of the languages are those of the grammars in `symbols/grammars.py`. Nothing is opened here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

#: The twelve languages there are grammars for; `tsx` is TypeScript with markup in it, and read as such.
LANGUAGES = (
    "python", "javascript", "typescript", "go", "rust", "java", "c", "cpp", "ruby", "php", "csharp", "bash",
)  # fmt: skip

_BY_SUFFIX = {
    "python": "py pyi pyw pyx pxd",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml php5 php7 inc",
    "csharp": "cs csx",
    "bash": "sh bash bats ksh zsh",
}
_BY_NAME = {
    "python": "SConstruct SConscript wscript",
    "ruby": "Rakefile Gemfile Vagrantfile Guardfile Capfile Podfile",
    "bash": ".bashrc .bash_profile .profile .zshrc PKGBUILD",
}
_LANGUAGE_OF_SUFFIX = {suffix: name for name, text in _BY_SUFFIX.items() for suffix in text.split()}
_LANGUAGE_OF_NAME = {file: name for name, text in _BY_NAME.items() for file in text.split()}

#: Files that are never read: pictures, sound, archives, compiled code, databases, fonts, models.
_BINARY = frozenset(
    """
    png jpg jpeg gif bmp ico icns tif tiff webp avif heic psd xcf mp3 mp4 m4a m4v wav flac ogg oga ogv opus avi mov
    mkv webm zip gz tgz bz2 xz zst lz4 7z rar tar jar war ear whl egg deb rpm dmg iso apk aab ipa so dll dylib exe bin
    o a lib obj class pyc pyo pyd wasm pdb ttf otf woff woff2 eot pdf doc docx xls xlsx ppt pptx odt ods odp sqlite
    sqlite3 db mdb npy npz pkl pickle h5 hdf5 parquet arrow feather onnx safetensors pt pth gguf tflite mo gmo dat rdb
    """.split()
)


def language_of(path: str) -> str | None:
    """The language of a file by its name, or None: plain text, data, or a language without a grammar."""
    return classify(path.rsplit("/", 1)[-1])[1]


def classify(name: str) -> tuple[bool, str | None]:
    """Of a file's name without its folder: whether it is never text, and its language."""
    stem, dot, suffix = name.rpartition(".")
    return (
        _by_suffix(suffix)
        if dot and stem
        else (bool(dot) and suffix.lower() in _BINARY, _LANGUAGE_OF_NAME.get(name))
    )


@lru_cache(maxsize=4_096)
def _by_suffix(suffix: str) -> tuple[bool, str | None]:
    lower = suffix.lower()
    return lower in _BINARY, _LANGUAGE_OF_SUFFIX.get(suffix) or _LANGUAGE_OF_SUFFIX.get(lower)


class Role(StrEnum):
    """What a file is for."""

    SOURCE = "source"
    TEST = "test"
    EXAMPLE = "example"
    DOCUMENT = "document"
    VENDORED = "vendored"
    DATA = "data"


_TEST_FOLDERS = frozenset(
    "tests __tests__ spec specs testing testdata test_data testcases fixtures e2e __mocks__".split()
)
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_tests?|.*[.-](?:test|spec)|tests?|conftest|.*_spec)\.\w+$|.*(?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|cs|scala|php|swift)$"
)
_EXAMPLE_FOLDERS = frozenset(
    "example examples sample samples demo demos tutorial tutorials benchmark benchmarks bench gallery".split()
)
_DOCUMENT_FOLDERS = frozenset("doc docs documentation man wiki website".split())
_VENDORED_FOLDERS = frozenset(
    "vendor vendored _vendor third_party thirdparty third-party extern externals node_modules bundled dist".split()
)
_DOCUMENT_SUFFIXES = frozenset("md rst txt adoc tex org po pot html htm ipynb".split())
_DATA_SUFFIXES = frozenset(
    "json csv tsv xml svg lock sum yaml yml toml ini cfg log snap map css scss".split()
)
_MINIFIED = re.compile(r"\.(?:min|bundle)\.\w+$")


def role_of(path: str) -> Role:
    """The role of a file, by its path alone."""
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    if any(folder in _VENDORED_FOLDERS for folder in lowered) or _MINIFIED.search(name):
        return Role.VENDORED
    if is_test_path(path):
        return Role.TEST
    suffix = name.rpartition(".")[2].lower()
    if suffix in _DOCUMENT_SUFFIXES or any(folder in _DOCUMENT_FOLDERS for folder in lowered):
        return Role.DOCUMENT
    if any(folder in _EXAMPLE_FOLDERS for folder in lowered):
        return Role.EXAMPLE
    return Role.DATA if suffix in _DATA_SUFFIXES else Role.SOURCE


def is_test_path(path: str) -> bool:
    """Whether a file looks like a test, or stands among tests.

    A folder `test` counts at the top and below `src`; deeper, it is often a library that helps with testing.
    """
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    if _TEST_NAME.match(name) or any(folder in _TEST_FOLDERS for folder in lowered):
        return True
    return any(
        folder == "test" and (number == 0 or lowered[number - 1] == "src")
        for number, folder in enumerate(lowered)
    )
