import { randomUUID } from 'node:crypto';
import { sha256 } from '../../apps/shared/crypto.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';
import type { Chance } from '../histories/chance.ts';
import { asking, submitting, type Genuine } from './genuine.ts';
import { aQuestion, type Ground, type Post, type Question } from './ground.ts';

/** Uses genuine messages for purposes that they were not made for. */
export type UseAttack = (of: { ground: Ground; genuine: Genuine; last: Genuine; chance: Chance }) => Post;

/** The question with one changed member. */
function otherwise(question: Question, chance: Chance): object {
  const { subject, action, resource, context } = question;
  const args = { ...context.arguments, path: '/etc/passwd' };
  return chance.oneOf<object>([
    { ...question, subject: { ...subject, id: 'mallory' } },
    { ...question, subject: { ...subject, type: 'user' } },
    { ...question, subject: { ...subject, properties: { role: 'admin' } } },
    { ...question, action: { name: 'tools/list' } },
    { ...question, action: { ...action, properties: { force: true } } },
    { ...question, resource: { ...resource, id: 'files__edit_file' } },
    { ...question, resource: { ...resource, type: 'prompt' } },
    { ...question, resource: { ...resource, properties: {} } },
    { ...question, context: { ...context, agent: 'another' } },
    { ...question, context: { ...context, arguments: args } },
    { ...question, context: { ...context, arguments: { ...context.arguments, more: 1 } } },
    { ...question, context: { ...context, call_digest: `sha-256:${'0'.repeat(64)}` } },
    {
      ...question,
      context: { ...context, arguments: args, call_digest: callDigest({ tool: resource.id, arguments: args }, sha256) },
    },
    aQuestion(),
  ]);
}

/** JSON with duplicate members: the attacker's value comes last, and parsers keep the last. */
const twice = (first: object, last: object) => `${JSON.stringify(first).slice(0, -1)},${JSON.stringify(last).slice(1)}`;

export const USE_ATTACKS: Readonly<Record<string, UseAttack>> = {
  'a denial, for another call': ({ ground, genuine: { denied }, chance }) =>
    submitting(ground, { ...otherwise(denied.question, chance), denial: denied.denial }),
  'a denial, with a later end': ({ ground, genuine: { denied }, chance }) => {
    const until = Date.parse(denied.denial.expires_at) + chance.oneOf([-1_000, 1_000, 86_400_000]);
    return submitting(ground, {
      ...denied.question,
      denial: { ...denied.denial, expires_at: new Date(until).toISOString() },
    });
  },
  'a denial, as that of another evaluation': ({ ground, genuine: { denied }, last }) =>
    submitting(ground, {
      ...denied.question,
      denial: { ...denied.denial, evaluation_id: last.denied.denial.evaluation_id },
    }),
  'a denial by its id alone, for another call': ({ ground, genuine: { denied }, chance }) =>
    submitting(ground, {
      ...otherwise(denied.question, chance),
      denial: { ...denied.denial, binding_token: undefined },
    }),
  'a denial by an id alone that is another call’s, used or made up': ({ ground, genuine: { denied }, last, chance }) =>
    submitting(ground, {
      ...denied.question,
      denial: {
        ...{ ...denied.denial, binding_token: undefined },
        evaluation_id: chance.oneOf([
          last.denied.denial.evaluation_id,
          `eval_${randomUUID()}`,
          'eval_',
          '%',
          "' OR true",
        ]),
      },
    }),
  'a denial that was used': ({ ground, last: { denied } }) =>
    submitting(ground, { ...denied.question, denial: denied.denial }),
  'a denial, with members of the submission twice': ({ ground, genuine: { denied }, chance }) =>
    submitting(ground, twice({ ...denied.question, denial: denied.denial }, otherwise(denied.question, chance))),
  'a denial, without the credential of the gateway': ({ ground, genuine: { denied }, chance }) => {
    const { headers, ...post } = submitting(ground, { ...denied.question, denial: denied.denial });
    const { secrets } = ground;
    const stranger = chance.oneOf([
      '',
      'Bearer ',
      `Bearer ${randomUUID()}`,
      `Bearer ${secrets.pdpToken}`,
      `Basic ${secrets.accessRequestToken}`,
    ]);
    return { ...post, headers: { ...headers, authorization: stranger } };
  },
  'an approval, for another call': ({ ground, genuine: { approved }, chance }) =>
    asking(ground, otherwise(approved.question, chance), approved.approval),
  'an approval, under another id': ({ ground, genuine: { approved }, last, chance }) =>
    asking(ground, approved.question, {
      ...approved.approval,
      id: chance.oneOf<unknown>([last.approved.approval.id, 'apr_x', '', null, [approved.approval.id]]),
    }),
  'an approval, with the proof of another': ({ ground, genuine: { approved }, last }) =>
    asking(ground, approved.question, { ...approved.approval, state: last.approved.approval.state }),
  'an approval that is for the call before': ({ ground, genuine: { approved }, last }) =>
    asking(ground, approved.question, last.approved.approval),
  'an approval without its proof': ({ ground, genuine: { approved }, chance }) =>
    asking(
      ground,
      approved.question,
      chance.oneOf<unknown>([
        { ...approved.approval, state: undefined },
        { id: approved.approval.id, verified: true, template: 'operator_approval' },
        { ...approved.approval, state: { verified: true, template: 'operator_approval' } },
        [approved.approval],
        approved.approval.state,
        true,
      ]),
    ),
  'an approval, with members of the question twice': ({ ground, genuine: { approved }, chance }) => {
    const { question, approval } = approved;
    const other = otherwise(question, chance) as Question;
    return {
      ...asking(ground, question),
      body: twice(question, { ...other, context: { ...other.context, approval } }),
    };
  },
};
