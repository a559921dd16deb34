import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DecisionBody } from '../../../apps/pdp/decide.ts';
import type { InvalidPolicies } from '../../../apps/pdp/engine/cedar/problems.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { loadEvaluator, startTestPdp } from '../../support/pdp.ts';
import { anApprovalFor, presenting } from '../../support/signed-approvals.ts';
import { aCall, PolicyFolder } from '../../support/policy-folder.ts';

const NOTIFICATION = { type: 'notification', properties: { to: 'treasury-audit', body: 'a transfer' } };
const STEP_UP = { type: 'step-up', properties: { acr_value: 'loa:3', amr_values: ['mfa'] } };
const APPROVED = 'context has approval && context.approval.verified && context.approval.template == "boss"';
const POLICIES = `
@id("tell") @obligation("tell")
permit (principal, action, resource) when { ["told", "both", "held"].contains(resource.id) };
@id("sign-in") @obligation("sign-in, tell")
permit (principal, action, resource) when { resource.id == "both" };
@id("hold") @requestable("boss") @obligation("attempt")
forbid (principal, action, resource) when { resource.id == "held" } unless { ${APPROVED} };
@id("plain") permit (principal, action, resource) when { resource.id == "plain" };
@id("end") @obligation("end") forbid (principal, action, resource) when { resource.id == "forbidden" };
@id("other") @obligation("tell") permit (principal, action, resource) when { resource.id == "forbidden" };
@id("ask") @requestable("boss") @obligation("sign-in")
permit (principal, action, resource) when { resource.id == "asked" && ${APPROVED} };
@id("own") @obligation("own") permit (principal, action, resource) when { resource.id == "own" };
`;
const file = (value: unknown) => JSON.stringify(value, null, 2);
const FILES = {
  'o.cedar': POLICIES,
  'tell.obligation.json': file(NOTIFICATION),
  'sign-in.obligation.json': file(STEP_UP),
  'attempt.obligation.json': file({ ...NOTIFICATION, properties: { to: 'security', body: 'tried', topic: 't' } }),
  'end.obligation.json': file({ type: 'session_termination' }),
  'own.obligation.json': file({ type: 'custom', properties: { vendor: 'example.test' } }),
};

const folder = new PolicyFolder(FILES);
let pdp!: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp({ policies: folder.path })));
afterAll(async () => {
  await pdp?.stop();
  folder.clear();
});

const question = (tool: string, supported?: unknown): EvaluationRequest => ({
  ...aCall(tool),
  context: supported === undefined ? {} : { supported_obligations: supported as string[] },
});
const ask = async (tool: string, supported?: unknown) =>
  (await pdp.post(question(tool, supported))).body as DecisionBody;
const demanded = async (tool: string, supported?: unknown) => (await ask(tool, supported)).context?.['obligations'];
const tell = { id: 'tell', ...NOTIFICATION };
const signIn = { id: 'sign-in', ...STEP_UP };

describe('the obligations of a decision', () => {
  it('come from its determining policies, each once, with an id [OBL-01, OBL-02, OBL-03, OBL-04]', async () => {
    expect(await ask('told')).toEqual({
      decision: true,
      context: { evaluation_id: expect.stringMatching(/^eval_/), obligations: [tell] },
    });
    expect(await demanded('both')).toEqual([signIn, tell]);
    expect(await demanded('own')).toEqual([{ id: 'own', type: 'custom', properties: { vendor: 'example.test' } }]);
    expect(await ask('plain')).toEqual({ decision: true });
  });

  it('of a denial come only from the forbidding policies [OBL-01, OBL-17]', async () => {
    expect(await ask('forbidden')).toMatchObject({ decision: false, context: { reason: 'policy_denied' } });
    // The request names the subject of the sessions.
    const ending = { id: 'end', type: 'session_termination', properties: { subject: 'agent' } };
    expect(await demanded('forbidden')).toEqual([ending]);
    expect(await ask('unknown')).toEqual({ decision: false, context: { reason: 'not_permitted' } });
  });

  it('of a requestable denial are its own, and the permit after an approval has others', async () => {
    const denial = await ask('held');
    expect(denial.context).toMatchObject({ access_request: { template: 'boss' }, obligations: [{ id: 'attempt' }] });
    expect(pdp.recorded.at(-1)?.evaluationId).toBe(denial.context?.['evaluation_id']);
    const approval = await anApprovalFor(question('held'), { key: pdp.arsKey, claims: { template: 'boss' } });
    const { body } = await pdp.post(presenting(question('held'), approval));
    expect(body).toMatchObject({ decision: true, context: { obligations: [tell] } });
    expect((await ask('asked')).context).not.toHaveProperty('obligations');
  });
});

describe('an enforcement point', () => {
  it('that declares no types, or null, may get any obligation [OBL-24]', async () => {
    expect(await demanded('both', null)).toEqual([signIn, tell]);
  });

  it('gets a permit if it declares every needed type, also with further types [OBL-23]', async () => {
    expect(await demanded('both', ['step-up', 'dance', 'notification'])).toEqual([signIn, tell]);
    expect(await ask('plain', [])).toEqual({ decision: true });
  });

  it('gets a denial instead of a permit that it could not use [OBL-13, OBL-32]', async () => {
    const denied = { decision: false, context: { reason: 'obligation_not_supported' } };
    expect(await ask('both', ['notification', 'dance'])).toEqual(denied);
    expect(await ask('told', [])).toEqual(denied);
    // No approval is requested when its permit could not be used.
    expect(await ask('asked', ['notification'])).toEqual(denied);
    expect(await ask('asked', ['step-up'])).toMatchObject({ context: { access_request: { template: 'boss' } } });
  });

  it('gets the obligations of a denial, declared or not', async () => {
    expect(await demanded('forbidden', [])).toMatchObject([{ id: 'end' }]);
    expect(await demanded('held', [])).toMatchObject([{ id: 'attempt' }]);
  });

  it('may declare other types when it presents the approval', async () => {
    const approval = await anApprovalFor(question('held'), { key: pdp.arsKey, claims: { template: 'boss' } });
    await ask('held', ['notification']);
    expect(pdp.recorded.at(-1)).toMatchObject({ members: [], request: { context: {} } });
    const again = question('held', ['notification', 'custom']);
    expect((await pdp.post(presenting(again, approval))).body).toMatchObject({ decision: true });
  });

  it.each([['notification'], [{}], [[5]], [7]])(
    'gets 400 for a declaration that is not a list of names: %j',
    async (odd) => {
      const { status, text } = await pdp.post(question('told', odd));
      expect(status).toBe(400);
      expect(text).toContain('context.supported_obligations');
    },
  );
});

it('finds every type of obligation in the metadata [OBL-04, OBL-20]', async () => {
  const metadata = (await (await fetch(`${pdp.origin}/.well-known/authzen-configuration`)).json()) as object;
  expect(metadata).toMatchObject({
    supported_obligations: ['notification', 'step-up', 'session_termination', 'custom'],
  });
});

describe('a policy folder is refused', () => {
  const problemsOf = async (files: Record<string, string>) => {
    const other = new PolicyFolder({ ...FILES, ...files });
    const error: unknown = await loadEvaluator(other.path).catch((thrown: unknown) => thrown);
    other.clear();
    return (error as InvalidPolicies).problems;
  };
  it.each([
    ['that is not JSON', '{\n "type" }', { line: 2 }, /it is not JSON\. Write/],
    ['of a type that is not registered', '{\n "type": "dance", "properties": {} }', { line: 2 }, /Write \{ "type"/],
    ['without the properties of its type', file({ type: 'step-up', properties: {} }), {}, /acr_value/],
    [
      'with a misspelt property',
      file({ type: 'notification', properties: { to: 'a', body: '', title: 'x' } }),
      { line: 6 },
      /title/,
    ],
    [
      'with a number instead of a text',
      file({ type: 'notification', properties: { to: 5, body: '' } }),
      { line: 4 },
      /to/,
    ],
  ])('with an obligation %s [OBL-02, OBL-04, OBL-14, OBL-16]', async (_what, text, place, message) => {
    const problems = await problemsOf({ 'tell.obligation.json': text });
    expect(problems).toMatchObject([
      { file: 'tell.obligation.json', message: expect.stringMatching(message), ...place },
    ]);
  });

  it('with an empty @obligation, an obligation without a file, or a file that no policy names', async () => {
    const policies = `@id("x") @obligation("absent") permit (principal, action, resource);`;
    expect(await problemsOf({ 'p.cedar': `\n${policies}`, 'idle.obligation.json': file(NOTIFICATION) })).toMatchObject([
      { file: 'idle.obligation.json', message: expect.stringMatching(/no policy has @obligation\("idle"\)\. Rename/) },
      { file: 'p.cedar', line: 2, column: 1, message: expect.stringMatching(/names "absent"\. Write absent\.obl/) },
    ]);
    expect(await problemsOf({ 'p.cedar': policies.replace('("absent")', '') })).toMatchObject([
      { file: 'p.cedar', message: expect.stringMatching(/@obligation of "x" has no value/) },
    ]);
  });
});
