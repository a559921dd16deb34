import type { ComponentChildren } from 'preact';
import type { StatedPerson, StatedVote } from '../../../workflows/domain/access-request/statement.ts';
import type { Decider, WhoDecided } from '../../../workflows/domain/gated-call/who-decided.ts';
import { ActingFor, Code, Visible } from '../../shared/pages/visible.tsx';

/** A person by their name at that time and by their subject, which alone identifies them. */
export function Person({ of: { name, subject } }: { of: StatedPerson }) {
  if (name === undefined) return <Visible text={subject} />;
  return (
    <>
      <Visible text={name} /> (<Visible text={subject} />)
    </>
  );
}

/** Shown in place of people where no person decided, or where they are not known. */
const NO_PERSON = {
  approvers: 'Approvers',
  break_glass: 'One person, by break-glass',
  withdrawn: 'Withdrawn at the access request service',
  requester: 'Withdrawn by the requester',
  policy: 'Policy',
  time: 'No person: a deadline passed',
  checks: 'No person: a check failed',
  not_stated: 'Not stated',
  unreadable: 'Stated, but not readable',
} as const satisfies Record<Decider, string>;

/** The people who decided, or what decided instead. */
export function Deciders({ of: { by, people } }: { of: WhoDecided }) {
  if (people.length === 0) return <>{NO_PERSON[by]}</>;
  return (
    <>
      {people.map((one, at) => (
        <span key={`${one.subject}${at}`}>
          {at > 0 && ', '}
          <Person of={one} />
          {one.inPlaceOf && (
            <>
              {' for '}
              <Person of={one.inPlaceOf} />
            </>
          )}
        </span>
      ))}
      {by === 'break_glass' && ', by break-glass'}
    </>
  );
}

const CHANNELS: Readonly<Record<string, string>> = {
  inbox: 'in the inbox',
  api: 'through the API',
  webhook: 'by a signed message',
  slack: 'in Slack',
  agent: 'as a supervising agent',
  automatic: 'as an automatic resolver',
  grant: 'by a grant',
};

/** The channel of a decision, behind a comma. An unknown one is shown as it is stated. */
export function Via({ via }: { via: string | undefined }): ComponentChildren {
  if (via === undefined) return null;
  if (Object.hasOwn(CHANNELS, via)) return `, ${CHANNELS[via]}`;
  return (
    <>
      , by <Visible text={via} />
    </>
  );
}

/** One vote in a line: the voter, in whose place, the verdict, the stage and the channel. */
export function VoteLine({ vote, stageName }: { vote: StatedVote; stageName: string | undefined }) {
  const { approver, castBy, actors, asRequester, verdict, via, grant, preview, passkey, stage, hasLapsed } = vote;
  return (
    <>
      <strong>
        <Person of={castBy ?? approver} />
      </strong>{' '}
      {asRequester && '(the requester) '}
      {verdict === 'approve' ? (asRequester ? 'confirmed' : 'approved') : 'denied'}
      {castBy && (
        <>
          {' in place of '}
          <strong>
            <Person of={approver} />
          </strong>
        </>
      )}
      {actors && (
        <>
          {' '}
          <ActingFor actors={actors} />
        </>
      )}
      {stage !== undefined && `, stage ${stage}`}
      {stageName !== undefined && (
        <>
          {' '}
          <Visible text={stageName} />
        </>
      )}
      <Via via={via} />
      {passkey !== undefined && ', with a passkey'}
      {grant !== undefined && (
        <>
          {' '}
          <Code text={grant} />
        </>
      )}
      {preview !== undefined && (
        <>
          , beside the preview <Code text={preview} />
        </>
      )}
      {hasLapsed && <span class="badge warn">no longer counted</span>}
    </>
  );
}
