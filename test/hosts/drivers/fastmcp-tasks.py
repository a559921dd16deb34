# With this import a client of FastMCP holds tasks.
import fastmcp_tasks  # noqa: F401

import fastmcp  # noqa: F401
import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).with_name("fastmcp.py")), run_name="__main__")
