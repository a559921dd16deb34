import type { Logger } from 'pino';
import type { AccessRequestService, PolicyDecisionPoint, Upstreams } from '../workflows/domain/ports.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';

/** Everything the activities reach the world through. Durations in milliseconds. */
export interface ActivityDeps {
  readonly store: LifecycleStore;
  readonly pdp: PolicyDecisionPoint;
  readonly accessRequests: AccessRequestService;
  readonly upstreams: Upstreams;
  readonly log: Logger;
  readonly settings: {
    readonly pollMinMs: number;
    readonly pollMaxMs: number;
    readonly executionTimeoutMs: number;
  };
}
