"""Definitions, references and imports, in every language; and files that no grammar likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.codebase.languages import LANGUAGES, classify, language_of
from recollect.codebase.records import read_record
from recollect.codebase.symbols import FileSymbols, parse, parse_ast
from recollect.errors import GrammarMissingError

SAMPLES = Path(__file__).parent / "samples"

#: File -> definitions (kind and dotted name), what is called, what is inherited from, modules imported.
EXPECTED: dict[str, tuple[set[str], set[str], set[str], set[str]]] = {
    "orders.py": (
        {"variable LIMIT", "function total", "function total.add", "class Order", "field Order.state",
         "method Order.pay"},
        {"cached", "up", "sum", "map", "charge"},
        {"Base", "Dated"},
        {"json", ".money", "__future__"},
    ),
    "cart.js": (
        {"variable fs", "function addItem", "class Cart", "field Cart.size", "method Cart.clear", "function discount",
         "function tax"},
        {"round", "Money"},
        {"Basket"},
        {"./money.js", "fs"},
    ),
    "shapes.ts": (
        {"interface Shape", "method Shape.area", "type Pair", "enum Colour", "namespace Inner", "class Circle",
         "field Circle.radius", "method Circle.area"},
        {"compute"},
        {"Named", "Shape"},
        {"./point"},
    ),
    "view.tsx": ({"function Page"}, {"Layout", "Button"}, set(), {"react"}),
    "server.go": (
        {"constant Port", "constant Host", "struct Server", "field Server.Name", "interface Handler",
         "method Handler.Serve", "method Server.Start", "function New"},
        {"Println", "Config", "listen", "Server"},
        set(),
        {"fmt", "example.com/logging"},
    ),
    "engine.rs": (
        {"struct Engine", "field Engine.power", "trait Runs", "method Runs.run", "method Engine.run", "constant MAX",
         "macro spin", "module inner", "function inner.deep", "enum Gear", "constant Gear.First",
         "constant Gear.Second"},
        {"println", "fire"},
        {"Runs"},
        {"crate::parts", "std::fmt"},
    ),
    "Ledger.java": (
        {"class Ledger", "field Ledger.LIMIT", "method Ledger.Ledger", "method Ledger.close", "enum Ledger.State",
         "constant Ledger.State.OPEN", "constant Ledger.State.SHUT", "class Ledger.Line", "interface Ledger.Visitor",
         "method Ledger.Visitor.visit"},
        {"check", "Entry", "Override"},
        {"Book", "Closeable", "Comparable"},
        {"java.util.List", "books.Rules.check"},
    ),
    "list.c": (
        {"macro MAX_NODES", "macro NEXT", "struct node", "field node.next", "field node.value", "type node_t",
         "enum mode", "constant mode.FAST", "constant mode.SLOW", "variable count", "function list_push",
         "prototype list_length"},
        {"malloc", "NEXT"},
        set(),
        {"stdlib.h", "list.h"},
    ),
    "widget.cpp": (
        {"namespace ui", "class ui.Widget", "prototype ui.Widget.Widget", "prototype ui.Widget.~Widget",
         "prototype ui.Widget.draw", "field ui.Widget.width", "function ui.largest", "type ui.Handle",
         "method ui.Widget.draw"},
        {"line", "largest", "helper", "Pen"},
        {"Base", "Node"},
        {"widget.hpp", "std"},
    ),
    "account.rb": (
        {"module Bank", "constant Bank.RATE", "class Bank.Account", "method Bank.Account.deposit",
         "method Bank.Account.open"},
        {"notify", "log", "write", "new"},
        {"Holder"},
        {"json", "base"},
    ),
    "Mailer.php": (
        {"namespace App.Mail", "class Mailer", "constant Mailer.RETRIES", "field Mailer.queue", "method Mailer.send",
         "interface Sends", "method Sends.send", "function deliver"},
        {"clean", "body", "deliver", "Envelope"},
        {"Base", "Sends", "Logs"},
        {"App\\Support\\Text", "lib/bootstrap.php"},
    ),
    "Store.cs": (
        {"namespace Shop", "class Shop.Store", "field Shop.Store.count", "field Shop.Store.Name",
         "method Shop.Store.Store", "method Shop.Store.Sell", "interface Shop.IOpen", "method Shop.IOpen.Open",
         "enum Shop.Kind", "constant Shop.Kind.Small", "constant Shop.Kind.Large", "struct Shop.Point",
         "field Shop.Point.X", "class Shop.Line"},
        {"Write", "Receipt", "Count"},
        {"Place", "IOpen"},
        {"System.Collections.Generic", "Shop.Prices"},
    ),
    "deploy.sh": (
        {"variable TARGET", "variable REGION", "function deploy", "function rollback"},
        {"build_image", "push", "deploy"},
        set(),
        {"./lib/common.sh"},
    ),
}  # fmt: skip


def sample(name: str) -> FileSymbols:
    language = language_of(name)
    assert language is not None
    return parse((SAMPLES / name).read_bytes(), language)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_a_file_defines_uses_and_imports_is_found(name: str) -> None:
    found = sample(name)
    defined, called, inherited, imported = EXPECTED[name]
    assert {f"{one.kind} {one.qualified_name}" for one in found.definitions} == defined
    assert {one.name for one in found.references if one.kind == "call"} == called
    assert {one.name for one in found.references if one.kind == "inherit"} == inherited
    assert {one.module for one in found.imports} | {"__future__"} & imported == imported
    assert found.errors == 0


def test_every_language_of_the_design_has_a_sample() -> None:
    assert {language_of(name) for name in EXPECTED} - {"tsx"} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("file", "name", "lines", "signature", "doc"),
    [
        ("orders.py", "total", (10, 18), "def total(order: Order, *, tax: float = 0.2) -> Amount",
         "The sum of an order."),
        ("orders.py", "Order.pay", (26, 28), "async def pay(self, amount)", ""),
        ("cart.js", "addItem", (5, 7), "function addItem(cart, item)", "Puts things in."),
        ("server.go", "Server.Start", (20, 23), "func (s *Server) Start(port int) error", "Start begins to listen."),
        ("engine.rs", "Engine", (6, 6), "pub struct Engine", "Turns fuel into motion."),
        ("Ledger.java", "Ledger", (9, 20), "public class Ledger extends Book implements Closeable, Comparable<Ledger>",
         "Keeps accounts."),
        ("list.c", "list_push", (12, 17), "node_t *list_push(node_t *head, int value)", "Adds to the front."),
        ("Store.cs", "Shop.Store", (7, 13), "public class Store : Place, IOpen", "Sells things."),
        ("account.rb", "Bank.Account.deposit", (10, 13), "def deposit(amount)", "Puts money in."),
        ("deploy.sh", "deploy", (7, 11), "deploy()", "Sends it out."),
    ],
)  # fmt: skip
def test_a_definition_knows_its_lines_signature_and_what_is_said_about_it(
    file: str, name: str, lines: tuple[int, int], signature: str, doc: str
) -> None:
    found = next(one for one in sample(file).definitions if one.qualified_name == name)
    assert ((found.start_line, found.end_line), found.signature, found.doc) == (lines, signature, doc)


def test_a_name_counts_once_a_line_as_the_strongest_of_its_uses() -> None:
    found = parse("x = load(load)\ny = load\n", "python")
    assert [(one.name, one.line, one.kind) for one in found.references] == [
        ("load", 1, "call"),
        ("load", 2, "use"),
    ]


def test_names_in_import_statements_are_imported_not_used() -> None:
    found = parse("from shop.money import Amount\n\nAmount(1)\n", "python")
    assert [(one.name, one.line, one.kind) for one in found.references if one.name == "Amount"] == [
        ("Amount", 1, "import"),
        ("Amount", 3, "call"),
    ]
    assert [(one.module, one.names) for one in found.imports] == [("shop.money", ("Amount",))]


@pytest.mark.parametrize("language", [*LANGUAGES, "tsx"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n" * 100,
        "((((((((" * 500,
        "}" * 1_000,
        "'\"`\\",
        "\x00\x01\x02",
        "def class fn { ( [ <",
        "# 日本語 ünï\n" * 5,
    ],
)
def test_text_that_makes_no_sense_is_read_as_far_as_it_goes(language: str, text: str) -> None:
    assert parse(text, language).language == language


def test_half_a_file_still_gives_what_can_be_read() -> None:
    whole = (SAMPLES / "orders.py").read_text()
    found = parse(whole[: whole.index("await")] + "((", "python")
    assert {"total", "total.add"} <= {one.qualified_name for one in found.definitions}


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n",
        "def f():\n",
        "def f():\n    # nothing yet\n",
        "class A:\n    # c\n\nx = 1\n",
        "def f(:\n",
    ],
)
def test_a_body_that_is_still_to_be_written_has_nothing_to_say(text: str) -> None:
    assert [one.doc for one in parse(text, "python").definitions if one.kind != "variable"] in (
        [],
        [""],
    )


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_beginning_of_a_file_can_be_read(language: str) -> None:
    """As somebody types it: a file of each language, cut off after every twentieth part."""
    sample = next(file for file in sorted(SAMPLES.iterdir()) if language_of(file.name) == language)
    data = sample.read_bytes()
    for part in range(20):
        record = read_record(data[: len(data) * part // 20], path=sample.name, language=language)
        assert "can't be read" not in record.note


def test_nesting_without_end_comes_to_an_end() -> None:
    assert parse("f(" * 20_000, "python").errors == 1
    assert parse("class A {" * 5_000, "java").errors == 1


def test_a_language_without_a_grammar_says_what_there_is() -> None:
    for ask in (parse, parse_ast):
        with pytest.raises(GrammarMissingError, match=r"no grammar for 'cobol'.*use grep"):
            ask("", "cobol")


def test_the_syntax_tree_is_cut_at_its_depth_and_number_of_nodes() -> None:
    text = (SAMPLES / "orders.py").read_text()
    whole = parse_ast(text, "python", path="orders.py", max_nodes=5_000, max_depth=50)
    assert not whole.truncated
    assert whole.nodes[0].kind == "module"
    named = next(node for node in whole.nodes if node.kind == "class_definition")
    assert (named.start_line, named.end_line, named.text) == (21, 28, "class Order(Base, mixins.Dated):")
    assert next(node.field for node in whole.nodes if node.text == "Order") == "type"
    cut = parse_ast(text, "python", max_nodes=20)
    assert cut.truncated
    assert len(cut.nodes) <= 20
    assert {node.depth for node in parse_ast(text, "python", max_depth=1).nodes} == {0, 1}


@pytest.mark.parametrize(
    ("path", "language"),
    [("a/b.py", "python"), ("A.JAVA", "java"), ("x.h", "c"), ("Rakefile", "ruby"), ("README", None), (".py", None),
     ("a.py/notes.txt", None), ("x.d.ts", "typescript")],
)  # fmt: skip
def test_the_name_says_the_language(path: str, language: str | None) -> None:
    assert language_of(path) == language


def test_the_name_says_what_is_binary() -> None:
    assert [classify(name)[0] for name in ("b.PNG", "png", "b.py")] == [True, False, False]
