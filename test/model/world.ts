import { NO_ROW, type Attempt, type Claim, type Generation, type PerGeneration, type Row } from './row.ts';

/** One run of the activities. It forgets everything when it crashes, and may always start again. */
export interface Worker {
  readonly at:
    | 'idle'
    | 'loaded'
    | 'granted'
    | 'decided'
    | 'submitting'
    | 'submitted'
    | 'claimed'
    | 'permitted'
    | 'answered';
  /** The generation that it saw when it looked at the row. */
  readonly generation: Generation;
  /** The claim that it goes on with. */
  readonly claim: 0 | Claim;
}

/** One `tools/call` of the same caller with the same arguments. */
export interface Gateway {
  readonly at: 'idle' | 'waiting' | 'submitting' | 'submitted' | 'gone';
  readonly generation: Generation;
}

type RequestStatus = 'none' | 'open' | 'granted' | 'denied' | 'cancelled';

/** The database and every process and person around it, with their memories. */
export interface World {
  readonly row: Row;
  readonly gateways: readonly [Gateway, Gateway];
  readonly workers: readonly [Worker, Worker];
  /** The state of the access request service, by the submission's key. */
  readonly requests: PerGeneration<RequestStatus>;
  /** The service was asked twice for one submission. */
  readonly isAskedTwice: boolean;
  /** The outbox holds a cancellation of the access request. */
  readonly isCancelQueued: boolean;
  /** Arrivals at the tool; two stands for two or more. */
  readonly effects: 0 | 1 | 2;
}

const IDLE_WORKER: Worker = { at: 'idle', generation: 1, claim: 0 };
const IDLE_GATEWAY: Gateway = { at: 'idle', generation: 1 };

export const BEGINNING: World = {
  row: NO_ROW,
  gateways: [IDLE_GATEWAY, IDLE_GATEWAY],
  workers: [IDLE_WORKER, IDLE_WORKER],
  requests: ['none', 'none'],
  isAskedTwice: false,
  isCancelQueued: false,
  effects: 0,
};

export const ATTEMPTS: readonly Attempt[] = [1, 2];

const replaced = <T>(pair: readonly [T, T], index: number, value: T): readonly [T, T] =>
  index === 0 ? [value, pair[1]] : [pair[0], value];

export const withWorker = (world: World, attempt: Attempt, worker: Worker): World => ({
  ...world,
  workers: replaced(world.workers, attempt - 1, worker),
});

export const withGateway = (world: World, index: number, gateway: Gateway): World => ({
  ...world,
  gateways: replaced(world.gateways, index, gateway),
});

export const withRequest = (world: World, generation: Generation, status: RequestStatus): World => ({
  ...world,
  requests: replaced(world.requests, generation - 1, status),
});

export const requestOf = ({ requests }: World, generation: Generation) =>
  generation === 1 ? requests[0] : requests[1];
export const handleOf = ({ row }: World, generation: Generation) =>
  generation === 1 ? row.handles[0] : row.handles[1];
