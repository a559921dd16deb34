import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createRequirementChecks, type RequirementSetting } from '../../activities/clients/requirements.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { serve } from '../support/serve.ts';
import { systemTime } from '../support/time.ts';

const folder = mkdtempSync(join(tmpdir(), 'requirements-'));
afterAll(() => rmSync(folder, { recursive: true }));

const caller = { issuer: 'https://issuer.test', subject: 'alice', clientId: 'agent-7' };
const MET = { unmet: [], undecided: [] };
const unmet = (...names: string[]) => ({ unmet: names, undecided: [] });
const undecided = (...names: string[]) => ({ unmet: [], undecided: names });

const checks = (settings: Record<string, RequirementSetting>, limits = systemTime.limits) =>
  createRequirementChecks(settings, { log: pino({ level: 'silent' }), ...systemTime, limits });
const ask = (
  settings: Record<string, RequirementSetting>,
  requirements = Object.keys(settings),
  claims: JsonObject = {},
) => checks(settings).check({ requirements, tool: 'bank__pay', caller, claims });

describe('a requirement of a tool', () => {
  it('that is unknown is not met, even if it resembles a known one [REQ-003]', async () => {
    const settings = { 'env:production': { met: true } };
    expect(await ask(settings, ['env:production'])).toEqual(MET);
    const others = ['env:Production', 'env:production ', 'env:', 'env:production:eu', 'constructor', '__proto__', ''];
    expect(await ask(settings, ['env:production', ...others])).toEqual(unmet(...others));
  });

  it('is met or not as configured', async () => {
    expect(await ask({ yes: { met: true }, no: { met: false } })).toEqual(unmet('no'));
    expect(await ask({})).toEqual(MET);
  });

  it.each([
    [{ role: 'pilot' }, true],
    [{ role: ['guest', 'pilot'] }, true],
    [{ role: 'pilots' }, false],
    [{ role: 'guest pilot' }, false],
    [{ role: ['pilots'] }, false],
    [{ role: { pilot: true } }, false],
    [{ roles: 'pilot' }, false],
    [{}, false],
  ])('is met by the claim that it names: %j', async (claims, isMet) => {
    const settings = { 'role:pilot': { claim: 'role', value: 'pilot' } };
    expect(await ask(settings, ['role:pilot'], claims as JsonObject)).toEqual(isMet ? MET : unmet('role:pilot'));
  });

  it('may name a scope, which a token may list with others in one text', async () => {
    const settings = { 'scope:pay': { claim: 'scope', value: 'pay' } };
    expect(await ask(settings, ['scope:pay'], { scope: 'read pay' })).toEqual(MET);
    expect(await ask(settings, ['scope:pay'], { scope: 'read pay.small' })).toEqual(unmet('scope:pay'));
  });

  it('names the claims that it needs, each once', () => {
    const claim = (name: string) => ({ claim: name, value: 'x' });
    expect(checks({ a: claim('role'), b: claim('role'), c: claim('scope'), d: { met: true } }).claimNames).toEqual([
      'role',
      'scope',
    ]);
  });
});

describe('a requirement in a flags file', () => {
  const flagsFile = join(folder, 'flags.yaml');
  const settings = { 'feature:new': { flagsFile } };
  const given = (content: string) => {
    writeFileSync(flagsFile, content);
    return ask(settings);
  };

  it('has the current value in the file', async () => {
    expect(await given('feature:new: true\nother: false\n')).toEqual(MET);
    expect(await given('feature:new: false\n')).toEqual(unmet('feature:new'));
    expect(await given('{ "feature:new": true }')).toEqual(MET);
    expect(await given('other: true\n')).toEqual(unmet('feature:new'));
  });

  it.each([['feature:new: yes please'], ['feature:new: 1'], ['- feature:new'], ['"'], ['']])(
    'is undecided when the file is unreadable: %j',
    async (content) => {
      expect(await given(content)).toEqual(undecided('feature:new'));
    },
  );

  it('is undecided without a file', async () => {
    expect(await ask({ x: { flagsFile: join(folder, 'none.yaml') } })).toEqual(undecided('x'));
  });
});

describe('a requirement that a service decides', () => {
  let answer: { status: number; body: string; after?: Promise<void>; location?: string };
  const seen: { headers: Record<string, unknown>; body: unknown }[] = [];
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    server = await serve((request, response) => {
      void text(request).then(async (body) => {
        seen.push({ headers: request.headers, body: JSON.parse(body) as unknown });
        await answer.after;
        response.writeHead(answer.status, {
          'content-type': 'application/json',
          ...(answer.location !== undefined && { location: answer.location }),
        });
        response.end(answer.body);
      });
    });
  });
  afterAll(() => server.close());
  const settings = () => ({ 'state:clear': { url: `${server.url}/weather`, headers: { 'x-key': 'k' } } });

  it("has the service's answer, and the service learns only the requirement, the tool and the caller", async () => {
    answer = { status: 200, body: '{"met":true,"more":1}' };
    expect(await ask(settings(), undefined, { role: 'canary' })).toEqual(MET);
    expect(seen.at(-1)).toMatchObject({ headers: { 'x-key': 'k' } });
    expect(seen.at(-1)?.body).toEqual({
      requirement: 'state:clear',
      tool: 'bank__pay',
      caller: { issuer: 'https://issuer.test', subject: 'alice', client_id: 'agent-7' },
    });
    answer = { status: 200, body: '{"met":false}' };
    expect(await ask(settings())).toEqual(unmet('state:clear'));
  });

  it.each([
    [200, '{"met":"true"}'],
    [200, '{}'],
    [200, 'true'],
    [200, 'not JSON'],
    [500, '{"met":true}'],
    [404, '{"met":true}'],
    [201, '{"met":true}'],
  ])('is undecided when it answers %i %s', async (status, body) => {
    answer = { status, body };
    expect(await ask(settings())).toEqual(undecided('state:clear'));
  });

  it('is undecided after a redirect, which is not followed', async () => {
    answer = { status: 307, body: '', location: `${server.url}/elsewhere` };
    const before = seen.length;
    expect(await ask(settings())).toEqual(undecided('state:clear'));
    expect(seen.length).toBe(before + 1);
  });

  it('is undecided when its service is late or missing', async () => {
    let release: (() => void) | undefined;
    answer = { status: 200, body: '{"met":true}', after: new Promise((resolve) => (release = resolve)) };
    const hasty = checks(settings(), { ...systemTime.limits, requirementMs: 50 });
    const asked = { requirements: ['state:clear'], tool: 'bank__pay', caller, claims: {} };
    expect(await hasty.check(asked)).toEqual(undecided('state:clear'));
    release?.();
    expect(await ask({ x: { url: 'http://127.0.0.1:1/', headers: {} } })).toEqual(undecided('x'));
  });
});
