import { apply, hasEnded, type Attempt, type Generation, type Operation, type RowRules } from './row.ts';
import { ATTEMPTS, handleOf, requestOf, withGateway, withRequest, withWorker, type World } from './world.ts';

/** Every deviation that a mutant can have. */
export interface Rules extends RowRules {
  readonly newKeyOnRetry: boolean;
  readonly noSweeper: boolean;
  readonly callbackIsTrusted: boolean;
  readonly contactsBeforeConsuming: boolean;
  readonly permitFollowsTheSend: boolean;
  readonly lateDenialLeavesRequest: boolean;
}

/** One possible next step, and the world after it. */
export interface Move {
  readonly label: string;
  readonly world: World;
  /** Only a person takes this step: no end may depend on it. */
  readonly isVoluntary?: boolean;
}

type Mutation = Partial<Rules>;

/** All possible next steps. `isAlone`: with one gateway and one worker, where two would only take time. */
export function movesOf(world: World, rules: Mutation = {}, isAlone = false): Move[] {
  const moves = [
    ...(isAlone ? [0] : [0, 1]).flatMap((index) => gatewayMoves(world, index, rules)),
    ...ATTEMPTS.slice(0, isAlone ? 1 : 2).flatMap((attempt) => workerMoves(world, attempt, rules)),
    ...surroundings(world, rules),
  ];
  return moves.filter((move) => move.world !== world);
}

/** An end while an approver may still be asked to decide takes the access request back. */
function endedBy(world: World, operation: Operation, rules: Mutation): World {
  const after = operate(world, operation, rules).world;
  return world.row.state === 'granted' || rules.lateDenialLeavesRequest === true ? after : cancelled(world, after);
}

function operate(world: World, operation: Operation, rules: Mutation): { world: World; answer: string } {
  const { row, answer } = apply(world.row, operation, rules);
  return { world: row === world.row ? world : { ...world, row }, answer };
}

/** The same key finds the same request; a new key does not. */
function submit(world: World, generation: Generation, rules: Mutation): World {
  if (requestOf(world, generation) === 'none') return withRequest(world, generation, 'open');
  return rules.newKeyOnRetry === true ? { ...world, isAskedTwice: true } : world;
}

/** A gateway or worker that attaches a handle to a call that was given up has the request taken back. */
function attach(world: World, generation: Generation, rules: Mutation): World {
  const isNew = !handleOf(world, generation);
  const after = operate(world, { kind: 'attach', generation }, rules).world;
  const isLate = isNew && ['cancelled', 'denied'].includes(world.row.state);
  return isLate ? { ...after, isCancelQueued: true } : after;
}

function gatewayMoves(world: World, index: number, rules: Mutation): Move[] {
  const gateway = world.gateways[index === 0 ? 0 : 1];
  const { generation } = gateway;
  const to = (at: typeof gateway.at, next: World = world) => withGateway(next, index, { at, generation });
  const named = (label: string, next: World): Move => ({ label: `${label} (gateway ${index + 1})`, world: next });
  switch (gateway.at) {
    case 'idle': {
      const opened = operate(world, { kind: 'open' }, rules);
      return [named('opens', to(opened.answer === 'opened' ? 'submitting' : 'waiting', opened.world))];
    }
    case 'waiting': {
      const taken = operate(world, { kind: 'takeSubmission' }, rules);
      if (taken.answer === 'taken')
        return [
          named('takes over', withGateway(taken.world, index, { at: 'submitting', generation: world.row.generation })),
        ];
      return world.row.state === 'preparing' ? [] : [named('answers', to('gone'))];
    }
    case 'submitting':
      return [
        named('submits', to('submitted', submit(world, generation, rules))),
        named('fails for now', to('gone', operate(world, { kind: 'releaseSubmission' }, rules).world)),
        named('crashes', to('gone')),
      ];
    case 'submitted':
      return [named('attaches', to('gone', attach(world, generation, rules))), named('crashes', to('gone'))];
    case 'gone':
      return [];
  }
}

function workerMoves(world: World, attempt: Attempt, rules: Mutation): Move[] {
  const { at, generation } = world.workers[attempt - 1] ?? world.workers[0];
  const to = (next: typeof at, after: World = world, seen = generation) =>
    withWorker(after, attempt, { at: next, generation: seen, claim: next === 'claimed' ? after.row.claims : 0 });
  const named = (label: string, next: World): Move => ({ label: `${label} (worker ${attempt})`, world: next });
  const crash = named('crashes', to('idle', world, 1));
  switch (at) {
    case 'idle':
      return looks(world, to).map((next) => named('looks', next));
    case 'loaded':
    case 'granted':
      return [...decisionMoves(world, attempt, rules), crash];
    case 'submitting':
      return [named('submits', to('submitted', submit(world, generation, rules))), crash];
    case 'submitted':
      return [named('attaches', to('idle', attach(world, generation, rules), 1)), crash];
    case 'decided': {
      // The model has no third claim.
      if (world.row.claims === 2 && world.row.claim === 0) return [crash];
      const claim = operate(world, { kind: 'claim', generation, decidedIn: generation }, rules);
      const isHis = claim.answer === 'won' || claim.answer === 'mine';
      const next = isHis ? claim.world : endedBy(claim.world, { kind: 'expire' }, rules);
      return [named('claims', isHis ? to('claimed', next) : to('idle', next, 1)), crash];
    }
    case 'claimed':
    case 'permitted':
    case 'answered':
      return [...executionMoves(world, attempt, rules), crash];
  }
}

type To = (at: World['workers'][0]['at'], after?: World, seen?: Generation) => World;

/** The first look at the row decides where a step begins. */
function looks(world: World, to: To): World[] {
  const { state, generation } = world.row;
  if (state === 'claimed') return [to('claimed', world, generation)];
  if (state === 'granted') return [to('granted', world, generation)];
  return state === 'pending' ? [to('loaded', world, generation)] : [];
}

/** From the resolution to the decision. */
function decisionMoves(world: World, attempt: Attempt, rules: Mutation): Move[] {
  const { at, generation } = world.workers[attempt - 1] ?? world.workers[0];
  const to: To = (next, after = world, seen = generation) =>
    withWorker(after, attempt, { at: next, generation: seen, claim: 0 });
  const named = (label: string, next: World): Move => ({ label: `${label} (worker ${attempt})`, world: next });
  const ended = (operation: Operation) => to('idle', endedBy(world, operation, rules), 1);
  if (at === 'loaded') {
    const status = rules.callbackIsTrusted === true ? 'granted' : requestOf(world, generation);
    if (!handleOf(world, generation)) {
      const taken = operate(world, { kind: 'takeSubmission' }, rules);
      const next =
        taken.answer === 'taken' ? to('submitting', taken.world, world.row.generation) : to('idle', world, 1);
      return [named('sees to the submission', next)];
    }
    if (status === 'granted') {
      const grant = operate(world, { kind: 'grant', generation }, rules);
      const next =
        grant.answer === 'granted' ? to('granted', grant.world) : to('idle', cancelled(world, grant.world), 1);
      return [named('records the grant', next)];
    }
    if (status === 'denied') return [named('records the denial', ended({ kind: 'deny' }))];
    if (status === 'cancelled') return [named('records the cancellation', ended({ kind: 'cancel' }))];
    return [named('waits', to('idle', world, 1))];
  }
  return [
    named('is allowed', to('decided', operate(world, { kind: 'allow', generation }, rules).world)),
    named('is denied', ended({ kind: 'deny' })),
    named('is put off', to('idle', world, 1)),
    named('is told to ask again', asksAgain(world, generation, { to, rules })),
  ];
}

/**
 * The process that looks next consumes the generation and writes the next submission before the service hears of it.
 */
function asksAgain(world: World, generation: Generation, { to, rules }: { to: To; rules: Mutation }): World {
  const next = endedBy(world, { kind: 'requestAgain', generation }, rules);
  if (rules.contactsBeforeConsuming !== true || generation === 2) return to('idle', next, 1);
  const told = requestOf(world, 2) === 'none' ? withRequest(next, 2, 'open') : { ...next, isAskedTwice: true };
  return to('submitted', told, 2);
}

/** From the claim to the end. A worker does not repeat a step that it has no answer for. */
function executionMoves(world: World, attempt: Attempt, rules: Mutation): Move[] {
  const { at, claim } = world.workers[attempt - 1] ?? world.workers[0];
  const to: To = (next, after = world) =>
    withWorker(after, attempt, { at: next, generation: 1, claim: next === 'idle' ? 0 : claim });
  const named = (label: string, next: World): Move => ({ label: `${label} (worker ${attempt})`, world: next });
  const arrived: World = { ...world, effects: world.effects === 0 ? 1 : 2 };
  const answers = () => [named('is answered', to('answered', arrived)), named('hears no answer', to('idle', arrived))];
  if (at === 'claimed') {
    if (rules.permitFollowsTheSend === true && world.row.permit === 0) return answers();
    const permit = operate(world, { kind: 'permit', attempt, claim: claim === 2 ? 2 : 1 }, rules);
    const released = operate(world, { kind: 'release', claim: claim === 2 ? 2 : 1 }, rules);
    return [
      named('asks for the permit', to(permit.answer === 'true' ? 'permitted' : 'idle', permit.world)),
      named('gives the claim up', to('idle', released.world)),
    ];
  }
  if (at === 'permitted') {
    return [...answers(), named('was held up', to('idle', operate(world, { kind: 'notSent', attempt }, rules).world))];
  }
  const permitted =
    rules.permitFollowsTheSend === true
      ? operate(world, { kind: 'permit', attempt, claim: claim === 2 ? 2 : 1 }, rules).world
      : world;
  return [false, true].map((isError) =>
    named(
      isError ? 'settles with an error' : 'settles',
      to('idle', operate(permitted, { kind: 'settle', attempt, isError }, rules).world),
    ),
  );
}

/** Clients, approvers, clocks, the sweeper and the outbox. */
function surroundings(world: World, rules: Mutation): Move[] {
  const { row } = world;
  const moves: Move[] = [];
  const may = (label: string, next: World, isVoluntary = false) => moves.push({ label, world: next, isVoluntary });
  const passing = ['requestDeadlinePasses', 'approvalRunsOut', 'executionDeadlinePasses', 'decisionsGetOld'] as const;
  if (row.state !== 'none' && !hasEnded(row)) {
    for (const kind of passing) if (isNews(world, kind)) may(kind, operate(world, { kind }, rules).world);
    may('the client cancels', cancelled(world, operate(world, { kind: 'cancel' }, rules).world), true);
  }
  if (row.leased) may('the lease runs out', operate(world, { kind: 'releaseSubmission' }, rules).world);
  if (row.state === 'preparing')
    may('the sweeper gives it up', cancelled(world, operate(world, { kind: 'cancel' }, rules).world));
  if (rules.noSweeper !== true)
    may('the sweeper looks', cancelled(world, operate(world, { kind: 'expire' }, rules).world));
  for (const generation of [1, 2] as const) {
    if (requestOf(world, generation) !== 'open') continue;
    may('an approver grants', withRequest(world, generation, 'granted'), true);
    may('an approver denies', withRequest(world, generation, 'denied'), true);
  }
  if (world.isCancelQueued) may('the outbox takes the request back', takenBack(world, rules));
  return moves;
}

const isNews = (
  { row }: World,
  kind: 'requestDeadlinePasses' | 'approvalRunsOut' | 'executionDeadlinePasses' | 'decisionsGetOld',
) =>
  ({
    requestDeadlinePasses: !row.requestOver,
    approvalRunsOut: row.approval === 'valid',
    executionDeadlinePasses: row.claim !== 0 && !row.executionOver,
    decisionsGetOld: row.decisions.includes('fresh'),
  })[kind];

/** An end before the claim queues the cancellation of the access request in the same commit. */
function cancelled(before: World, after: World): World {
  return after !== before && ['cancelled', 'denied'].includes(after.row.state)
    ? { ...after, isCancelQueued: true }
    : after;
}

/**
 * Without a handle it is unknown whether the request exists: a submission with the same key tells, and opens no second
 * one.
 */
function takenBack(world: World, rules: Mutation): World {
  const { generation } = world.row;
  const known = handleOf(world, generation) ? world : submit(world, generation, rules);
  const after = { ...known, isCancelQueued: false };
  return requestOf(after, generation) === 'open' ? withRequest(after, generation, 'cancelled') : after;
}
