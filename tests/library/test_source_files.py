"""Source files: a section for each definition at the top level."""

from __future__ import annotations

import pytest

from recollect.library.reading import read_document

PYTHON = b'''"""A module."""

import os


@decorated
def first(x):
    def inner(): ...


class Second:
    def method(self): ...


async def third(): ...
'''


def test_python_definitions_are_sections_from_their_decorators_on() -> None:
    read = read_document(PYTHON, name="src/module.py")
    assert (read.kind, read.title) == ("code", "module.py")
    assert [(one.heading, one.line_start, one.line_end) for one in read.sections] == [
        ("module.py", 1, 3),
        ("def first", 6, 8),
        ("class Second", 11, 12),
        ("def third", 15, 15),
    ]


def test_python_that_does_not_parse_is_read_by_the_form_of_its_lines() -> None:
    read = read_document(b"def old():\n    print 'x'\n\nclass Old:\n    pass\n", name="old.py")
    assert [section.heading for section in read.sections] == ["def old", "class Old"]


@pytest.mark.parametrize(
    ("name", "source", "headings"),
    [
        (
            "a.js",
            "export async function load(x) {\n}\nconst y = 1\nclass A {\n}\n",
            ["export async function load", "class A"],
        ),
        ("a.go", "package main\n\nfunc Run(a int) error {\n\treturn nil\n}\n", ["package main", "func Run"]),
        (
            "a.rs",
            "pub fn run() {}\n\nimpl Thing for X {\n    fn inner() {}\n}\n",
            ["pub fn run", "impl Thing for X"],
        ),
        (
            "a.c",
            "#include <x.h>\n\nstatic int grow(int a)\n{\n  if (a) return b(a);\n}\n",
            ["a.c", "static int grow"],
        ),
        ("a.sql", "create table t (\n  id int\n);\n", ["create table t"]),
    ],
)
def test_other_languages_are_cut_at_their_definitions(name: str, source: str, headings: list[str]) -> None:
    assert [section.heading for section in read_document(source.encode(), name=name).sections] == headings


@pytest.mark.parametrize("source", ["(" * 50_000, "-" * 100_000 + "1", "f'{" * 10_000, "x = 1\n" * 5_000])
def test_hostile_python_is_only_text(source: str) -> None:
    assert read_document(source.encode(), name="a.py").text == source.rstrip()
