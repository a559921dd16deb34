import type { Logger } from 'pino';
import type { Timing } from '../apps/shared/limits.ts';
import type { SubmissionSettings } from '../workflows/domain/gated-call/new-submission.ts';
import type {
  AccessRequestService,
  EnsureSubmitted,
  PolicyDecisionPoint,
  RequestForms,
} from '../workflows/domain/ports.ts';
import type { Upstreams } from '../workflows/domain/upstream-ports.ts';
import type { RequirementChecks } from '../workflows/domain/tools/requirements.ts';
import type { AcceptedTools } from '../workflows/domain/tools/accepted-descriptions.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';

/** Notices a database that has forgotten what was done, as far as the engine remembers it. */
export interface RestoreWatch {
  /** Whether database and engine were held against each other, and none is behind the other, since the database last answered. */
  isCompared(): boolean;
  /** Whether the engine remembers, in another run than this one, that the call was sent or had ended. */
  contradicts(gatedCallId: string): Promise<boolean>;
  /** The engine was further with this call than its row is: nothing is executed any more until that was looked into. */
  report(gatedCallId: string): Promise<void>;
}

/** Everything the activities reach the world through. Durations in milliseconds. */
export interface ActivityDeps extends Timing {
  readonly store: LifecycleStore;
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly accessRequests: AccessRequestService;
  readonly requestForms: RequestForms;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Upstreams;
  readonly acceptedTools: AcceptedTools;
  readonly requirements: RequirementChecks;
  /** Whether the clocks that approvals and deadlines rest on are near enough to each other for a new claim. */
  readonly clocksAgree: () => boolean;
  readonly restores: RestoreWatch;
  readonly log: Logger;
  readonly settings: SubmissionSettings & {
    readonly executionTimeoutMs: number;
    /** Access requests that may be made one after another for one gated call. */
    readonly maxGenerations: number;
    /** For a tool, by its public name: the tool of the same upstream that says what became of an execution. */
    readonly outcomeProbes: Readonly<Record<string, string>>;
  };
}
