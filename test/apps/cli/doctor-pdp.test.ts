import { afterEach, describe, expect, it } from '@jest/globals';
import { checkAccessRequests, checkPdp } from '../../../apps/cli/commands/doctor/services.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { serve } from '../../support/serve.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const configOf = (raw: object) =>
  parseConfig({ timeLimitFactor: PATIENT_FACTOR, ...raw }, { baseDir: '/', stateDir: '/' });

/** A PDP with this metadata that gives every evaluation the same answer. */
async function aPdp({ metadata = {}, decision = false }: { metadata?: object; decision?: unknown } = {}) {
  const asked: string[] = [];
  const started = await serve((request, response) => {
    if (request.method === 'POST') asked.push(request.headers.authorization ?? '');
    const documents: Record<string, unknown> = {
      '/.well-known/authzen-configuration': {
        policy_decision_point: url,
        access_evaluation_endpoint: `${url}/access/v1/evaluation`,
        access_request_endpoint: 'http://127.0.0.1:4102/access/v1/requests',
        jwks_uri: `${url}/access/v1/jwks`,
        capabilities: ['urn:openid:authzen:capability:access-request'],
        ...metadata,
      },
      '/access/v1/evaluation': { decision },
      '/access/v1/jwks': { keys: [{ kty: 'EC' }] },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(documents[request.url ?? ''] ?? null));
  });
  server = started;
  const { url } = started;
  const config = configOf({ pdp: { url } });
  return { asked, config };
}

const statusOf = async (pdp: Awaited<ReturnType<typeof aPdp>>, token: string | undefined = 'a-pdp-token') =>
  Object.fromEntries((await checkPdp(pdp.config, token)).map(({ name, status }) => [name, status]));

describe('checking a policy decision point [PRJ-40]', () => {
  it('passes one that knows its own name, publishes keys and denies an unknown action', async () => {
    const pdp = await aPdp();
    expect(await statusOf(pdp)).toEqual({ pdp: 'ok' });
    expect(pdp.asked).toEqual(['Bearer a-pdp-token']);
  });

  it('fails one that permits an action that does not exist', async () => {
    expect(await statusOf(await aPdp({ decision: true }))).toEqual({ pdp: 'fail' });
  });

  it('fails one whose decision cannot be read', async () => {
    expect(await statusOf(await aPdp({ decision: 'false' }))).toEqual({ pdp: 'fail' });
  });

  it.each([
    ['has another name', { policy_decision_point: 'https://other.example' }],
    ['wants evaluations over plain http', { access_evaluation_endpoint: 'http://pdp.example/evaluate' }],
  ])('fails one that %s', async (_, metadata) => {
    expect(await statusOf(await aPdp({ metadata }))).toMatchObject({ pdp: 'fail' });
  });

  it('warns about one that offers no access requests', async () => {
    expect(await statusOf(await aPdp({ metadata: { capabilities: [] } }))).toMatchObject({ pdp: 'warn' });
  });

  it('warns when it cannot ask because it has no token', async () => {
    const pdp = await aPdp();
    const found = await checkPdp(pdp.config, undefined);
    expect(found).toEqual([expect.objectContaining({ name: 'pdp', status: 'warn' })]);
    expect(pdp.asked).toEqual([]);
  });

  it('fails one that does not answer, and says what to do', async () => {
    const config = configOf({ pdp: { url: 'http://127.0.0.1:9' } });
    expect(await checkPdp(config, 'x')).toEqual([
      expect.objectContaining({ name: 'pdp', status: 'fail', advice: expect.stringContaining('pdp.url') }),
    ]);
  });

  it('accepts any answer of a third-party access request service as a sign of life, and fails without an answer', async () => {
    const { config } = await aPdp();
    const check = (url: string) => checkAccessRequests(configOf({ accessRequests: { url } }));
    expect(await check('http://127.0.0.1:9/anything')).toMatchObject({ name: 'approvals', status: 'fail' });
    expect(await check(`${config.urls.pdp}/anything`)).toMatchObject({ name: 'approvals', status: 'ok' });
  });
});
