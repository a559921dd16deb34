import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkPolicies } from '../../../apps/pdp/tools/test-policies.ts';
import { ACCESS_REQUESTS, aTransfer, PDP_URL, startTestPdp } from '../../support/pdp.ts';
import { PolicyFolder } from '../../support/policy-folder.ts';

const ASKING =
  '@id("asks") @requestable("operator_approval") @reason("approval_required")\n' +
  'forbid (principal, action, resource) unless { context has approval };\n';
const textField = { type: 'string' };
const schemaOf = (properties: object) =>
  JSON.stringify({ type: 'object', properties: { context: { type: 'object', properties } } });
const TEXT = schemaOf({ app: textField, cost_center: textField });
const catalogsFor = (template: string, field = '/context/cost_center') => ({
  centers: { file: '/nowhere', fields: [{ template, field, scope: { app: '/context/app' } }] },
});

describe('a denial of a template whose requests have catalogs', () => {
  let pdp: Awaited<ReturnType<typeof startTestPdp>>;
  beforeAll(async () => {
    const file = 'treasury_approval.request.json';
    pdp = await startTestPdp({
      requestSchemas: [{ file, template: 'treasury_approval', text: TEXT }],
      catalogs: {
        ...catalogsFor('treasury_approval'),
        others: { file: '/nowhere', fields: [{ template: 'change_advisory', field: '/context/x', scope: {} }] },
      },
    });
  });
  afterAll(() => pdp.stop());
  const denialOf = async (request: Parameters<typeof pdp.post>[0]) => {
    const { context } = (await pdp.post(request)).body;
    const offer = context?.['access_request'] as { request_schema_url?: string; request_catalogs_url?: string };
    return { evaluation: context?.['evaluation_id'] as string, offer };
  };

  it('names a public document whose endpoints name the denial [ARAP-CAT-01] [ARAP-CAT-06] [ARAP-DEN-16]', async () => {
    const { evaluation, offer } = await denialOf(aTransfer());
    const url = offer.request_catalogs_url ?? '';
    expect(url).toBe(`${PDP_URL}/access/v1/request-catalogs/treasury_approval/${evaluation}`);
    const answer = await fetch(url.replace(PDP_URL, pdp.origin));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const endpoint = `${new URL(ACCESS_REQUESTS).origin}/access/v1/catalogs/centers?evaluation_id=${evaluation}`;
    expect(await answer.json()).toEqual({
      fields: { '/context/cost_center': { endpoint, scope_params: { app: '/context/app' } } },
    });
    for (const missing of ['plain/eval_1', `treasury_approval/${encodeURIComponent('../x')}`, 'treasury_approval']) {
      expect((await fetch(`${pdp.origin}/access/v1/request-catalogs/${missing}`)).status).toBe(404);
    }
  });

  it('names no document without a schema [ARAP-DEN-17]', async () => {
    const { offer } = await denialOf({ ...aTransfer(), action: { name: 'deploy' } });
    expect(offer).toMatchObject({ template: 'change_advisory' });
    expect(offer).not.toHaveProperty('request_catalogs_url');
  });
});

it('a denial names no catalogs if none are configured', async () => {
  const file = 'treasury_approval.request.json';
  const pdp = await startTestPdp({ requestSchemas: [{ file, template: 'treasury_approval', text: TEXT }] });
  const { context } = (await pdp.post(aTransfer())).body;
  await pdp.stop();
  expect(context?.['access_request']).toHaveProperty('request_schema_url');
  expect(context?.['access_request']).not.toHaveProperty('request_catalogs_url');
});

describe('policies with catalogs', () => {
  const folder = new PolicyFolder({ 'asks.cedar': ASKING });
  afterAll(() => folder.clear());
  const check = async (catalogs: ReturnType<typeof catalogsFor>) => {
    const { errors } = await checkPolicies({
      folder: folder.path,
      directory: { subjectAttribute: 'userName' },
      catalogs,
    });
    return errors.map(({ file, message }) => `${file}: ${message}`);
  };

  it('are accepted if each field is a text in the schema', async () => {
    folder.write('operator_approval.request.json', TEXT);
    expect(await check(catalogsFor('operator_approval'))).toEqual([]);
  });

  it.each<[string, string, ReturnType<typeof catalogsFor>, RegExp]>([
    [
      'a field that the schema does not have',
      TEXT,
      catalogsFor('operator_approval', '/context/other'),
      /a field that the schema does not have/,
    ],
    [
      'a source that the schema does not have',
      schemaOf({ cost_center: textField }),
      catalogsFor('operator_approval'),
      /a field that the schema does not have/,
    ],
    [
      'a field that is not a text',
      schemaOf({ app: textField, cost_center: { type: 'boolean' } }),
      catalogsFor('operator_approval'),
      /is not a text/,
    ],
    ['a field that depends on itself', TEXT, catalogsFor('operator_approval', '/context/app'), /in a circle/],
    ['a template without a schema', TEXT, catalogsFor('plain'), /^plain\.request\.json: it is missing/],
  ])('are refused for %s', async (_case, text, catalogs, message) => {
    folder.write('operator_approval.request.json', text);
    expect(await check(catalogs)).toEqual([expect.stringMatching(message)]);
  });
});
