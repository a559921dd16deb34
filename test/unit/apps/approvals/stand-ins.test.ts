import { describe, expect, it } from '@jest/globals';
import { standIns, stillApprover } from '../../../../apps/approvals/stand-ins.ts';
import type { Delegation, DelegationStore } from '../../../../apps/approvals/stores/delegation.store.ts';
import { parseConfig } from '../../../../apps/shared/config/config.ts';
import { readDirectory } from '../../../../apps/shared/directory/directory.ts';
import { aUser, directoryText } from '../../../support/directory.ts';

const given: Delegation = {
  id: 'dlg_1',
  delegator: { issuer: 'https://idp.example', subject: 'alice', roles: ['approver', 'officer'] },
  delegate: 'bob',
  createdAt: '2030-01-01T00:00:00Z',
  until: '2030-02-01T00:00:00Z',
};
const roles = (...names: string[]) => ({ roles: names.map((value) => ({ value })) });

describe('a delegation in production', () => {
  const store = {
    activeTo: async () => [given],
    add: async () => 'delegated',
  } as unknown as DelegationStore;
  const config = parseConfig({ mode: 'production' }, { baseDir: '/', stateDir: '/' });
  const withPeople = (...users: object[]) => {
    const people = () => readDirectory(directoryText(...users), 'userName');
    return standIns(store, stillApprover({ config, people }), people);
  };

  it.each<[string, object[], string[] | undefined]>([
    [
      'counts as given, where the directory lists the giver and keeps no roles',
      [aUser('alice')],
      ['approver', 'officer'],
    ],
    ['counts by the roles that the giver still has', [aUser('alice', roles('approver'))], ['approver']],
    ['gives no role that the giver got later', [aUser('alice', roles('approver', 'chief'))], ['approver']],
    ['ends with the role', [aUser('alice', roles('officer')), aUser('zoe')], undefined],
    [
      'ends where other people have roles and the giver has none',
      [aUser('alice'), aUser('zoe', roles('approver'))],
      undefined,
    ],
    ['ends when the giver is disabled', [aUser('alice', { active: false })], undefined],
    ['ends when the giver is gone', [aUser('zoe')], undefined],
    ['does not count without a directory', [], undefined],
  ])('%s', async (_what, users, expected) => {
    const delegations = withPeople(...users);
    expect((await delegations.activeTo('bob')).map(({ delegator }) => delegator.roles)).toEqual(
      expected ? [expected] : [],
    );
    expect(await delegations.add({ ...given, chain: [] })).toBe(expected === undefined ? 'unlisted' : 'delegated');
  });
});
