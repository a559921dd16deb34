"""A client on the official package `mcp`. A call that needs an approval waits until a person has decided.

    npx countersign up                       # in another terminal
    pip install mcp==2.3.0
    python plain_client.py files__write_file '{"path": "hello.txt", "content": "hello"}'

It opens a browser for the sign-in. With an access token in COUNTERSIGN_TOKEN, it opens none.
"""
import asyncio, httpx2, json, os, sys, webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

URL = os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:4100/mcp")

class Memory:
    """Keeps the sign-in for this run. Write it into a file of yours to keep it longer."""
    tokens = client = None
    async def get_tokens(self): return self.tokens
    async def set_tokens(self, tokens): self.tokens = tokens
    async def get_client_info(self): return self.client
    async def set_client_info(self, client): self.client = client

class Return(BaseHTTPRequestHandler):
    """The page to which the browser comes back after the sign-in."""
    def do_GET(self):
        self.server.answer = dict(parse_qsl(urlsplit(self.path).query))
        self.send_response(200), self.end_headers(), self.wfile.write(b"You can close this window.")
    def log_message(self, *_): pass

def sign_in():
    server = HTTPServer(("127.0.0.1", 0), Return)
    async def open_browser(url): webbrowser.open(url)
    async def come_back():
        await asyncio.to_thread(server.handle_request)
        return AuthorizationCodeResult(**server.answer)
    about = OAuthClientMetadata(client_name="Plain client", redirect_uris=[f"http://127.0.0.1:{server.server_port}/callback"])
    return OAuthClientProvider(URL, about, Memory(), open_browser, come_back)

async def show(progress, total, message): print(f"... {message}", flush=True)

async def main(calls):
    token = os.environ.get("COUNTERSIGN_TOKEN")
    way_in = {"headers": {"Authorization": f"Bearer {token}"}} if token else {"auth": sign_in()}
    async with httpx2.AsyncClient(**way_in, timeout=httpx2.Timeout(30, read=300)) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            print("Tools:", *[tool.name for tool in (await client.list_tools()).tools], flush=True)
            for tool, arguments in calls:
                result = await client.call_tool(tool, json.loads(arguments), progress_callback=show)
                # No decision yet: the text names the page on which a person decides, and the next call waits again.
                while "tool" in (step := (result.meta or {}).get("dev.countersign/next-step", {})):
                    print(result.content[0].text, flush=True)
                    result = await client.call_tool(step["tool"], step["arguments"], progress_callback=show)
                print(*[part.text for part in result.content], flush=True)

asyncio.run(main(zip(sys.argv[1::2], sys.argv[2::2])))
