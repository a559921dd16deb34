import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CedarEngine } from '../../../apps/pdp/engine/cedar/cedar-engine.ts';
import { aCall, decidingBy, permitting, FollowedFolder } from '../../support/policy-folder.ts';

let folder: FollowedFolder;
beforeEach(() => {
  folder = new FollowedFolder();
});
afterEach(() => folder.close());

/** Reads the folder only on demand. */
const open = async () => {
  const places = { folder: folder.path, directory: { subjectAttribute: 'userName' } as const };
  return folder.open(places, 3_600_000);
};
const mayCall = async (tool: string, opened: CedarEngine) =>
  (await decidingBy(opened)((decide) => decide(aCall(tool), 'pep'))).decision;
const versionNow = () => folder.engine?.status().policy_version.slice('sha-256:'.length, 'sha-256:'.length + 12);
/** The console output of a development stack: `pino` numbers warnings as 40. */
const loud = () => folder.lines.filter(({ level }) => Number(level) >= 40);

describe('a policy that asks for an approval and also permits without one', () => {
  const unconditional = permitting('b').replace('\n', '\n@requestable("boss")\n');
  const said = /a\.cedar:1:1: "permit-b" is @requestable\("boss"\) and permits without an approval\. Add/;

  it('stops the startup', async () => {
    folder.write('a.cedar', unconditional);
    await expect(open()).rejects.toThrow(said);
  });

  it('does not take effect, and the console names the current and the corrected version', async () => {
    const opened = await open();
    const before = versionNow();
    folder.write('a.cedar', unconditional);
    await opened.reload();
    expect([await mayCall('b', opened), await mayCall('a', opened), versionNow()]).toEqual([false, true, before]);
    expect(loud()).toMatchObject([
      {
        alarm: 'policies_rejected',
        policyVersion: before,
        problems: [expect.stringMatching(said)],
        msg: expect.stringMatching(new RegExp(`version ${before} stays in force.*${said.source}`)),
      },
    ]);

    folder.write('a.cedar', permitting('b'));
    await opened.reload();
    expect([await mayCall('b', opened), await mayCall('a', opened)]).toEqual([true, false]);
    expect(versionNow()).not.toBe(before);
    expect(loud().slice(1)).toMatchObject([
      { policyVersion: versionNow(), msg: `the corrected policies are in force (version ${versionNow()})` },
    ]);
  });

  it('is reported as gone once the edit is undone', async () => {
    const opened = await open();
    folder.write('a.cedar', unconditional);
    await opened.reload();
    folder.write('a.cedar', permitting('a'));
    await opened.reload();
    expect(loud().slice(1)).toMatchObject([{ msg: expect.stringMatching(`again those of version ${versionNow()}`) }]);
  });
});
