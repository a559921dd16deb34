import { pino } from 'pino';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { runningPostgres } from '../../../shared/embedded/postgres.ts';
import { CliError, type Io } from '../../context.ts';
import type { Listing } from './listing.ts';

/** Whether the descriptions of the new tools are accepted, in a word for programs and in words for people. */
export interface Acceptance {
  readonly state: 'accepted' | 'accepted when first seen' | 'not accepted';
  readonly said: string;
}

/**
 * Accepts the descriptions that were shown, and no others, if there is a database. Without one, they are accepted later: by the gateway when
 * it first sees them, or by the operator. Throws a `CliError` if a server describes a tool in another way by now.
 */
export async function acceptShown(
  { environment }: Pick<Io, 'environment'>,
  { config, listing }: { config: Config; listing: Listing },
): Promise<Acceptance> {
  const databaseUrl = environment.databaseUrl ?? (await runningPostgres(config.stateDir));
  if (databaseUrl === undefined) return LATER[config.signature.pinning];
  const { openSignature } = await import('../../../gateway/main.ts');
  const log = pino({ enabled: false });
  const operator = openSignature(config, { databaseUrl, upstreams: listing.upstreams, clock: systemClock, log });
  try {
    const shown = new Map(listing.tools.map(({ name, digest }) => [name, digest]));
    const { drift } = await operator.compare();
    const own = drift.filter(({ kind, listed, name }) => kind === 'tool' && listed !== undefined && shown.has(name));
    const changed = own.find(({ name, listed }) => listed?.digest !== shown.get(name));
    if (changed !== undefined)
      throw new CliError(
        `${changed.name} has another description than a moment ago; nothing was changed. Repeat the command`,
      );
    await operator.accept(own);
    return {
      state: 'accepted',
      said: 'The descriptions above are accepted: a tool that is described in another way later is not offered.',
    };
  } finally {
    await operator.close();
  }
}

const LATER: Readonly<Record<Config['signature']['pinning'], Acceptance>> = {
  'first-seen': {
    state: 'accepted when first seen',
    said:
      'Countersign accepts the descriptions of the tools when it first sees them (signature.pinning: first-seen). ' +
      'A tool that is described in another way later is not offered.',
  },
  accepted: {
    state: 'not accepted',
    said: 'No tool is offered before its description is accepted: run `countersign signature accept --all` once the database runs.',
  },
};
