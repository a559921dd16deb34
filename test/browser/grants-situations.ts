import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createGrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { ApprovalsUnderTest } from '../support/approvals.ts';
import { aStage } from '../support/access-requests.ts';
import { givenGrant, grantableRequest, type RequestChanges } from '../support/grants.ts';
import type { Situation } from '../support/situations.ts';
import { manyGrants } from './many-rows.ts';

/** The pages of grants. `pageTwo` answers the address of the second page of a person's list. */
export function grantsSituations(
  service: ApprovalsUnderTest,
  pageTwo: (name: string, path: string) => Promise<string>,
): Situation[] {
  /** A grant of `bob` with one use. */
  const aGrant = async (changes: RequestChanges = {}) => {
    const { pool } = service.database;
    const stores = { requests: createAccessRequestStore(pool), grants: createGrantStore(pool) };
    const { id } = await givenGrant(
      stores,
      grantableRequest({ args: { path: '/srv/a', lines: 3, mode: 'w' }, ...changes }),
      {
        choices: [{ kind: 'exact' }, { kind: 'any' }, { kind: 'begins', text: '/srv/' }],
      },
    );
    await stores.requests.create(grantableRequest(changes), [id]);
    return id;
  };
  return [
    { name: 'no grants', as: 'lone', prepare: async () => '/grants' },
    { name: 'grants', as: 'bob', prepare: async () => (await aGrant(), '/grants') },
    { name: 'a grant', as: 'bob', prepare: async () => `/grants/${await aGrant()}` },
    {
      name: 'a grant that ended with the session of its giver',
      as: 'bob',
      prepare: async () => `/grants/${await aGrant({ stages: [aStage({ grantsEndAtSignOut: true })] })}`,
    },
    {
      name: 'a page in the middle of the grants',
      as: 'carol',
      prepare: async () => (await manyGrants(service), pageTwo('carol', '/grants')),
    },
    {
      name: 'a page in the middle of the uses of a grant',
      as: 'carol',
      prepare: async () => (await manyGrants(service), pageTwo('carol', '/grants/grn_many1')),
      // These grants have no requests.
      refusals: [404],
    },
  ];
}
