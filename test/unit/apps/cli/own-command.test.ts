import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { commandFor } from '../../../../apps/cli/own-command.ts';
import { ownFolder } from '../../../support/test-run.ts';

let folder: string;
let root: string;
beforeEach(() => {
  folder = ownFolder('own-command-');
  root = join(folder, 'npx', 'node_modules', 'countersign');
  mkdirSync(root, { recursive: true });
});
/** As npm records what `npx` fetched. */
const fetched = (called: string, countersign: string) =>
  writeFileSync(
    join(folder, 'npx', 'package.json'),
    JSON.stringify({ _npx: { packages: [called] }, dependencies: { countersign } }),
  );

describe('the command line that starts the product again', () => {
  it('names the program of a checkout, from every folder', () => {
    writeFileSync(join(root, 'tsconfig.build.json'), '');
    expect(commandFor(root, root)).toBe('node apps/cli/countersign.mjs');
    expect(commandFor(root, '/')).toMatch(/^node .*node_modules\/countersign\/apps\/cli\/countersign\.mjs$/);
    expect(commandFor(root, join(root, 'docs'))).toBe(`node ${root}/apps/cli/countersign.mjs`);
  });

  it('names the file of a package, as the person did, or from another folder by its path', () => {
    fetched('./countersign-0.1.0.tgz', 'file:../countersign-0.1.0.tgz');
    expect(commandFor(root, folder)).toBe('npx ./countersign-0.1.0.tgz');
    expect(commandFor(root, '/')).toBe(`npx file:${folder}/countersign-0.1.0.tgz`);
    fetched(`file:${folder}/countersign-0.1.0.tgz`, 'file:../countersign-0.1.0.tgz');
    expect(commandFor(root, '/')).toBe(`npx file:${folder}/countersign-0.1.0.tgz`);
    fetched('./my files/a.tgz', 'file:../my files/a.tgz');
    expect(commandFor(root, folder)).toBe("npx './my files/a.tgz'");
  });

  it('names the package as npx got it from a registry', () => {
    fetched('countersign@next', '^0.2.0');
    expect(commandFor(root, folder)).toBe('npx countersign@next');
  });

  it('names the package of a folder or of the whole machine', () => {
    expect(commandFor(root, folder)).toBe('npx countersign');
    writeFileSync(join(folder, 'npx', 'package.json'), JSON.stringify({ dependencies: { countersign: 'file:a.tgz' } }));
    expect(commandFor(root, folder)).toBe('npx countersign');
  });
});
