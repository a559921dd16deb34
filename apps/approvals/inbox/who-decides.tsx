import type { AccessRequest, Vote } from '../../../workflows/domain/access-request/access-request.ts';
import { ActingFor, Code, Visible } from '../../shared/pages/visible.tsx';
import { Facts, Instant, Time } from '../../shared/pages/layout.tsx';
import { Person } from './names.tsx';
import { DECIDED, NoPerson, openingsByOthers, stageView } from './view.tsx';

/** The open stage, who may decide it, its progress, and all decisions so far. */
export function WhoDecides({ request, visitor }: { request: AccessRequest; visitor: string }) {
  const stage = stageView(request);
  return (
    <section class="card" aria-labelledby="who">
      <h2 id="who">Who decides</h2>
      <Facts
        rows={[
          [stage.of === 1 ? 'Stage' : `Stage ${stage.position} of ${stage.of}`, <Visible text={stage.name} />],
          ['May decide', <Visible text={electorateWords(stage.approvers)} />],
          ['Approvals', `${stage.approvals} of ${stage.quorum}`],
        ]}
      />
      <Openings request={request} visitor={visitor} />
      <Extensions request={request} />
      <HandOvers request={request} visitor={visitor} />
      {request.votes.length > 0 && (
        <>
          <h3>Decisions</h3>
          <ul class="votes">
            {request.votes.map((vote) => (
              <li key={`${vote.stage} ${vote.approver.subject}`}>
                <VoteLine {...vote} name={stage.of > 1 ? request.stages[vote.stage - 1]?.name : undefined} />
              </li>
            ))}
          </ul>
        </>
      )}
      <NoVotes answers={request.answers} />
    </section>
  );
}

/** Other people who look at the request. */
function Openings({ request, visitor }: { request: AccessRequest; visitor: string }) {
  const others = openingsByOthers(request, visitor);
  if (others.length === 0) return null;
  return (
    <>
      <h3>Opened</h3>
      <ul class="votes">
        {others.map(({ by, at }) => (
          <li key={by}>
            <strong>
              <Person subject={by} />
            </strong>{' '}
            opened this page <Time at={at} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Who handed the request to whom. The visitor takes a hand-over of theirs back on the page of their delegations. */
function HandOvers({ request: { handOvers = [], endedAt }, visitor }: { request: AccessRequest; visitor: string }) {
  if (handOvers.length === 0) return null;
  return (
    <>
      <h3>Handed over</h3>
      <ul class="votes">
        {handOvers.map(({ from, to, at, revokedAt }) => (
          <li key={`${from} ${at}`}>
            <strong>
              <Person subject={from} />
            </strong>{' '}
            to <Person subject={to} /> <Time at={at} />
            {revokedAt !== undefined && (
              <>
                , taken back <Time at={revokedAt} />
              </>
            )}
            {from === visitor && revokedAt === undefined && endedAt === undefined && (
              <>
                {'. '}
                <a href="/delegations">Take it back</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Who gave a stage more time, and until when. */
function Extensions({ request: { extensions = [], stages } }: { request: AccessRequest }) {
  if (extensions.length === 0) return null;
  return (
    <>
      <h3>More time</h3>
      <ul class="votes">
        {extensions.map(({ stage, number, by, to, reason, at }) => (
          <li key={`${stage} ${number}`}>
            <strong>
              <Person subject={by.subject} />
            </strong>{' '}
            moved the end{' '}
            {stages.length > 1 && (
              <>
                of “<Visible text={stages[stage - 1]?.name ?? ''} />”{' '}
              </>
            )}
            to <Instant at={to} />, <Time at={at} />
            {reason !== undefined && (
              <p>
                “<Visible text={reason} />”
              </p>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Names roles and groups and counts the named people; it never lists people. */
function electorateWords(approvers: ReturnType<typeof stageView>['approvers']): string {
  const { people, groups, roles, resourceOwner, requesterManager, requester, automatic } = approvers;
  const words = [
    ...roles.map((role) => `role ${role}`),
    ...groups.map((group) => `group ${group}`),
    ...(people > 0 ? [people === 1 ? '1 named person' : `${people} named people`] : []),
    ...(resourceOwner ? ['owners of the resource'] : []),
    ...(requesterManager ? ['manager of the requester'] : []),
    ...(requester ? ['the requester in person, in the browser'] : []),
    ...(automatic === undefined ? [] : [`the automatic resolver ${automatic}`]),
  ];
  return words.join(', or ');
}

const GAVE_NO_VOTE = { abstain: 'left it to people', failed: 'gave no answer' } as const;

/** Resolvers whose answer was not a vote. */
function NoVotes({ answers }: Pick<AccessRequest, 'answers'>) {
  return answers.map(({ stage, resolver, verdict, reason, at }) =>
    verdict === 'approve' || verdict === 'deny' ? null : (
      <p class="soft" key={stage}>
        <strong>
          <Visible text={resolver} />
        </strong>{' '}
        <NoPerson via="automatic" /> {GAVE_NO_VOTE[verdict]} <Time at={at} />
        {reason !== undefined && (
          <>
            : “<Visible text={reason} />”
          </>
        )}
      </p>
    ),
  );
}

function VoteLine(vote: Vote & { readonly name: string | undefined }) {
  const { approver, castBy, actors, asRequester, verdict, reason, agentMessage, via, grant, passkey, at, name } = vote;
  return (
    <>
      <strong>
        <Person subject={castBy ?? approver.subject} />
      </strong>{' '}
      <NoPerson via={via} /> {asRequester && '(the requester) '}
      {castBy !== undefined && (
        <>
          on behalf of <Person subject={approver.subject} />{' '}
        </>
      )}
      {actors !== undefined && (
        <>
          <ActingFor actors={actors} />{' '}
        </>
      )}
      {DECIDED[verdict]} {passkey === true && 'with a passkey '}
      <Time at={at} />
      {grant !== undefined && (
        <>
          {' by '}
          <Code text={grant} />
        </>
      )}
      {name !== undefined && (
        <>
          {' · '}
          <Visible text={name} />
        </>
      )}
      {reason !== undefined && (
        <p>
          “<Visible text={reason} />”
        </p>
      )}
      {agentMessage !== undefined && (
        <p>
          To the agent: “<Visible text={agentMessage} />”
        </p>
      )}
    </>
  );
}
