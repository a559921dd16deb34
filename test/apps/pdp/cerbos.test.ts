import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startCerbos } from '../../support/cerbos.ts';
import { CERBOS_POLICIES } from '../../support/cerbos-policies.ts';
import { startEnforcement, type Enforcement } from '../../support/enforcement.ts';

const HINTS = [{ output: { needs: 'approval' }, template: 'operator_approval', title: 'Write a file' }];

let cerbos: Awaited<ReturnType<typeof startCerbos>>;
beforeAll(async () => {
  cerbos = await startCerbos(CERBOS_POLICIES);
});
afterAll(() => cerbos?.stop());

describe('Cerbos as the policy decision point of the gateway', () => {
  let product: Enforcement;
  beforeAll(async () => {
    product = await startEnforcement({ own: [], config: { pdp: { url: cerbos.url } } });
  });
  afterAll(() => product?.stop());

  it('permits as its policies say, and the call runs', async () => {
    expect(await product.call('list_directory', { path: product.files })).toMatchObject({
      structuredContent: { content: '' },
    });
    expect(product.calls()).toHaveLength(1);
  });

  it('denies for good, because a denial without access_request is final [PRJ-32, ARAP-DEN-03, AZ-IM-10]', async () => {
    const path = join(product.files, 'never.txt');
    const answer = await product.call('write_file', { path, content: 'x' });
    expect(answer).toMatchObject({ isError: true, resultType: 'complete' });
    expect([existsSync(path), product.calls().length]).toEqual([false, 1]);
  });

  it('works despite http addresses in its metadata and a missing X-Request-ID in its answers [PRJ-31, PRJ-30]', () => {
    const noted = product.lines.map(({ msg }) => String(msg)).filter((msg) => msg.includes('X-Request-ID'));
    expect(noted).toHaveLength(1);
    expect(product.lines.filter(({ alarm }) => alarm === 'pdp_misconfigured')).toEqual([]);
  });
});

describe('Cerbos behind our policy decision point', () => {
  let product: Enforcement;
  beforeAll(async () => {
    const authzen = { url: cerbos.url, dialect: 'cerbos', requestable: HINTS };
    product = await startEnforcement({ own: ['pdp', 'approvals'], config: { pdp: { engine: { authzen } } } });
  });
  afterAll(() => product?.stop());
  const write = (path: string) => product.call('write_file', { path, content: 'approved by a person' });

  it('permits as its policies say', async () => {
    expect(await product.call('list_directory', { path: product.files })).toMatchObject({ structuredContent: {} });
  });

  it('denies for good without a hint', async () => {
    expect(await product.call('create_directory', { path: join(product.files, 'no') })).toMatchObject({
      isError: true,
    });
    expect(existsSync(join(product.files, 'no'))).toBe(false);
  });

  it('holds a call for an approval, is asked again with it, and runs the call once by its own permit [ARAP-GEN-02, ARAP-REV-08, ARAP-REV-01]', async () => {
    const path = join(product.files, 'approved.txt');
    const ended = await product.carriedOut(
      async () => {
        const task = await write(path);
        expect(task).toMatchObject({ resultType: 'task' });
        return task;
      },
      async () => {
        const request = await product.openRequest();
        expect(existsSync(path)).toBe(false);
        expect((await product.vote(request, 'approve')).ok).toBe(true);
      },
    );
    expect(ended).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(readFileSync(path, 'utf8')).toBe('approved by a person');
    expect(product.calls().filter(({ arguments: args }) => args['path'] === path)).toHaveLength(1);
  });

  it('runs no call that an approver denied', async () => {
    const path = join(product.files, 'denied.txt');
    const { taskId } = await write(path);
    expect((await product.vote(await product.openRequest(), 'deny')).ok).toBe(true);
    expect(await product.ended(taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(existsSync(path)).toBe(false);
  });
});
