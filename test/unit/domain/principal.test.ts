import { describe, expect, it } from '@jest/globals';
import { isSamePerson, ownerKey, type Principal } from '../../../workflows/domain/principal.ts';

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
  ])('differs with another %s', (_, other) => {
    expect(ownerKey(other)).not.toBe(ownerKey(aPrincipal()));
  });

  it('tells a principal without client from one whose client is called null', () => {
    expect(ownerKey(withoutClient())).not.toBe(ownerKey(aPrincipal({ clientId: 'null' })));
  });

  it('cannot be forged with separators inside a name', () => {
    expect(ownerKey(aPrincipal({ subject: 'anna","agent-1' }))).not.toBe(ownerKey(aPrincipal()));
    expect(ownerKey(aPrincipal({ subject: 'a', clientId: 'b,c' }))).not.toBe(
      ownerKey(aPrincipal({ subject: 'a,b', clientId: 'c' })),
    );
  });
});

describe('isSamePerson', () => {
  it('sees through the client, so that nobody approves their own call by another program', () => {
    expect(isSamePerson(aPrincipal(), aPrincipal({ clientId: 'browser' }))).toBe(true);
    expect(isSamePerson(aPrincipal(), withoutClient())).toBe(true);
  });

  it('tells equal names of two issuers apart', () => {
    expect(isSamePerson(aPrincipal(), aPrincipal({ issuer: 'https://other.example' }))).toBe(false);
  });

  it('tells two subjects of one issuer apart', () => {
    expect(isSamePerson(aPrincipal(), aPrincipal({ subject: 'Anna' }))).toBe(false);
  });
});
