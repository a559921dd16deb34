/** A person whose agent asks, and who may confirm it where a stage lets them. */
export interface ConfirmerNames {
  readonly issuer: string;
  /** The subject of the request and that of the token. Usually they are one. */
  readonly subjects: readonly string[];
  /** The same names as they are compared with those of other people (`nameKey`). Absent: as they are. */
  readonly keys?: readonly string[];
}

/** That person as a stage names them, from the opening of the request on. */
export interface Confirmer extends ConfirmerNames {
  /** How old their sign-in in the browser may be. */
  readonly freshSeconds: number;
}

/** The people who may decide a stage: those who belong to any of these. */
export interface Electorate {
  readonly people: readonly string[];
  readonly groups: readonly string[];
  /** Roles of the sign-in. The product cannot know how many people have one. */
  readonly roles: readonly string[];
  /** Owners of the resource that is asked for; absent when the stage is not for them. */
  readonly owners?: { readonly people: readonly string[]; readonly groups: readonly string[] };
  /** The manager, as the directory says, of the subject for which access is asked. */
  readonly requesterManager: boolean;
  /** The requester in person. Absent when the stage is not for them, or no person asks. */
  readonly requester?: Confirmer;
}

/** The results of a stage whose time is over. Never an approval. */
export const STAGE_ENDS = ['deny', 'escalate'] as const;

/** One step of an access request: a number of approvals by these people, within a time. */
export interface Stage {
  readonly name: string;
  readonly approvers: Electorate;
  /** Name of the resolver that is asked when the stage opens, and has one voice in it. */
  readonly automatic?: string;
  /** Distinct people, the resolver counted as one, who have to approve. */
  readonly quorum: number;
  /** Whether one denial denies. Otherwise a denial counts once the quorum can no longer be reached. */
  readonly veto: boolean;
  /** An approval counts only with the assertion of a passkey of the person who casts it. A denial needs none. */
  readonly passkey?: true;
  /** Absent: the stage has the time that the request has. */
  readonly withinSeconds?: number;
  /** How much longer than that approvers can make it, all extensions together. Absent: not at all. */
  readonly maxExtensionSeconds?: number;
  /** Whether a grant on such a request ends when its giver signs out. */
  readonly grantsEndAtSignOut?: boolean;
  /** When those who have not decided are reminded, counted from the opening of the stage. */
  readonly remindAfterSeconds: readonly number[];
  /** At the end of that time: the request is denied, or the next stage decides in place of this one. */
  readonly then: (typeof STAGE_ENDS)[number];
  /** Whether it opens only when the stage before it ran out of time. */
  readonly onlyOnEscalation: boolean;
  /** Whether people may also decide it in a chat, by a button of a message. */
  readonly chatDecisions?: true;
}

/** The successor of a stage: another stage (counted from 1), or the end of the request. */
export type Next = number | 'granted' | 'denied';

/**
 * The successor of the stage at `position` (from 1), once it agreed or ran out of time. Only the agreement of every stage that
 * opened, or of the one that took its place, grants. @see ARAP, State Transitions (ARAP-APV-05, ARAP-STS-06)
 */
export function nextStage(stages: readonly Stage[], position: number, how: 'agreed' | 'elapsed'): Next {
  if (how === 'elapsed') {
    const escalates = stages[position - 1]?.then === 'escalate' && position < stages.length;
    return escalates ? position + 1 : 'denied';
  }
  const next = stages.findIndex((stage, index) => index >= position && !stage.onlyOnEscalation);
  return next === -1 ? 'granted' : next + 1;
}

/** The stage that is open, or was when the request ended. Throws when there is none: such a request is never stored. */
export function openStage({ stages, stage }: { readonly stages: readonly Stage[]; readonly stage: number }): Stage {
  const open = stages[stage - 1];
  if (open === undefined) throw new Error(`an access request has no stage ${stage}`);
  return open;
}
