import { describe, expect, it } from '@jest/globals';
import { principalOf } from '../../../apps/shared/auth/principal-of.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';

const read = (claims: JsonObject, identityClaim = 'sub') =>
  principalOf(claims, { issuer: 'https://idp.test', identityClaim });
const ALICE = { issuer: 'https://idp.test', subject: 'alice' };

describe('the principal of a token', () => {
  it.each<[string, JsonObject, object]>([
    ['client_id names the client', { client_id: 'host' }, { clientId: 'host' }],
    ['azp names it where there is no client_id, as Keycloak has it', { azp: 'host' }, { clientId: 'host' }],
    ['both may be the same', { client_id: 'host', azp: 'host' }, { clientId: 'host' }],
    [
      'azp is another name of the client beside another client_id, and not of the person',
      { client_id: 'host', azp: 'b' },
      { clientId: 'host', aliases: ['b'], clientAliases: ['b'] },
    ],
    ['cid names it where there is neither, as Okta has it', { cid: 'host' }, { clientId: 'host' }],
    ['cid means nothing beside client_id', { client_id: 'host', cid: 'b' }, { clientId: 'host' }],
    ['cid means nothing beside azp', { azp: 'host', cid: ['b'] }, { clientId: 'host' }],
    ['cid that is not text names no client', { cid: ['host'] }, {}],
    ['cid that is empty names no client', { cid: '' }, {}],
    ['no claim names a client', {}, {}],
  ])('%s', (_case, claims, expected) => {
    expect(read({ sub: 'alice', ...claims })).toEqual({ ...ALICE, ...expected });
  });

  it('has the claim by which policies know people as an alias, where it is text', () => {
    expect(read({ sub: 'alice', email: 'a@x.test' }, 'email')).toEqual({ ...ALICE, aliases: ['a@x.test'] });
    for (const email of [7, '', null, ['a@x.test'], 'alice'])
      expect(read({ sub: 'alice', email }, 'email')).toEqual(ALICE);
    expect(read({ sub: 'alice', constructor: 'x' }, 'toString')).toEqual(ALICE);
  });

  it('has every actor, from the outermost inwards, by subject or else by client', () => {
    const act = { sub: 'a', iss: 'https://b.test', act: { client_id: 'b', act: { sub: 'c', azp: 'd' } } };
    expect(read({ sub: 'alice', act })?.actors).toEqual([
      { subject: 'a', issuer: 'https://b.test' },
      { subject: 'b' },
      { subject: 'c', clientId: 'd' },
    ]);
    expect(read({ sub: 'alice', act: null })).toEqual(ALICE);
  });

  it.each<[string, JsonObject]>([
    ['no subject', {}],
    ['an empty subject', { sub: '' }],
    ['a subject that is not text', { sub: 7 }],
    ['a client that is not text', { sub: 'alice', client_id: ['host'] }],
    ['a chain that is text', { sub: 'alice', act: 'bob' }],
    ['a chain that is a list', { sub: 'alice', act: [{ sub: 'bob' }] }],
    ['an actor without a name', { sub: 'alice', act: { iss: 'https://b.test' } }],
    ['an actor in front of one without a name', { sub: 'alice', act: { sub: 'bob', act: {} } }],
  ])('is unknown for %s', (_case, claims) => {
    expect(read(claims)).toBeUndefined();
  });
});
