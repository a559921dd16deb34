import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkPolicyDecisionPoint } from '../../activities/clients/pdp-check.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { serve } from '../support/serve.ts';

const accessRequestsUrl = 'https://approvals.test/access/v1/requests';
let server: HttpServer;
let origin: string;
let documents: Record<string, unknown>;

beforeAll(async () => {
  server = await serve((request, response) => {
    const document = documents[request.url ?? ''];
    response.writeHead(document === undefined ? 404 : 200);
    response.end(typeof document === 'string' ? document : JSON.stringify(document ?? {}));
  });
  origin = server.url;
});
afterAll(() => server.close());

const metadataOf = (pdpUrl: string) => ({
  policy_decision_point: pdpUrl,
  access_evaluation_endpoint: `${pdpUrl}/access/v1/evaluation`,
  access_request_endpoint: accessRequestsUrl,
});
const check = (pdpUrl: string, decision: Decision = { kind: 'deny' }) =>
  checkPolicyDecisionPoint({ pdp: { evaluate: async () => decision }, pdpUrl, accessRequestsUrl });

beforeEach(() => {
  documents = { '/.well-known/authzen-configuration': metadataOf(origin) };
});

describe('a policy decision point', () => {
  it('that is what the configuration says has no problem', async () => {
    expect(await check(origin)).toEqual([]);
  });

  it('with a path has its metadata under the well-known path first [AZ-MD-02]', async () => {
    documents = { '/.well-known/authzen-configuration/t1': metadataOf(`${origin}/t1`) };
    expect(await check(`${origin}/t1`)).toEqual([]);
  });

  it.each(['policy_decision_point', 'access_evaluation_endpoint', 'access_request_endpoint'])(
    'with another %s is reported',
    async (member) => {
      documents['/.well-known/authzen-configuration'] = { ...metadataOf(origin), [member]: 'https://evil.test' };
      expect(await check(origin)).toEqual([expect.stringContaining(member)]);
    },
  );

  it.each([[undefined], ['not JSON'], [{}]])('whose metadata is %j is reported', async (document) => {
    documents['/.well-known/authzen-configuration'] = document;
    expect(await check(origin)).toEqual([expect.stringContaining('cannot be read')]);
  });

  it('that allows nonsense is reported [PRJ-40]', async () => {
    expect(await check(origin, { kind: 'allow' })).toEqual([expect.stringContaining('allow anything')]);
  });

  it('that is not there is unavailable', async () => {
    await expect(check('http://127.0.0.1:9')).rejects.toMatchObject({ code: 'ERR_PDP_UNAVAILABLE' });
  });
});
