import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { createAccessRequestStore, type AccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createGrantStore, type GrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type Gift, givenGrant, grantableRequest, type RequestChanges } from './grants.ts';

/** An overseer, who reads and revokes every grant. */
export const OVERSEER = { subject: 'olga', oversees: true };

/** The database of a test file about grants, empty before each test. */
export class OwnGrants {
  db!: TestDatabase;
  requests!: AccessRequestStore;
  grants!: GrantStore;

  /** Runs statements without the fences, which refuse them. */
  asOwner(sql: string) {
    return this.db.pool.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`);
  }

  /** Lets `bob` give a grant, on a request of its own. */
  give(request?: NewAccessRequest, gift?: Gift) {
    return givenGrant(this, request, gift);
  }

  /** Opens a request that these grants may cover, and answers its status and who approved it how. */
  async call(grants: string | readonly string[], changes: RequestChanges = {}) {
    const request = grantableRequest(changes);
    await this.requests.create(request, [grants].flat());
    const found = await this.requests.find(request.id);
    const votes = found?.votes.map(({ via, grant: by }) => ({ via, by })) ?? [];
    return { id: request.id, status: found?.status, votes };
  }

  async usesOf(id: string): Promise<number | undefined> {
    return (await this.grants.find(id, OVERSEER))?.uses;
  }

  /** Moves a grant and its uses into the past. */
  age(id: string, seconds: number) {
    const earlier = (...columns: string[]) =>
      columns.map((one) => `${one} = ${one} - interval '${seconds} s'`).join(', ');
    return this.asOwner(`UPDATE approvals."grant" SET ${earlier('created_at', 'expires_at')} WHERE id = '${id}';
      UPDATE approvals.grant_use SET ${earlier('at', 'expires_at')} WHERE grant_id = '${id}'`);
  }
}

export function ownGrants(): OwnGrants {
  const own = new OwnGrants();
  beforeAll(async () => {
    own.db = await createTestDatabase({ max: 30 });
    own.requests = createAccessRequestStore(own.db.pool);
    own.grants = createGrantStore(own.db.pool);
  });
  afterAll(() => own.db.drop());
  beforeEach(() => own.asOwner('TRUNCATE approvals.access_request, approvals."grant", approvals.delegation CASCADE'));
  return own;
}
