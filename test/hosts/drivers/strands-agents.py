import asyncio

from common import headers, sign_in, take_steps, token, url
from strands.tools.mcp import MCPClient


def main():
    auth = {"headers": headers} if token else {"auth_provider": sign_in()}
    with MCPClient(url=url, application_name="host-strands", tasks_config={}, **auth) as client:

        async def names():
            return [tool.tool_name for tool in client.list_tools_sync()]

        async def call(name, arguments):
            return await client.call_tool_async("1", name, arguments)

        asyncio.run(take_steps(names, call))


main()
