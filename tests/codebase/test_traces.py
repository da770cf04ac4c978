import pytest

from recollect.codebase.resolve import MAX_FRAMES, Place, read_frames


def test_a_python_trace_is_read_from_its_last_call():
    text = """It fails:

Traceback (most recent call last):
  File "/venv/lib/python3.9/site-packages/shop/cart.py", line 12, in checkout
    pay(total)
  File "/venv/lib/python3.9/site-packages/shop/pay/card.py", line 88, in charge
    raise Declined()
shop.pay.Declined
"""
    first, second = read_frames(text)
    assert first == Place(path="/venv/lib/python3.9/site-packages/shop/pay/card.py", line=88)
    assert second.path.endswith("shop/cart.py")


def test_a_trace_of_a_notebook_is_one_trace_though_source_stands_between_its_frames():
    between = "\n".join(f"    {number} x = 1" for number in range(12))
    text = (
        f"File ~/shop/cart.py:12, in Cart.checkout(self)\n{between}\nFile ~/shop/card.py:88, in charge(x)\n"
    )
    assert [frame.path for frame in read_frames(text)] == ["~/shop/card.py", "~/shop/cart.py"]


def test_two_python_traces_stay_apart():
    gap = "Some words.\n" * 30
    text = f'  File "a.py", line 1, in f\n  File "b.py", line 2, in g\n{gap}  File "c.py", line 3, in h\n'
    assert [frame.path for frame in read_frames(text)] == ["b.py", "a.py", "c.py"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "TypeError: x is undefined\n    at Cart.pay (/srv/app/src/cart.js:10:15)\n    at /srv/app/src/main.js:3:1",
            [("/srv/app/src/cart.js", 10), ("/srv/app/src/main.js", 3)],
        ),
        (
            "    at async charge (file:///srv/app/src/card.mjs:7:2)",
            [("/srv/app/src/card.mjs", 7)],
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException\n'
            "\tat com.shop.cart.Cart.pay(Cart.java:42)\n"
            "\tat app//com.shop.Main.main(Main.java:7)",
            [("com/shop/cart/Cart.java", 42), ("com/shop/Main.java", 7)],
        ),
        (
            "panic: boom\n\ngoroutine 1 [running]:\n"
            "example.com/shop/cart.(*Cart).Pay(0xc000, 0x1)\n\t/home/me/shop/cart/cart.go:31 +0x1d",
            [("/home/me/shop/cart/cart.go", 31)],
        ),
        (
            "stack backtrace:\n   3: shop::cart::pay\n             at ./src/cart.rs:14:9",
            [("./src/cart.rs", 14)],
        ),
        (
            "thread 'main' panicked at src/cart.rs:14:9:\nno money",
            [("src/cart.rs", 14)],
        ),
        (
            "   at Shop.Cart.Pay(Int32 sum) in /src/Shop/Cart.cs:line 20",
            [("/src/Shop/Cart.cs", 20)],
        ),
        (
            "app/models/cart.rb:9:in 'pay': no money (RuntimeError)\n\tfrom app/main.rb:3:in '<main>'",
            [("app/models/cart.rb", 9), ("app/main.rb", 3)],
        ),
        (
            "#0 /srv/shop/src/Cart.php(17): Shop\\Cart->pay()",
            [("/srv/shop/src/Cart.php", 17)],
        ),
        (
            "#1  0x0000555 in cart_pay (cart=0x0, sum=3) at src/cart.c:77",
            [("src/cart.c", 77)],
        ),
    ],
    ids=["node", "node module", "java", "go", "rust", "rust panic", "c#", "ruby", "php", "gdb"],
)
def test_traces_of_other_languages_are_read_from_their_first_line(text, expected):
    assert [(frame.path, frame.line) for frame in read_frames(text)] == expected


def test_paths_of_windows_are_written_with_slashes():
    (frame,) = read_frames('  File "C:\\work\\shop\\cart.py", line 3, in pay')
    assert frame.path == "C:/work/shop/cart.py"


def test_text_without_a_trace_has_no_frames():
    assert (
        read_frames("The cart is broken at checkout (see cart.py).\nat noon we eat.\n#1 priority: pay") == ()
    )


def test_an_endless_recursion_gives_a_bounded_number_of_frames():
    text = '  File "a.py", line 1, in f\n' * 10_000
    assert len(read_frames(text)) == MAX_FRAMES


def test_hostile_lines_are_read_in_time():
    for line in ("at " + "a" * 900, "  File " + "/" * 900, "#1 " + "(" * 900, " " * 999, "at a(" * 180):
        assert read_frames("\n".join([line] * 200)) == ()
