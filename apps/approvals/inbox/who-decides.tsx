import type { AccessRequest, Vote } from '../../../workflows/domain/access-request/access-request.ts';
import { Instant, Time } from '../../shared/pages/time.tsx';
import { ActingFor } from '../../shared/pages/acting-for.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { Fact } from './fact.tsx';
import { stageView } from './view.ts';
import { DECIDED, NoPerson } from './words.tsx';

/** The stage that is open, who may decide it, how far it is, and what was said in it and before. */
export function WhoDecides({ request }: { request: AccessRequest }) {
  const stage = stageView(request);
  return (
    <section class="card" aria-labelledby="who">
      <h2 id="who">Who decides</h2>
      <dl class="facts">
        <Fact name={stage.of === 1 ? 'Stage' : `Stage ${stage.position} of ${stage.of}`}>
          <Visible text={stage.name} />
        </Fact>
        <Fact name="May decide">
          <Visible text={electorateWords(stage.approvers)} />
        </Fact>
        <Fact name="Approvals">
          {stage.approvals} of {stage.quorum}
        </Fact>
        {request.endedAt === undefined && stage.endsAt !== undefined && (
          <Fact name="The stage ends">
            <Instant at={stage.endsAt} />
          </Fact>
        )}
      </dl>
      {request.votes.length > 0 && <Votes request={request} />}
      <NoVotes answers={request.answers} />
    </section>
  );
}

/** Names of groups and roles, and how many people are named beside them; never who all those people are. */
export function electorateWords(approvers: ReturnType<typeof stageView>['approvers']): string {
  const { people, groups, roles, resourceOwner, requesterManager, automatic } = approvers;
  const words = [
    ...roles.map((role) => `role ${role}`),
    ...groups.map((group) => `group ${group}`),
    ...(people > 0 ? [people === 1 ? '1 named person' : `${people} named people`] : []),
    ...(resourceOwner ? ['owners of the resource'] : []),
    ...(requesterManager ? ['manager of the requester'] : []),
    ...(automatic === undefined ? [] : [`the automatic resolver ${automatic}`]),
  ];
  return words.join(', or ');
}

function Votes({ request: { votes, stages } }: { request: AccessRequest }) {
  return (
    <>
      <h3>Decisions</h3>
      <ul class="votes">
        {votes.map((vote) => (
          <li key={`${vote.stage} ${vote.approver.subject}`}>
            <VoteLine vote={vote} stage={stages.length > 1 ? stages[vote.stage - 1]?.name : undefined} />
          </li>
        ))}
      </ul>
    </>
  );
}

const GAVE_NO_VOTE = { abstain: 'left it to people', failed: 'gave no answer' } as const;

/** Resolvers whose answer was no vote. */
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

function VoteLine({
  vote: { approver, castBy, actors, verdict, reason, via, at },
  stage,
}: {
  vote: Vote;
  stage: string | undefined;
}) {
  return (
    <>
      <strong>
        <Visible text={castBy ?? approver.subject} />
      </strong>{' '}
      <NoPerson via={via} />{' '}
      {castBy !== undefined && (
        <>
          on behalf of <Visible text={approver.subject} />{' '}
        </>
      )}
      {actors !== undefined && (
        <>
          <ActingFor actors={actors} />{' '}
        </>
      )}
      {DECIDED[verdict]} <Time at={at} />
      {stage !== undefined && (
        <>
          {' · '}
          <Visible text={stage} />
        </>
      )}
      {reason !== undefined && (
        <p>
          “<Visible text={reason} />”
        </p>
      )}
    </>
  );
}
