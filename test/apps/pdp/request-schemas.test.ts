import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readPolicyFiles } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { readRequestSchemas } from '../../../apps/pdp/offer/request-documents.ts';
import { aTransfer, FIXTURE_POLICIES, loadEvaluator, PDP_URL, startTestPdp } from '../../support/pdp.ts';

const TEXT = JSON.stringify({
  type: 'object',
  properties: { context: { type: 'object', properties: { justification: { type: 'string' } } } },
});
const schemaFor = (template: string, text = TEXT) => ({ file: `${template}.request.json`, template, text });

describe('a schema of a template', () => {
  let pdp: Awaited<ReturnType<typeof startTestPdp>>;
  beforeAll(async () => void (pdp = await startTestPdp({ requestSchemas: [schemaFor('treasury_approval')] })));
  afterAll(() => pdp.stop());
  const offerOf = async (request: Parameters<typeof pdp.post>[0]) => {
    const { context } = (await pdp.post(request)).body;
    return context?.['access_request'] as { template: string; request_schema_url?: string };
  };

  it('is named by every denial of its template, and public [ARAP-FRM-02]', async () => {
    const { request_schema_url: url = '' } = await offerOf(aTransfer());
    expect(url).toMatch(new RegExp(`^${PDP_URL}/access/v1/request-schemas/[0-9a-f]{64}[.]json$`));
    const answer = await fetch(url.replace(PDP_URL, pdp.origin));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/schema+json; charset=utf-8',
    ]);
    expect(await answer.text()).toBe(TEXT);
    expect((await fetch(`${pdp.origin}/access/v1/request-schemas/other.json`)).status).toBe(404);
  });

  it('is not named by denials of other templates', async () => {
    const offer = await offerOf({ ...aTransfer(), action: { name: 'deploy' } });
    expect(offer).toMatchObject({ template: 'change_advisory' });
    expect(offer).not.toHaveProperty('request_schema_url');
  });
});

describe('the schemas of a policy folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'policies-'));
  beforeAll(() => cpSync(FIXTURE_POLICIES, folder, { recursive: true }));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are the files with names of templates', async () => {
    expect((await readPolicyFiles(folder)).requestSchemas).toEqual([]);
    writeFileSync(join(folder, 'change_advisory.request.json'), TEXT);
    expect((await readPolicyFiles(folder)).requestSchemas).toEqual([schemaFor('change_advisory')]);
  });

  it.each([
    ['that no policy uses', schemaFor('change_advice'), /no policy is @requestable\("change_advice"\)/],
    ['that is not JSON', schemaFor('change_advisory', '{'), /is not JSON/],
    [
      'that asks for a secret',
      schemaFor('change_advisory', TEXT.replace('justification', 'password')),
      /asks for a secret/,
    ],
  ])('stop the startup with one %s', async (_case, schema, message) => {
    const { policies } = await loadEvaluator(folder);
    expect(() => readRequestSchemas([schema], policies)).toThrow(message);
  });
});
