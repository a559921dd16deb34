import { pino } from 'pino';
import { startPdp } from '../../apps/pdp/main.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { anEs256Key } from '../support/pdp.ts';
import { openTarget, type Target } from './target.ts';
import { PATIENT_FACTOR, systemTime } from '../support/time.ts';

const TOKEN = 'a-token-of-the-enforcement-point';
/** The address of the proxy that ends TLS in front of a PDP; the tests reach the PDP behind it. */
const IDENTIFIER = 'https://pdp.example.test';

/**
 * The real decision point, with the policies of a folder, as it runs behind a proxy that ends TLS. `stop` it
 * afterwards.
 */
export async function startOwnPdp(policies: string, databaseUrl: string): Promise<{ target: Target; pdp: Running }> {
  const port = await freePort();
  const config = parseConfig(
    {
      timeLimitFactor: PATIENT_FACTOR,
      pdp: { port, url: IDENTIFIER, policies, signMetadata: true },
      approvals: { url: 'https://approvals.example.test' },
    },
    { baseDir: '/', stateDir: '/' },
  );
  const secrets = { pdpToken: TOKEN, pdpSigningKey: await anEs256Key('pdp-1') };
  const pdp = await startPdp(config, secrets, { ...systemTime, log: pino({ enabled: false }), databaseUrl });
  const address = `http://127.0.0.1:${port}`;
  return { pdp, target: await openTarget({ identifier: IDENTIFIER, address, token: TOKEN }) };
}
