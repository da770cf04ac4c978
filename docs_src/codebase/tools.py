import asyncio
from pathlib import Path

from recollect.codebase.budget import SubCallBudgetManager
from recollect.codebase.surface import REPLToolSurface
from recollect.errors import BudgetExhaustedError, RecollectError

Path("lamp").mkdir(exist_ok=True)
Path("lamp/switch.py").write_text(
    'class Lamp:\n    """A lamp."""\n\n    def turn_on(self):\n        """Light it."""\n        self.on = True\n'
)


async def main():
    tools = REPLToolSurface("lamp", budget=SubCallBudgetManager(max_subcalls=7))
    print(await tools.list_files(".", "*.py"))
    print(await tools.read_file("switch.py", 4, 5))
    print([(match.path, match.line) for match in await tools.grep(r"self\.on", [])])
    print([(symbol.qualified_name, symbol.start_line) for symbol in await tools.extract_symbols("switch.py")])
    print((await tools.parse_ast("switch.py")).nodes[0].kind)
    print(await tools.llm_query("how is the lamp turned on?", "switch.py:1-6"))
    try:
        await tools.read_file("../secret.txt")
    except RecollectError as error:
        print(error)
    await tools.read_file("switch.py", 4, 5)  # again: free
    print(tools.budget.subcall_count, tools.budget.cached_subcalls)
    try:
        await tools.read_file("switch.py", 1, 2)
    except BudgetExhaustedError as error:
        print(error)


asyncio.run(main())
