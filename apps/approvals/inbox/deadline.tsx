import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { decideBefore } from '../../../workflows/domain/access-request/deadline.ts';
import { nextStage, openStage } from '../../../workflows/domain/access-request/stages.ts';
import { Countdown, Instant, Time } from '../../shared/pages/layout.tsx';
import { Person } from './names.tsx';
import { Visible } from '../../shared/pages/visible.tsx';

/** Until when the open stage can be decided, what happens then, and who moved that end. */
export function Deadline({ request }: { request: AccessRequest }) {
  const { stages, stage, stageEndsAt, extensions = [] } = request;
  const until = decideBefore(request);
  const next = until === stageEndsAt ? nextStage(stages, stage, 'elapsed') : 'denied';
  const moved = extensions.findLast((one) => one.stage === stage);
  return (
    <p class="deadline" data-deadline={String(stage)}>
      <strong>Decide before</strong> <Instant at={until} /> (<Countdown to={until} />
      ).{' '}
      {typeof next === 'number' ? (
        <>
          Then others decide: “<Visible text={openStage({ stages, stage: next }).name} />
          ”.
        </>
      ) : (
        'Then it ends undecided.'
      )}
      {moved !== undefined && (
        <>
          {' '}
          <Person subject={moved.by.subject} /> moved it from <Instant at={moved.from} />, <Time at={moved.at} />.
        </>
      )}
    </p>
  );
}
