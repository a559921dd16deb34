import { describe, expect, it } from '@jest/globals';
import { ENTERPRISE_USER, readDirectory } from '../../../../../apps/shared/directory/directory.ts';
import { aGroup, aUser, directoryText } from '../../../../support/directory.ts';

const read = (...resources: object[]) => readDirectory(directoryText(...resources), 'userName');

describe('a directory', () => {
  it('knows people by the chosen attribute, with their managers', () => {
    const text = directoryText(
      aUser('u1', {
        externalId: 'sub-1',
        active: false,
        displayName: 'One',
        roles: [{ value: 'officer' }, { value: 'auditor' }],
      }),
      aUser('u2', { externalId: 'sub-2', [ENTERPRISE_USER]: { manager: { value: 'u1' } } }),
    );
    const directory = readDirectory(text, 'externalId');
    expect(directory.find('sub-1')).toEqual({
      subject: 'sub-1',
      displayName: 'One',
      isActive: false,
      groups: new Set(),
      roles: ['officer', 'auditor'],
    });
    expect(directory.find('sub-2')).toEqual({
      subject: 'sub-2',
      isActive: true,
      manager: 'sub-1',
      groups: new Set(),
      roles: [],
    });
    expect(directory.find('u1')).toBeUndefined();
  });

  it('follows groups in groups, even in a circle', () => {
    const directory = read(
      aUser('ann'),
      aUser('ben'),
      aGroup('inner', ['ann', 'outer']),
      aGroup('outer', ['inner', 'ben']),
      aGroup('empty', []),
    );
    expect(directory.find('ann')?.groups).toEqual(new Set(['inner', 'outer']));
    expect(directory.membersOf('outer')).toEqual(new Set(['ann', 'ben']));
    expect(directory.membersOf('inner')).toEqual(new Set(['ann', 'ben']));
    expect(directory.membersOf('empty')).toEqual(new Set());
    expect(directory.membersOf('unknown')).toEqual(new Set());
  });

  it.each<[string, string | (() => string), RegExp]>([
    ['no JSON', '{', /not JSON/],
    ['no list', '[]', /SCIM list/],
    ['a user twice', () => directoryText(aUser('ann'), aUser('ann')), /"ann" occurs twice as id/],
    [
      'one name twice',
      () => directoryText(aUser('a', { userName: 'x' }), aUser('b', { userName: 'x' })),
      /twice as userName/,
    ],
    [
      'a group name twice',
      () => directoryText(aGroup('g', []), { ...aGroup('h', []), displayName: 'g' }),
      /displayName of a group/,
    ],
    ['a missing member', () => directoryText(aGroup('g', ['ghost'])), /g has a member ghost/],
    [
      'a missing manager',
      () => directoryText(aUser('ann', { [ENTERPRISE_USER]: { manager: { value: 'ghost' } } })),
      /manager ghost of ann/,
    ],
  ])('is refused when it has %s', (_what, text, why) => {
    expect(() => readDirectory(typeof text === 'string' ? text : text(), 'userName')).toThrow(why);
  });
});
