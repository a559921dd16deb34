// The part that drivers for Node.js share: what they read, what they print, and the keeping of a sign-in.
import { createInterface } from 'node:readline';

const { env } = process;

export const url = env.HOST_URL;
export const limitMs = Number(env.HOST_LIMIT_MS);
/** Headers with the pasted token, if there is one. */
export const headers = env.HOST_TOKEN === undefined ? {} : { authorization: `Bearer ${env.HOST_TOKEN}` };
export const read = { name: 'files__read_text_file', arguments: { path: env.HOST_READ } };
const write = (path) => ({ name: 'files__write_file', arguments: { path, content: path } });

export const say = (at, said) => process.stdout.write(`${JSON.stringify({ at, said })}\n`);
const askPerson = (address) => process.stdout.write(`${JSON.stringify({ at: 'authorize', url: String(address) })}\n`);

/** What a client of the official SDKs is given to sign a person in. */
export function provider() {
  const kept = {};
  const returned = new Promise((resolve) => createInterface({ input: process.stdin }).once('line', resolve));
  return {
    /** The parameters with which the person came back. */
    answer: async () => new URL(await returned).searchParams,
    redirectUrl: env.HOST_REDIRECT,
    clientMetadataUrl: env.HOST_DOCUMENT,
    clientMetadata: { client_name: 'A client', redirect_uris: [env.HOST_REDIRECT], token_endpoint_auth_method: 'none' },
    state: () => 'a-state',
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (found) => void (kept.discovery = found),
    redirectToAuthorization: askPerson,
  };
}

/** The provider, unless the token was pasted. */
export const authProvider = env.HOST_WAY_IN === 'token' ? undefined : provider();

/** The reference in an answer that says that the tool has not run. */
function reference(said) {
  const text = JSON.stringify(said);
  return text.includes('has not run') ? /req_[0-9a-f]{32}/.exec(text)?.[0] : undefined;
}

/** Takes all steps after the sign-in. `call` answers what a program gets from the client; an error counts as an answer. */
export async function takeSteps({ names, call }) {
  const answerTo = ({ name, arguments: args }) => call(name, args).catch((error) => `${error.message}`);
  say('tools', await names());
  say('allowed', await answerTo(read));
  say('in-time', await answerTo(write(env.HOST_WRITE_IN_TIME)));
  let said = await answerTo(write(env.HOST_WRITE_LATE));
  say('late', said);
  const status = { name: 'get_request_status', arguments: { reference: reference(said) } };
  while (reference(said) !== undefined) said = await answerTo(status);
  say('ended', said);
}

process.on('unhandledRejection', (error) => {
  process.stdout.write(`${JSON.stringify({ at: 'failed', error: `${error.stack}` })}\n`);
  process.exitCode = 1;
});
