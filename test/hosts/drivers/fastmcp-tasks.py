"""The driver of FastMCP, as a client that holds tasks."""

import runpy
from pathlib import Path

# With this import a client of FastMCP holds tasks.
import fastmcp_tasks  # noqa: F401

runpy.run_path(str(Path(__file__).with_name("fastmcp-client.py")), run_name="__main__")
