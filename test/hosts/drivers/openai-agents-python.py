import asyncio

from agents.mcp import MCPServerStreamableHttp
from common import headers, limit_seconds, sign_in, take_steps, token, url


async def main():
    params = {"url": url, "headers": headers, **({} if token else {"auth": sign_in()})}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=limit_seconds) as server:

        async def names():
            return [tool.name for tool in await server.list_tools()]

        await take_steps(names, server.call_tool)


asyncio.run(main())
