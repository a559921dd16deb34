import * as z from 'zod';
import { STAGE_ENDS } from '../../../workflows/domain/access-request/stages.ts';
import { notifySettings } from './channel-settings.ts';
import { listOf, named, off, on, recordOf, seconds, section, text } from './units.ts';

const names = listOf(text);
/** People by name and by group. */
export const peopleAndGroups = {
  people: names.describe('Subjects of people.'),
  groups: names.describe('Names of groups of the directory (`directory.file`).'),
};

/** The problem of a setting that lets no person decide. */
export const NO_APPROVER = 'no person could decide: name people, groups or roles';
const NO_PASSKEY = 'a resolver has no passkey: leave automatic out, or set passkey to false';
const NO_END = 'only a stage with an end of its own can be extended: set withinSeconds';
const NOT_IN_CHAT =
  'a button in a chat is no passkey and no recent sign-in: set it to false, or leave passkey and requester out';
const ALONE =
  'is for a stage where only the resolver decides: name it in automatic, with quorum 1, and leave approvers out';

const derivedApprovers = {
  resourceOwner: off.describe('Adds the owners that `approvals.owners` names for the requested resource.'),
  requesterManager: off.describe('Adds the manager that the directory names for the subject of the request.'),
  requester: off.describe(
    'Adds the person for whom the agent asks. They confirm in the inbox, in their own browser, after a recent sign-in. Without ' +
      'it, no requester decides. A program with an account of its own is no person.',
  ),
};
const approvers = section({
  ...peopleAndGroups,
  roles: names.describe('Roles from the sign-in.'),
  ...derivedApprovers,
}).describe('Who may vote in this stage. A person needs to match one entry only.');

type Approvers = z.infer<typeof approvers>;

/** Whether no approver is named besides the requester. */
export const isForNoOther = ({ people, groups, roles, resourceOwner, requesterManager }: Approvers) =>
  people.length + groups.length + roles.length === 0 && !resourceOwner && !requesterManager;

const isUnnamed = (named: Approvers) => isForNoOther(named) && !named.requester;

/** The requester is one person, and the resolver one voice beside them. */
const needsOthers = ({
  approvers: named,
  automatic,
  quorum,
}: {
  approvers: Approvers;
  automatic?: string | undefined;
  quorum: number;
}) => named.requester && isForNoOther(named) && quorum > (automatic === undefined ? 1 : 2);
const ONE_REQUESTER = 'the requester is one person: name other approvers too, or set quorum to 1';

const stage = z
  .strictObject({
    name: text
      .max(100)
      .describe(
        'Name of the stage. Approvers see it, and enforcement points see it as the current step of the request.',
      ),
    approvers,
    automatic: text
      .optional()
      .describe(
        'Name of a resolver of `approvals.resolvers`. The service asks it when the stage opens. The resolver has one vote beside ' +
          'the approvers.',
      ),
    withoutPeople: off.describe(
      'Lets only the resolver decide. If the resolver leaves the stage open, the request is denied or escalates at the end ' +
        'of the stage.',
    ),
    passkey: off.describe('Demands a passkey for each approval of the stage. A denial needs none.'),
    quorum: z
      .number()
      .int()
      .min(1)
      .max(100)
      .default(1)
      .describe('How many distinct approvers must approve. The resolver counts as one.'),
    veto: on.describe(
      'Lets one denial deny the request. With `false`, the request is denied when too few approvers remain for the quorum. ' +
        'That needs approvers whom the directory can list, so `roles` must be empty.',
    ),
    freshSeconds: seconds
      .max(3_600)
      .default(300)
      .describe('How old the sign-in of a requester who confirms may be, in seconds.'),
    withinSeconds: seconds
      .optional()
      .describe(
        'How long the stage may take from its opening, in seconds. Without it, the stage lasts as long as the request.',
      ),
    remindAfterSeconds: z
      .union([seconds.transform((one) => [one]), z.array(seconds)])
      .default([])
      .describe(
        'When to remind approvers who have not voted, in seconds from the opening of the stage. One number or a list.',
      ),
    then: z
      .enum(STAGE_ENDS)
      .default('deny')
      .describe(
        'What happens when the time of the stage is over: deny the request, or let the next stage decide instead.',
      ),
    onlyOnEscalation: off.describe('Opens this stage only when the stage before it ran out of time.'),
  })
  .refine(({ approvers: named, withoutPeople }) => withoutPeople || !isUnnamed(named), {
    path: ['approvers'],
    error: NO_APPROVER,
  })
  .refine(
    ({ approvers: named, withoutPeople, automatic, quorum }) =>
      !withoutPeople || (isUnnamed(named) && automatic !== undefined && quorum === 1),
    { path: ['withoutPeople'], error: ALONE },
  )
  .refine((given) => !needsOthers(given), { path: ['quorum'], error: ONE_REQUESTER })
  .refine(({ veto, approvers: { roles } }) => veto || roles.length === 0, {
    path: ['veto'],
    error: 'the directory cannot list the people of a role: set it to true, or leave roles out',
  })
  .refine(({ then, withinSeconds }) => then === 'deny' || withinSeconds !== undefined, {
    path: ['withinSeconds'],
    error: 'a stage that escalates needs a time limit: set withinSeconds',
  });

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
          ...{ approvalTtlSeconds, requestTtlSeconds, presetReasons, maxExtensionSeconds, notify, chatDecisions },
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
export type StageSettings = z.infer<typeof stage>;
export type OwnerSettings = z.infer<(typeof approverSettings)['owners']>;
