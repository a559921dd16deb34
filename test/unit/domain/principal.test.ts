import { describe, expect, it } from '@jest/globals';
import { ownerKey, subjectKey, type Principal } from '../../../workflows/domain/principal.ts';

const aPrincipal = (over: Partial<Principal> = {}): Principal => ({
  issuer: 'https://id.example',
  subject: 'anna',
  clientId: 'agent-1',
  ...over,
});
const withoutClient = (): Principal => ({ issuer: 'https://id.example', subject: 'anna' });

describe('ownerKey', () => {
  it('is equal for equal principals', () => {
    expect(ownerKey(aPrincipal())).toBe(
      ownerKey({ clientId: 'agent-1', subject: 'anna', issuer: 'https://id.example' }),
    );
  });

  it.each([
    ['issuer', aPrincipal({ issuer: 'https://other.example' })],
    ['subject', aPrincipal({ subject: 'bea' })],
    ['client', aPrincipal({ clientId: 'agent-2' })],
    ['presence of a client', withoutClient()],
    ['actor', aPrincipal({ actors: [{ subject: 'bea' }] })],
  ])('differs with another %s', (_, other) => {
    expect(ownerKey(other)).not.toBe(ownerKey(aPrincipal()));
  });

  it('distinguishes a principal without client from one whose client is called null', () => {
    expect(ownerKey(withoutClient())).not.toBe(ownerKey(aPrincipal({ clientId: 'null' })));
  });

  it('cannot be forged with separators inside a name', () => {
    expect(ownerKey(aPrincipal({ subject: 'anna","agent-1' }))).not.toBe(ownerKey(aPrincipal()));
    expect(ownerKey(aPrincipal({ subject: 'a', clientId: 'b,c' }))).not.toBe(
      ownerKey(aPrincipal({ subject: 'a,b', clientId: 'c' })),
    );
  });
});

describe('an owner that is a subject', () => {
  const key = (of: Principal) => ownerKey(of, 'subject');

  it('is the same through any client and under any alias', () => {
    const others = [aPrincipal({ clientId: 'agent-2' }), withoutClient(), aPrincipal({ aliases: ['anna@id.example'] })];
    for (const other of others) expect(key(other)).toBe(key(aPrincipal()));
    expect(key(aPrincipal())).not.toBe(ownerKey(withoutClient()));
  });

  it('differs with another chain of actors, or with the same in another order', () => {
    const [x, y] = [{ subject: 'x' }, { subject: 'y' }];
    const chains = [
      [],
      [x],
      [y],
      [x, y],
      [y, x],
      [{ ...x, issuer: 'https://other.example' }],
      [{ ...x, clientId: 'y' }],
    ];
    expect(new Set(chains.map((actors) => key(aPrincipal({ actors }))))).toHaveProperty('size', chains.length);
    // An actor without an issuer has the issuer of the token.
    expect(key(aPrincipal({ actors: [{ ...x, issuer: 'https://id.example' }] }))).toBe(
      key(aPrincipal({ actors: [x] })),
    );
  });
});

it('a quota belongs to issuer and subject alone', () => {
  const same = [aPrincipal({ clientId: 'agent-2' }), withoutClient(), aPrincipal({ actors: [{ subject: 'x' }] })];
  for (const other of same) expect(subjectKey(other)).toBe(subjectKey(aPrincipal()));
  for (const subject of ['bea', 'Anna']) expect(subjectKey(aPrincipal({ subject }))).not.toBe(subjectKey(aPrincipal()));
  expect(subjectKey(aPrincipal({ issuer: 'https://other.example' }))).not.toBe(subjectKey(aPrincipal()));
});
