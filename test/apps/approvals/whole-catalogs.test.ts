import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createCredential, trustOf } from '../../../activities/clients/http.ts';
import { readDecision } from '../../../activities/clients/pdp/answer.ts';
import { createRequestCatalogs, createRequestForms } from '../../../activities/clients/access-requests/forms.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { nextInput, withAnswers } from '../../../apps/gateway/extensions/request-forms.ts';
import { startPdp } from '../../../apps/pdp/main.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { CataloguedForm } from '../../../workflows/domain/submission-input/catalogs.ts';
import type { RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DEFAULT_POLICIES, post } from '../../support/pdp.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const text = { type: 'string' };
const SCHEMA = {
  type: 'object',
  properties: {
    context: {
      type: 'object',
      required: ['app', 'cost_center'],
      properties: { app: { type: 'string', enum: ['a1', 'a2'] }, cost_center: text },
    },
  },
};
const ITEMS = [
  { value: 'cc-1', label: 'Research', scope: { app: 'a1' } },
  { value: 'cc-2', label: 'Payroll', visible: { subjects: ['bob'] } },
  { value: 'cc-3', label: 'Everybody' },
];

describe('catalogs, from policies to the access request', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whole-catalogs-'));
  const centers = join(folder, 'centers.json');
  const write = (items: readonly object[]) => writeFileSync(centers, JSON.stringify(items));
  const service = new ApprovalsUnderTest();
  let database: TestDatabase;
  let pdp: Running;
  beforeAll(async () => {
    cpSync(DEFAULT_POLICIES, folder, { recursive: true });
    writeFileSync(join(folder, 'operator_approval.request.json'), JSON.stringify(SCHEMA));
    write(ITEMS);
    const field = { template: 'operator_approval', field: '/context/cost_center', scope: { app: '/context/app' } };
    const port = await freePort();
    await service.start({
      pdp: { url: `http://127.0.0.1:${port}` },
      approvals: { catalogs: { centers: { file: centers, fields: [field] } } },
    });
    database = await createTestDatabase();
    const config = { ...service.config, pdp: { ...service.config.pdp, policies: folder, port } };
    pdp = await startPdp(config, service.secrets, {
      ...systemTime,
      log: pino({ level: 'silent' }),
      databaseUrl: database.url,
    });
  });
  afterAll(async () => {
    await pdp.stop();
    await database.drop();
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  /** Like the gateway: a denied call with the form of its request, and a reader of its catalogs. */
  async function denied(subject: string) {
    const [tool, args] = ['files__write_file', { path: `/srv/${crypto.randomUUID()}`, content: 'x' }];
    const request: EvaluationRequest = {
      subject: { type: 'identity', id: subject },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: tool },
      context: { agent: subject, arguments: args, call_digest: callDigest({ tool, arguments: args }, sha256) },
    };
    const { config, secrets } = service;
    const headers = { Authorization: `Bearer ${secrets.pdpToken}` };
    const { body } = await post(config.urls.pdp, request, { headers });
    const { pdp, accessRequests } = config.authority;
    const trust = trustOf({ pdp: pdp.trusted, accessRequests: accessRequests.trusted });
    const asked = { withApproval: false, accessRequests: config.urls.accessRequests, trust };
    const decision = readDecision(body, asked);
    if (decision.kind !== 'requestable') throw new Error(`it was answered with ${decision.kind}`);
    const { requestSchemaUrl = '', requestCatalogsUrl = '', endpoint, expiresAt, bindingToken } = decision.offer;
    const log = pino({ level: 'silent' });
    const credential = createCredential(secrets.accessRequestToken, accessRequests.credential);
    const catalogs = createRequestCatalogs({ ...systemTime, credential, isTrusted: trust.accessRequests, log });
    const form = (await createRequestForms(log, systemTime).at(requestSchemaUrl)) as RequestForm;
    const catalogued = (await catalogs.at(requestCatalogsUrl, form, endpoint)) as CataloguedForm;
    const denial = { evaluation_id: decision.evaluationId, expires_at: expiresAt, binding_token: bindingToken };
    return { request, denial, catalogs, catalogued };
  }
  type Denied = Awaited<ReturnType<typeof denied>>;
  /** The choices after this earlier answer. */
  async function options({ catalogs, catalogued }: Denied, app: string) {
    const next = await nextInput({ requestCatalogs: catalogs, ...systemTime }, catalogued, { app });
    if (next.kind !== 'ask') throw new Error(next.kind);
    const [field] = next.form.fields;
    return {
      asked: next.form,
      values: field && 'oneOf' in field.schema ? field.schema.oneOf.map((one) => one.const) : [],
    };
  }
  async function submit({ request, denial, catalogs, catalogued }: Denied, form: RequestForm, content: JsonObject) {
    const given = withAnswers(form, { app: 'a1' }, content) ?? {};
    const next = await nextInput({ requestCatalogs: catalogs, ...systemTime }, catalogued, given);
    if (next.kind !== 'complete') throw new Error(next.kind);
    return service.submit({ ...request, context: { ...request.context, ...next.additions.context }, denial });
  }

  it('show each subject its own choices by scope, and accept the chosen value [ARAP-CAT-08] [ARAP-CAT-09] [ARAP-CAT-13]', async () => {
    const [one, other] = [await denied('agent'), await denied('bob')];
    expect((await options(one, 'a1')).values).toEqual(['cc-3', 'cc-1']);
    expect((await options(one, 'a2')).values).toEqual(['cc-3']);
    expect((await options(other, 'a2')).values).toEqual(['cc-3', 'cc-2']);
    const { asked } = await options(one, 'a1');
    expect((await submit(one, asked, { cost_center: 'cc-1' })).status).toBe(202);
  });

  it('refuse a value that was retired between reading and submission [ARAP-CAT-17]', async () => {
    const one = await denied('agent');
    const { asked } = await options(one, 'a1');
    write(ITEMS.filter(({ value }) => value !== 'cc-1'));
    await waitFor(async () => !(await options(one, 'a1')).values.includes('cc-1'));
    const { status, body } = await submit(one, asked, { cost_center: 'cc-1' });
    expect([status, body.detail]).toEqual([400, expect.stringMatching(/^context\.cost_center: /)]);
  });
});
