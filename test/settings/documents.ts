import { type Secrets, secretsSchema, secretVariable } from '../../apps/shared/config/secrets.ts';
import { editorSchema, schemaOfSettings, type Node } from './editor-schema.ts';
import { rowOf, rowsBelow, type Row } from './rows.ts';

/** Files that `npm run settings` writes, by their path in the repository. */
export function documents(): Record<string, string> {
  return {
    'countersign.schema.json': `${JSON.stringify(editorSchema(), null, 2)}\n`,
    'docs/settings.md': settingsPage(),
  };
}

/** Every setting, section by section. Settings outside of a section come first. */
export function sections(): { readonly name: string; readonly about: string; readonly rows: readonly Row[] }[] {
  const all = Object.entries(schemaOfSettings().properties ?? {});
  const isSection = (node: Node) => node.type === 'object';
  const single = all.filter(([, node]) => !isSection(node)).map(([name, node]) => rowOf(node, name, false));
  return [
    { name: 'General', about: 'Settings that stand at the top of the file.', rows: single },
    ...all
      .filter(([, node]) => isSection(node))
      .map(([name, node]) => ({ name, about: node.description ?? '', rows: rowsBelow(node, name) })),
  ];
}

/** The secrets of production, each with its variable. */
export const variables = (): { readonly name: string; readonly description: string }[] =>
  Object.entries(secretsSchema.shape).map(([name, schema]) => ({
    name: secretVariable(name as keyof Secrets),
    description: schema.description ?? '',
  }));

const INTRODUCTION = `# Settings

<!-- Written by \`npm run settings\` from apps/shared/config. Change the descriptions there. -->

This page lists every setting of \`countersign.yaml\`. [Configuration](configuration.md) explains how Countersign finds and reads the file.
An unknown setting is an error. \`<name>\` stands for a key that you choose, and \`[]\` for each element of a list.
An empty default means that the setting is off, empty or absent.

Editors check the file while you write, and show these descriptions, with this line at its top:

\`\`\`yaml
# yaml-language-server: $schema=./countersign.schema.json
\`\`\`
`;

function settingsPage(): string {
  const tables = sections().map(({ name, about, rows }) => {
    const heading = name === 'General' ? name : `\`${name}\``;
    const table = tableOf(
      ['Setting', 'Value', 'Default', 'Meaning'],
      rows.map(({ path, value, fallback, description }) => [`\`${path}\``, value, fallback, description]),
    );
    return [`## ${heading}`, about, ...(rows.length === 0 ? [] : [table])].join('\n\n');
  });
  const secrets = tableOf(
    ['Variable', 'Meaning'],
    variables().map(({ name, description }) => [`\`${name}\``, description]),
  );
  const environment =
    'In production each process reads its secrets from these environment variables. `.env.example` says how to make them. In ' +
    'development Countersign makes them once and keeps them in the state folder.';
  return `${[INTRODUCTION.trimEnd(), ...tables, '## Secrets', environment, secrets].join('\n\n')}\n`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
