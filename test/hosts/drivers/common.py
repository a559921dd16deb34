"""The part that drivers in Python share: what they read, what they print, and the keeping of a sign-in."""

import asyncio
import json
import os
import re
import sys
from urllib.parse import parse_qs, urlsplit

env = os.environ
url = env["HOST_URL"]
way_in = env["HOST_WAY_IN"]
token = env.get("HOST_TOKEN")
document = env.get("HOST_DOCUMENT")
callback_port = int(env["HOST_CALLBACK_PORT"])
# Whether the client runs without the option that the documents name.
as_it_is = "HOST_AS_IT_IS" in env
limit_seconds = int(env["HOST_LIMIT_MS"]) / 1000
# Headers with the pasted token, if there is one.
headers = {"Authorization": f"Bearer {token}"} if token else {}


def say(at, said):
    print(json.dumps({"at": at, "said": said}, default=plain), flush=True)


def plain(value):
    """The members of an answer."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


async def ask_person(address):
    print(json.dumps({"at": "authorize", "url": str(address)}), flush=True)


async def returned():
    """The parameters with which the person came back, each once."""
    line = await asyncio.to_thread(sys.stdin.readline)
    return {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}


class Kept:
    """What a client of the official SDK keeps of a sign-in."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def sign_in():
    """What a client of the official SDK is given to sign a person in. SDK 1 takes the answer as a pair, SDK 2 as an object."""
    from mcp.client import auth
    from mcp.shared.auth import OAuthClientMetadata

    async def came_back():
        answer = await returned()
        pair = answer["code"], answer.get("state")
        result = getattr(auth, "AuthorizationCodeResult", None)
        return result(code=pair[0], state=pair[1], iss=answer.get("iss")) if result else pair

    metadata = OAuthClientMetadata(
        client_name="A client", redirect_uris=[env["HOST_REDIRECT"]], token_endpoint_auth_method="none"
    )
    return auth.OAuthClientProvider(url, metadata, Kept(), ask_person, came_back, client_metadata_url=document)


def writing(path):
    return ("files__write_file", {"path": path, "content": path})


def reference_in(said):
    """The reference in an answer that says that the tool has not run."""
    text = json.dumps(said, default=plain)
    found = "has not run" in text and re.search("req_[0-9a-f]{32}", text)
    return found and found.group()


async def take_steps(names, call, repeats=False):
    """All steps after the sign-in. `call` answers what a program gets from the client; an error counts as an answer.

    With `repeats`, the client gives up early, and its program makes the same call again.
    """

    async def answer_to(name, arguments):
        try:
            return await call(name, arguments)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    async def end_of(said, name, arguments):
        while repeats and isinstance(said, str):
            said = await answer_to(name, arguments)
        while reference := reference_in(said):
            said = await answer_to("get_request_status", {"reference": reference})
        return said

    say("tools", await names())
    say("allowed", await answer_to("files__read_text_file", {"path": env["HOST_READ"]}))
    first, second = writing(env["HOST_WRITE_IN_TIME"]), writing(env["HOST_WRITE_LATE"])
    said = await answer_to(*first)
    say("in-time", await end_of(said, *first) if repeats else said)
    said = await answer_to(*second)
    if repeats or reference_in(said):
        say("late", said)
    say("ended", await end_of(said, *second))
