import type { Logger } from 'pino';
import type { SubmissionSettings } from '../workflows/domain/gated-call/new-submission.ts';
import type {
  AccessRequestService,
  EnsureSubmitted,
  PolicyDecisionPoint,
  RequestForms,
} from '../workflows/domain/ports.ts';
import type { Upstreams } from '../workflows/domain/upstream-ports.ts';
import type { RequirementChecks } from '../workflows/domain/tools/requirements.ts';
import type { AcceptedTools } from '../workflows/domain/tools/signature.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';

/** Everything the activities reach the world through. Durations in milliseconds. */
export interface ActivityDeps {
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
  readonly log: Logger;
  readonly settings: SubmissionSettings & {
    readonly executionTimeoutMs: number;
    /** Access requests that may be made one after another for one gated call. */
    readonly maxGenerations: number;
    /** For a tool, by its public name: the tool of the same upstream that says what became of an execution. */
    readonly outcomeProbes: Readonly<Record<string, string>>;
  };
}
