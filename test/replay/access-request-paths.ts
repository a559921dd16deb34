import { aStage, newVote } from '../support/access-requests.ts';
import { AGREEING_RESOLVER, type startPacedRequests } from '../support/paced-requests.ts';
import { waitFor } from '../support/wait-for.ts';

type World = Awaited<ReturnType<typeof startPacedRequests>>;
type Stages = readonly Parameters<typeof aStage>[0][];

/** Leads one access request to its end and answers its id. */
export type Path = (world: World) => Promise<string>;

const HOUR = 3_600;

/** Begins with these stages, does something once the workflow waits, and waits for its end. */
const lead =
  (stages: Stages, act: (world: World, request: Awaited<ReturnType<World['open']>>) => Promise<unknown>): Path =>
  async (world) => {
    const request = await world.open({ stages: stages.map((stage) => aStage(stage)) });
    await world.workflows.wake(request.id);
    await waitFor(() => world.waits(request.id));
    await act(world, request);
    await world.handle(request.id).result();
    return request.id;
  };
const nothing = async () => undefined;
const vote = async (world: World, request: Awaited<ReturnType<World['open']>>) => {
  await world.store.castVote(newVote(request));
  await world.workflows.wake(request.id);
};

/**
 * Every way through the workflow of an access request, by the name of the file that its history is kept in. The first one can
 * wait for a worker that is still starting.
 */
export const ACCESS_REQUEST_PATHS: Readonly<Record<string, Path>> = {
  'voted-while-it-waited': lead([{ withinSeconds: HOUR }], vote),
  'reminded-then-denied': lead([{ remindAfterSeconds: [1], withinSeconds: 2 }], nothing),
  'escalated-then-denied': lead(
    [
      { name: 'first', withinSeconds: 1, then: 'escalate' },
      { name: 'second', withinSeconds: 1, onlyOnEscalation: true },
    ],
    nothing,
  ),
  'approved-by-a-resolver-then-voted': lead(
    [
      { name: 'automatic', automatic: AGREEING_RESOLVER, withinSeconds: HOUR },
      { name: 'people', withinSeconds: HOUR },
    ],
    async (world, request) => {
      await world.store.castVote(newVote(request, { judgedStage: 2 }));
      await world.workflows.wake(request.id);
    },
  ),
  'poked-seven-times-then-voted': lead([{ withinSeconds: HOUR }], async (world, request) => {
    for (let count = 0; count < 7; count += 1) await world.workflows.wake(request.id);
    await vote(world, request);
  }),
  'cancelled-in-the-engine-then-voted': lead([{ withinSeconds: HOUR }], async (world, request) => {
    await world.handle(request.id).cancel();
    await vote(world, request);
  }),
  'over-at-the-first-look': async (world) => {
    const { id } = await world.open({ stages: [aStage({ withinSeconds: HOUR })] });
    await world.store.cancel(id, { note: { by: { client: 'mcp-gateway' } } });
    await world.workflows.wake(id);
    await world.handle(id).result();
    return id;
  },
};
