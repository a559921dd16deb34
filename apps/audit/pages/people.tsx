import type { ComponentChildren } from 'preact';
import type { StatedPerson, StatedVote } from '../../../workflows/domain/access-request/statement.ts';
import type { Decider, WhoDecided } from '../../../workflows/domain/gated-call/who-decided.ts';
import { ActingFor, Visible } from '../../shared/pages/visible.tsx';

/** Somebody by the name of that time and by their subject, which alone tells people apart. */
export function Person({ of: { name, subject } }: { of: StatedPerson }) {
  if (name === undefined) return <Visible text={subject} />;
  return (
    <>
      <Visible text={name} /> (<Visible text={subject} />)
    </>
  );
}

/** What stands in the place of people where it was no person's word. */
const NO_PERSON = {
  approvers: 'Approvers',
  break_glass: 'One person, by break-glass',
  withdrawn: 'Given up where approvers decide',
  requester: 'The requester gave it up',
  policy: 'Policy',
  time: 'Nobody: a deadline passed',
  checks: 'Nobody: what has to be so was not',
  not_stated: 'Not stated',
  unreadable: 'Stated, but not readable',
} as const satisfies Record<Decider, string>;

/** On whose decision: the people, or what it was instead. */
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

const WAYS: Readonly<Record<string, string>> = {
  inbox: 'in the inbox',
  api: 'through the API',
  webhook: 'by a signed message',
  agent: 'as a supervising agent',
  automatic: 'as an automatic resolver',
};

/** By which way somebody decided, in words; a way that nobody knows here, as it is stated. */
export function Way({ via }: { via: string }): ComponentChildren {
  const words = Object.hasOwn(WAYS, via) ? WAYS[via] : undefined;
  if (words !== undefined) return words;
  return (
    <>
      by <Visible text={via} />
    </>
  );
}

/** One vote in a line: who, as whose, what, in which stage, by which way. */
export function VoteLine({ vote, stageName }: { vote: StatedVote; stageName: string | undefined }) {
  const { approver, castBy, actors, verdict, via, stage, hasLapsed } = vote;
  return (
    <>
      <strong>
        <Person of={castBy ?? approver} />
      </strong>{' '}
      {verdict === 'approve' ? 'approved' : 'denied'}
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
      {via !== undefined && (
        <>
          , <Way via={via} />
        </>
      )}
      {hasLapsed && <span class="badge warn">did not count any more</span>}
    </>
  );
}
