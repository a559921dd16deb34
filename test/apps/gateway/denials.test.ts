import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { END_REASONS, GATED_CALL_STATES, isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import { requestForm, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { Asks, Held, Ran, Refusal, ToolCallAnswer } from '../../../apps/gateway/calls/tool-call.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, AWAITING, send, transfer } from '../../support/gateway-wire.ts';
import { ASKED, TASKS } from '../../support/input-calls.ts';
import { aTool, TRANSFER, UNCHECKABLE } from '../../support/tools.ts';

const UNAVAILABLE = { reason: 'insufficient_authorization', remediation: 'unavailable' };
const SCHEMA = 'https://approvals.test/schema';
/** Never matches a text without an envelope. */
const ENVELOPE = /insufficient_authorization|io\.modelcontextprotocol\/authorization/;
const UNDISCLOSED = { reason: 'insufficient_authorization', remediation: 'undisclosed' };
const STEP_UP = {
  kind: 'deny',
  unmet: { stepUps: [{ acrValue: 'urn:example:loa:3', amrValues: ['mfa'] }] },
} as const;

const switchedOn = new GatewayUnderTest({ requestByItself: false });
const switchedOff = new GatewayUnderTest({ structuredDenials: false, requestByItself: false });
const waiting = new GatewayUnderTest({ waitSeconds: 1 });
const waitingSwitchedOff = new GatewayUnderTest({ waitSeconds: 1, structuredDenials: false });
const gateways = [switchedOn, switchedOff, waiting, waitingSwitchedOff];
beforeAll(() => Promise.all(gateways.map((gateway) => gateway.start())));
afterAll(() => Promise.all(gateways.map((gateway) => gateway.stop())));
beforeEach(() => gateways.forEach((gateway) => gateway.reset()));

type World = GatewayUnderTest['world'];
/** How an answer is caused, and the envelope that it carries. */
type Case = readonly [name: string, envelope: object | undefined, arrange: (world: World) => void, options?: object];

const ON_HOLD = (world: World) => void (world.decision = requestable());
/** The same with a request that needs a reason in words. */
const ASKING = (world: World) => {
  const offer = {
    endpoint: 'https://ars.test/requests',
    expiresAt: '2126-01-01T00:00:00Z',
    bindingToken: 'canary',
    requestSchemaUrl: SCHEMA,
  };
  world.decision = requestable({ offer });
  world.input.forms = { [SCHEMA]: requestForm(ASKED) as RequestForm };
};
const FORMS = { capabilities: { ...TASKS, elicitation: {} } };
const REQUEST = { name: 'request_access', arguments: { tool: 'bank__transfer', arguments: transfer().arguments } };
/** A client without tasks, at a gateway where its calls wait. */
const WAITS = { capabilities: {} };
const OPENS_PAGES = { capabilities: { elicitation: { url: {} } } };
const text = { content: [{ type: 'text', text: 'booked' }] };

/**
 * All answers to a first call. A developer who adds a kind of answer states here whether it is a denial. A call that is
 * repeated without the requested input, or that needs an approval by then, is denied too: see the tests of input and of relays.
 */
const ANSWERS = {
  refused: {
    denied: [
      ['policy refuses it', UNAVAILABLE, (world) => (world.decision = { kind: 'deny' })],
      ['policy asks to try again', UNAVAILABLE, (world) => (world.decision = { kind: 'retry' })],
      [
        'its tool runs before each prompt',
        UNAVAILABLE,
        (world) => {
          ON_HOLD(world);
          const definition = { ...TRANSFER.definition, name: 'transfer', _meta: { 'mcp.dev/effect': 'read' } };
          world.listed = [
            aTool({ ...definition, annotations: { readOnlyHint: true } }, { settings: { preprocessor: true } }),
          ];
        },
      ],
      [
        'the access request service refuses it',
        UNAVAILABLE,
        (world) => {
          ON_HOLD(world);
          world.submission = new CountersignError('ERR_NOT_REQUESTABLE', 'canary');
        },
      ],
    ],
    too_many: [
      [
        'too many wait',
        UNDISCLOSED,
        (world) => {
          ON_HOLD(world);
          world.opened = { kind: 'too_many' };
        },
      ],
    ],
    not_needed: [['an approval was asked for, and none is needed', undefined, () => undefined, REQUEST]],
    step_up: [['its caller has to sign in otherwise', UNDISCLOSED, (world) => (world.decision = STEP_UP)]],
    // An error of the protocol: see hold.test.ts.
    demands_tasks: [],
    needs_tasks: [['its client has no tasks', UNDISCLOSED, ON_HOLD, { capabilities: {} }]],
    needs_forms: [['its client shows no forms', UNDISCLOSED, ASKING]],
    not_accepted: [['its tool is not as it was accepted', undefined, (world) => (world.isAccepted = false)]],
    unfit: [
      ['its arguments are not valid', undefined, () => undefined, { arguments: {} }],
      ['the output schema of its tool cannot be used', undefined, (world) => (world.listed = [UNCHECKABLE])],
    ],
    requirements_unmet: [
      ['a requirement is not met', undefined, (world) => (world.verdict = { unmet: ['env:test'], undecided: [] })],
    ],
    // An error of the protocol: see the tests of relays.
    undeclared: [],
  },
  held: {
    task: [['it waits for an approval', AWAITING, ON_HOLD]],
    reference: [['only an approval was asked for', undefined, ON_HOLD, REQUEST]],
    waited: [['it waited in vain', UNDISCLOSED, ON_HOLD, WAITS]],
  },
  asks: {
    form: [['its request needs input', { ...UNAVAILABLE, remediation: 'available' }, ASKING, FORMS]],
    page: [
      [
        'its client opens the page on which people decide',
        { ...UNAVAILABLE, remediation: 'available', remediationHints: [{ type: 'url' }] },
        (world) => {
          ON_HOLD(world);
          world.view = aView({ approvalPage: 'https://approvals.test/requests/1' });
        },
        OPENS_PAGES,
      ],
    ],
    relayed_round: [
      [
        'its tool asks something',
        undefined,
        (world) => (world.invocation = { kind: 'input_required', requestState: 'canary' }),
      ],
    ],
  },
  ran: {
    result: [['it is allowed', undefined, () => undefined]],
    error: [
      ['its server refuses it', undefined, (world) => (world.invocation = { kind: 'error', code: 1, message: '' })],
    ],
    not_sent: [['its server is away', undefined, (world) => (world.invocation = { kind: 'not_sent', cause: '' })]],
    no_answer: [['its server is silent', undefined, (world) => (world.invocation = { kind: 'no_answer', cause: '' })]],
    // See the tests of relays.
    task: [],
  },
} satisfies {
  refused: Record<Exclude<Refusal['reason'], 'not_requested' | 'not_continued'>, readonly Case[]>;
  held: Record<Held['as'], readonly Case[]>;
  asks: Record<Asks['round']['kind'], readonly Case[]>;
  ran: Record<Ran['outcome']['kind'], readonly Case[]>;
} satisfies Record<ToolCallAnswer['kind'], object>;
const CASES = Object.values(ANSWERS).flatMap((group) => Object.values(group).flat() as Case[]);

async function answerOf(gateway: GatewayUnderTest, [, , arrange, options]: Case) {
  arrange(gateway.world);
  const { name, arguments: args, ...rest } = { ...transfer(), ...options };
  return send(gateway, 'tools/call', { name, arguments: args }, rest);
}

const said = (result: Record<string, unknown> | undefined) => ({
  isError: result?.['isError'],
  content: result?.['content'],
});
const envelopeOf = (result: unknown) =>
  (result as { _meta?: Record<string, unknown> } | undefined)?._meta?.[AUTHORIZATION];

describe.each(CASES)('the answer to a call, when %s', (...of) => {
  it('has the matching envelope, and no envelope where the operator turns it off [DENIAL-002, DENIAL-003, DENIAL-005, DENIAL-011, DENIAL-012, DENIAL-018]', async () => {
    const waits = of[3] === WAITS || of[3] === OPENS_PAGES;
    const on = await answerOf(waits ? waiting : switchedOn, of);
    const off = await answerOf(waits ? waitingSwitchedOff : switchedOff, of);
    expect(envelopeOf(on.body.result)).toEqual(of[1]);
    expect(off.text).not.toMatch(ENVELOPE);
    expect(said(off.body.result)).toEqual(said(on.body.result));
    expect([off.status, off.body.error]).toEqual([on.status, on.body.error]);
    if (of[1] !== undefined) expect(gateways.flatMap(({ world }) => world.invocations)).toEqual([]);
  });
});

describe('a task', () => {
  const shownBy = async (gateway: GatewayUnderTest, view: Partial<GatedCallView>) => {
    gateway.world.view = aView(view);
    return send(gateway, 'tasks/get', { taskId: TASK_ID }, FORMS);
  };
  /** The envelope of the task itself, and of the result in it. */
  async function envelopes(view: Partial<GatedCallView>) {
    const on = await shownBy(switchedOn, view);
    expect((await shownBy(switchedOff, view)).text).not.toMatch(ENVELOPE);
    return [envelopeOf(on.body.result), envelopeOf(on.body.result?.['result'])];
  }

  it.each(GATED_CALL_STATES)('has the envelope of its state %s [DENIAL-014, DENIAL-016]', async (state) => {
    const view = { state, ...(state === 'executed' && { result: JSON.stringify(text) }) };
    const inside = state === 'denied' ? UNAVAILABLE : undefined;
    expect(await envelopes(view)).toEqual([isTerminal(state) ? undefined : AWAITING, inside]);
  });

  it.each(END_REASONS)('says that no remedy is left after a denial for %s [DENIAL-026]', async (reason) => {
    expect(await envelopes({ state: 'denied', reason })).toEqual([undefined, UNAVAILABLE]);
  });
});

it('the extension is declared only where it is served [DENIAL-001]', async () => {
  const declared = await Promise.all(
    [switchedOn, switchedOff].map(async (gateway) => {
      const { result } = (await send(gateway, 'server/discover')).body;
      return Object.keys((result?.['capabilities'] as { extensions: object }).extensions);
    }),
  );
  const name = 'io.modelcontextprotocol/structured-authorization-denials';
  expect(declared.map((names) => names.includes(name))).toEqual([true, false]);
});
