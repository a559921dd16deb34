import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { SECRET_NAMES, secretVariable } from '../../apps/shared/config/secrets.ts';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
}

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const read = (name: string) => readFileSync(path(name), 'utf8');

const text = read('docker-compose.yml');
const compose: { services: Record<string, Service>; configs: { countersign: { content: string } } } = parse(text, {
  merge: true,
});
/** The source of a compiled file. */
const sourceOf = (compiled: string) => path(compiled.replace('dist/', '').replace('.js', '.ts'));
const service = (name: string): Service => compose.services[name] ?? {};
const variablesOf = (value: unknown) =>
  new Set(Array.from(JSON.stringify(value).matchAll(/\$\{(\w+)/g), ([, name]) => name ?? ''));

const DEPLOYABLES = ['gateway', 'worker', 'pdp', 'approvals', 'audit'];
const WITH_PORT = DEPLOYABLES.filter((name) => name !== 'worker');

describe('docker-compose.yml', () => {
  it('is valid under the compose specification', () => {
    // The specification's own schema, in the copy that the compose linter carries.
    const { $schema: _, ...schema } = JSON.parse(read('node_modules/dclint/schemas/compose.schema.json'));
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    const validate = ajv.compile(schema);
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ ...compose, services: { gateway: { ports: 4100 } } })).toBe(false);
  });

  it.each(DEPLOYABLES)('starts %s from the main file of that app', (name) => {
    const main = service(name).command?.at(-1) ?? '';
    expect(main).toBe(`dist/apps/${name}/main.js`);
    expect(existsSync(sourceOf(main))).toBe(true);
  });

  it('migrates before anything else starts, once', () => {
    expect(service('migrate')).toMatchObject({ restart: 'no' });
    const [main = '', command] = service('migrate').command?.slice(-2) ?? [];
    expect(command).toBe('migrate');
    expect(existsSync(sourceOf(main))).toBe(true);
    for (const name of DEPLOYABLES) {
      expect(service(name)).toMatchObject({ depends_on: { migrate: { condition: 'service_completed_successfully' } } });
    }
  });

  it('pins every image', () => {
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:(\d|\$\{COUNTERSIGN_VERSION)/);
    expect(read('Dockerfile')).toMatch(/NODE_IMAGE=node:\d+\.\d+\.\d+-/);
  });

  it.each(WITH_PORT)('asks %s for its health on the port it listens on', (name) => {
    const config = parseConfig({}, { baseDir: '/', stateDir: '/' });
    const { port } = config[name as 'gateway' | 'pdp' | 'approvals' | 'audit'];
    expect(service(name).healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${port}/healthz`);
  });

  it('publishes ports on the loopback interface only, and no ports of databases and the engine', () => {
    for (const each of Object.values(compose.services)) {
      for (const port of each.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
    for (const name of ['postgres', 'temporal-postgres', 'temporal', 'pdp'])
      expect(service(name).ports).toBeUndefined();
  });

  it('lets only the worker reach the engine', () => {
    const reach = DEPLOYABLES.filter((name) => service(name).networks?.includes('engine'));
    expect(reach).toEqual(['worker']);
  });

  it.each(DEPLOYABLES)('gives %s exactly the secrets that its main file uses', (name) => {
    const [, listed = ''] = /SECRETS = \[(.*?)\] as const/s.exec(read(`apps/${name}/main.ts`)) ?? [];
    const used = new Set(Array.from(listed.matchAll(/'(\w+)'/g), ([, key]) => key));
    const known = SECRET_NAMES.filter((secret) => used.has(secret)).map(secretVariable);
    const given = Object.keys(service(name).environment ?? {});
    expect(given.filter((variable) => SECRET_NAMES.map(secretVariable).includes(variable)).sort()).toEqual(
      known.sort(),
    );
    expect(known).not.toHaveLength(0);
  });

  it('asks for exactly the variables that .env.example explains', () => {
    const explained = Array.from(read('.env.example').matchAll(/^(\w+)=/gm), ([, name]) => name);
    const asked = [...variablesOf(compose)].filter((name) => name !== 'COUNTERSIGN_VERSION');
    expect(asked.sort()).toEqual(explained.sort());
  });

  it('carries a configuration that the product accepts once the variables are filled in', () => {
    const example = new Map(
      Array.from(read('.env.example').matchAll(/^(\w+)='?(.*?)'?$/gm), ([, name, value]) => [name, value] as const),
    );
    const filled = compose.configs.countersign.content.replace(/\$\{(\w+):\?\}/g, (_, name) => example.get(name) ?? '');
    const config = parseConfig(parse(filled), { baseDir: '/etc/countersign', stateDir: '/nowhere' });
    expect(config).toMatchObject({
      mode: 'production',
      host: '0.0.0.0',
      temporal: { address: 'temporal:7233' },
      urls: { pdp: 'http://pdp:4101', mcp: 'https://countersign.example.com/mcp', issuer: 'https://login.example.com' },
    });
    expect(Object.keys(config.mcpServers)).toEqual(['files']);
  });

  it('starts from an image that holds every file which the product reads at run time', () => {
    const sources = readdirSync(path('apps'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('embedded'))
      .map((file) => `apps/${file}`);
    const folders = sources.flatMap((file) =>
      Array.from(read(file).matchAll(/packagePath\('(\w+)'/g), ([, name]) => name),
    );
    const copied = Array.from(read('Dockerfile').matchAll(/^COPY (\w+)/gm), ([, name]) => name);
    expect(copied).toEqual(expect.arrayContaining([...new Set(folders)]));
    expect(folders).toContain('prisma');
  });
});
