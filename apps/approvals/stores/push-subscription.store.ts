import type { Pool } from 'pg';
import { queryOf } from '../../shared/database/query.ts';
import { callFunction, camelCased, snakeCased } from './query.ts';

/** A browser in which a person has switched notices on. Binary values are base64url texts. */
export interface PushSubscription {
  /** Decimal digits. */
  readonly id: string;
  /** Address at the push service of the browser. It is a secret: everyone who knows it can send to it. */
  readonly endpoint: string;
  readonly person: string;
  /** Public key of the browser, and the secret that it shares with us. @see RFC 8291, section 2 */
  readonly p256dh: string;
  readonly auth: string;
  /** RFC 3339. Since then its name has led to no address that we may call. */
  readonly nowhereSince?: string;
}

type NewSubscription = Omit<PushSubscription, 'id' | 'nowhereSince'> & {
  /** Our public key, for which the browser made it. */
  readonly serverKey: string;
};

export type PushSubscriptionStore = ReturnType<typeof createPushSubscriptionStore>;

/** Browsers that get notices. A person has at most ten. */
export function createPushSubscriptionStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return {
    /** Those of these people that were made for this public key, the oldest first. */
    async of(people: readonly string[], serverKey: string): Promise<PushSubscription[]> {
      const rows = await query(
        'push-subscriptions',
        `SELECT id::text, endpoint, person, p256dh, auth, nowhere_since FROM approvals.push_subscription
         WHERE person = ANY ($1) AND server_key = $2 ORDER BY subscribed_at, id`,
        [people, serverKey],
      );
      return rows.map((row) => camelCased(row) as PushSubscription);
    },

    /** The oldest subscription of the person gives way to an eleventh. */
    subscribe: (subscription: NewSubscription) => callFunction<void>(query, 'subscribe_push', snakeCased(subscription)),

    /**
     * Notes whether the name of a browser's push service led to an address that we may call. Returns whether the browser is still
     * subscribed: it is not after a day without one.
     */
    noteReach: ({ endpoint, person }: Pick<PushSubscription, 'endpoint' | 'person'>, isReached: boolean) =>
      callFunction<boolean>(query, 'note_push_reach', { endpoint, person, is_reached: isReached }),

    /** Does nothing if it is not a subscription of this person. */
    unsubscribe: ({ endpoint, person }: Pick<PushSubscription, 'endpoint' | 'person'>) =>
      callFunction<void>(query, 'unsubscribe_push', { endpoint, person }),
  };
}
