import * as z from 'zod';
import { notifySettings } from './channel-settings.ts';
import {
  derivedApprovers,
  isUnnamed,
  names,
  needsOthers,
  NO_APPROVER,
  NO_PASSKEY,
  ONE_REQUESTER,
  peopleAndGroups,
  stage,
} from './stage-settings.ts';
import { listOf, named, off, on, recordOf, seconds, text } from './units.ts';

const NO_END = 'only a stage with an end of its own can be extended: set withinSeconds';
const NOT_IN_CHAT =
  'a button in a chat is no passkey and no recent sign-in: set it to false, or leave passkey and requester out';

/** In characters. */
export const MAX_PRESET_REASON_LENGTH = 200;

const template = z
  .strictObject({
    stages: z
      .array(stage)
      .min(1)
      .max(20)
      .describe('Stages, in the order in which they open. Every stage must approve.'),
    separateStages: on.describe(
      'Counts a person in one stage of a request only. With `false`, a person counts once in each stage.',
    ),
    passkey: off.describe('Demands a passkey for each approval, in every stage.'),
    approvalTtlSeconds: seconds
      .optional()
      .describe('How long a granted approval can be used, in seconds. Without it, `approvals.approvalTtlSeconds`.'),
    requestTtlSeconds: seconds
      .optional()
      .describe(
        'How long the whole request waits for approvers, in seconds. Without it, `approvals.requestTtlSeconds`.',
      ),
    presetReasons: z
      .array(text.max(MAX_PRESET_REASON_LENGTH))
      .max(20)
      .default([])
      .describe('Reasons that the inbox offers beside a decision. An approver can also write another reason.'),
    maxExtensionSeconds: seconds
      .min(60)
      .optional()
      .describe(
        'How much longer than its `withinSeconds` approvers can make a stage, in seconds, all extensions of the stage together. At ' +
          'least 60. A stage never lasts longer than its request. Without it, no approver can extend a stage.',
      ),
    grantsEndAtSignOut: off.describe(
      'Ends a grant when its giver signs out of the inbox, or signs in again. Without it, a grant lasts for its time.',
    ),
    notify: notifySettings,
    chatDecisions: off.describe(
      'Lets people decide by a button in Slack. Without it, messages there only link to the page. What approves is then the Slack ' +
        'account of a person, and not a sign-in. Not with `passkey`, and not with `requester`.',
    ),
  })
  .superRefine(({ stages, passkey, chatDecisions, maxExtensionSeconds }, context) => {
    const fault = (at: (string | number)[], message: string) => context.addIssue({ code: 'custom', path: at, message });
    if (chatDecisions && (passkey || stages.some((one) => one.passkey || one.approvers.requester)))
      fault(['chatDecisions'], NOT_IN_CHAT);
    if (maxExtensionSeconds !== undefined && stages.every(({ withinSeconds }) => withinSeconds === undefined))
      fault(['maxExtensionSeconds'], NO_END);
    for (const [index, { name, automatic, then, onlyOnEscalation, ...one }] of stages.entries()) {
      const before = stages[index - 1];
      if ((passkey || one.passkey) && automatic !== undefined) fault(['stages', index, 'automatic'], NO_PASSKEY);
      if (stages.slice(0, index).some((earlier) => earlier.name === name))
        fault(['stages', index, 'name'], 'is used twice: give each stage its own name');
      if (then === 'escalate' && index === stages.length - 1) {
        fault(['stages', index, 'then'], 'there is no stage after it to escalate to: add one, or use deny');
      }
      if (onlyOnEscalation && before?.then !== 'escalate') {
        fault(['stages', index, 'onlyOnEscalation'], 'the stage before it does not escalate: set its then to escalate');
      }
    }
  });

type Template = z.infer<typeof template>;
const ONE_STAGE = {
  name: 'approval',
  withoutPeople: false,
  veto: true,
  then: 'deny',
  onlyOnEscalation: false,
} as const;

const one = (item: z.ZodString) => z.union([item.transform((name) => [name]), z.array(item)]).default([]);

/** Who approves what a rule holds: one stage without a name, a whole template, or the name of a template. */
export const approverRuleSettings = z
  .union([
    text,
    named({
      people: one(text).describe('Subjects of people. One or a list.'),
      groups: one(text).describe('Names of groups of the directory. One or a list.'),
      roles: one(text).describe('Roles from the sign-in. One or a list.'),
      ...derivedApprovers,
      passkey: stage.shape.passkey,
      quorum: stage.shape.quorum,
      freshSeconds: stage.shape.freshSeconds,
      withinSeconds: stage.shape.withinSeconds,
      remindAfterSeconds: stage.shape.remindAfterSeconds,
      approvalTtlSeconds: template.shape.approvalTtlSeconds,
      requestTtlSeconds: template.shape.requestTtlSeconds,
      presetReasons: template.shape.presetReasons,
      maxExtensionSeconds: template.shape.maxExtensionSeconds,
      grantsEndAtSignOut: template.shape.grantsEndAtSignOut,
      notify: template.shape.notify,
      chatDecisions: template.shape.chatDecisions,
    })
      .refine((named) => !isUnnamed(named), NO_APPROVER)
      .refine(({ quorum, ...named }) => !needsOthers({ approvers: named, quorum }), {
        path: ['quorum'],
        error: ONE_REQUESTER,
      })
      .refine(({ chatDecisions, passkey, requester }) => !chatDecisions || !(passkey || requester), {
        path: ['chatDecisions'],
        error: NOT_IN_CHAT,
      })
      .refine(
        ({ maxExtensionSeconds, withinSeconds }) => maxExtensionSeconds === undefined || withinSeconds !== undefined,
        {
          path: ['maxExtensionSeconds'],
          error: NO_END,
        },
      )
      .transform(
        ({
          approvalTtlSeconds,
          requestTtlSeconds,
          presetReasons,
          maxExtensionSeconds,
          grantsEndAtSignOut,
          passkey,
          notify,
          chatDecisions,
          quorum,
          freshSeconds,
          withinSeconds,
          remindAfterSeconds,
          ...named
        }): Template => ({
          stages: [
            { ...ONE_STAGE, approvers: named, passkey: false, quorum, freshSeconds, withinSeconds, remindAfterSeconds },
          ],
          separateStages: true,
          passkey,
          approvalTtlSeconds,
          requestTtlSeconds,
          presetReasons,
          maxExtensionSeconds,
          grantsEndAtSignOut,
          notify,
          chatDecisions,
        }),
      ),
    template,
  ])
  .describe(
    'Who approves: people, groups and roles, with a quorum and a time limit; or stages, as in `approvals.templates`; or the name of ' +
      'one of those templates. Without it, the template `approver`, or one person with the role `approver`.',
  );

/** Who may decide access requests. By default, one person with the role `approver`. */
export const approverSettings = {
  templates: recordOf(text, template).describe(
    'Who decides, by the template that the policy names in its denial. A template that is not listed asks one person with ' +
      'the role `approver`.',
  ),
  owners: listOf(
    z.strictObject({
      resource: z
        .string()
        .regex(/^[^*]*\*?$/, 'use at most one *, at the end')
        .min(1)
        .describe('Name of a resource, or the beginning of names followed by `*`.'),
      ...peopleAndGroups,
    }),
  ).describe('Who owns which resources. Every entry that matches a resource counts.'),
};

export const webhookApproverSettings = z
  .union([
    names.transform((people) => ({ people, groups: [] as string[], roles: [] as string[] })),
    z.strictObject({ ...peopleAndGroups, roles: names.describe('Roles that the directory names.') }),
  ])
  .prefault({})
  .describe(
    'For whom the decision webhook may vote: people, groups and roles of the directory. A plain list names people. In ' +
      'development the approvers of `identity.people` count as well.',
  );

export type TemplateSettings = z.infer<typeof template>;
export type OwnerSettings = z.infer<(typeof approverSettings)['owners']>;
