import { beforeAll, describe, expect, it } from '@jest/globals';
import { Desk } from '../apps/cli/run.ts';
import type { Browser } from './browser.ts';
import { wordsOf } from './pages.ts';
import type { RecordedCalls } from './recorded-calls.ts';
import { signInTo } from './signing-in.ts';

const REASON = 'canary-reason of an approver';
const AT = String.raw`\d{4}-\d\d-\d\d[^;]*`;

/** Declares the tests that read records as people do: on the page that an auditor's browser gets, and in the command line. */
export const describeShownRecords = (world: () => RecordedCalls) =>
  describe('a record that a person reads', () => {
    let site: Browser;
    beforeAll(async () => {
      const { audit, issuer } = world().urls;
      ({ site } = await signInTo({ site: audit, issuer }, 'olivia'));
    });

    const plain = (html: string) => wordsOf(html).replaceAll(/\s+/g, ' ');
    /** The heading of a record's page, and what its parts say, as the auditor's browser gets them. */
    const pageOf = async (taskId: string) => {
      const html = await (await site.follow(await site.go(`/outcome-records/by-task/${taskId}`))).text();
      const sections = html.split('<section').slice(1);
      const partNamed = (name: string) =>
        plain(sections.find((part) => new RegExp(`aria-label="${name}"|>${name}</h`).test(part)) ?? '');
      return { heading: plain(/<h1[^]*?<\/h1>/.exec(html)?.[0] ?? ''), partNamed };
    };
    /** What `countersign audit show` says, on one line. */
    const show = async (taskId: string) => {
      const { config, token } = world().product;
      const desk = new Desk({ audit: { url: config.urls.audit } });
      const env = { COUNTERSIGN_TOKEN: await token('olivia', 'audit') };
      const { code, out, err } = await desk.run(['audit', 'show', taskId], { env });
      expect([code, err]).toEqual([0, '']);
      return out.replaceAll(/\s+/g, ' ');
    };

    it('has everything, with the source of each statement, for an auditor who signed in', async () => {
      const { taskId, request } = await world().held('turns');
      const { issuer } = world().urls;
      await world().delegate('alice', 'dora');
      await world().vote('dora', request, 'approve', { onBehalfOf: 'alice', reason: REASON });
      await world().post('sam', `/requests/${request.id}/break-glass`, {
        reason: `${REASON} 2`,
        callDigest: request.callDigest,
      });
      const { record } = await world().record(taskId);
      const { heading, partNamed } = await pageOf(taskId);
      expect(heading).toContain('by break-glass');
      expect(partNamed('The five questions')).toMatch(/On whose decision\?\s*Sam Example \(sam\), by break-glass/);
      const requests = partNamed('Access requests');
      for (const shown of [
        ...['Dora Example (dora)', 'Alice Example (alice)', 'approved', 'stage 1 first', 'through the API', REASON],
        ...[`${REASON} 2`, 'Sam Example (sam)', 'turns', issuer],
      ])
        expect(requests).toContain(shown);
      const policy = partNamed('Policy decisions');
      expect(policy).toContain('ask-turns');

      const said = await show(taskId);
      expect(said).toContain('Stated by the access request service');
      expect(said).toContain('Template turns');
      const people = `Dora Example (dora) of ${issuer} for Alice Example (alice) of ${issuer}`;
      expect(said).toContain(`Vote ${people}: approve, stage 1 first, api, `);
      expect(said).toMatch(new RegExp(`api, ${AT}; because: ${REASON} Break-glass`));
      expect(said).toContain(`Break-glass Sam Example (sam) of ${issuer}: api, `);
      expect(said).toContain(`because: ${REASON} 2`);
      for (const { kind, policyVersion } of record.decisions) {
        expect(policy).toContain(policyVersion);
        expect(said).toContain(`Policy ${kind}, by ask-turns of ${policyVersion}`);
      }
    });

    it('names who cancelled a request, who gave it more time and why, and who acted for another person', async () => {
      const act = { sub: 'planner', act: { sub: 'bot', client_id: 'app' } };
      const { taskId, request } = await world().held('late', { sub: 'carol', client_id: 'desk', azp: 'host', act });
      const { issuer } = world().urls;
      const stage = { stage: 1, number: 1 };
      const more = { ...stage, minutes: 5, reason: `${REASON} 2` };
      await world().post('bob', `/requests/${request.id}/extensions`, more);
      await world().post('bob', `/requests/${request.id}/hand-overs`, { ...stage, to: 'dora' });
      await world().post('bob', `/requests/${request.id}/questions`, { ...stage, question: 'why?' });
      await world().post('carol', `/requests/${request.id}/cancel`, { reason: REASON });
      await world().record(taskId);
      const { partNamed } = await pageOf(taskId);
      const requests = partNamed('Access requests');
      expect(requests).toMatch(/bob handed the request over to dora\. \d+ /);
      expect(requests).toMatch(
        /Bob Example \(bob\) asked the requester in stage 1, through the API\. \d+ [^]*why\?[^]*did not answer/,
      );
      expect(requests).toMatch(/Bob Example \(bob\) gave stage 1 hasty more time, through the API: until \d+ /);
      expect(requests).toMatch(/Withdrawn by Carol Example \(carol\), through the API\. \d+ \w+ \d{4}/);
      for (const shown of [REASON, issuer]) expect(requests).toContain(shown);
      const call = partNamed('The call');
      for (const shown of ['carol', 'desk', 'host', 'planner, for bot (client app)']) expect(call).toContain(shown);

      const said = await show(taskId);
      expect(said).toContain(`Given up Carol Example (carol) of ${issuer}: api, `);
      expect(said).toContain(`because: ${REASON}`);
      expect(said).toContain(`Handed over bob of ${issuer}: to dora, `);
      expect(said).toContain(`Question Bob Example (bob) of ${issuer}: asked the requester: why?, not answered, api, `);
      const time = `More time Bob Example \\(bob\\) of ${issuer}: stage 1, until ${AT}, api, ${AT}; because: ${REASON} 2`;
      expect(said).toMatch(new RegExp(time));
    });
  });
