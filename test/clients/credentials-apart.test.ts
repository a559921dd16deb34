import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { pino } from 'pino';
import { connectAuthority } from '../../activities/clients/authority.ts';
import { RESOLUTION_LINK } from '../../workflows/domain/authzen/evaluation.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { startScriptedPdp, type ScriptedPdp } from '../support/scripted-pdp.ts';
import { TEST_SEALS } from '../support/gated-calls.ts';
import { systemTime } from '../support/time.ts';

const TOKENS = { pdpToken: 'token-for-the-pdp', accessRequestToken: 'token-for-the-service' };
/** This client has no queue. */
const NO_DATABASE = new Pool();
const QUESTION = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: {},
};
const METADATA = '/.well-known/authzen-configuration';

let pdp!: ScriptedPdp;
/** The access request service, which a test scripts like the PDP. */
let service!: ScriptedPdp;
beforeAll(async () => {
  [pdp, service] = await Promise.all([startScriptedPdp(), startScriptedPdp()]);
});
afterAll(() => Promise.all([pdp?.close(), service?.close()]));
beforeEach(() => {
  pdp.reset();
  service.reset();
});

/** The clients of both services, made from this configuration like in gateway and worker. */
function connect(sections: { pdp?: object; accessRequests?: object } = {}) {
  const { authority, obligations } = parseConfig(
    {
      pdp: { url: pdp.url, ...sections.pdp },
      accessRequests: { url: `${service.url}/requests`, ...sections.accessRequests },
    },
    { baseDir: '/', stateDir: '/' },
  );
  const log = pino({ level: 'silent' });
  return connectAuthority(authority, TOKENS, { ...systemTime, pool: NO_DATABASE, seals: TEST_SEALS, obligations, log });
}
const task = (more: object = {}) => ({ task: { id: 'arq_1', status: 'pending', ...more } });
const handleAt = (statusEndpoint: string) => ({ accessRequestId: 'arq_1', statusEndpoint });
const submit = (to = connect()) =>
  to.accessRequests.submit({ endpoint: `${service.url}/requests`, idempotencyKey: 'k', body: '{}' });
const denialWith = (offer: object) => ({
  body: {
    decision: false,
    context: {
      evaluation_id: 'e',
      access_request: { expires_at: '2126-01-01T00:00:00Z', binding_token: 'b', ...offer },
    },
  },
});

/** Each address that one service can name and that leads to the other. */
const NAMED: Readonly<Record<string, () => Promise<unknown>>> = {
  'the status of a request': () => {
    service.says('/requests', { body: task({ status_endpoint: `${pdp.url}/status` }) });
    return submit();
  },
  'the status of a request that was opened before': () => connect().accessRequests.read(handleAt(`${pdp.url}/status`)),
  'the cancellation of a request': async () => {
    const links = { cancel: `${pdp.url}/cancel` };
    service.says('/requests', { body: task({ links, status_endpoint: `${service.url}/status` }) });
    await connect().accessRequests.cancel(await submit());
  },
  'the statement of a request': async () => {
    const links = { [RESOLUTION_LINK]: `${pdp.url}/statement` };
    service.says('/status', { body: task({ status: 'denied', links }) });
    const { accessRequests } = connect();
    const handle = handleAt(`${service.url}/status`);
    await accessRequests.stated(handle, await accessRequests.read(handle));
  },
  'the submission that a denial offers': async () => {
    pdp.says('/access/v1/evaluation', denialWith({ endpoint: `${pdp.url}/requests` }));
    const { pdp: client, ...rest } = connect();
    const decision = await client.evaluate(QUESTION);
    if (decision.kind !== 'requestable') return decision;
    return rest.accessRequests.submit({ ...decision.offer, idempotencyKey: 'k', body: '{}' });
  },
  'the evaluations of the PDP': () => {
    const access_evaluation_endpoint = `${service.url}/evaluation`;
    pdp.says(METADATA, { body: { policy_decision_point: pdp.url, access_evaluation_endpoint } });
    return connect().pdp.evaluate(QUESTION);
  },
};

describe('at an address of the other service, no credential is sent for', () => {
  it.each(Object.keys(NAMED))('%s [PRJ-24, ARAP-SEC-02]', async (what) => {
    await NAMED[what]?.().catch(() => undefined);
    const seen = (of: ScriptedPdp) => JSON.stringify(of.asked.map(({ headers }) => headers));
    expect(pdp.asked.length + service.asked.length).toBeGreaterThan(what.endsWith('before') ? -1 : 0);
    expect(seen(pdp)).not.toContain(TOKENS.accessRequestToken);
    expect(seen(service)).not.toContain(TOKENS.pdpToken);
  });
});

describe('a credential at a configured address', () => {
  it('is sent to another origin of the service, but not to a PDP there', async () => {
    const trustedOrigins = [pdp.url];
    service.says('/requests', { body: task({ status_endpoint: `${pdp.url}/status` }) });
    pdp.says('/status', { body: task() });
    const { accessRequests } = connect({ accessRequests: { trustedOrigins } });
    expect(await accessRequests.read(await submit(connect({ accessRequests: { trustedOrigins } })))).toMatchObject({
      kind: 'pending',
    });
    await expect(submit(connect({ pdp: { trustedOrigins } }))).rejects.toThrow(/accessRequests\.trustedOrigins/);
  });

  it('is sent to a PDP that is also the access request service', async () => {
    pdp.says('/requests', { body: task({ status_endpoint: `${pdp.url}/status` }) });
    pdp.says(METADATA, {
      body: {
        policy_decision_point: pdp.url,
        access_evaluation_endpoint: `${pdp.url}/evaluation`,
        access_request_endpoint: `${pdp.url}/requests`,
      },
    });
    pdp.says('/evaluation', denialWith({}));
    const { pdp: client, accessRequests } = connect({ accessRequests: { url: undefined } });
    const decision = await client.evaluate(QUESTION);
    expect(decision).toMatchObject({ kind: 'requestable', offer: { endpoint: `${pdp.url}/requests` } });
    const handle = await accessRequests.submit({ endpoint: `${pdp.url}/requests`, idempotencyKey: 'k', body: '{}' });
    expect(handle).toMatchObject({ statusEndpoint: `${pdp.url}/status` });
  });

  it('is not sent for the description of a form, to either service', async () => {
    for (const host of [pdp, service]) {
      const request_schema_url = `${host.url}/form`;
      pdp.says('/access/v1/evaluation', denialWith({ request_schema_url }));
      expect(await connect().pdp.evaluate(QUESTION)).toMatchObject({ kind: 'requestable' });
    }
  });
});
