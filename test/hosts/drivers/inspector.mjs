import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { headers, takeSteps, url } from './common.mjs';

const { env } = process;
const run = promisify(execFile);
const token = headers.authorization === undefined ? [] : ['--header', `Authorization: ${headers.authorization}`];
const document = env.HOST_DOCUMENT === undefined ? [] : ['--client-metadata-url', env.HOST_DOCUMENT];
const callback = ['--callback-url', `http://127.0.0.1:${env.HOST_CALLBACK_PORT}/oauth/callback`];
const form = ['--format', 'json', '--quiet', '--protocol-era', 'legacy'];

/** Its command line runs for one method; the sign-in is kept in the home folder. An error of a tool has an exit code. */
async function ask(method, ...args) {
  const server = ['--server-url', url, '--transport', 'http', ...token, ...document, ...callback];
  const { stdout, stderr } = await run(
    process.execPath,
    [env.HOST_PROGRAM, ...server, ...form, '--method', method, ...args],
    {
      // Tokens outlive a run only with a keyring of the system, or in a file.
      env: { ...env, MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
    },
  ).catch((error) => error);
  const line = `${stdout}\n${stderr}`.split('\n').find((one) => /^[{]"(result|error)":/.test(one));
  if (line === undefined) throw new Error(`${stdout}${stderr}`);
  return JSON.parse(line);
}

await takeSteps({
  names: async () => (await ask('tools/list')).result.tools.map(({ name }) => name),
  call: (name, args) => ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)),
});
process.exit();
