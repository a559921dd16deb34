import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { packagePath } from '../../apps/shared/config/files.ts';

const packed = z.array(z.object({ files: z.array(z.object({ path: z.string() })) }));
const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
  private?: boolean;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
};

/** The files of a folder whose names match, as paths of the package. */
const namesIn = (folder: string, name: RegExp): string[] =>
  readdirSync(packagePath(folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => name.test(path))
    .map((path) => join(folder, path));

describe('the package', () => {
  let files!: string[];
  beforeAll(async () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: packagePath(), maxBuffer: 16 * 1024 * 1024 });
    files = packed.parse(JSON.parse(stdout)).flatMap((one) => one.files.map(({ path }) => path));
  });

  it('contains every file that the product reads', () => {
    const read = [
      ...['apps/cli/countersign.mjs', 'apps/cli/setup.mjs', 'dist/apps/cli/main.js', 'dist/workflow-bundle.js'],
      ...['countersign.yaml', 'countersign.schema.json', 'prisma/rights.sql', 'dist/apps/client/index.d.ts'],
      ...namesIn('prisma/functions', /\.sql$/),
      ...namesIn('prisma/migrations', /\.sql$/),
      ...namesIn('policies', /\.(cedar|cedarschema|json)$/),
      ...namesIn('apps', /\.(css|html|svg|txt|js)$/),
      ...namesIn('apps/shared/embedded', /\.mjs$/),
    ];
    expect(read.filter((path) => !files.includes(path))).toEqual([]);
  });

  it('contains no tests, no sources and no state', () => {
    expect(
      files.filter((path) => /(^|\/)(test|\.countersign|\.env|node_modules)(\/|$)|[^d]\.tsx?$/.test(path)),
    ).toEqual([]);
    expect(files.filter((path) => path.startsWith('dist/prisma'))).toEqual([]);
  });

  it('has every package that the product imports among its dependencies', () => {
    const sources = files.filter((path) => /^(dist|apps)\/.*\.m?js$/.test(path) && path !== 'dist/workflow-bundle.js');
    const imported = sources.flatMap((path) =>
      [
        ...readFileSync(packagePath(path), 'utf8').matchAll(
          /(?:from|import\() ?'((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[^']*)?'/g,
        ),
      ].map(([, name = '']) => name),
    );
    const own = new Set([...Object.keys(manifest.dependencies), 'countersign']);
    expect(imported.length).toBeGreaterThan(100);
    expect([...new Set(imported)].filter((name) => !own.has(name) && !name.startsWith('node:'))).toEqual([]);
  });

  it('can be published, and runs nothing when it is installed', () => {
    expect(manifest.private).toBeUndefined();
    const hooks = ['preinstall', 'install', 'postinstall', 'prepare'];
    expect(hooks.filter((name) => name in manifest.scripts)).toEqual([]);
  });
});
