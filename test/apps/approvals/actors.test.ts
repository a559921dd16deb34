import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

describe('an actor that a submission names', () => {
  const service = new ApprovalsUnderTest();
  const token = 'a-token-of-another-enforcement-point';
  beforeAll(() =>
    service.start({
      approvals: { clients: { blind: { actsFor: 'mcp-gateway', token, rights: ['submit', 'status'] } } },
    }),
  );
  afterAll(() => service.stop());

  const ours = () => service.config.urls.issuer;
  const submit = async (
    actor: object | undefined,
    members?: readonly string[],
    as = service.secrets.accessRequestToken,
  ) => {
    const body = await service.submission({
      agent: 'agent-7',
      subject: 'carol',
      ...(members && { members }),
      body: { client: { id: 'mcp-gateway', actor }, callback: undefined },
    });
    return service.submit(body, { authorization: `Bearer ${as}` });
  };
  const requesterOf = async (id: string) => (await service.asPerson('alice', `/requests/${id}`)).body.request.requester;

  it('is the agent that the denial binds [ARAP-DLG-01] [ARAP-DLG-06] [PRJ-26]', async () => {
    const named = await submit({ id: 'agent-7', issuer: ours(), type: 'ai_agent' });
    const silent = await submit(undefined);
    for (const { body } of [named, silent]) {
      expect(await requesterOf(body.task.id)).toMatchObject({ subject: 'carol', clientId: 'agent-7' });
    }
  });

  it.each<[string, (issuer: string) => object]>([
    ['another one', (issuer) => ({ id: 'agent-8', issuer })],
    ['one of an unknown issuer', () => ({ id: 'agent-7', issuer: 'https://idp.evil.test' })],
    [
      'one with an unproven hop behind it',
      (issuer) => ({ id: 'agent-7', issuer, act: { sub: 'planner', iss: 'https://idp.evil.test' } }),
    ],
    ['one with a hop of no issuer', (issuer) => ({ id: 'agent-7', issuer, act: { sub: 'planner' } })],
    [
      'one with an unproven hop behind a proven one',
      (issuer) => ({
        id: 'agent-7',
        issuer,
        act: { sub: 'planner', iss: issuer, act: { sub: 'boss', iss: 'https://idp.evil.test' } },
      }),
    ],
    ['a chain without an end', (issuer) => ({ id: 'agent-7', issuer, act: chain(issuer, 9) })],
  ])('is refused when it is %s [ARAP-DLG-03] [ARAP-DLG-04] [ARAP-SUB-18]', async (_name, actor) => {
    const { status, body } = await submit(actor(ours()));
    expect([status, body.type]).toEqual([403, 'about:blank']);
    expect(body.detail).toMatch(/^client\.actor/);
  });

  it('may have acted through other actors that the client verified [ARAP-DLG-01] [ARAP-DLG-03]', async () => {
    const act = { sub: 'planner', iss: ours(), sub_profile: 'ai_agent', act: { sub: 'boss', iss: ours() } };
    expect((await submit({ id: 'agent-7', issuer: ours(), act })).status).toBe(202);
  });

  it('is not proven by a client that verifies no identities of its issuer [ARAP-DLG-03] [ARAP-DLG-04]', async () => {
    const actor = { id: 'agent-7', issuer: ours() };
    expect((await submit(actor, undefined, token)).status).toBe(403);
    expect((await submit({ id: 'agent-7' }, undefined, token)).status).toBe(202);
    expect((await submit({ id: 'agent-7' }, ['arguments', 'call_digest'], token)).status).toBe(403);
  });

  it('does not change who may approve by members other than its identity [ARAP-DLG-05] [ARAP-SUB-17] [ARAP-SUB-18] [ARAP-EXT-03]', async () => {
    const { body } = await submit({
      id: 'agent-7',
      issuer: ours(),
      type: 'admin',
      name: 'alice',
      roles: ['approver'],
    });
    const { callDigest } = (await service.asPerson('alice', `/requests/${body.task.id}`)).body.request;
    expect((await service.vote('alice', { id: body.task.id, callDigest }, 'approve')).status).toBe(200);
  });

  it('needs an id [ARAP-SUB-19]', async () => {
    const { status, body } = await submit({ issuer: ours() });
    expect([status, body.type]).toEqual([400, 'about:blank']);
  });

  it('may be absent from the denied request, because the binding excludes the actor [ARAP-BND-11] [ARAP-DLG-02]', async () => {
    const body = await service.submission();
    const subject = { ...body.subject, properties: { act: { sub: 'agent' } } };
    const bound = await service.submission({
      claims: { binding_hash: undefined, subject: { ...body.subject, properties: {} } },
      body: { subject },
    });
    expect((await service.submit(bound)).status).toBe(202);
  });
});

function chain(iss: string, length: number): object {
  return length === 0 ? { sub: 'last', iss } : { sub: `hop-${length}`, iss, act: chain(iss, length - 1) };
}
