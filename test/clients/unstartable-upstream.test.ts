import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '../../apps/shared/logger.ts';
import { connectUpstreams } from '../../apps/gateway/main.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

const node = (script: string) => ({ command: process.execPath, args: ['-e', script] });
/** Unusable programs, and the message to the operator about each. */
const PROGRAMS: Readonly<Record<string, { readonly server: object; readonly cause: RegExp }>> = {
  'does not exist': { server: { command: 'no-such-program' }, cause: /spawn no-such-program ENOENT/ },
  'may not be started': { server: { command: '/etc' }, cause: /spawn \/etc EACCES/ },
  'exits at once, with a message': {
    server: node('console.error("BANK_KEY is not set\\nSee the manual"); process.exit(3)'),
    cause: /exit code 3.*BANK_KEY is not set \| See the manual/,
  },
  'exits at once without a message': { server: node('process.exit(0)'), cause: /exit code 0.*wrote no error/ },
  'says something to people where messages belong, and exits': {
    server: node('console.log("\\nWelcome to the bank!\\nThe key is missing."); process.exit(1)'),
    cause: /exit code 1.*wrote no error.*a line that is no message: "Welcome to the bank!"/,
  },
  'is killed': { server: node('process.kill(process.pid, "SIGKILL")'), cause: /was ended by SIGKILL/ },
  'writes control characters': {
    server: node('console.error("\\u001b[2J\\u001b]0;owned\\u0007all is well\\u202e"); process.exit(1)'),
    cause: /\\u\{1b\}\[2J.*all is well/,
  },
};

let shown = '';
beforeEach(() => {
  shown = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    shown += String(chunk);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe('the console names an upstream and the cause', () => {
  it.each(Object.keys(PROGRAMS))('when its program %s', async (what) => {
    const { server = {}, cause = /never/ } = PROGRAMS[what] ?? {};
    const config = parseConfig({ mcpServers: { bank: server } }, { baseDir: '/', stateDir: '/' });
    const log = createLogger('up', { mode: 'development' }).child({ part: 'upstreams' });
    const upstreams = connectUpstreams(config, { log, ...systemTime });
    try {
      expect(await upstreams.tools()).toEqual([]);
      const line = await waitFor(() => /^.*upstream cannot be connected.*$/m.exec(shown)?.[0]);
      expect(line).toMatch(/ warn upstreams \(bank\): /);
      expect(line).toMatch(cause);
      expect(line).toMatch(/It gets no environment variables but .*PATH.* and those of its setting "env"/);
      // Control characters are escaped, except the line end.
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    } finally {
      await upstreams.close();
    }
  });
});
