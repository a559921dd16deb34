import type { TokenVerifier } from '../../apps/shared/auth/access-token.ts';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { TaskChanges } from '../../apps/gateway/tasks/watch.ts';
import type { Decision, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type {
  RecentRequest,
  GatedCalls,
  GatedCallView,
  Opening,
  Opened,
  PolicyDecisionPoint,
  RefusedAnswer,
  TaskAnswer,
  WaitingCall,
} from '../../workflows/domain/ports.ts';
import type { InvocationResult, RelayedAnswer, UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import type {
  RequirementChecks,
  RequirementQuery,
  RequirementVerdict,
} from '../../workflows/domain/tools/requirements.ts';
import type { RecordedPreview } from '../../workflows/domain/tools/preview.ts';
import { ownerKey, type Principal } from '../../workflows/domain/principal.ts';
import { acceptedWith } from './all-accepted.ts';
import { FakeInput } from './fake-input.ts';
import { ANYTHING, TRANSFER } from './tools.ts';

export const CALLBACK_SECRET = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;
export const REQUEST_REF = 'req_fedcba9876543210fedcba9876543210';
export const TASK_ID = 'tsk_0123456789abcdef0123456789abcdef';

export const ALICE: Principal = { issuer: 'https://issuer.test', subject: 'alice', clientId: 'agent-7' };
export const MALLORY: Principal = { issuer: 'https://issuer.test', subject: 'mallory', clientId: 'agent-7' };
const TOKENS = new Map<string, Principal>([
  ['token-of-alice', ALICE],
  ['token-of-mallory', MALLORY],
  ['token-without-client', { issuer: ALICE.issuer, subject: ALICE.subject }],
]);

/** Texts that belong to the authority side. A client may not see any of them. */
export const CANARIES = {
  bindingToken: 'canary-binding-token',
  evaluationId: 'canary-evaluation-id',
  reason: 'canary-reason',
  template: 'canary-template',
} as const;

export const requestable = (changes: Partial<Extract<Decision, { kind: 'requestable' }>> = {}): Decision => ({
  kind: 'requestable',
  evaluationId: CANARIES.evaluationId,
  evaluatedAt: '2026-11-21T09:00:00Z',
  reason: CANARIES.reason,
  offer: {
    endpoint: 'https://ars.test/requests',
    expiresAt: '2126-11-21T09:10:00Z',
    template: CANARIES.template,
    bindingToken: CANARIES.bindingToken,
  },
  ...changes,
});

export const aView = (changes: Partial<GatedCallView> = {}): GatedCallView => ({
  gatedCallId: '00000000-0000-4000-8000-000000000001',
  taskId: TASK_ID,
  requestRef: REQUEST_REF,
  state: 'pending',
  tool: 'bank__transfer',
  createdAt: '2026-11-21T09:00:00.000Z',
  lastUpdatedAt: '2026-11-21T09:00:01.000Z',
  retainUntil: '2026-12-05T09:00:00.000Z',
  inStateMs: 0,
  ...changes,
});

/** Fake ports that a test controls and reads. */
export class FakeWorld {
  decision: Decision | CountersignError | (() => Promise<Decision>) = { kind: 'allow' };
  opened: Opened = { kind: 'opened', gatedCallId: aView().gatedCallId, taskId: TASK_ID };
  view: GatedCallView | undefined = aView();
  invocation: RelayedAnswer = {
    kind: 'result',
    isError: false,
    result: { content: [{ type: 'text', text: 'booked' }] },
  };
  /** A tool works until this resolves. Absent: no time. */
  whileItRuns: Promise<void> | undefined;
  listed: readonly UpstreamTool[] = [TRANSFER, ANYTHING];
  verdict: RequirementVerdict = { unmet: [], undecided: [] };
  submission: CountersignError | undefined;
  failure: Error | undefined;
  callbackVerdict: 'accepted' | 'repeated' | 'conflict' = 'accepted';
  /** The call that waits for the decision that a question for a preview is about. */
  waiting: WaitingCall | undefined;
  previewVerdict: 'kept' | 'over' | 'full' | 'taken' = 'kept';
  /** The previews that were taken again. */
  readonly previews: RecordedPreview[] = [];
  recentRequests: readonly RecentRequest[] = [];
  readonly questions: RequirementQuery[] = [];
  readonly evaluations: EvaluationRequest[] = [];
  readonly openings: Opening[] = [];
  readonly submitted: string[] = [];
  readonly invocations: { upstream: string; upstreamTool: string; arguments: JsonObject; meta?: JsonObject }[] = [];
  readonly lookups: { taskId: string; owner: string }[] = [];
  /** Calls that were shown to their owner. */
  readonly told: string[] = [];
  readonly cancelled: string[] = [];
  /** References whose page was looked for. */
  readonly atPages: string[] = [];
  /** Calls whose client answered the question to open the page. */
  readonly pagesAnswered: string[] = [];
  readonly answered: { gatedCallId: string; answers: readonly TaskAnswer[] }[] = [];
  readonly refused: RefusedAnswer[] = [];
  readonly callbacks: unknown[] = [];
  readonly changeListeners = new Set<Parameters<UpstreamPool['onChange']>[0]>();
  readonly taskListeners = new Set<(taskId?: string) => void>();

  readonly pdp: PolicyDecisionPoint = {
    evaluate: async (request) => {
      this.evaluations.push(request);
      if (this.decision instanceof CountersignError) throw this.decision;
      return typeof this.decision === 'function' ? this.decision() : this.decision;
    },
    evaluateAll: (requests) => Promise.all(requests.map((request) => this.pdp.evaluate(request))),
  };

  readonly requirements: RequirementChecks = {
    claimNames: ['roles'],
    check: async (question) => {
      this.questions.push(question);
      return this.verdict;
    },
  };

  readonly input = new FakeInput();
  readonly gatedCalls: GatedCalls = {
    ownerOf: ownerKey,
    findOpen: async () => this.input.joined && { kind: 'joined', ...this.input.joined },
    open: async (opening) => {
      this.openings.push(opening);
      return this.opened;
    },
    taskIdOf: (requestRef) => (requestRef === REQUEST_REF ? TASK_ID : 'tsk_of_no_call'),
    findTask: async (taskId, owner) => {
      this.lookups.push({ taskId, owner });
      if (this.failure !== undefined) throw this.failure;
      return taskId === TASK_ID && owner === ownerKey(ALICE) ? this.view : undefined;
    },
    readTask: async (taskId, owner) => {
      const view = await this.gatedCalls.findTask(taskId, owner);
      if (view !== undefined) this.told.push(taskId);
      return view;
    },
    atPage: async (requestRef) => {
      this.atPages.push(requestRef);
      if (this.failure !== undefined) throw this.failure;
      return requestRef === REQUEST_REF ? this.view : undefined;
    },
    answerPage: async (gatedCallId) => {
      this.pagesAnswered.push(gatedCallId);
      if (this.view !== undefined) this.view = { ...this.view, isPageAnswered: true };
    },
    recent: async (owner) => {
      this.lookups.push({ taskId: 'recent', owner });
      return owner === ownerKey(ALICE) ? this.recentRequests : [];
    },
    cancel: async (gatedCallId) => {
      this.cancelled.push(gatedCallId);
      return 'cancelled';
    },
    answer: async (gatedCallId, answers) => {
      this.answered.push({ gatedCallId, answers });
      if (gatedCallId === this.view?.gatedCallId) this.view = { ...this.view, state: 'granted' };
      return 'granted';
    },
    askAgain: async (gatedCallId, refused) => {
      this.refused.push(...refused);
      if (gatedCallId === this.view?.gatedCallId)
        this.view = { ...this.view, questions: refused.map(({ next }) => next) };
      return 'input_required';
    },
    acceptCallback: async (callback) => {
      this.callbacks.push(callback);
      return this.callbackVerdict;
    },
    waitingCall: async (question) => {
      this.callbacks.push(question);
      return this.waiting;
    },
    addPreview: async (_call, preview) => {
      if (this.previewVerdict === 'kept') this.previews.push(preview);
      return this.previewVerdict;
    },
  };

  readonly taskChanges: TaskChanges = {
    onChange: (listener) => {
      this.taskListeners.add(listener);
      return () => void this.taskListeners.delete(listener);
    },
  };

  isAccepted = true;
  readonly accepted = {
    ...acceptedWith(() => (this.failure ? Promise.reject(this.failure) : Promise.resolve(this.listed))),
    among: async <Thing>(things: readonly Thing[]) => (this.isAccepted ? things : []),
  };

  /** The database's notices on commit. */
  tell(taskId?: string): void {
    for (const listener of this.taskListeners) listener(taskId);
  }

  readonly ensureSubmitted = async ({ gatedCallId }: { gatedCallId: string }) => {
    this.submitted.push(gatedCallId);
    if (this.submission !== undefined) throw this.submission;
    return undefined;
  };

  readonly upstreams: UpstreamPool = {
    tools: async () => this.listed,
    find: async (name) => {
      if (this.findFails !== undefined) throw this.findFails;
      return this.listed.find((tool) => tool.name === name);
    },
    call: async (call) => {
      this.invocations.push(call);
      await this.whileItRuns;
      return this.invocation as InvocationResult;
    },
    relay: (call, options) => this.upstreams.call(call, options),
    task: async () => ({ kind: 'not_sent', cause: 'there are no tasks' }),
    items: {
      mayHave: () => false,
      list: async () => [],
      find: async () => undefined,
      findResource: async () => [],
      subscribe: async () => false,
      unsubscribe: () => undefined,
      onUpdated: () => () => undefined,
      ask: async () => ({ kind: 'not_sent', cause: 'there is nothing to ask for' }),
    },
    outdate: () => undefined,
    reconfigure: () => undefined,
    onChange: (listener) => {
      this.changeListeners.add(listener);
      return () => void this.changeListeners.delete(listener);
    },
    refused: () => [],
    close: async () => undefined,
  };

  tokensFail: Error | undefined;
  findFails: Error | undefined;
  /** The permitted uses of every token. */
  scopes: readonly string[] = ['mcp'];
  /** Further claims of every token. */
  claims: JsonObject = {};
  /** How long tokens are still valid. */
  tokenSeconds = 60;
  /** As new, except for the listeners, which are the gateway's. */
  reset(): void {
    const { decision, opened, view, invocation, callbackVerdict, scopes, listed, verdict } = new FakeWorld();
    const failures = { submission: undefined, failure: undefined, tokensFail: undefined, findFails: undefined };
    const fresh = { decision, opened, view, invocation, callbackVerdict, scopes, listed, verdict };
    Object.assign(this, { ...fresh, ...failures, tokenSeconds: 60, isAccepted: true, claims: {} });
    Object.assign(this, { waiting: undefined, previewVerdict: 'kept' });
    Object.assign(this.input, { forms: {}, joined: undefined });
    const { questions, evaluations, openings, submitted, invocations, lookups, told } = this;
    const { cancelled, answered, callbacks, previews } = this;
    const { refused, atPages, pagesAnswered } = this;
    for (const seen of [questions, evaluations, openings, submitted, invocations, lookups, told]) seen.length = 0;
    for (const seen of [cancelled, answered, callbacks, previews, refused, atPages, pagesAnswered]) seen.length = 0;
  }

  readonly verifier: TokenVerifier = {
    verify: async (token) => {
      if (this.tokensFail !== undefined) throw this.tokensFail;
      const principal = TOKENS.get(token);
      if (principal === undefined) throw new CountersignError('ERR_TOKEN_INVALID', 'canary');
      return {
        principal,
        scopes: this.scopes,
        roles: [],
        claims: { sub: principal.subject, roles: ['teller'], email: 'canary-mail', ...this.claims },
        expiresAt: Date.now() / 1_000 + this.tokenSeconds,
      };
    },
  };
}
