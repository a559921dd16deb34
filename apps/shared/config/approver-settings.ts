import * as z from 'zod';
import { STAGE_ENDS } from '../../../workflows/domain/access-request/stages.ts';
import { seconds } from './units.ts';

const names = z.array(z.string().min(1)).default([]);
/** Subjects, and names of groups of `directory`. */
const peopleAndGroups = { people: names, groups: names };

const NOBODY = 'nobody could decide: name people, groups or roles';
const ALONE =
  'is for a stage whose one voice is its resolver: name it in automatic, with quorum 1, and leave approvers out';

/** Whoever is of any of these. */
const approvers = z
  .strictObject({
    ...peopleAndGroups,
    /** Roles of the sign-in. */
    roles: names,
    /** Those whom `approvals.owners` names for the resource that is asked for. */
    resourceOwner: z.boolean().default(false),
    /** The manager that the directory has for the subject on whose behalf is asked. */
    requesterManager: z.boolean().default(false),
  })
  .prefault({});

const isNobody = ({ people, groups, roles, resourceOwner, requesterManager }: z.infer<typeof approvers>) =>
  people.length + groups.length + roles.length === 0 && !resourceOwner && !requesterManager;

const stage = z
  .strictObject({
    /** Shown to approvers, and to enforcement points as the step a request is at. */
    name: z.string().min(1).max(100),
    approvers,
    /** The resolver of `approvals.resolvers` that is asked when the stage opens, and has one voice in it beside the approvers. */
    automatic: z.string().min(1).optional(),
    /** Whether nobody but that resolver decides: what it leaves open is denied, or escalates, at the end of the stage. */
    withoutPeople: z.boolean().default(false),
    /** How many distinct approvers have to approve, the resolver counted as one. */
    quorum: z.number().int().min(1).max(100).default(1),
    /**
     * Whether one denial denies the request. Otherwise it is denied once too few people are left to reach the quorum, which
     * needs approvers whom the directory can list: no `roles`.
     */
    veto: z.boolean().default(true),
    /** How long the stage may take, counted from its opening. Default: as long as the request. */
    withinSeconds: seconds.optional(),
    /** When those who have not decided are reminded, counted from its opening. */
    remindAfterSeconds: z.union([seconds.transform((one) => [one]), z.array(seconds)]).default([]),
    /** What happens at its end: the request is denied, or the next stage decides in place of this one. */
    then: z.enum(STAGE_ENDS).default('deny'),
    /** Whether the stage opens only when the one before it ran out of time. */
    onlyOnEscalation: z.boolean().default(false),
  })
  .refine(({ approvers: named, withoutPeople }) => withoutPeople || !isNobody(named), {
    path: ['approvers'],
    error: NOBODY,
  })
  .refine(
    ({ approvers: named, withoutPeople, automatic, quorum }) =>
      !withoutPeople || (isNobody(named) && automatic !== undefined && quorum === 1),
    { path: ['withoutPeople'], error: ALONE },
  )
  .refine(({ veto, approvers: { roles } }) => veto || roles.length === 0, {
    path: ['veto'],
    error: 'false is for approvers who can be listed: leave out roles, or the veto in place',
  })
  .refine(({ then, withinSeconds }) => then === 'deny' || withinSeconds !== undefined, {
    path: ['withinSeconds'],
    error: 'a stage that escalates needs a time after which it does',
  });

const template = z
  .strictObject({
    /** In this order; each has to agree. */
    stages: z.array(stage).min(1).max(20),
    /** Whether a person counts in one stage of a request only. */
    separateStages: z.boolean().default(true),
    /** How long a granted approval can be used. Default: `approvals.approvalTtlSeconds`. */
    approvalTtlSeconds: seconds.optional(),
    /** How long the whole request waits. Default: `approvals.requestTtlSeconds`. */
    requestTtlSeconds: seconds.optional(),
  })
  .superRefine(({ stages }, context) => {
    const fault = (at: (string | number)[], message: string) => context.addIssue({ code: 'custom', path: at, message });
    for (const [index, { name, then, onlyOnEscalation }] of stages.entries()) {
      const before = stages[index - 1];
      if (stages.slice(0, index).some((earlier) => earlier.name === name))
        fault(['stages', index, 'name'], 'is there twice');
      if (then === 'escalate' && index === stages.length - 1) {
        fault(['stages', index, 'then'], 'there is no stage after it to escalate to');
      }
      if (onlyOnEscalation && before?.then !== 'escalate') {
        fault(['stages', index, 'onlyOnEscalation'], 'the stage before it does not escalate');
      }
    }
  });

/** Who may decide access requests. Without any of it, one person with the role `approver` does. */
export const approverSettings = {
  /** By the template that the policy names in its denial. One that is not here asks one person with the role `approver`. */
  templates: z.record(z.string().min(1), template).default({}),
  /** Who owns which resources. `resource` is a name, or the beginning of names and then `*`; every entry that fits counts. */
  owners: z
    .array(
      z.strictObject({
        resource: z
          .string()
          .regex(/^[^*]*\*?$/, 'one * at most, at the end')
          .min(1),
        ...peopleAndGroups,
      }),
    )
    .default([]),
};

/**
 * For whom the decision webhook may speak: people and groups of `directory`, and whoever has one of these roles there. A list names
 * people. Nobody by default, but for the approvers of `identity.people` in development.
 */
export const webhookApproverSettings = z
  .union([
    names.transform((people) => ({ people, groups: [] as string[], roles: [] as string[] })),
    z.strictObject({ ...peopleAndGroups, roles: names }),
  ])
  .prefault({});

/** Who may grant a request alone, in an emergency: an alarm is logged, and somebody else has to review it. Off by default. */
export const breakGlassSettings = z
  .strictObject({
    enabled: z.boolean().default(false),
    approvers: z.strictObject({ ...peopleAndGroups, roles: names }).prefault({}),
    /** How long such an approval can be used; it should be short. */
    approvalTtlSeconds: seconds.max(3_600).default(300),
  })
  .refine(
    ({ enabled, approvers: { people, groups, roles } }) => !enabled || people.length + groups.length + roles.length > 0,
    {
      path: ['approvers'],
      error: NOBODY,
    },
  )
  .prefault({});

export type TemplateSettings = z.infer<typeof template>;
export type StageSettings = z.infer<typeof stage>;
export type OwnerSettings = z.infer<(typeof approverSettings)['owners']>;
