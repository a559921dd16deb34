import { describe, expect, it } from '@jest/globals';
import { approverWarnings, knownPeople } from '../../../../apps/shared/approvers/known-people.ts';
import { parseConfig } from '../../../../apps/shared/config/config.ts';
import { EMPTY_DIRECTORY, readDirectory } from '../../../../apps/shared/directory/directory.ts';
import { aUser, directoryText } from '../../../support/directory.ts';

const AT = { baseDir: '/', stateDir: '/' };
const OUTSIDE = { identity: { issuer: 'https://idp.example' } };
const directory = readDirectory(directoryText(aUser('alice'), aUser('gone', { active: false })), 'userName');
const settings = (by: object, more: object = {}) =>
  parseConfig({ mcpServers: { bank: { command: 'x' } }, rules: [{ approve: 'bank__pay', by }], ...more }, AT);
const warned = (...of: Parameters<typeof approverWarnings>) => approverWarnings(...of).map(({ message }) => message);

describe('the people whom a deployment knows', () => {
  it('are all people of the embedded issuer, with their roles', () => {
    const people = knownPeople(settings({ people: 'alice' }), EMPTY_DIRECTORY);
    expect([people.isKnown('alice'), people.isKnown('charley')]).toEqual([true, false]);
    expect([...(people.withRole('approver') ?? [])]).toEqual(['alice', 'bob']);
  });

  it('are those of the directory, beside an outside issuer, whose roles stay unknown', () => {
    const people = knownPeople(settings({ people: 'alice' }, OUTSIDE), directory);
    expect([people.isKnown('alice'), people.isKnown('gone'), people.isKnown('zoe')]).toEqual([true, false, false]);
    expect(people.withRole('approver')).toBeUndefined();
  });

  it('are those, too, for whom signed messages decide without a sign-in, as approvers', () => {
    const byMessage = settings({ people: 'desk' }, { approvals: { webhookApprovers: ['desk'] } });
    const people = knownPeople(byMessage, EMPTY_DIRECTORY);
    expect([people.isKnown('desk'), people.withRole('approver')?.has('desk')]).toEqual([true, true]);
    expect(warned(byMessage, EMPTY_DIRECTORY)).toEqual([]);
    // A named person whom the directory does not list has left.
    expect(knownPeople(byMessage, directory).isKnown('desk')).toBe(false);
  });

  it('cannot be told where an outside issuer is alone', () => {
    const people = knownPeople(settings({ people: 'alice' }, OUTSIDE), EMPTY_DIRECTORY);
    expect([people.isKnown('charley'), people.withRole('admins')]).toEqual([undefined, undefined]);
  });
});

describe('approvers that nothing knows', () => {
  it.each([
    ['a person', { people: ['charley'] }, ['"charley" is not known', '1 has to approve, and 0 are known who can']],
    ['one of two people', { people: ['alice', 'charley'] }, ['"charley" is not known']],
    ['a role', { roles: 'admins', quorum: 2 }, ['2 have to approve, and 0 are known who can']],
    ['one person of a role too few', { roles: 'approver', quorum: 3 }, ['3 have to approve, and 2 are known who can']],
    ['no one of a role that has enough', { roles: 'approver', quorum: 2 }, []],
  ])('are named: %s', (_what, by, expected) => {
    const found = warned(settings(by), EMPTY_DIRECTORY);
    expect(found).toEqual(expected.map((one) => expect.stringContaining(one)));
    expect(warned(settings(by, OUTSIDE), EMPTY_DIRECTORY)).toEqual([]);
  });
});
