import asyncio

from agents.mcp import MCPServerStreamableHttp
from common import as_it_is, headers, limit_seconds, sign_in, take_steps, token, url


async def main():
    params = {"url": url, "headers": headers, **({} if token else {"auth": sign_in()})}
    # As it is, it gives up after five seconds.
    limit = {} if as_it_is else {"client_session_timeout_seconds": limit_seconds}
    async with MCPServerStreamableHttp(params=params, **limit) as server:

        async def names():
            return [tool.name for tool in await server.list_tools()]

        await take_steps(names, server.call_tool, repeats=as_it_is)


asyncio.run(main())
