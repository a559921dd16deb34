import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createRequestForms } from '../../activities/clients/access-requests/forms.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { recordingLog } from '../support/pdp.ts';
import { serve } from '../support/serve.ts';
import { systemTime } from '../support/time.ts';

const SCHEMA = {
  type: 'object',
  properties: { context: { type: 'object', properties: { why: { type: 'string' } }, required: ['why'] } },
};
const away = { name: 'CountersignError', code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' };

let server: HttpServer;
let answer: { status: number; body: string; location?: string };
const seen: IncomingMessage[] = [];
beforeAll(async () => {
  server = await serve((request, response) => {
    seen.push(request);
    const { status, body, location } = answer;
    response.writeHead(status, { ...(location !== undefined && { location }) }).end(body);
  });
});
afterAll(() => server.close());
beforeEach(() => {
  seen.length = 0;
  answer = { status: 200, body: JSON.stringify(SCHEMA) };
});

describe('the form schema of an access request', () => {
  it('is fetched without a credential, and once for all simultaneous users', async () => {
    const forms = createRequestForms(recordingLog().log, systemTime);
    const url = `${server.url}/schemas/one.json`;
    const form = await forms.at(url);
    expect(form?.fields).toMatchObject([{ name: 'why', isRequired: true }]);
    answer = { status: 404, body: '' };
    expect(await forms.at(url)).toBe(form);
    expect(seen).toHaveLength(1);
    expect([seen[0]?.url, seen[0]?.method, seen[0]?.headers.authorization]).toEqual([
      '/schemas/one.json',
      'GET',
      undefined,
    ]);
    expect(await forms.at(`${url}?other`)).toBeUndefined();
  });

  it.each<[string, () => typeof answer]>([
    ['does not exist', () => ({ status: 404, body: JSON.stringify(SCHEMA) })],
    ['is a redirect', () => ({ status: 307, body: '', location: `${server.url}/elsewhere` })],
    ['is not JSON', () => ({ status: 200, body: '<html>' })],
    ['is not a schema', () => ({ status: 200, body: '"text"' })],
    ['is too large', () => ({ status: 200, body: JSON.stringify({ ...SCHEMA, $comment: 'x'.repeat(64 * 1024) }) })],
    ['asks for a secret', () => ({ status: 200, body: JSON.stringify(SCHEMA).replaceAll('why', 'password') })],
  ])(
    'that %s is unusable: the log says why, no other address is asked, and it is fetched again later',
    async (_case, made) => {
      const { log, lines } = recordingLog();
      const forms = createRequestForms(log, systemTime);
      const url = `${server.url}/schemas/two.json`;
      answer = made();
      expect(await forms.at(url)).toBeUndefined();
      expect(lines).toMatchObject([{ problem: expect.any(String), schemaUrl: url }]);
      expect(seen.map((request) => request.url)).toEqual(['/schemas/two.json']);
      answer = { status: 200, body: JSON.stringify(SCHEMA) };
      expect(await forms.at(url)).toBeDefined();
    },
  );

  it.each([[500], [503], [429]])('that is answered with %i may be available later', async (status) => {
    answer = { status, body: '' };
    await expect(createRequestForms(recordingLog().log, systemTime).at(`${server.url}/x`)).rejects.toMatchObject(away);
  });

  it('without an answer may be available later', async () => {
    await expect(createRequestForms(recordingLog().log, systemTime).at('http://127.0.0.1:1/x')).rejects.toMatchObject(
      away,
    );
  });
});
