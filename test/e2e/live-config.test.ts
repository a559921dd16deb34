import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { runCli } from '../../apps/cli/program.ts';
import { A, ALWAYS, B, LiveProduct, type Variant, wasGiven } from '../support/live-product.ts';
import type { Raw } from '../support/live-settings.ts';
import { waitFor } from '../support/wait-for.ts';

/** The servers of one and the effects of the other. */
const MENDED: Variant = { ...B, effect: A.effect };

const product = new LiveProduct();
beforeAll(() => product.start());
afterAll(() => product.stop());

it('decides calls on their way each by one whole configuration, and loses none', () =>
  product.expectWholeDecisions({ slow: 4, held: 2, clients: 1, atLeast: 10, everyMs: 200 }));

/** What `countersign doctor` prints. */
async function doctor(): Promise<string> {
  const { folder: cwd, stateDir } = product.stack;
  const out: string[] = [];
  await runCli(['doctor'], {
    ...{ cwd, out: (line) => void out.push(line), err: () => undefined, input: () => Promise.resolve('') },
    environment: readEnvironment({ ...process.env, COUNTERSIGN_STATE: stateDir }),
  });
  return out.join('\n');
}

it('goes on with the configuration of before when the file cannot be used, and says why', async () => {
  const { settings, stack } = product;
  const mistakes = Array.from({ length: 20 }, (_, index) => ({ alow: `tool-${index}` }));
  settings.write(settings.textWith((original) => ({ ...product.withVariant({ ...A, rules: mistakes })(original) })));
  const { problems = [] } = (await waitFor(() => settings.state()?.rejected)) ?? {};
  expect(problems).toHaveLength(20);
  const shown = stack.log('up');
  for (const problem of problems) expect(shown).toContain(problem);
  expect(shown.split('nothing of it is applied')).toHaveLength(2);
  expect(wasGiven(await product.call(ALWAYS))).toBe(true);
  expect((await product.variantsInList()).variants).toEqual(['fb']);
  const found = await doctor();
  expect(found).toMatch(/fail {2}configuration +20 problems; .*goes on with its earlier configuration, .*since 20/);
  for (const problem of problems) expect(found.split('\n').map((line) => line.trim())).toContain(problem);

  // A file without a mistake, which the decision point cannot use.
  const nowhere = (original: Raw) => ({
    ...product.withVariant(B)(original),
    pdp: { ...original['pdp'], policies: './nowhere' },
  });
  settings.write(settings.textWith(nowhere));
  await waitFor(() => settings.state()?.rejected?.problems.some((problem) => problem.includes('no policy folder')));
  expect(await doctor()).toMatch(/fail {2}settings in use .*refused since 20.*There is no policy folder .*nowhere/);
  expect((await product.variantsInList()).variants).toEqual(['fb']);

  await settings.apply(product.withVariant(MENDED));
  expect((await product.variantsInList()).variants).toEqual(['fb', 'fa']);
});

it('lets people of the development issuer come and go', async () => {
  const { settings, stack } = product;
  const people = (more: readonly object[]) => (original: Raw) => ({
    ...product.withVariant(MENDED)(original),
    identity: { ...stack.config.identity, issuer: undefined, people: [...stack.config.identity.people, ...more] },
  });
  const tokenOfZoe = () =>
    requestPersonToken(stack.config, stack.development, { name: 'zoe', audience: 'approvals' }).then(
      ({ accessToken }) => accessToken,
    );
  await expect(tokenOfZoe()).rejects.toThrow('refuses zoe');
  await settings.apply(people([{ name: 'zoe', roles: ['approver'] }]));
  const headers = { authorization: `Bearer ${await tokenOfZoe()}` };
  expect((await fetch(`${stack.config.urls.approvals}/requests`, { headers })).status).toBe(200);
  await settings.apply(people([]));
  await expect(tokenOfZoe()).rejects.toThrow('refuses zoe');
});
